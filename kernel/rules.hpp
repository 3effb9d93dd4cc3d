// Rules: what can make atoms true, lifted: schemas, their effects, and axioms.
#pragma once

#include <cstdint>
#include <vector>

#include "task.hpp"

namespace saltus {

// Conditions, and what an action changes where they hold. Variables are those of a schema and of its effect.
struct Rule {
    std::int32_t schema = -1;  // -1: an axiom
    Pattern conditions;
    std::vector<Literal> adds;
    std::vector<Literal> deletes;
};

// One rule for every effect and every axiom, or for whole actions: one for everything that an action does in any case,
// and one for each conditional effect together with that.
std::vector<Rule> rules_of(const Task& task, bool whole);

// A rule's conditions, split into those that never change and those that may.
struct Split {
    explicit Split(const Task& task, const Pattern& conditions);

    // Counts the variables of some literals among the wanted ones.
    void want(const std::vector<Literal>& literals);

    Pattern fixed;
    std::vector<Literal> needs;        // atoms that may change
    std::vector<Literal> others;       // negative ones, and nested conditions
    std::vector<std::uint8_t> wanted;  // [variables]: occurs in `needs` or is wanted besides
};

}  // namespace saltus
