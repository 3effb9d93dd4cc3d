// Layout: a batch of graphs as the padded arrays that recorded work on a GPU reads, written into one block of memory.
//
// Same bytes as `fill_layout` in src/saltus/model/padding.py writes for the layout of `make_layout`.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace saltus {

// Arrays of a batch, described in src/saltus/graph/batch.py.
struct LayoutBatch {
    std::span<const std::int32_t> graph_offset;
    std::span<const std::int32_t> object_count;
    std::span<const std::int64_t> argument_offset;
    std::span<const std::int32_t> arguments;
    std::span<const std::int32_t> slot_position;
    std::span<const std::int32_t> slot_offset;
    std::span<const std::int32_t> candidate_node;
    std::span<const std::int32_t> candidate_graph;
    std::span<const std::int32_t> depth_node;
};

// Where an array lies in the block.
struct BlockSpan {
    std::int64_t start = 0;  // in bytes
    std::int64_t size = 0;   // number of entries
};

// Writes the arrays of `LayoutArrays` (src/saltus/model/padding.py), which lie at `spans` in that order, group by group
// after the others. Tiles and pieces have at most so many rows. Throws std::invalid_argument if the arrays of the batch
// do not fit each other or the block.
void fill_layout(const LayoutBatch& batch, std::span<const std::int32_t> arity, std::int64_t tile, std::int64_t piece,
                 std::span<std::byte> block, std::span<const BlockSpan> spans);

}  // namespace saltus
