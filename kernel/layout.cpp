#include "layout.hpp"

#include <algorithm>
#include <cstddef>
#include <set>
#include <stdexcept>
#include <vector>

namespace saltus {

namespace {

void require(bool condition, const char* message) {
    if (!condition) throw std::invalid_argument(message);
}

std::size_t index(std::int64_t value) { return static_cast<std::size_t>(value); }

void check_batch(const LayoutBatch& batch, std::span<const std::int32_t> arity) {
    require(batch.argument_offset.size() == arity.size() + 1 && batch.argument_offset.front() == 0 &&
                batch.argument_offset.back() == static_cast<std::int64_t>(batch.arguments.size()),
            "argument offsets do not fit");
    for (std::size_t r = 0; r < arity.size(); ++r) {
        const std::int64_t size = batch.argument_offset[r + 1] - batch.argument_offset[r];
        require(arity[r] > 0 && size >= 0 && size % arity[r] == 0, "arguments do not fit the arities");
    }
    require(batch.slot_position.size() == batch.arguments.size(), "slot positions do not fit");
    require(batch.graph_offset.size() == batch.object_count.size() + 1 && batch.graph_offset.front() == 0 &&
                batch.slot_offset.size() == index(batch.graph_offset.back()) + 1,
            "graph offsets do not fit");
    require(std::all_of(batch.object_count.begin(), batch.object_count.end(), [](std::int32_t n) { return n >= 0; }),
            "a graph has fewer than no objects");
    require(batch.candidate_node.size() == batch.candidate_graph.size() &&
                std::is_sorted(batch.candidate_graph.begin(), batch.candidate_graph.end()),
            "candidates are not in the order of their graphs");
}

// Hands out the arrays of a block one after another.
class Block {
public:
    Block(std::span<std::byte> memory, std::span<const BlockSpan> spans) : memory_(memory), spans_(spans) {}

