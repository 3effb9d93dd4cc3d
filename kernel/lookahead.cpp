#include "lookahead.hpp"

#include <algorithm>
#include <iterator>
#include <stdexcept>

#include "parallel.hpp"
#include "width_search.hpp"

namespace saltus {

void Spec::check() const {
    auto within = [](auto value, std::int64_t least, std::int64_t most, const char* message) {
        if (static_cast<std::int64_t>(value) < least || static_cast<std::int64_t>(value) > most)
            throw std::invalid_argument(message);
    };
    within(kind, 0, 3, "spec: kind out of range");
    within(width, 1, 2, "spec: width out of range");
    within(capacity, 0, kMany, "spec: capacity out of range");
    within(goal_identity, 0, 2, "spec: goal_identity out of range");
    within(root, 0, 3, "spec: root out of range");
    within(max_better, 0, kMany, "spec: max_better out of range");
    within(max_encoded, 0, kMany, "spec: max_encoded out of range");
    within(max_nodes, 1, kMany, "spec: max_nodes out of range");
    within(max_atoms, 1, kMany, "spec: max_atoms out of range");
    within(max_root_actions, 1, kMany, "spec: max_root_actions out of range");
    if (width == 2 && root == RootMode::classes) throw std::invalid_argument("spec: root classes need width 1");
}

Tree lookahead(const Situation& situation, const Spec& spec) {
    if (spec.kind == Kind::flat) return FlatSearch(situation, spec).run();
    return WidthSearch(situation, spec).run();
}

std::vector<Tree> lookahead_batch(std::span<const Situation> situations, const Spec& spec, std::int32_t threads) {
    std::vector<Tree> trees(situations.size());
    run_parallel(situations.size(), static_cast<std::size_t>(std::max(1, threads)),
                 [&](std::size_t i) { trees[i] = lookahead(situations[i], spec); });
    return trees;
}

std::int64_t find_node(const TreeStates& tree, std::span<const Code> state) {
    auto fits = [](std::span<const std::int64_t> offset, std::size_t size) {
        return !offset.empty() && offset.front() == 0 && offset.back() == static_cast<std::int64_t>(size) &&
               std::is_sorted(offset.begin(), offset.end());
    };
    if (!fits(tree.added_offset, tree.added.size()) || !fits(tree.deleted_offset, tree.deleted.size()) ||
        tree.added_offset.size() != tree.deleted_offset.size())
        throw std::invalid_argument("find_node: offsets do not fit");
    std::vector<Code> added, deleted;
    std::set_difference(state.begin(), state.end(), tree.root.begin(), tree.root.end(), std::back_inserter(added));
    std::set_difference(tree.root.begin(), tree.root.end(), state.begin(), state.end(), std::back_inserter(deleted));
    auto equal = [](std::span<const Code> codes, std::span<const std::int64_t> offset, std::size_t node,
                    const std::vector<Code>& wanted) {
        return std::equal(codes.begin() + offset[node], codes.begin() + offset[node + 1], wanted.begin(), wanted.end());
    };
    for (std::size_t node = 0; node + 1 < tree.added_offset.size(); ++node)
        if (equal(tree.added, tree.added_offset, node, added) &&
            equal(tree.deleted, tree.deleted_offset, node, deleted))
            return static_cast<std::int64_t>(node);
    return -1;
}

}  // namespace saltus
