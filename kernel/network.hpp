// Network: the forward pass of a trained policy, from a graph batch to the Q-value of every candidate, in float32.
//
// As in the twin (model/rgnn.py), with less work. The first map of a message network is computed once for every
// node that occurs at a position, and summed for every atom. In the first layer all embeddings are 0, so all atoms of a
// relation send the same messages. Messages are aggregated as they are made: with one thread, none outlives its tile of
// 48 atoms. Results are the same, bit by bit, for any number of threads.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "network_loops.hpp"
#include "network_weights.hpp"

namespace saltus {

// What the network reads of a graph batch.
struct NetworkBatch {
    std::span<const std::int32_t> graph_offset;     // [graphs + 1]
    std::span<const std::int32_t> object_count;     // [graphs]
    std::span<const std::int64_t> argument_offset;  // [relations + 1]
    std::span<const std::int32_t> arguments;
    std::span<const std::int32_t> candidate_node;   // not read unless candidates are nodes
    std::span<const std::int32_t> candidate_graph;  // [candidates]
    std::span<const std::int32_t> source_graph;     // [candidates]

    std::int32_t nodes() const { return graph_offset.back(); }
    std::int64_t graphs() const { return static_cast<std::int64_t>(object_count.size()); }
    std::int64_t candidates() const { return static_cast<std::int64_t>(candidate_graph.size()); }
};

class Network {
public:
    // Throws std::invalid_argument if the weights do not fit the shape or there are no loops of that name.
    Network(NetworkShape shape, std::span<const float> weights, std::string_view instructions);

    const char* instructions() const { return loops_->name; }

    // Q-values of all candidates. Throws std::invalid_argument if the batch does not fit the network or itself.
    std::vector<float> q_values(const NetworkBatch& batch, std::int64_t layers, std::int32_t threads) const;

private:
    void check(const NetworkBatch& batch) const;

    NetworkShape shape_;
    NetworkWeights weights_;
    const Loops* loops_;
};

}  // namespace saltus
