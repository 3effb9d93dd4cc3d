#include "network.hpp"

#include <algorithm>
#include <stdexcept>
#include <string>

#include "network_pass.hpp"

namespace saltus {

namespace {

constexpr std::int64_t kWorthThreads = 1 << 13;  // nodes below which one thread reads the values as fast

void require(bool holds, const char* what) {
    if (!holds) throw std::invalid_argument(std::string("network: ") + what);
}

bool all_below(std::span<const std::int32_t> values, std::int64_t end) {
    return std::all_of(values.begin(), values.end(), [&](std::int32_t value) { return value >= 0 && value < end; });
}

// From embeddings to Q-values.
class ValueReader {
public:
    ValueReader(const NetworkShape& shape, const NetworkWeights& weights, const Loops& loops, const NetworkBatch& batch,
                const Floats& x, std::int32_t threads)
        : weights_(weights),
          loops_(loops),
          batch_(batch),
          x_(x.data()),
          width_(padded(shape.embedding)),
          threads_(std::int64_t{batch.nodes()} >= kWorthThreads ? threads : 1),
          values_(static_cast<std::size_t>(batch.candidates())) {}

    // From the candidate's node and the objects of its graph.
    std::vector<float> from_nodes() {
        const Floats context = contexts();
        read(batch_.candidates(), values_,
             [&](std::int64_t first, std::int64_t rows, TileRunner& runner, float* output) {
                 const Rows parts[] = {{x_, width_, batch_.candidate_node.data() + first, 1},
                                       {context.data(), width_, batch_.candidate_graph.data() + first, 1}};
                 runner.run(parts, rows, output);
             });
        return std::move(values_);
    }

    // From the objects of the candidate's graph.
    std::vector<float> from_graphs() {
        const Floats context = contexts();
        std::vector<float> by_graph(static_cast<std::size_t>(batch_.graphs()));
        read(batch_.graphs(), by_graph, [&](std::int64_t first, std::int64_t rows, TileRunner& runner, float* output) {
            const Rows parts[] = {{context.data() + first * width_, width_, nullptr, 0}};
            runner.run(parts, rows, output);
        });
        for (std::size_t i = 0; i < values_.size(); ++i)
            values_[i] = by_graph[static_cast<std::size_t>(batch_.candidate_graph[i])];
        return std::move(values_);
    }

    // From pairs: each object in the root's graph with the same object in the candidate's.
    std::vector<float> from_pairs() {
        read(batch_.candidates(), values_,
             [&](std::int64_t first, std::int64_t rows, TileRunner& runner, float* output) {
                 Floats totals(kTileRows * width_, 0);
                 TileRunner pairs(loops_, weights_.objects);
                 Floats change(kTileRows * width_);
                 for (std::int64_t row = 0; row < rows; ++row) {
                     const auto candidate = static_cast<std::size_t>(first + row);
                     add_pairs(batch_.source_graph[candidate], batch_.candidate_graph[candidate], pairs, change,
                               totals.data() + row * width_);
                 }
                 const Rows parts[] = {{totals.data(), width_, nullptr, 0}};
                 runner.run(parts, rows, output);
             });
        return std::move(values_);
    }

private:
    // values[i] = the readout's only output for row i; `run` computes a tile of them.
    template <typename Run>
    void read(std::int64_t count, std::vector<float>& values, Run&& run) {
        for_all(tile_count(count), threads_, [&](std::int64_t tile) {
            TileRunner runner(loops_, weights_.readout);
            const std::int64_t outputs = weights_.readout.last().outputs;
            Floats output(kTileRows * outputs);
            const std::int64_t first = tile * kTileRows;
            const std::int64_t rows = tile_rows(count, tile);
            run(first, rows, runner, output.data());
            for (std::int64_t row = 0; row < rows; ++row)
                values[static_cast<std::size_t>(first + row)] = output.data()[row * outputs];
        });
    }

    void add(const float* rows, std::int64_t count, float* total) const {
        for (std::int64_t row = 0; row < count; ++row)
            for (std::int64_t k = 0; k < width_; ++k) total[k] += rows[row * width_ + k];
    }

    void add_pairs(std::int32_t source, std::int32_t target, TileRunner& pairs, Floats& change, float* total) const {
        const float* here = x_ + batch_.graph_offset[static_cast<std::size_t>(source)] * width_;
        const float* there = x_ + batch_.graph_offset[static_cast<std::size_t>(target)] * width_;
        const std::int64_t objects = batch_.object_count[static_cast<std::size_t>(target)];
        for (std::int64_t tile = 0; tile < tile_count(objects); ++tile) {
            const std::int64_t skipped = tile * kTileRows * width_;
            const std::int64_t rows = tile_rows(objects, tile);
            const Rows parts[] = {{here + skipped, width_, nullptr, 0}, {there + skipped, width_, nullptr, 0}};
            pairs.run(parts, rows, change.data());
            add(change.data(), rows, total);
        }
    }

