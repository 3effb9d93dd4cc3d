#include "network_weights.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <string>

namespace saltus {

namespace {

constexpr std::int64_t kMostEmbedding = 1 << 14;
constexpr std::int32_t kMostArity = 1 << 14;

// Width of an input or output: blocks of `size` numbers, each padded.
struct Width {
    std::int64_t blocks;
    std::int64_t size;

    std::int64_t total() const { return blocks * size; }
    std::int64_t padded_total() const { return blocks * padded(size); }
    std::int64_t place(std::int64_t number) const { return number / size * padded(size) + number % size; }
};

class WeightReader {
public:
    explicit WeightReader(std::span<const float> values) : values_(values) {}

    std::span<const float> take(std::int64_t count) {
        if (count > static_cast<std::int64_t>(values_.size())) throw std::invalid_argument("network: too few weights");
        const auto taken = values_.first(static_cast<std::size_t>(count));
        values_ = values_.subspan(taken.size());
        return taken;
    }

    Floats vector(Width width) {
        const auto from = take(width.total());
        Floats result(width.padded_total(), 0);
        for (std::int64_t i = 0; i < width.total(); ++i)
            result.data()[width.place(i)] = from[static_cast<std::size_t>(i)];
        return result;
    }

    Linear linear(Width in, Width out) {
        const auto from = take(in.total() * out.total());
        Linear result{in.padded_total(), out.padded_total(), Floats(in.padded_total() * out.padded_total(), 0), {}};
        const float* value = from.data();
        for (std::int64_t i = 0; i < in.total(); ++i) {
            float* row = result.weight.data() + in.place(i) * result.outputs;
            for (std::int64_t j = 0; j < out.total(); ++j) row[out.place(j)] = *value++;
        }
        result.bias = vector(out);
        return result;
    }

    Perceptron perceptron(Width in, Width out, std::int64_t hidden_layers) {
        Perceptron result;
        const Width hidden{1, in.total()};
        result.maps.push_back(linear(in, hidden));
        for (std::int64_t i = 1; i < hidden_layers; ++i) result.maps.push_back(linear(hidden, hidden));
        result.maps.push_back(linear(hidden, out));
        return result;
    }

    void finish() const {
        if (!values_.empty()) throw std::invalid_argument("network: too many weights");
    }

private:
    std::span<const float> values_;
};

}  // namespace

Floats::Floats(std::int64_t count) : count_(count) {
    if (count < 0 || count > (std::int64_t{1} << 58)) throw std::bad_alloc();
    values_.reset(static_cast<float*>(::operator new[](static_cast<std::size_t>(count) * sizeof(float), kAlignment)));
}

Floats::Floats(std::int64_t count, float value) : Floats(count) { std::fill(data(), data() + count, value); }

void NetworkShape::check() const {
    auto require = [](bool holds, const char* what) {
        if (!holds) throw std::invalid_argument(std::string("network: ") + what);
    };
    require(embedding >= 1 && embedding <= kMostEmbedding, "the embedding's size is out of range");
    require(hidden_layers == 1 || hidden_layers == 2, "expected one or two hidden layers");
    require(readout >= Readout::kNodes && readout <= Readout::kPairs, "unknown readout");
    require(std::isfinite(sharpness) && sharpness > 0, "expected a sharpness above 0");
    for (const std::int32_t n : arity) require(n >= 1 && n <= kMostArity, "an arity is out of range");
}

NetworkWeights::NetworkWeights(const NetworkShape& shape, std::span<const float> values) {
    shape.check();
    WeightReader reader(values);
    const Width one{1, shape.embedding};
    const Width two{2, shape.embedding};
    messages.reserve(shape.arity.size());
    for (const std::int32_t arity : shape.arity) {
        const Width width{arity, shape.embedding};
        messages.push_back(reader.perceptron(width, width, shape.hidden_layers));
    }
    update = reader.perceptron(two, one, shape.hidden_layers);
    scale = reader.vector(one);
    shift = reader.vector(one);
    if (shape.readout == Readout::kPairs)
        objects = reader.perceptron(two, one, shape.hidden_layers);
    else if (shape.object_network)
        objects = reader.perceptron(one, one, shape.hidden_layers);
    readout = reader.perceptron(shape.readout == Readout::kNodes ? two : one, Width{1, 1}, shape.hidden_layers);
    reader.finish();
}

}  // namespace saltus
