// Actions: those applicable in a state, and the states they lead to.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "task.hpp"

namespace saltus {

struct Actions {
    std::vector<std::int32_t> schema;           // [actions]
    std::vector<std::int64_t> argument_offset;  // [actions + 1]
    std::vector<Object> argument;
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

}  // namespace saltus
