// Changes: what an action adds and deletes, and how its successor differs from the root of a lookahead.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "match.hpp"
#include "state.hpp"

namespace saltus {

class Changes {
public:
    Changes(const Task& task, const StateView& view) : task_(task), matcher_(view) {}

    // Computes the changes by an action in the state that the view shows. Both lists are sorted; an atom that is both
    // added and deleted counts as added only.
    void compute(const Schema& schema, const std::vector<Object>& binding);

    std::vector<Code> adds;
    std::vector<Code> deletes;

private:
    void collect(const Effect& effect, const std::vector<Object>& binding);

    const Task& task_;
    Matcher matcher_;
};

// How a state differs from the root; both lists are sorted.
class Difference {
public:
    // Computes the difference of a successor from its parent's difference and the action's changes.
    void compute(std::span<const Code> parent_added, std::span<const Code> parent_deleted, const Changes& changes,
                 const StateView& view);
    bool empty() const { return added.empty() && deleted.empty(); }
    std::uint64_t hash() const;

    std::vector<Code> added;    // absent from the root
    std::vector<Code> deleted;  // present in the root

private:
    std::vector<Code> scratch_;
};

}  // namespace saltus
