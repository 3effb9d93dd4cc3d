// Training pass: message passing on one batch, layer by layer, that remembers what its gradients need.
//
// For networks with one hidden layer per perceptron and an embedding that is a multiple of kLanes.
// Sums run in an order that does not depend on the number of threads. The memory is kept from batch to batch.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "network_pass.hpp"
#include "network_weights.hpp"
#include "training_loops.hpp"

namespace saltus {

// The relations of one arity.
struct TrainingGroup {
    std::int64_t arity = 0;
    std::span<const std::int32_t> arguments;   // [atoms, arity]: nodes
    std::span<const std::int64_t> row_offset;  // [relations + 1]: first atom of every relation
};

struct TrainingShape {
    std::int64_t nodes = 0;
    std::int64_t embedding = 0;
    float sharpness = 1;
};

// Weights, or their gradients. Of a group with `width` = arity * embedding: weights [relations, width, width] as
// [inputs, outputs], biases [relations, width]. Of the update: weights as [outputs, inputs].
template <typename Number>
struct TrainingArrays {
    struct Group {
        Number* weight1;
        Number* bias1;
        Number* weight2;
        Number* bias2;
    };
    std::vector<Group> groups;
    Number* update1 = nullptr;  // [2 * embedding, 2 * embedding]
    Number* bias1 = nullptr;
    Number* update2 = nullptr;  // [embedding, 2 * embedding]
    Number* bias2 = nullptr;
    Number* scale = nullptr;  // of the norm
    Number* shift = nullptr;
};

using TrainingWeights = TrainingArrays<const float>;
using TrainingGradients = TrainingArrays<float>;

class TrainingPass {
public:
    // Throws std::invalid_argument if this machine has no such instruction set; the empty name stands for the fastest.
    explicit TrainingPass(std::string_view instructions);

    // Starts with embeddings of 0. Without `keep` there will be no gradients.
    void begin(const TrainingShape& shape, std::span<const TrainingGroup> groups, bool keep, std::int32_t threads);

    // One more layer.
    void forward(const TrainingWeights& weights);

    // [nodes, embedding]
    std::span<const float> embeddings() const;

    // Starts from the gradient [nodes, embedding] with respect to the embeddings, with the weights of the pass.
    void begin_backward(const TrainingWeights& weights, std::span<const float> gradient);

    // Goes back by one layer.
    void backward(const TrainingWeights& weights);

    // Adds the gradients of all layers that backward() was called for.
    void add_gradients(const TrainingGradients& gradients) const;

    const TrainingShape& shape() const { return shape_; }
    std::int64_t layers() const { return layer_; }  // forward() less backward()
    bool keeps() const { return keep_; }

    // Memory that is kept for the next batch.
    std::int64_t bytes() const;

private:
    // A relation with atoms.
    struct Relation {
        std::size_t group;
        std::int64_t number;  // within its group
        std::int64_t arity;
        std::int64_t width;  // arity * embedding
        std::int64_t atoms;
        const std::int32_t* nodes;  // [atoms, arity]
        std::int64_t first;         // float of its messages, of which tiles have room for kTileRows rows
        std::int64_t transposed;    // float of its transposed weights
    };
    // Consecutive atoms of a relation, or nodes, whose gradients are summed in a place of their own.
    struct Chunk {
        std::size_t relation;
        std::int64_t first;
        std::int64_t end;
        std::int64_t partial;  // float of its gradients
    };
    // What one layer leaves for its gradients.
    struct Layer {
        Floats x;  // before the layer
        Floats joined;
        Floats inverse;
        Floats hidden;  // of messages, before Mish
        Floats share;   // of messages: not yet divided by the sum of their node
        Floats inner;   // of the update, before Mish
        Floats change;  // before the norm
    };

    void make_messages(const TrainingWeights& weights, const Chunk& chunk, Layer& layer);
    void make_first_messages(const TrainingWeights& weights, const Chunk& chunk, Layer& layer);
    void aggregate(Layer& layer);
    void update(const TrainingWeights& weights, const Chunk& chunk, Layer& layer, float* output);
    void update_backward(const TrainingWeights& weights, const Chunk& chunk, const Layer& layer);
    void messages_backward(const Chunk& chunk, const Layer& layer);
    void first_messages_backward(const TrainingWeights& weights, const Chunk& chunk, const Layer& layer);

    const Loops* loops_;
    TrainingShape shape_;
    bool keep_ = false;
    std::int32_t threads_ = 1;
    std::int64_t layer_ = 0;
    std::vector<std::int32_t> arguments_;
    std::vector<Relation> relations_;
    std::vector<Chunk> atom_chunks_;
    std::vector<Chunk> node_chunks_;
    NodeRanges ranges_;
    std::int64_t message_floats_ = 0;
    std::int64_t partial_floats_ = 0;
    std::int64_t transposed_floats_ = 0;
    std::vector<Layer> memory_;
    Floats x_;  // the embeddings at the moment
    Floats update1_;
    Floats update2_;  // weights of the update as [inputs, outputs]
    Floats highest_;
    Floats sums_;
    Floats transposed_;
    Floats partials_;
    Floats gradient_;
    Floats before_;  // gradient before the layer
    Floats spread_;  // gradient of the aggregates, divided by the sums of the nodes
    Floats slots_;   // gradient of the arguments
    Floats zeros_;
};

}  // namespace saltus
