// Listed: ground actions as lists of numbered atoms.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace saltus {

// Lists of atoms, one per action, one after the other.
struct AtomLists {
    std::span<const std::int32_t> offset;  // [actions + 1]
    std::span<const std::int32_t> atom;

    std::span<const std::int32_t> operator[](std::size_t action) const {
        const auto first = static_cast<std::size_t>(offset[action]);
        return atom.subspan(first, static_cast<std::size_t>(offset[action + 1]) - first);
    }
};

// The same while it grows.
struct GrowingLists {
    std::vector<std::int32_t> offset{0};
    std::vector<std::int32_t> atom;

    // Ends the list of an action.
    void close() { offset.push_back(static_cast<std::int32_t>(atom.size())); }
    operator AtomLists() const { return {offset, atom}; }
    std::span<const std::int32_t> operator[](std::int32_t action) const {
        return AtomLists(*this)[static_cast<std::size_t>(action)];
    }
};

// The lists turned around: for each of so many atoms, the actions whose lists have it, once per occurrence, ascending.
inline GrowingLists inverse(const AtomLists& lists, std::size_t atoms) {
    GrowingLists result{std::vector<std::int32_t>(atoms + 1, 0), std::vector<std::int32_t>(lists.atom.size())};
    for (const std::int32_t atom : lists.atom) ++result.offset[static_cast<std::size_t>(atom) + 1];
    for (std::size_t atom = 0; atom < atoms; ++atom) result.offset[atom + 1] += result.offset[atom];
    std::vector<std::int32_t> next(result.offset.begin(), result.offset.end() - 1);
    for (std::size_t action = 0; action + 1 < lists.offset.size(); ++action)
        for (const std::int32_t atom : lists[action])
            result.atom[static_cast<std::size_t>(next[static_cast<std::size_t>(atom)]++)] =
                static_cast<std::int32_t>(action);
    return result;
}

// Ground actions. What an action both adds and deletes is true afterwards. No list has an atom twice.
struct ListedActions {
    std::size_t atoms = 0;
    AtomLists needs;
    AtomLists forbids;
    AtomLists adds;
    AtomLists deletes;

    std::size_t count() const { return needs.offset.size() - 1; }
};

// Atoms that must hold in the end, and atoms that must not.
struct ListedGoal {
    std::span<const std::int32_t> wanted;
    std::span<const std::int32_t> unwanted;
};

}  // namespace saltus
