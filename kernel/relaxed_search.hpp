// Relaxed search: plans for a ground task, found by relaxed plans. Twin: src/saltus/policy/relaxed_reference.py.
//
// The search is greedy: a state is worth the number of actions of a relaxed plan, in which nothing becomes false. Goals
// are reached one by one and, if that fails, at once.
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

// Ground actions. What an action both adds and deletes is true afterwards. No list has an atom twice.
struct ListedActions {
    std::size_t atoms = 0;
    AtomLists needs;
    AtomLists forbids;
    AtomLists adds;
    AtomLists deletes;

    std::size_t count() const { return needs.offset.size() - 1; }
};

struct RelaxedGoal {
    std::span<const std::int32_t> wanted;
    std::span<const std::int32_t> unwanted;
};

struct RelaxedFound {
    bool is_plan = false;
    std::vector<std::int32_t> actions;  // to the goal, or to a state with as many goals as could be reached
    std::int64_t work = 0;
};

// What a search comes by before it has done `most_work`: the sizes of all ground actions, each time that a state is
// valued or left. A search whose states and queues take a gigabyte ends, too. `goal_share` is the part of the work that
// a single goal may take.
RelaxedFound relaxed_search(const ListedActions& actions, std::span<const std::int32_t> initial,
                            const RelaxedGoal& goal, std::int64_t most_work, std::int64_t goal_share);

}  // namespace saltus
