// Compares the loops of the instruction set in the first argument with the portable ones: whole passes of random
// networks on random graphs. Prints the largest difference as a share of the largest Q-value. The build links the
// kernel.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <random>
#include <vector>

#include "network.hpp"

using namespace saltus;

namespace {

std::int64_t weight_count(const NetworkShape& shape) {
    const std::int64_t width = shape.embedding;
    auto perceptron = [&](std::int64_t in, std::int64_t out) {
        return shape.hidden_layers * (in * in + in) + in * out + out;
    };
    std::int64_t count = perceptron(2 * width, width) + 2 * width + perceptron(width, width) + perceptron(2 * width, 1);
    for (const std::int32_t arity : shape.arity) count += perceptron(arity * width, arity * width);
    return count;
}

double difference(const NetworkShape& shape, std::uint32_t seed, const char* instructions) {
    std::mt19937 random(seed);
    std::normal_distribution<float> normal(0.0F, 0.3F);
    std::vector<float> weights(static_cast<std::size_t>(weight_count(shape)));
    for (float& weight : weights) weight = normal(random);
    const std::int32_t nodes = 60;
    const std::int64_t atoms = 150;
    std::vector<std::int64_t> argument_offset{0};
    std::vector<std::int32_t> arguments;
    for (const std::int32_t arity : shape.arity) {
        for (std::int64_t i = 0; i < atoms * arity; ++i)
            arguments.push_back(static_cast<std::int32_t>(random() % static_cast<std::uint32_t>(nodes)));
        argument_offset.push_back(static_cast<std::int64_t>(arguments.size()));
    }
    std::vector<std::int32_t> candidates;
    for (std::int32_t node = 40; node < nodes; ++node) candidates.push_back(node);
    const std::vector<std::int32_t> graph_offset{0, nodes};
    const std::vector<std::int32_t> object_count{40};
    const std::vector<std::int32_t> zeros(candidates.size(), 0);
    const NetworkBatch batch{graph_offset, object_count, argument_offset, arguments, candidates, zeros, zeros};
    const std::vector<float> wanted = Network(shape, weights, "portable").q_values(batch, 6, 1);
    const std::vector<float> found = Network(shape, weights, instructions).q_values(batch, 6, 1);
    double largest = 0;
    double apart = 0;
    for (std::size_t i = 0; i < wanted.size(); ++i) {
        if (!std::isfinite(found[i])) return INFINITY;
        largest = std::max(largest, std::fabs(static_cast<double>(wanted[i])));
        apart = std::max(apart, std::fabs(static_cast<double>(wanted[i]) - static_cast<double>(found[i])));
    }
    return apart / std::max(1.0, largest);
}

}  // namespace

int main(int, char** arguments) {
    double worst = 0;
    for (const std::int64_t embedding : {1, 17, 32})
        for (const std::int64_t hidden_layers : {1, 2}) {
            NetworkShape shape;
            shape.embedding = embedding;
            shape.hidden_layers = hidden_layers;
            shape.sharpness = 12;
            shape.arity = {1, 2, 3};
            for (std::uint32_t seed = 0; seed < 3; ++seed)
                worst = std::max(worst, difference(shape, seed, arguments[1]));
        }
    std::printf("%.3g\n", worst);
}
