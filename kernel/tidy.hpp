// Tidy: plans without detours that nothing needs. Twins: `without_loops` and `without_redundant` in
// src/saltus/policy/tidy.py.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "listed.hpp"

namespace saltus {

// A plan is a list of actions, by number, that leads from the initial state to the goal. Both functions return the
// positions of the actions that stay, ascending.

// Without the actions between two visits to a state, and without those after the first goal state.
std::vector<std::int32_t> without_loops(const ListedActions& actions, std::span<const std::int32_t> plan,
                                        std::span<const std::int32_t> initial, const ListedGoal& goal);

// Without actions that the goal does not need: in order, an action goes, with all later ones that need it, if the goal
// is still reached. Ends once it has looked at more than `most_work` atoms; what it has removed by then stays removed.
std::vector<std::int32_t> without_redundant(const ListedActions& actions, std::span<const std::int32_t> plan,
                                            std::span<const std::int32_t> initial, const ListedGoal& goal,
                                            std::int64_t most_work);

}  // namespace saltus
