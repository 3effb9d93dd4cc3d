// Scene: what a search sees: the root, the goal, and one state at a time, shown as a difference from the root.
//
// Modulo free moves, the view shows closures: states in which every agent is at all of its places at once.
#pragma once

#include <cstdint>
#include <optional>
#include <unordered_map>
#include <vector>

#include "lookahead.hpp"
#include "match.hpp"
#include "places.hpp"
#include "state.hpp"

namespace saltus {

struct Scene {
    explicit Scene(const Situation& start);

    // Whether the root has an atom; the view's root is its closure.
    bool in_root(Code code);
    // 1 if the goal wants an atom, -1 if it wants it to be false, 0 if it does not mention it.
    std::int32_t goal_sign(Code code) const {
        const auto found = goal_signs.find(code);
        return found == goal_signs.end() ? 0 : found->second;
    }
    bool is_mentioned(Code code) const { return goal_signs.contains(code); }

    const Situation& situation;
    const Task& task;
    std::optional<Places> places;  // modulo free moves
    std::vector<Code> closure;     // of the root
    StateView view;
    Matcher matcher;
    std::unordered_map<Code, std::int32_t> goal_signs;
    std::vector<Object> arguments;  // scratch
};

}  // namespace saltus
