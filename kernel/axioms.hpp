// Axioms: the derived atoms of a state, and how an action changes them.
//
// Strata are computed one after the other, each to its least fixed point: all rules once, then those that need an atom
// derived in the round before. After an action, strata that do not depend on what it changed keep their atoms; those
// whose positive literals alone gain atoms keep theirs, too, and only go on from the new ones.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "changes.hpp"
#include "match.hpp"
#include "state.hpp"
#include "task.hpp"

namespace saltus {

// The state with the derived atoms that follow from its other atoms; those that it holds are dropped.
std::vector<Code> derive(const Task& task, std::span<const Code> state);

class Derivation {
public:
    // `root` is a state with its derived atoms.
    Derivation(const Task& task, std::span<const Code> root);

    // Adds the derived atoms that become true or false to the changes that an action makes in a state. The state is
    // given by its difference from the root.
    void extend(std::span<const Code> added, std::span<const Code> deleted, Changes& changes);

private:
    friend std::vector<Code> derive(const Task& task, std::span<const Code> state);

    bool holds_before(std::span<const Code> added, std::span<const Code> deleted, Code code) const;
    // What becomes of a predicate's atoms, or of a stratum.
    enum Effect : std::uint8_t { kSame = 0, kGrows = 1, kChanges = 2 };

    // Finds out what depends on the changes; false if nothing does.
    bool find_affected(std::span<const Code> added, std::span<const Code> deleted, const Changes& changes);
    void compute(const Stratum& stratum, Effect effect);
    void run_rule(const Axiom& axiom, bool anchored, std::span<const Code> fresh);
    void insert_found();

    const Task& task_;
    StateView view_;
    Matcher matcher_;
    std::vector<std::vector<Code>> root_atoms_;  // [predicates]: derived ones of the root
    std::vector<Effect> of_predicate_;           // [predicates]
    std::vector<Effect> of_stratum_;             // [strata]
    std::vector<Code> fresh_;                    // added by the action
    Difference difference_;
    std::vector<Code> shown_added_;
    std::vector<Code> shown_deleted_;
    std::vector<Code> found_;    // by the rule at hand
    std::vector<Code> derived_;  // anew, in all strata
    std::vector<Object> arguments_;
    std::vector<Object> binding_;
};

}  // namespace saltus
