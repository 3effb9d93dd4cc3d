// Reader: PDDL text -> flat token arrays, and token arrays -> ground atoms.
//
// Knows only parentheses, names and ground atoms. Positions are byte offsets; line and column are computed only when an
// error is reported. Cost: two passes over the text, 8 bytes per token. Twin in Python: tests/twins/reader.py.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace saltus {

inline constexpr std::int32_t kClose = -1;  // ")" ; "(" is ~(index of its ")"), always below -1

enum class ScanError : std::int32_t {
    none = 0,
    empty = 1,        // no expression at all
    character = 2,    // a byte that PDDL does not use
    extra_close = 3,  // ")" without "("
    unclosed = 4,     // "(" without ")"
    outside = 5,      // a name outside all parentheses
    second = 6,       // a second expression after the first
    nesting = 7,      // deeper than the limit
};

struct Tokens {
    std::vector<std::int32_t> token;    // symbol (>= 0), kClose, or ~(index of the matching close)
    std::vector<std::uint32_t> offset;  // byte offset of every token
    std::vector<std::string> symbols;   // distinct names, lower case, in order of first appearance
    ScanError error = ScanError::none;
    std::uint64_t error_offset = 0;
};

Tokens scan(std::string_view text, std::uint32_t max_nesting);

inline constexpr std::int32_t kSpecialHead = -2;  // in predicate_of_symbol: leave this entry to the caller

struct AtomTables {
    std::span<const std::int32_t> predicate_of_symbol;  // [symbols], -1 unknown, kSpecialHead
    std::span<const std::int32_t> object_of_symbol;     // [symbols], -1 unknown
    std::span<const std::int32_t> arity;                // [predicates]
    std::span<const std::int32_t> first_slot;           // [predicates], row of argument 0 in `allowed`
    std::span<const std::uint8_t> allowed;              // [slots, types]
    std::span<const std::int32_t> object_type;          // [objects]
    std::int32_t types = 0;

    // Throws an invalid_argument unless every number lies within the table that it points into.
    void check() const;
};

struct Atoms {
    std::vector<std::int32_t> predicate;  // [atoms], in text order, duplicates removed
    std::vector<std::int32_t> argument;   // [sum of arities]
    std::vector<std::int32_t> special;    // token index of every entry with a special head
    std::vector<std::int32_t> duplicate;  // token index of every repeated atom
    std::int32_t refused = -1;            // token index of the first entry that is no valid atom, where reading stops
};

// The ground atoms listed in tokens [begin, end). The caller finds out what is wrong with a refused entry.
Atoms read_atoms(std::span<const std::int32_t> token, std::int32_t begin, std::int32_t end, const AtomTables& tables);

}  // namespace saltus
