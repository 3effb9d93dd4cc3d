// Relaxation: which goals can be reached if nothing that is true ever becomes false.
#pragma once

#include <span>

#include "task.hpp"

namespace saltus {

// Whether the positive goal atoms are reached from a state by actions that delete nothing and whose negative
// preconditions are taken as true. If not, no plan leads from the state to the goal; if so, nothing is known. The answer
// is yes, too, once the work done (atoms indexed, anew in every round of actions, and steps of joins) exceeds `work`.
bool relaxed_reaches(const Task& task, std::span<const Code> state, std::span<const Code> goal, std::int64_t work);

}  // namespace saltus
