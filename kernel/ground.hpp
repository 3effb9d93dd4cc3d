// Ground: the ground actions of a task as rules over numbered atoms.
//
// Everything that looks at ground actions takes them from here: the relaxation and the search by relaxed
// plans. Rules use only what never changes (types, static atoms, equality), so that they hold in every state, or what
// can be reached from one state if nothing becomes false.
//
// Who asks: `lookahead/actions.py` (limits in `lookahead/values.py`) for dead ends and frozen goals, and
// `policy/relaxed.py`.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "keys.hpp"
#include "listed.hpp"
#include "task.hpp"

namespace saltus {

// Whether some action or axiom needs an atom that is not derived to be false, or has a nested condition that may
// change.
bool has_negation(const Task& task);

class GroundActions {
public:
    enum class Form : std::int32_t {
        effects,   // one rule per effect or axiom: positive conditions and added atoms
        negation,  // the same, and atoms may also become false: negative and nested conditions count as well
        actions,   // one rule per action and conditional effect (`Rule`), with the atoms that it deletes as well
    };

    // No rules yet.
    explicit GroundActions(const Task& task) : task_(&task) {}
    // Grounds nothing if the rules may have more than `limit` atoms in all, if counting them takes more than `limit`
    // steps, or if memory runs out.
    GroundActions(const Task& task, std::int64_t limit, Form form);

    bool complete() const { return complete_; }
    const Task& task() const { return *task_; }
    std::int32_t rules() const { return static_cast<std::int32_t>(needs_.offset.size()) - 1; }
    std::int32_t atoms() const { return static_cast<std::int32_t>(codes_.size()); }
    Code code(std::int32_t atom) const { return codes_[static_cast<std::size_t>(atom)]; }
    std::int32_t find(Code code) const { return numbers_.find(code); }

    std::span<const std::int32_t> adds(std::int32_t rule) const { return adds_[rule]; }
    // What it deletes and does not add; of actions only.
    std::span<const std::int32_t> deletes(std::int32_t rule) const { return deletes_[rule]; }
    bool has_deletes() const { return deletes_.offset.size() == adds_.offset.size(); }
    // Atoms that say that another one is false, and which.
    const std::vector<std::pair<std::int32_t, Code>>& complements() const { return complements_; }

    // Number of positive conditions of a rule, each as often as it occurs.
    std::int32_t conditions(std::int32_t rule) const {
        const auto r = static_cast<std::size_t>(rule);
        return needs_.offset[r + 1] - needs_.offset[r];
    }
    // Rules with the atom as a positive condition, once per occurrence.
    std::span<const std::int32_t> users(std::int32_t atom) const { return users_[atom]; }
    const std::vector<std::int32_t>& unconditional() const { return unconditional_; }

    // Adds a rule by the codes of its atoms; index() must follow before rules are looked up by atoms.
    void add_rule(std::span<const Code> needs, Code added);
    void index();

private:
    friend class Grounder;

    std::int32_t number(Code code) {
        const std::int32_t atom = numbers_.number(code);
        if (atom == static_cast<std::int32_t>(codes_.size())) codes_.push_back(code);
        return atom;
    }

    const Task* task_;
    bool complete_ = false;
    KeyNumbers numbers_;
    std::vector<Code> codes_;                                 // [atoms]
    std::vector<std::pair<std::int32_t, Code>> complements_;  // only with negation
    GrowingLists needs_, adds_;
    GrowingLists deletes_;  // of actions only
    GrowingLists users_;    // [atoms]
    std::vector<std::int32_t> unconditional_;
};

// Ground actions that can be reached from a state if nothing becomes false: schema by schema, bindings in lexicographic
// order. Atoms are those that can be reached, ascending; so is every list, which has no atom twice.
struct ReachableActions {
    std::vector<Code> codes;           // [atoms]
    std::vector<std::int32_t> schema;  // [actions]
    std::vector<Object> argument;      // of all actions
    GrowingLists needs, forbids, adds, deletes;
};

// Nothing if there are more than `most` actions. Conditional effects, nested conditions and axioms are not known here.
std::optional<ReachableActions> reachable_actions(const Task& task, std::span<const Code> state, std::int64_t most);

}  // namespace saltus
