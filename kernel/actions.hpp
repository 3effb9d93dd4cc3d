// Actions: those applicable in a state, the states they lead to, and bindings of other conjunctions.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "task.hpp"

namespace saltus {

struct Actions {
    std::vector<std::int32_t> schema;              // [actions]
    std::vector<std::int64_t> argument_offset{0};  // [actions + 1]
    std::vector<Object> argument;

    void append(std::int32_t number, std::span<const Object> arguments) {
        schema.push_back(number);
        argument.insert(argument.end(), arguments.begin(), arguments.end());
        argument_offset.push_back(static_cast<std::int64_t>(argument.size()));
    }
};

// The first `limit` applicable actions: schemas in the task's order, bindings in lexicographic order.
Actions applicable(const Task& task, std::span<const Code> state, std::int64_t limit);

// Number of applicable actions of every schema.
std::vector<std::int64_t> count_applicable(const Task& task, std::span<const Code> state);

// Arguments of the applicable action number `index` of a schema, in an order of the kernel's own: cheaper to find than
// the lexicographic one.
std::vector<Object> pick_action(const Task& task, std::span<const Code> state, std::int32_t schema, std::int64_t index);

// State after an applicable action.
std::vector<Code> successor(const Task& task, std::span<const Code> state, std::int32_t schema,
                            std::span<const Object> arguments);

struct Bindings {
    std::int64_t count = 0;
    std::vector<Object> objects;  // [count, variables]
};

// At most `limit` bindings of different variables to different objects. Candidates are tried in the random order of
// `seed`; the search gives up after `steps` steps.
Bindings find_bindings(const Task& task, std::span<const Code> state, const Pattern& pattern, std::int64_t limit,
                       std::uint64_t seed, std::int64_t steps);

}  // namespace saltus
