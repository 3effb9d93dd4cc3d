// Search: one lookahead, from a situation to its tree.
//
// Breadth first, level by level. The root's successors are handled apart from those below: they may be taken by classes
// of exchangeable actions, and stay in the tree even if they are not novel unless only novel ones are wanted.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "changes.hpp"
#include "colours.hpp"
#include "interrupt.hpp"
#include "lookahead.hpp"
#include "match.hpp"
#include "nodes.hpp"
#include "novelty.hpp"
#include "state.hpp"

namespace saltus {

class Search {
public:
    // The situation and the specification must outlive the search.
    Search(const Situation& situation, const Spec& spec);

    // Running out of memory is one more limit: the tree so far comes back, truncated.
    Tree run();

private:
    // An atom in which a node differs from its parent.
    struct FreshAtom {
        std::int32_t predicate;
        bool added;
        std::size_t begin;  // into fresh_arguments_
    };

    void search(std::size_t& level);
    bool has_enough() const;
    void apply_budget();
    void release();
    Tree take_tree() const;

    // The root. Functions that return bool say whether to go on.
    void mark_root();
    void expand_root();
    void expand_root_classes(std::size_t s, const Symmetry& symmetry, std::int64_t count);
    void mark_root_actions();
    bool add_root_successor(std::size_t s, const std::vector<Object>& binding);
    bool is_known_successor(std::uint64_t hash) const;

    // Below the root.
    void expand(std::size_t number);
    bool exhausted(std::size_t s) const;
    void expand_fully(std::size_t number, std::size_t s);
    void expand_anchored(std::size_t number, std::size_t s);
    void expand_projected(std::size_t number, std::size_t s);
    void decode_fresh(const Node& node);
    template <typename Gate, typename Emit>
    void join_fresh(const Schema& schema, const MatchOptions& options, Gate&& gate, Emit&& emit);
    bool fits(std::size_t bytes);
    void try_bindings(std::size_t number, std::size_t s, bool found_empty);
    bool try_action(std::size_t number, std::size_t s, const std::vector<Object>& binding);

    // Novelty.
    bool promises(const Schema& schema, const std::vector<Object>& binding);
    bool mark(const std::vector<Code>& adds);
    bool mark_pairs(const Node& parent);

    // Nodes.
    void compute_difference(const Node& parent);
    bool append(std::size_t parent, std::size_t s, const std::vector<Object>& binding, bool novel, bool expand);
    void bound_level(std::size_t first);
    std::int32_t goal_sign(Code code) const;

    const Task& task_;
    const Situation& situation_;
    const Spec& spec_;
    StateView view_;
    Matcher matcher_;
    Changes changes_;  // by the action at hand
    Novelty novelty_;
    Nodes nodes_;
    Difference difference_;                                                // of the successor at hand
    std::unordered_map<Code, std::int32_t> goal_sign_;                     // 1: wanted true, -1: wanted false
    std::unordered_multimap<std::uint64_t, std::size_t> root_successors_;  // nodes by the hash of their difference
    std::vector<std::vector<std::size_t>> watches_;                        // [schemas][added literals]
    std::vector<Object> arguments_;
    std::vector<Code> scratch_;
    std::vector<FreshAtom> fresh_;
    std::vector<Object> fresh_arguments_;
    std::vector<Object> flat_;  // bindings gathered, one after the other
    Ticker ticker_;
    std::int64_t generated_ = 0;
    std::int64_t root_actions_ = 0;
    std::int64_t budget_;  // bytes for what the search gathers besides the tree
    RootMode mode_ = RootMode::all;
    bool truncated_ = false;
    bool stopped_ = false;
    std::int64_t left_out_ = 0;
};

}  // namespace saltus
