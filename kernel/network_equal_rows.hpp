// Network equal rows: nodes with the same embedding, and the atoms over them that send the same messages.
//
// All embeddings are equal before the first layer, and few are different after it. Rows are compared bit by bit, so an
// atom that takes another's messages gets exactly those that it would have computed.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace saltus {

// Nodes in groups whose embeddings are equal.
struct EqualRows {
    std::vector<std::int32_t> group;  // [nodes]; empty if there are too many groups to be of use
    std::int32_t groups = 0;
    std::vector<std::uint8_t> is_single;  // [groups]: whether it has one node
};

// `x` is [nodes, width].
EqualRows find_equal_rows(const float* x, std::int64_t nodes, std::int64_t width);

// Atoms in classes whose arguments are in the same groups.
struct DistinctAtoms {
    std::vector<std::int32_t> number;  // [atoms]: the class
    std::vector<std::int32_t> first;   // [classes]: its first atom; empty if there are more than asked for
};

// `arguments` is [atoms, arity]. Gives up where that would take long or find more than `most` classes.
DistinctAtoms find_distinct_atoms(const EqualRows& rows, std::span<const std::int32_t> arguments, std::int64_t arity,
                                  std::int64_t most);

}  // namespace saltus
