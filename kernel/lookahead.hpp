// Lookahead: the tree of states that a width-bounded breadth-first search reaches from a root.
//
// Same tree, node by node, as tests/twins/lookahead.py. Three shortcuts leave it unchanged: a successor is
// built only if it is novel; below the root only actions that need what the node changed are joined; of their
// parameters only those that occur in added atoms are enumerated.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "free_moves.hpp"
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
    bool keep_root_successors = true;  // beyond the capacity, as leaves
    std::int64_t max_better = 0;       // nodes with more goals than the root; 0: no limit
    std::int64_t max_encoded = 0;      // nodes besides the root; 0: no limit
    std::int64_t max_nodes = 0;
    std::int64_t max_atoms = 0;
    std::int64_t max_root_actions = 0;

    // Throws an invalid_argument that names the first field out of range.
    void check() const;
};

// What a lookahead starts from.
struct Situation {
    const Task* task;
    std::span<const Code> state;
    std::span<const Code> goal_positive;
    std::span<const Code> goal_negative;
    const FreeMoves* moves = nullptr;  // to look ahead modulo free moves
};

struct Tree {
    std::vector<std::int32_t> parent;           // [nodes], -1 for the root
    std::vector<std::int32_t> depth;            // [nodes]: edges from the root
    std::vector<std::int32_t> length;           // [nodes]: actions from the root
    std::vector<std::int32_t> schema;           // [nodes], -1 for the root
    std::vector<std::int64_t> argument_offset;  // [nodes + 1]
    std::vector<std::int32_t> argument;
    std::vector<std::uint8_t> novel;         // [nodes]
    std::vector<std::int32_t> goals;         // [nodes]: satisfied goal literals
    std::vector<std::int64_t> added_offset;  // [nodes + 1]: absent from the root, sorted
    std::vector<Code> added;
    std::vector<std::int64_t> deleted_offset;  // [nodes + 1]: present in the root, sorted
    std::vector<Code> deleted;
    std::int64_t generated = 0;     // actions considered
    std::int64_t root_actions = 0;  // applicable in the root
    RootMode root = RootMode::all;  // mode used, never automatic
    bool truncated = false;
    bool stopped = false;       // by max_better
    std::int64_t left_out = 0;  // nodes, by max_encoded
};

Tree lookahead(const Situation& situation, const Spec& spec);

// The states of a tree: differences from the root, as in `Tree`.
struct TreeStates {
    std::span<const Code> root;
    std::span<const std::int64_t> added_offset;
    std::span<const Code> added;
    std::span<const std::int64_t> deleted_offset;
    std::span<const Code> deleted;
};

// First node with this state, -1 if there is none. Throws std::invalid_argument if the arrays do not fit each other.
std::int64_t find_node(const TreeStates& tree, std::span<const Code> state);

// Many lookaheads on several threads; the trees do not depend on the number of threads.
std::vector<Tree> lookahead_batch(std::span<const Situation> situations, const Spec& spec, std::int32_t threads);

}  // namespace saltus
