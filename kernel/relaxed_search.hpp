// Relaxed search: plans for a ground task, found by relaxed plans. Twin: tests/twins/relaxed_plans.py.
//
// The search is greedy: a state is worth the number of actions of a relaxed plan, in which nothing becomes false. Goals
// are reached one by one and, if that fails, at once.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "listed.hpp"

namespace saltus {

struct RelaxedFound {
    bool is_plan = false;
    std::vector<std::int32_t> actions;  // to the goal, or to a state with as many goals as could be reached
    std::int64_t work = 0;
};

// What a search comes by before it has done `most_work`: the sizes of all ground actions, each time that a state is
// valued or left. A search whose states and queues take a gigabyte ends, too. `goal_share` is the part of the work that
// a single goal may take.
RelaxedFound relaxed_search(const ListedActions& actions, std::span<const std::int32_t> initial, const ListedGoal& goal,
                            std::int64_t most_work, std::int64_t goal_share);

}  // namespace saltus
