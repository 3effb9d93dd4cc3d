// Walks: what agents do between the actions of a tree modulo free moves, and the states that are the same but for that.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "actions.hpp"
#include "free_moves.hpp"

namespace saltus {

// Walks that lead from a state to one in which an action of a tree is applicable, agent by agent. Throws an
// invalid_argument if an agent does not reach the place where the action needs it.
Actions walks_before(const FreeMoves& moves, std::span<const Code> state, std::int32_t schema,
                     std::span<const Object> arguments);

// The state that stands for all states between which agents only walk: every agent is at the first of its places that
// the goal does not mention, unless the goal mentions the place where it is, or others may take its moves away.
std::vector<Code> canonical_state(const FreeMoves& moves, std::span<const Code> state,
                                  std::span<const Code> goal_positive, std::span<const Code> goal_negative);

}  // namespace saltus
