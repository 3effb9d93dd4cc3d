// Conjunction: bindings under which a lifted conjunction holds in a state.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "task.hpp"

namespace saltus {

struct Bindings {
    std::int64_t count = 0;
    std::vector<Object> objects;  // [count, variables]
};

// At most `limit` bindings of different variables to different objects. Candidates are tried in the random order of
// `seed`; the search gives up after `steps` steps.
Bindings find_bindings(const Task& task, std::span<const Code> state, const Pattern& pattern, std::int64_t limit,
                       std::uint64_t seed, std::int64_t steps);

}  // namespace saltus
