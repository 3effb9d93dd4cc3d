// Colours: objects distinguished by 1-WL refinement, and objects that are exactly interchangeable.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "keys.hpp"
#include "task.hpp"

namespace saltus {

// Calls visit(object, hash) for every object of an atom, once: what the atom says about it, with its own places left
// blank. Objects about which all atoms say the same are interchangeable.
template <typename Visit>
void visit_parts(std::uint64_t label, std::span<const Object> arguments, Visit&& visit) {
    for (auto here = arguments.begin(); here != arguments.end(); ++here) {
        if (std::find(arguments.begin(), here, *here) != here) continue;  // visited at its first place
        std::uint64_t hash = label;
        for (Object other : arguments) hash = join(hash, other == *here ? 0 : static_cast<std::uint64_t>(other) + 1);
        visit(*here, mix(hash));
    }
}

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
