// Graphs: lookahead trees as relational graphs, a whole batch at once, in the arrays that the model reads.
//
// Same batch, array by array, as tests/twins/graph.py. Three passes: count the atoms per graph and relation,
// allocate the arrays, and fill them graph by graph. A graph's nodes and argument slots are consecutive, so sorting the
// slots by node is a counting sort within each graph.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "task.hpp"

namespace saltus {

// The parts of an encoding, which `ENCODINGS` in src/saltus/graph/encodings.py combines and explains.
struct EncodingParts {
    bool is_joint = false;        // all candidates share one graph, in which each is a node
    bool has_root_graph = false;  // the first graph is the root's, and every graph holds the state of its own tree node
    bool delta = false;
    bool primed = false;
    bool actions = false;
    bool tree = false;
};

// What a relation says about an atom of its predicate; same order as ROLES in src/saltus/graph/assemble.py.
enum Role : std::size_t {
    // In the root or in the graph's own state.
    kTrue,
    kGoalTrue,
    kGoalFalse,
    kNegatedTrue,
    kNegatedFalse,
    // In the successor.
    kNextTrue,
    kNextGoalTrue,
    kNextGoalFalse,
    kNextNegatedTrue,
    kNextNegatedFalse,
    // Among the changes.
    kAdded,
    kDeleted,
    kAddedGoal,
    kDeletedGoal,
    kAddedNegated,
    kDeletedNegated,
    kRoles
};

// Relation numbers of a domain under an encoding; -1 where the vocabulary has no relation.
struct RelationTables {
    EncodingParts parts;
    bool world = false;                   // graphs have a world node
    std::vector<std::int32_t> arity;      // [relations]
    std::vector<std::int32_t> relation;   // [roles, predicates]
    std::vector<std::int32_t> of_type;    // [declared types]
    std::vector<std::int32_t> of_schema;  // [schemas]
    std::int32_t edge = -1;
    std::int32_t order = -1;
    std::int32_t level = -1;

    std::size_t relations() const { return arity.size(); }
    std::size_t predicates() const { return relation.size() / kRoles; }
};

// A task with the objects of every declared type.
struct GraphTask {
    const Task* task = nullptr;
    std::vector<std::int64_t> type_offset;  // [declared types + 1]
    std::vector<Object> type_object;        // ascending within each type
};

struct GraphQuery {
    const GraphTask* task = nullptr;
    std::span<const Code> state;
    std::span<const Code> goal_positive;
    std::span<const Code> goal_negative;
    std::span<const std::int32_t> parent;  // the tree's arrays, as in lookahead.hpp
    std::span<const std::int32_t> depth;
    std::span<const std::int32_t> schema;
    std::span<const std::int64_t> argument_offset;
    std::span<const std::int32_t> argument;
    std::span<const std::int64_t> added_offset;
    std::span<const Code> added;
    std::span<const std::int64_t> deleted_offset;
    std::span<const Code> deleted;

    std::size_t nodes() const { return parent.size(); }
};

// Described in src/saltus/graph/batch.py.
struct GraphBatch {
    std::vector<std::int32_t> graph_offset;
    std::vector<std::int32_t> object_count;
    std::vector<std::int64_t> relation_offset;
    std::vector<std::int64_t> argument_offset;
    std::vector<std::int32_t> arguments;
    std::vector<std::int32_t> slot_position;
    std::vector<std::int32_t> slot_offset;
    std::vector<std::int64_t> candidate_offset;
    std::vector<std::int32_t> candidate_node;
    std::vector<std::int32_t> candidate_graph;
    std::vector<std::int32_t> source_graph;
    std::vector<std::int32_t> depth_node;
    std::vector<std::int32_t> depth_graph;
    std::vector<std::int32_t> depth_value;
};

// Graphs of each query as a batch of their own; independent of the number of threads. Throws std::overflow_error if
// nodes or arguments cannot be numbered in 32 bits, std::invalid_argument if a tree's arrays do not fit its task.
std::vector<GraphBatch> encode_queries(const RelationTables& tables, std::span<const GraphQuery> queries,
                                       std::int32_t threads);

// Batch of the graphs of several batches of one vocabulary, of which there must be at least one. Throws
// std::overflow_error as `encode_queries` does.
GraphBatch join_batches(std::span<const GraphBatch* const> batches);

}  // namespace saltus
