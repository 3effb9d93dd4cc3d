// Colours: objects told apart by 1-WL refinement, and objects that are exactly interchangeable.
#pragma once

#include <span>
#include <vector>

#include "task.hpp"

namespace saltus {

struct Symmetry {
    std::vector<std::int32_t>
        colour;  // [objects]: stable 1-WL colour over state, goal and statics, numbered by first object
    std::vector<std::int32_t> rank;  // [objects]: how many earlier objects can be exchanged with this one
};

// Objects that schemas name have colours of their own: exchanging them would change what actions do.
Symmetry find_symmetry(const Task& task, std::span<const Code> state, std::span<const Code> goal_positive,
                       std::span<const Code> goal_negative);

}  // namespace saltus
