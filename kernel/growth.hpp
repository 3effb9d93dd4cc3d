// Growth: the tree of a search while it grows, its limits, and the successor at hand.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <utility>
#include <vector>

#include "axioms.hpp"
#include "changes.hpp"
#include "lookahead.hpp"
#include "nodes.hpp"
#include "scene.hpp"

namespace saltus {

class Growth {
public:
    Growth(Scene& scene, const Spec& spec);

    // The tree that a search makes. Running out of memory is one more limit: the tree so far comes back, truncated.
    // `release` frees what only the search needs.
    Tree run(const std::function<void()>& search, const std::function<void()>& release);

    // What an action changes in a node's state, with all that is derived from it.
    void compute_changes(std::size_t parent, std::size_t s, const std::vector<Object>& binding);
    void compute_difference(std::size_t parent);
    // Appends the successor at hand, which `steps` moves precede; false once the tree is full.
    bool append(std::size_t parent, std::size_t s, const std::vector<Object>& binding, std::int32_t steps, bool novel,
                bool expand);
    // Ends the level that is complete: applies the capacity to its nodes.
    void bound_level();
    // The nodes of the deepest level, first and end; a new level begins.
    std::pair<std::size_t, std::size_t> next_level() { return {std::exchange(level_, nodes.size()), nodes.size()}; }
    bool has_ended() const { return truncated || stopped_; }
    // Whether so many nodes have more goals than the root that no further one is expanded: the search ends.
    bool has_enough() { return stopped_ = spec_.max_better > 0 && nodes.better() >= spec_.max_better; }
    // Whether the search may gather so many bytes besides the tree; if not, the tree is truncated.
    bool fits(std::size_t bytes);
    std::int64_t budget() const { return budget_; }

    Nodes nodes;
    Changes changes;        // by the action at hand
    Difference difference;  // of the successor at hand
    std::int64_t generated = 0;
    std::int64_t root_actions = 0;
    RootMode mode = RootMode::all;
    bool truncated = false;

private:
    void apply_budget();
    Tree take_tree() const;

    Scene& scene_;
    const Spec& spec_;
    std::optional<Derivation> derivation_;  // if the task has axioms
    std::size_t level_ = 1;                 // first node of the deepest level
    std::int64_t budget_;
    bool stopped_ = false;
    std::int64_t left_out_ = 0;
    std::vector<Code> scratch_;
};

}  // namespace saltus
