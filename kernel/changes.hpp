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

    // Sorts both lists; to be called after changes by hand.
    void settle();

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
    // `in_root(code)` says whether the root has an atom.
    template <typename InRoot>
    void compute(std::span<const Code> parent_added, std::span<const Code> parent_deleted, const Changes& changes,
                 InRoot&& in_root) {
        added.clear();
        deleted.clear();
        scratch_.clear();
        for (Code code : changes.adds)
            if (!in_root(code)) scratch_.push_back(code);
        merge(parent_added, changes.deletes, scratch_, added);
        scratch_.clear();
        for (Code code : changes.deletes)
            if (in_root(code)) scratch_.push_back(code);
        merge(parent_deleted, changes.adds, scratch_, deleted);
    }
    bool empty() const { return added.empty() && deleted.empty(); }
    std::uint64_t hash() const;

    std::vector<Code> added;    // absent from the root
    std::vector<Code> deleted;  // present in the root

private:
    // Appends (kept without removed) united with extra to the result; all are sorted.
    static void merge(std::span<const Code> kept, const std::vector<Code>& removed, const std::vector<Code>& extra,
                      std::vector<Code>& result);

    std::vector<Code> scratch_;
};

}  // namespace saltus
