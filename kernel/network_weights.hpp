// Network weights: those of a policy, padded so that every loop runs over whole vectors.
//
// The width of an input or output is a number of blocks, one per embedding; each block is padded on its own. A hidden
// layer is one block. Padded weights are 0, and so are the values computed with them.
#pragma once

#include <cstdint>
#include <memory>
#include <new>
#include <span>
#include <vector>

#include "network_loops.hpp"

namespace saltus {

// Floats whose address suits every vector; their values are undefined at first.
class Floats {
public:
    Floats() = default;
    explicit Floats(std::int64_t count);
    Floats(std::int64_t count, float value);

    float* data() { return values_.get(); }
    const float* data() const { return values_.get(); }
    std::int64_t size() const { return count_; }

private:
    static constexpr std::align_val_t kAlignment{64};
    struct Release {
        void operator()(float* values) const { ::operator delete[](values, kAlignment); }
    };
    std::unique_ptr<float[], Release> values_;
    std::int64_t count_ = 0;
};

inline std::int64_t padded(std::int64_t size) { return (size + kLanes - 1) / kLanes * kLanes; }

// One linear map.
struct Linear {
    std::int64_t inputs = 0;   // padded
    std::int64_t outputs = 0;  // padded
    Floats weight;             // [inputs, outputs]
    Floats bias;               // [outputs]
};

// Linear maps with Mish in between.
struct Perceptron {
    std::vector<Linear> maps;

    const Linear& first() const { return maps.front(); }
    const Linear& last() const { return maps.back(); }
};

enum class Readout : std::int32_t { kNodes, kGraphs, kPairs };

// Shape of a network; check() throws std::invalid_argument if there is no such network.
struct NetworkShape {
    std::int64_t embedding = 0;
    std::int64_t hidden_layers = 1;
    float sharpness = 1;
    Readout readout = Readout::kNodes;
    bool object_network = true;
    std::vector<std::int32_t> arity;  // of every relation

    void check() const;
};

struct NetworkWeights {
    // From all weights as one array: the message networks by relation, the update network, scale and shift of the norm,
    // the network of objects, the readout; of every network each map's weight [inputs, outputs], then its bias. Throws
    // std::invalid_argument if there are too few or too many.
    NetworkWeights(const NetworkShape& shape, std::span<const float> values);

    std::vector<Perceptron> messages;
    Perceptron update;
    Floats scale;
    Floats shift;
    Perceptron objects;  // without maps if there is none
    Perceptron readout;
};

}  // namespace saltus
