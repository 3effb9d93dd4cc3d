// Search: one lookahead, from a situation to its tree.
//
// Breadth first, level by level. The root's successors are handled apart from those below: they may be taken by classes
// of exchangeable actions, and stay in the tree even if they are not novel unless only novel ones are wanted.
//
// Modulo free moves, the view shows closures: states in which every agent is at all of its places at once. Actions are
// joined with the closure; agents that an action needs elsewhere walk there first. Nodes hold the states themselves.
#pragma once

#include <cstdint>
#include <optional>
#include <unordered_map>
#include <vector>

#include "axioms.hpp"
#include "changes.hpp"
#include "colours.hpp"
#include "interrupt.hpp"
#include "lookahead.hpp"
#include "match.hpp"
#include "nodes.hpp"
#include "novelty.hpp"
#include "places.hpp"
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
    // How many joins are not narrowed before the next one is tried, and how many that was the last time.
    struct Asked {
        std::int32_t wait = 0;
        std::int32_t pause = 0;
    };
    // What a schema has to do with agents' places.
    struct Located {
        std::vector<std::size_t> needed;     // positive preconditions that may be places
        std::vector<std::size_t> forbidden;  // negative ones; the pattern leaves them out
        const Move* move = nullptr;          // if it is a move
        const Group* group = nullptr;        // of the move
        bool adds_places = false;
        bool checked = false;  // a match may turn out to be no action: it cannot stand for others
    };
    // The agents that the goal mentions, and their places there.
    struct Wanted {
        std::int32_t agent;
        std::vector<Object> places;
    };

    // A state up to walks: how it differs from the root, apart from agents that may walk on, and where those are.
    struct Class {
        Difference difference;
        std::vector<Places::Wish> moved;
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
    bool add_changed_root(std::size_t s, const std::vector<Object>& binding);
    bool is_known_successor(std::uint64_t hash);
    template <typename Visit>
    void visit_root(std::size_t s, const MatchOptions& options, std::int64_t count, Visit&& visit);

    // Below the root.
    void expand(std::size_t number);
    bool exhausted(std::size_t s) const;
    void expand_fully(std::size_t number, std::size_t s);
    void expand_gathered(std::size_t number, std::size_t s);
    void expand_move(std::size_t number, std::size_t s);
    void expand_anchored(std::size_t number, std::size_t s);
    void expand_projected(std::size_t number, std::size_t s);
    void decode_fresh(const Node& node);
    template <typename Gate, typename Emit>
    void join_fresh(std::size_t s, const MatchOptions& options, Gate&& gate, Emit&& emit);
    bool fits(std::size_t bytes);
    void try_bindings(std::size_t number, std::size_t s, bool found_empty);
    bool try_action(std::size_t number, std::size_t s, const std::vector<Object>& binding);

    // Modulo free moves.
    void locate_schemas();
    void list_wanted_places();
    const Pattern& pattern_of(std::size_t s) const { return places_ ? patterns_[s] : task_.schemas[s].pattern; }
    bool skips(std::size_t s) const;
    bool settle(std::size_t s, const std::vector<Object>& binding);
    std::int32_t walking_steps();
    template <typename Visit>
    void visit_nearest(std::size_t s, std::vector<Object>& binding, Visit&& visit);
    void take_nearest(std::size_t s, std::vector<Object> binding);
    bool walks_to(std::size_t s, const std::vector<Object>& binding) const;
    template <typename Visit>
    void visit_walkers(std::size_t s, const std::vector<Object>& binding, Visit&& visit);
    void split_difference(std::span<const Code> added, std::span<const Code> deleted, Class& result);
    bool is_same_class(const Node& node, const Class& other);
    void add_walks();
    void expand_walks(std::size_t number);
    void show_closure(std::size_t number);
    void load_closure(const Node& node, bool has_parent, std::vector<Code>& added, std::vector<Code>& removed);
    bool in_root(Code code);

    // Novelty.
    bool unseen(std::size_t s, const Literal& literal, const std::vector<Object>& binding);
    bool promises(std::size_t s, const std::vector<Object>& binding);
    Narrow narrow(std::size_t s);
    bool list_promising(std::size_t s, const std::vector<Object>& binding, std::int64_t rows, Values& values);
    bool mark(const std::vector<Code>& adds);
    bool mark_pairs(const Node& parent);

    // Nodes.
    void compute_changes(const Node& parent, std::size_t s, const std::vector<Object>& binding);
    void compute_difference(const Node& parent);
    bool append(std::size_t parent, std::size_t s, const std::vector<Object>& binding, bool novel, bool expand);
    void bound_level(std::size_t first);
    std::int32_t goal_sign(Code code) const;

    const Task& task_;
    const Situation& situation_;
    const Spec& spec_;
    std::optional<Places> places_;  // modulo free moves
    std::vector<Code> closure_;     // of the root
    StateView view_;
    Matcher matcher_;
    Changes changes_;                       // by the action at hand
    std::optional<Derivation> derivation_;  // if the task has axioms
    Novelty novelty_;
    Nodes nodes_;
    Difference difference_;                                                // of the successor at hand
    std::unordered_map<Code, std::int32_t> goal_sign_;                     // 1: wanted true, -1: wanted false
    std::unordered_multimap<std::uint64_t, std::size_t> root_successors_;  // nodes by the hash of their difference
    std::vector<std::vector<std::size_t>> watches_;                        // [schemas][added literals]
    std::vector<Object> arguments_;
    std::vector<Code> scratch_;
    std::vector<Asked> asked_;  // [schemas]
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

    // Modulo free moves.
    std::vector<Pattern> patterns_;  // [schemas]
    std::vector<Located> located_;   // [schemas]
    std::vector<Wanted> wanted_;     // by group and agent
    KeySet somewhere_;               // agents that have been somewhere
    Class own_class_;                // of the successor at hand
    std::vector<Places::Wish> wishes_;
    std::vector<Places::Wish> walking_;  // agents that walk before the action at hand
    bool leaves_ = false;                // the action at hand is a move that cannot be undone
    bool at_root_ = true;
    std::int32_t steps_ = 0;           // moves before the action at hand
    std::int32_t closed_parent_ = -1;  // whose closure the following two describe
    std::vector<Code> closed_codes_;   // of nodes whose closure is known
    std::vector<Code> parent_added_;
    std::vector<Code> parent_removed_;
    std::vector<Code> own_added_;
    std::vector<Code> own_removed_;
    std::vector<Code> fresh_places_;
    std::vector<Code> lost_places_;  // in the parent's closure, not in the node's
};

}  // namespace saltus
