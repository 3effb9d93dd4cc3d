// Relaxation: dead ends seen by the delete relaxation, in which nothing that is true ever becomes false.
#pragma once

#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "keys.hpp"
#include "task.hpp"

namespace saltus {

// Whether a literal's truth may change from state to state.
bool is_fluent(const Task& task, const Literal& literal);

// Marks the variables of a literal.
void mark_variables(const Literal& literal, std::vector<std::uint8_t>& marks);

// Whether the positive goal atoms can be reached from a state by actions that delete nothing and whose negative
// preconditions are taken as true. If not, the state is a dead end; if so, nothing is known. No answer once the work
// (steps of joins, and all atoms again in every round of actions) exceeds `work`.
std::optional<bool> relaxed_reaches(const Task& task, std::span<const Code> state, std::span<const Code> goal,
                                    std::int64_t work);

// Whether some action or axiom needs an atom that is not derived to be false, or has a nested condition that may
// change.
bool has_negation(const Task& task);

// The same test by one pass over ground rules, for tasks that have few of them. Grounding uses only what never changes
// (types, static atoms, equality), so the rules hold in every state. With `negation`, the test sees more: atoms may
// also become false, and negative preconditions and nested conditions count (but for derived atoms, which may always be
// false).
class GroundRelaxation {
public:
    // Grounds nothing if the rules may have more than `limit` atoms in all, if counting them takes more than `limit`
    // steps, or if memory runs out.
    GroundRelaxation(const Task& task, std::int64_t limit, bool negation = false);
    GroundRelaxation() = default;

    bool complete() const { return complete_; }
    std::int64_t rules() const { return static_cast<std::int64_t>(open_.size()); }
    // Only valid if complete.
    bool reaches(std::span<const Code> state, std::span<const Code> goal) const;

private:
    class Negation;

    void ground(const Task& task, std::int64_t limit);
    bool ground_with_negation(const Task& task, std::int64_t limit);
    void index_uses(const std::vector<std::int32_t>& condition);

    bool complete_ = false;
    KeyNumbers atoms_;                      // mentioned by rules
    std::vector<std::int32_t> open_;        // [rules]: number of conditions
    std::vector<std::int32_t> ready_;       // rules without a condition
    std::vector<std::int32_t> first_head_;  // [rules + 1]
    std::vector<std::int32_t> head_;
    std::vector<std::int32_t> first_use_;                     // [atoms + 1]
    std::vector<std::int32_t> use_;                           // rules with the atom as a condition, once per occurrence
    std::vector<std::pair<std::int32_t, Code>> complements_;  // atoms that say that another one is false, and which
};

}  // namespace saltus
