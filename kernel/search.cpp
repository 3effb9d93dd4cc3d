#include "search.hpp"

#include <algorithm>
#include <set>

#include "order.hpp"

namespace saltus {

Search::Search(const Situation& situation, const Spec& spec)
    : task_(*situation.task), spec_(spec), scene_(situation), growth_(scene_, spec) {
    if (scene_.places) walking_.emplace(scene_, growth_);
}

Tree Search::run() {
    return growth_.run([this] { search(); }, [this] { release(); });
}

void Search::expand_root() {
    std::vector<std::int64_t> counts;
    for (std::size_t s = 0; s < task_.schemas.size(); ++s) {
        counts.push_back(skips(s) ? 0 : scene_.matcher.count(pattern_of(s)));
        if (!walking_ || walking_->move(s) == nullptr)
            growth_.root_actions = saturating_sum(growth_.root_actions, counts.back());
    }
    growth_.mode = spec_.root;
    if (growth_.mode == RootMode::automatic)
        growth_.mode =
            spec_.width == 1 && growth_.root_actions > spec_.max_root_actions ? RootMode::classes : RootMode::all;
    const Situation& situation = scene_.situation;
    const bool by_classes = growth_.mode == RootMode::classes;
    Symmetry symmetry;
    if (by_classes) symmetry = find_symmetry(task_, situation.state, situation.goal_positive, situation.goal_negative);
    if (walking_) {
        for (const Places::Wish& wish : walking_->wanted_walks()) {
            if (growth_.truncated) return;
            walking_->begin_walk(wish);
            const Places::Step last = walking_->last_step(wish);
            add_changed_root(static_cast<std::size_t>(last.schema), last.binding);
        }
        walking_->end_walks();
    }
    for (std::size_t s = 0; s < task_.schemas.size() && !growth_.truncated; ++s) {
        if (counts[s] == 0) continue;
        if (by_classes)
            expand_root_classes(s, symmetry, counts[s]);
        else
            visit_root(s, MatchOptions{}, counts[s],
                       [&](const std::vector<Object>& binding) { return add_root_successor(s, binding); });
    }
}

// Takes the first binding of every class: same schema, same colours, same pattern of equal arguments. A first binding
// uses at most as many exchangeable objects as the schema has parameters, so the join leaves out the others.
void Search::expand_root_classes(std::size_t s, const Symmetry& symmetry, std::int64_t count) {
    const Pattern& pattern = pattern_of(s);
    std::vector<std::uint8_t> mask(symmetry.rank.size());
    for (std::size_t o = 0; o < mask.size(); ++o)
        mask[o] = symmetry.rank[o] < static_cast<std::int32_t>(pattern.domains.size()) ? 1 : 0;
    MatchOptions options;
    options.mask = mask.data();
    std::set<std::vector<std::int32_t>> classes;
    const std::size_t class_bytes = 96 + 2 * sizeof(std::int32_t) * pattern.domains.size();
    visit_root(s, options, count, [&](const std::vector<Object>& binding) {
        std::vector<std::int32_t> key;
        for (Object object : binding) {
            key.push_back(symmetry.colour[static_cast<std::size_t>(object)]);
            const auto first = std::find(binding.begin(), binding.end(), object);
            key.push_back(static_cast<std::int32_t>(first - binding.begin()));
        }
        if (!classes.insert(std::move(key)).second) return true;
        return growth_.fits(classes.size() * class_bytes) && add_root_successor(s, binding);
    });
}

// Calls visit(binding) -> bool for the actions of a schema in contract order until it returns false; modulo free moves,
// those with the shortest walks come first.
template <typename Visit>
void Search::visit_root(std::size_t s, const MatchOptions& options, std::int64_t count, Visit&& visit) {
    if (walking_)
        walking_->visit_root(s, options, count, visit);
    else
        in_order(scene_.matcher, task_, pattern_of(s), options, count, visit);
}

bool Search::add_root_successor(std::size_t s, const std::vector<Object>& binding) {
    ++growth_.generated;
    tick();
    if (!settle(s, binding)) return true;
    growth_.compute_changes(0, s, binding);
    return add_changed_root(s, binding);
}

// Adds the successor that the changes at hand lead to.
bool Search::add_changed_root(std::size_t s, const std::vector<Object>& binding) {
    const bool novel = mark_root_successor();
    if (growth_.truncated) return false;
    if (!novel && growth_.mode == RootMode::novel) return true;
    if (walking_) walking_->add_walks();
    growth_.compute_difference(0);
    const Difference& difference = growth_.difference;
    if (difference.empty()) return true;
    if (walking_) walking_->split_difference(difference.added, difference.deleted, own_class_);
    const std::uint64_t hash = walking_ ? own_class_.difference.hash() : difference.hash();
    if (walking_ && own_class_.difference.empty() && walking_->is_same_class(growth_.nodes[0], own_class_)) return true;
    if (is_known_successor(hash)) return true;
    root_successors_.emplace(hash, growth_.nodes.size());
    return append(0, s, binding, novel, novel || spec_.expand_root_successors);
}

// Whether an earlier successor of the root is the same state as the one at hand, or the same but for walks.
bool Search::is_known_successor(std::uint64_t hash) {
    const auto [begin, end] = root_successors_.equal_range(hash);
    return std::any_of(begin, end, [&](const auto& entry) {
        const Node& node = growth_.nodes[entry.second];
        if (walking_) return walking_->is_same_class(node, own_class_);
        return std::ranges::equal(growth_.nodes.codes(node.added), growth_.difference.added) &&
               std::ranges::equal(growth_.nodes.codes(node.deleted), growth_.difference.deleted);
    });
}

}  // namespace saltus
