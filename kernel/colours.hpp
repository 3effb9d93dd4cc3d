// Colours: objects distinguished by 1-WL refinement, and objects that are exactly interchangeable.
#pragma once

#include <span>
#include <vector>

#include "task.hpp"

namespace saltus {

struct Symmetry {
    // [objects]: stable 1-WL colour over state, goal and static atoms, numbered by first object.
    std::vector<std::int32_t> colour;
    // [objects]: how many earlier objects this one can be exchanged with.
    std::vector<std::int32_t> rank;
};

// Objects named by schemas have colours of their own: exchanging them would change what actions do.
Symmetry find_symmetry(const Task& task, std::span<const Code> state, std::span<const Code> goal_positive,
                       std::span<const Code> goal_negative);

}  // namespace saltus