    // The next array, which must have room for `least` entries.
    template <typename Value>
    std::span<Value> next(std::size_t least) {
        require(at_ < spans_.size(), "the block has too few arrays");
        const auto [start, size] = spans_[at_++];
        const auto bytes = static_cast<std::int64_t>(memory_.size());
        require(start >= 0 && size >= 0 && start <= bytes &&
                    size <= (bytes - start) / static_cast<std::int64_t>(sizeof(Value)),
                "an array lies outside of the block");
        std::byte* place = memory_.data() + start;
        require(reinterpret_cast<std::uintptr_t>(place) % alignof(Value) == 0, "an array is not aligned");
        require(index(size) >= least, "an array is too small for the batch");
        return {reinterpret_cast<Value*>(place), index(size)};
    }
    // The next array with these values and `rest` after them.
    template <typename Value>
    std::span<Value> put(std::span<const std::int32_t> values, Value rest) {
        const std::span<Value> array = next<Value>(values.size());
        std::fill(std::copy(values.begin(), values.end(), array.begin()), array.end(), rest);
        return array;
    }
    bool done() const { return at_ == spans_.size(); }

private:
    std::span<std::byte> memory_;
    std::span<const BlockSpan> spans_;
    std::size_t at_ = 0;
};

// First rows and end rows of pieces of at most `most` rows of one relation, each with the number of the relation; the
// rest is 0. Where the pieces of each relation begin is appended to `first`, if given.
void put_pieces(std::span<const std::int64_t> offset, std::int64_t most, Block& block,
                std::vector<std::int64_t>* first) {
    std::int64_t count = 0;
    for (std::size_t r = 0; r + 1 < offset.size(); ++r) count += (offset[r + 1] - offset[r] + most - 1) / most;
    const std::span<std::int32_t> array = block.next<std::int32_t>(index(3 * count));
    std::size_t at = 0;
    for (std::size_t r = 0; r + 1 < offset.size(); ++r) {
        if (first != nullptr) first->push_back(static_cast<std::int64_t>(at / 3));
        for (std::int64_t row = offset[r]; row < offset[r + 1]; row += most) {
            array[at++] = static_cast<std::int32_t>(r);
            array[at++] = static_cast<std::int32_t>(row);
            array[at++] = static_cast<std::int32_t>(std::min(row + most, offset[r + 1]));
        }
    }
    std::fill(array.begin() + static_cast<std::ptrdiff_t>(at), array.end(), 0);
    if (first != nullptr) first->push_back(static_cast<std::int64_t>(array.size() / 3));  // the rest is the last one's
}

void put_group(const LayoutBatch& batch, std::span<const std::int32_t> arity, std::int32_t own, std::int64_t tile,
               std::int64_t piece, Block& block) {
    std::vector<std::int64_t> offset{0};
    for (std::size_t r = 0; r < arity.size(); ++r)
        if (arity[r] == own)
            offset.push_back(offset.back() + (batch.argument_offset[r + 1] - batch.argument_offset[r]) / own);
    for (std::span<const std::int32_t> values : {batch.arguments, batch.slot_position}) {
        const std::span<std::int32_t> array = block.next<std::int32_t>(index(offset.back() * own));
        auto out = array.begin();
        for (std::size_t r = 0; r < arity.size(); ++r)
            if (arity[r] == own)
                out = std::copy(values.begin() + batch.argument_offset[r],
                                values.begin() + batch.argument_offset[r + 1], out);
        std::fill(out, array.end(), 0);
    }
    put_pieces(offset, tile, block, nullptr);
    std::vector<std::int64_t> first;
    put_pieces(offset, piece, block, &first);
    const std::span<std::int64_t> array = block.next<std::int64_t>(first.size());
    require(array.size() == first.size(), "piece offsets do not fit");
    std::copy(first.begin(), first.end(), array.begin());
}

}  // namespace

void fill_layout(const LayoutBatch& batch, std::span<const std::int32_t> arity, std::int64_t tile, std::int64_t piece,
                 std::span<std::byte> memory, std::span<const BlockSpan> spans) {
    require(!batch.argument_offset.empty() && !batch.graph_offset.empty() && tile > 0 && piece > 0, "no batch");
    check_batch(batch, arity);
    const std::size_t graphs = batch.object_count.size();
    std::int64_t objects = 0;
    for (std::int32_t count : batch.object_count) objects += count;
    Block block(memory, spans);

    // One more node than the batch has, and one more graph, own the padding.
    const auto slots = static_cast<std::int32_t>(batch.arguments.size());
    const auto slot_offset = block.put<std::int32_t>(batch.slot_offset, slots);
    require(slot_offset.size() > batch.slot_offset.size(), "the block has no node for the padding");
    const auto spare_node = static_cast<std::int64_t>(slot_offset.size()) - 2;
    const auto object_node = block.next<std::int64_t>(index(objects));
    const auto object_graph = block.next<std::int64_t>(index(objects));
    const auto object_offset = block.next<std::int32_t>(graphs + 2);
    const auto last_graph = static_cast<std::int64_t>(object_offset.size()) - 2;
    std::size_t at = 0;
    for (std::size_t graph = 0; graph < graphs; ++graph) {
        object_offset[graph] = static_cast<std::int32_t>(at);
        for (std::int32_t i = 0; i < batch.object_count[graph]; ++i, ++at) {
            object_node[at] = batch.graph_offset[graph] + i;
            object_graph[at] = static_cast<std::int64_t>(graph);
        }
    }
    require(object_graph.size() == object_node.size(), "arrays of objects differ in size");
    std::fill(object_node.begin() + static_cast<std::ptrdiff_t>(at), object_node.end(), spare_node);
    std::fill(object_graph.begin() + static_cast<std::ptrdiff_t>(at), object_graph.end(), last_graph);
    std::fill(object_offset.begin() + static_cast<std::ptrdiff_t>(graphs), object_offset.end(),
              static_cast<std::int32_t>(at));
    object_offset.back() = static_cast<std::int32_t>(object_node.size());

    const auto candidate_node = block.put<std::int64_t>(batch.candidate_node, spare_node);
    block.put<std::int64_t>(batch.candidate_graph, last_graph);
    const auto graph_candidate = block.next<std::int32_t>(graphs + 2);
    std::size_t candidate = 0;
    for (std::size_t graph = 0; graph <= graphs; ++graph) {
        while (candidate < batch.candidate_graph.size() &&
               batch.candidate_graph[candidate] < static_cast<std::int32_t>(graph))
            ++candidate;
        graph_candidate[graph] = static_cast<std::int32_t>(candidate);
    }
    std::fill(graph_candidate.begin() + static_cast<std::ptrdiff_t>(graphs), graph_candidate.end(),
              static_cast<std::int32_t>(candidate));
    graph_candidate.back() = static_cast<std::int32_t>(candidate_node.size());
    block.put<std::int64_t>(batch.depth_node, spare_node);

    for (std::int32_t own : std::set<std::int32_t>(arity.begin(), arity.end()))
        put_group(batch, arity, own, tile, piece, block);
    require(block.done(), "the block has too many arrays");
}

}  // namespace saltus
