// State: a root state with indices, seen through an overlay of added and deleted atoms.
//
// One StateView serves a whole lookahead: the root's atoms are indexed once, and showing another state of the tree
// costs only as much as it differs from the root.
#pragma once

#include <span>
#include <vector>

#include "keys.hpp"
#include "task.hpp"

namespace saltus {

// A state without some atoms and with others; all are sorted.
std::vector<Code> changed_state(std::span<const Code> state, std::span<const Code> added,
                                std::span<const Code> deleted);

class StateView {
public:
    StateView(const Task& task, std::span<const Code> root);

    // Shows the root with these differences: `added` are absent from the root, `deleted` are present in it.
    void show(std::span<const Code> added, std::span<const Code> deleted);

    // Shows one more atom, which does not hold.
    void insert(Code code);

    bool root_holds(Code code) const { return root_atoms_.find(code) >= 0; }
    bool holds(Code code) const {
        const std::int32_t i = root_atoms_.find(code);
        return i >= 0 ? alive_[static_cast<std::size_t>(i)] != 0 : (extra_set_.size() > 0 && extra_set_.contains(code));
    }
    const Task& task() const { return task_; }

    // Atoms of a fluent predicate: root rows that are alive, then extra rows.
    const Relation& root_relation(std::int32_t predicate) const { return root_[static_cast<std::size_t>(predicate)]; }
    bool root_row_alive(std::int32_t predicate, std::int32_t row) const {
        return alive_[static_cast<std::size_t>(first_atom_[static_cast<std::size_t>(predicate)] + row)] != 0;
    }
    std::span<const Object> extra_rows(std::int32_t predicate) const {
        return extra_[static_cast<std::size_t>(predicate)];
    }
    std::int32_t extra_count(std::int32_t predicate) const { return extra_size_[static_cast<std::size_t>(predicate)]; }

private:
    void add_extra(Code code);

    const Task& task_;
    std::vector<Relation> root_;            // [predicates]
    std::vector<std::int32_t> first_atom_;  // [predicates]: number of the predicate's first root atom
    KeyNumbers root_atoms_;
    std::vector<std::uint8_t> alive_;         // [root atoms]
    std::vector<std::int32_t> dead_;          // root atoms that are deleted
    std::vector<std::vector<Object>> extra_;  // [predicates]: rows of added atoms
    std::vector<std::int32_t> extra_size_;    // [predicates]
    std::vector<std::int32_t> extra_predicates_;
    KeySet extra_set_;
    std::vector<Object> arguments_;
};

}  // namespace saltus
