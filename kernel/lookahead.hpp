// Lookahead: the tree of states that a width-bounded breadth-first search reaches from a root.
//
// Same tree, node by node, as src/saltus/lookahead/reference.py, by three shortcuts that do not change it: a successor
// is built only if novel; below the root only actions that need what the node changed are joined; of those only the
// parameters that occur in added atoms are enumerated.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "novelty.hpp"
#include "task.hpp"

namespace saltus {

enum class RootMode : std::int32_t { automatic = 0, all = 1, classes = 2, novel = 3 };

struct Spec {
    Kind kind = Kind::aiw;
    std::int32_t width = 1;
    std::int64_t capacity = 0;  // 0: no limit
    GoalIdentity goal_identity = GoalIdentity::instead;
    RootMode root = RootMode::automatic;
    bool expand_root_successors = true;
    std::int64_t max_nodes = 0;
    std::int64_t max_atoms = 0;
    std::int64_t max_root_actions = 0;

    // Nothing, or an invalid_argument that names the field.
    void check() const;
};

struct Query {
    const Task* task;
    std::span<const Code> state;
    std::span<const Code> goal_positive;
    std::span<const Code> goal_negative;
};

struct Tree {
    std::vector<std::int32_t> parent;           // [nodes], -1 for the root
    std::vector<std::int32_t> depth;            // [nodes]
    std::vector<std::int32_t> schema;           // [nodes], -1 for the root
    std::vector<std::int64_t> argument_offset;  // [nodes + 1]
    std::vector<std::int32_t> argument;
    std::vector<std::uint8_t> novel;         // [nodes]
    std::vector<std::int32_t> goals;         // [nodes]: satisfied goal literals
    std::vector<std::int64_t> added_offset;  // [nodes + 1]: atoms that the root has not, sorted
    std::vector<Code> added;
    std::vector<std::int64_t> deleted_offset;  // [nodes + 1]: atoms of the root that are gone, sorted
    std::vector<Code> deleted;
    std::int64_t generated = 0;     // actions looked at
    std::int64_t root_actions = 0;  // applicable in the root
    RootMode root = RootMode::all;  // the mode used, never automatic
    bool truncated = false;
};

Tree lookahead(const Query& query, const Spec& spec);

// Many lookaheads on several threads; the result does not depend on their number.
std::vector<Tree> lookahead_batch(std::span<const Query> queries, const Spec& spec, std::int32_t threads);

// Applicable actions in contract order, at most `limit` of them.
struct Actions {
    std::vector<std::int32_t> schema;
    std::vector<std::int64_t> argument_offset;
    std::vector<std::int32_t> argument;
};
Actions applicable(const Task& task, std::span<const Code> state, std::int64_t limit);

// Number of applicable actions of every schema.
std::vector<std::int64_t> count_applicable(const Task& task, std::span<const Code> state);

// The applicable action number `index` of a schema, in an order of the kernel's own.
std::vector<std::int32_t> pick_action(const Task& task, std::span<const Code> state, std::int32_t schema,
                                      std::int64_t index);

// State after an applicable action.
std::vector<Code> successor(const Task& task, std::span<const Code> state, std::int32_t schema,
                            std::span<const std::int32_t> arguments);

// Bindings of a lifted conjunction: different variables, different objects; at most `limit` of them, candidates in the
// random order of `seed`, after at most `steps` steps of search.
struct Bindings {
    std::int64_t count = 0;
    std::vector<Object> objects;  // [count, variables]
};
Bindings find_bindings(const Task& task, std::span<const Code> state, const Pattern& pattern, std::int64_t limit,
                       std::uint64_t seed, std::int64_t steps);

}  // namespace saltus
