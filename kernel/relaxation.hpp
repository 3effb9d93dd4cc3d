// Relaxation: which goals can be reached if nothing that is true ever becomes false.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "keys.hpp"
#include "task.hpp"

namespace saltus {

// Whether the positive goal atoms are reached from a state by actions that delete nothing and whose negative
// preconditions are taken as true. If not, no plan leads from the state to the goal; if so, nothing is known. There is
// no answer once the work done (atoms indexed, anew in every round of actions, and steps of joins) exceeds `work`.
std::optional<bool> relaxed_reaches(const Task& task, std::span<const Code> state, std::span<const Code> goal,
                                    std::int64_t work);

// The same question by one pass over ground rules, for tasks that have few of them. They are grounded by what never
// changes (types, static atoms, equality), hence hold in every state.
class GroundRelaxation {
public:
    // Grounds nothing if rules could have more than `limit` atoms in all, if counting them takes more than `limit`
    // steps, or if memory does not suffice.
    GroundRelaxation(const Task& task, std::int64_t limit);
    GroundRelaxation() = default;

    bool complete() const { return complete_; }
    std::int64_t rules() const { return static_cast<std::int64_t>(open_.size()); }
    // Only where it is complete.
    bool reaches(std::span<const Code> state, std::span<const Code> goal) const;

private:
    bool complete_ = false;
    void ground(const Task& task, std::int64_t limit);

    KeyNumbers atoms_;                      // those that rules mention
    std::vector<std::int32_t> open_;        // [rules]: conditions
    std::vector<std::int32_t> ready_;       // rules without a condition
    std::vector<std::int32_t> first_head_;  // [rules + 1]
    std::vector<std::int32_t> head_;
    std::vector<std::int32_t> first_use_;  // [atoms + 1]
    std::vector<std::int32_t> use_;        // rules that an atom is a condition of, once for every time it is
};

}  // namespace saltus