    // [graphs, width]: the sum of the objects of every graph, through the network of objects if there is one.
    Floats contexts() const {
        const std::int64_t graphs = batch_.graphs();
        Floats totals(graphs * width_, 0);
        for (std::int64_t graph = 0; graph < graphs; ++graph) {
            const auto number = static_cast<std::size_t>(graph);
            add(x_ + batch_.graph_offset[number] * width_, batch_.object_count[number], totals.data() + graph * width_);
        }
        if (weights_.objects.maps.empty()) return totals;
        TileRunner runner(loops_, weights_.objects);
        Floats result(tile_count(graphs) * kTileRows * width_);
        for_all(tile_count(graphs), 1, [&](std::int64_t tile) {
            const std::int64_t first = tile * kTileRows * width_;
            const Rows parts[] = {{totals.data() + first, width_, nullptr, 0}};
            runner.run(parts, tile_rows(graphs, tile), result.data() + first);
        });
        return result;
    }

    const NetworkWeights& weights_;
    const Loops& loops_;
    const NetworkBatch& batch_;
    const float* x_;
    std::int64_t width_;
    std::int32_t threads_;
    std::vector<float> values_;
};

}  // namespace

Network::Network(NetworkShape shape, std::span<const float> weights, std::string_view instructions)
    : shape_(std::move(shape)), weights_(shape_, weights), loops_(find_loops(instructions)) {
    require(loops_ != nullptr, "this machine has no such instruction set");
}

std::vector<float> Network::q_values(const NetworkBatch& batch, std::int64_t layers, std::int32_t threads) const {
    require(layers >= 0, "the number of layers is negative");
    check(batch);
    MessagePassing passing(shape_, weights_, *loops_, batch, threads);
    ValueReader reader(shape_, weights_, *loops_, batch, passing.run(layers), threads);
    switch (shape_.readout) {
        case Readout::kNodes: return reader.from_nodes();
        case Readout::kGraphs: return reader.from_graphs();
        default: return reader.from_pairs();
    }
}

void Network::check(const NetworkBatch& batch) const {
    const auto& graphs = batch.graph_offset;
    require(!graphs.empty() && graphs.front() == 0 && std::is_sorted(graphs.begin(), graphs.end()),
            "graph_offset does not ascend from 0");
    require(graphs.size() == batch.object_count.size() + 1, "object_count does not fit graph_offset");
    for (std::size_t i = 0; i < batch.object_count.size(); ++i)
        require(batch.object_count[i] >= 0 && batch.object_count[i] <= graphs[i + 1] - graphs[i],
                "a graph has more objects than nodes");
    const auto& offset = batch.argument_offset;
    require(offset.size() == shape_.arity.size() + 1 && offset.front() == 0 &&
                offset.back() == static_cast<std::int64_t>(batch.arguments.size()) &&
                std::is_sorted(offset.begin(), offset.end()),
            "argument_offset fits neither the relations nor the arguments");
    for (std::size_t i = 0; i < shape_.arity.size(); ++i)
        require((offset[i + 1] - offset[i]) % shape_.arity[i] == 0, "arguments do not fit a relation's arity");
    require(all_below(batch.arguments, batch.nodes()), "an argument is not a node");
    require(all_below(batch.candidate_graph, batch.graphs()), "a candidate's graph does not exist");
    if (shape_.readout == Readout::kNodes) {
        require(batch.candidate_node.size() == batch.candidate_graph.size(), "candidate_node has another length");
        require(all_below(batch.candidate_node, batch.nodes()), "a candidate is not a node");
    } else if (shape_.readout == Readout::kPairs) {
        require(batch.source_graph.size() == batch.candidate_graph.size(), "source_graph has another length");
        require(all_below(batch.source_graph, batch.graphs()), "a source graph does not exist");
        for (std::size_t i = 0; i < batch.candidate_graph.size(); ++i)
            require(batch.object_count[static_cast<std::size_t>(batch.source_graph[i])] ==
                        batch.object_count[static_cast<std::size_t>(batch.candidate_graph[i])],
                    "two graphs of a pair have different objects");
    }
}

}  // namespace saltus
