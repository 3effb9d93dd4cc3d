#include "state.hpp"

#include <algorithm>
#include <iterator>

namespace saltus {

std::vector<Code> changed_state(std::span<const Code> state, std::span<const Code> added,
                                std::span<const Code> deleted) {
    std::vector<Code> kept;
    std::set_difference(state.begin(), state.end(), deleted.begin(), deleted.end(), std::back_inserter(kept));
    std::vector<Code> result;
    std::set_union(kept.begin(), kept.end(), added.begin(), added.end(), std::back_inserter(result));
    return result;
}

StateView::StateView(const Task& task, std::span<const Code> root)
    : task_(task),
      root_(static_cast<std::size_t>(task.predicates())),
      first_atom_(static_cast<std::size_t>(task.predicates()), 0),
      root_atoms_(root.size()),
      alive_(root.size(), 1),
      extra_(static_cast<std::size_t>(task.predicates())),
      extra_size_(static_cast<std::size_t>(task.predicates()), 0),
      arguments_(static_cast<std::size_t>(task.max_arity) + 1) {
    for (std::size_t p = 0; p < root_.size(); ++p) root_[p].arity = task.arity[p];
    // Codes are sorted, so a predicate's atoms are consecutive.
    std::int32_t last = -1;
    for (Code code : root) {
        const std::int32_t predicate = task.decode(code, arguments_.data());
        Relation& relation = root_[static_cast<std::size_t>(predicate)];
        const std::int32_t number = root_atoms_.number(code);
        if (predicate != last) first_atom_[static_cast<std::size_t>(predicate)] = number;
        last = predicate;
        relation.rows.insert(relation.rows.end(), arguments_.begin(), arguments_.begin() + relation.arity);
        ++relation.size;
    }
    for (std::size_t p = 0; p < root_.size(); ++p)
        if (task.fluent[p]) root_[p].build(task.objects());
}

void StateView::show(std::span<const Code> added, std::span<const Code> deleted) {
    for (std::int32_t atom : dead_) alive_[static_cast<std::size_t>(atom)] = 1;
    dead_.clear();
    for (std::int32_t predicate : extra_predicates_) {
        extra_[static_cast<std::size_t>(predicate)].clear();
        extra_size_[static_cast<std::size_t>(predicate)] = 0;
    }
    extra_predicates_.clear();
    extra_set_.clear();
    for (Code code : added) add_extra(code);
    for (Code code : deleted) {
        const std::int32_t atom = root_atoms_.find(code);
        alive_[static_cast<std::size_t>(atom)] = 0;
        dead_.push_back(atom);
    }
}

void StateView::insert(Code code) {
    const std::int32_t atom = root_atoms_.find(code);
    if (atom >= 0)
        alive_[static_cast<std::size_t>(atom)] = 1;
    else
        add_extra(code);
}

void StateView::add_extra(Code code) {
    const std::int32_t predicate = task_.decode(code, arguments_.data());
    const auto p = static_cast<std::size_t>(predicate);
    if (extra_size_[p]++ == 0) extra_predicates_.push_back(predicate);
    extra_[p].insert(extra_[p].end(), arguments_.begin(), arguments_.begin() + task_.arity[p]);
    extra_set_.insert(code);
}

}  // namespace saltus
