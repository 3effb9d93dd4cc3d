#include "network_equal_rows.hpp"

#include <algorithm>
#include <cstring>

#include "keys.hpp"

namespace saltus {

namespace {

constexpr std::int64_t kSlotsPerAtom = 8;  // most entries per atom of a table that finds an atom's class

std::int64_t hash_of(const float* row, std::int64_t width) {
    std::uint64_t hash = 0;
    for (std::int64_t k = 0; k < width; k += 2) {
        std::uint64_t word = 0;
        std::memcpy(&word, row + k, sizeof word);  // widths are even
        hash = (hash ^ word) * 0x9E3779B97F4A7C15ULL;
        hash ^= hash >> 32;
    }
    return static_cast<std::int64_t>(hash);
}

}  // namespace

EqualRows find_equal_rows(const float* x, std::int64_t nodes, std::int64_t width) {
    EqualRows result;
    KeyNumbers known;
    std::vector<std::int32_t> group_of;  // [numbers of hashes]
    std::vector<std::int64_t> first;     // [groups]
    result.group.reserve(static_cast<std::size_t>(nodes));
    for (std::int64_t node = 0; node < nodes; ++node) {
        const float* row = x + node * width;
        const auto number = static_cast<std::size_t>(known.number(hash_of(row, width)));
        std::int32_t group = result.groups;
        if (number == group_of.size()) {
            group_of.push_back(group);
        } else if (const std::int64_t other = first[static_cast<std::size_t>(group_of[number])];
                   std::memcmp(row, x + other * width, static_cast<std::size_t>(width) * sizeof(float)) == 0) {
            group = group_of[number];
        }
        if (group == result.groups) {
            first.push_back(node);
            result.is_single.push_back(1);
            ++result.groups;
        } else {
            result.is_single[static_cast<std::size_t>(group)] = 0;
        }
        if (2 * std::int64_t{result.groups} > nodes) return {};
        result.group.push_back(group);
    }
    return result;
}

DistinctAtoms find_distinct_atoms(const EqualRows& rows, std::span<const std::int32_t> arguments, std::int64_t arity,
                                  std::int64_t most) {
    const auto slots = static_cast<std::int64_t>(arguments.size());
    const std::int64_t atoms = slots / arity;
    auto group_at = [&](std::int64_t slot) {
        return static_cast<std::size_t>(
            rows.group[static_cast<std::size_t>(arguments[static_cast<std::size_t>(slot)])]);
    };
    const bool all_differ = std::all_of(arguments.begin(), arguments.end(), [&](std::int32_t node) {
        return rows.is_single[static_cast<std::size_t>(rows.group[static_cast<std::size_t>(node)])] != 0;
    });
    if (all_differ) return {};
    std::vector<std::int64_t> entry(static_cast<std::size_t>(atoms), 0);
    std::vector<std::int32_t> local(static_cast<std::size_t>(rows.groups));  // numbers of the groups at a position
    std::int64_t entries = 1;
    for (std::int64_t p = 0; p < arity; ++p) {
        std::fill(local.begin(), local.end(), -1);
        std::int32_t count = 0;
        for (std::int64_t slot = p; slot < slots; slot += arity)
            if (std::int32_t& number = local[group_at(slot)]; number < 0) number = count++;
        entries *= count;
        if (entries > kSlotsPerAtom * atoms) return {};
        for (std::int64_t atom = 0; atom < atoms; ++atom) {
            std::int64_t& own = entry[static_cast<std::size_t>(atom)];
            own = own * count + local[group_at(atom * arity + p)];
        }
    }
    DistinctAtoms result;
    result.number.reserve(static_cast<std::size_t>(atoms));
    std::vector<std::int32_t> class_of(static_cast<std::size_t>(entries), -1);
    for (std::int64_t atom = 0; atom < atoms; ++atom) {
        std::int32_t& number = class_of[static_cast<std::size_t>(entry[static_cast<std::size_t>(atom)])];
        if (number < 0) {
            if (static_cast<std::int64_t>(result.first.size()) == most) return {};
            number = static_cast<std::int32_t>(result.first.size());
            result.first.push_back(static_cast<std::int32_t>(atom));
        }
        result.number.push_back(number);
    }
    return result;
}

}  // namespace saltus
