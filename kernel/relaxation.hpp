// Relaxation: dead ends seen by the delete relaxation, in which nothing that is true ever becomes false.
#pragma once

#include <atomic>
#include <functional>
#include <mutex>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "keys.hpp"
#include "match.hpp"
#include "state.hpp"
#include "task.hpp"

namespace saltus {

// Whether a literal's truth may change from state to state.
bool is_fluent(const Task& task, const Literal& literal);

// Marks the variables of a literal.
void mark_variables(const Literal& literal, std::vector<std::uint8_t>& marks);

// An atom that may be added, and its conditions but for negative ones that may change.
struct RelaxedRule {
    Pattern pattern;
    const Literal* head = nullptr;
    std::vector<std::uint8_t> wanted;  // [variables]: occurs in the head
};

std::vector<RelaxedRule> relaxed_rules(const Task& task);

// Is told how an atom was reached first: by which rule, and with which binding.
using Derived = std::function<void(const RelaxedRule& rule, const std::vector<Object>& bound)>;

// Different atoms of which so many are to be reached.
struct Quota {
    std::span<const Code> atoms;
    std::int64_t least = 0;
};

// What is to be reached: all atoms of a goal, and so many of other atoms.
struct Target {
    std::span<const Code> goal;
    std::vector<Quota> quotas;
};

// Whether a target can be reached from a state by actions that delete nothing and whose negative preconditions are
// taken as true. If not, the state is a dead end; if so, nothing is known. No answer once the work (steps of joins, and
// all atoms again in every round of actions) exceeds `work`.
std::optional<bool> relaxed_reaches(const Task& task, std::span<const RelaxedRule> rules, std::span<const Code> state,
                                    const Target& target, std::int64_t work, const Derived& derived = {});

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
    bool reaches(std::span<const Code> state, const Target& target) const;

private:
    friend class RelaxedProof;
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

// The test by joins for one state after another, where many ground rules make joins slow: what showed that the goal can
// be reached from earlier states often shows it for the next one, too. The ground rules by which joins have reached
// atoms are kept and tried first, each with the rule that leads back, if there is one: states differ in where something
// has moved to. Answers are those of `relaxed_reaches`, except that fewer remain open.
class RelaxedProof {
public:
    // At most `limit` atoms are kept in rules; once there are so many, it forgets them and begins anew.
    RelaxedProof(const Task& task, std::int64_t limit);

    const Task& task() const { return task_; }
    std::optional<bool> reaches(std::span<const Code> state, const Target& target, std::int64_t work);
    // Number of rules that are kept.
    std::int64_t rules() const { return count_; }

private:
    // A rule with its conditions split into those that never change and those that may, which are atoms.
    struct Kept {
        Pattern fixed;
        std::vector<Literal> changing;
        const Literal* head = nullptr;
    };

    void forget();
    bool is_full() const { return condition_.size() + kept_.head_.size() >= limit_; }
    void keep(const Kept& rule, const std::vector<Object>& bound);
    void keep_way_back(const Kept& rule, const std::vector<Object>& bound);

    const Task& task_;
    std::vector<RelaxedRule> rules_;
    std::vector<Kept> split_;  // [rules]
    std::size_t limit_;
    StateView nothing_;
    Matcher matcher_;
    GroundRelaxation kept_;
    bool indexed_ = false;                 // kept_ is whole: no rule is newer than its index
    std::atomic<std::int64_t> count_ = 0;  // rules of kept_
    std::int64_t spare_ = 0;               // steps left for ways back
    std::vector<std::int32_t> condition_;  // atoms of the kept rules' conditions, rule by rule
    KeySet known_;                         // hashes of kept rules
    std::vector<Object> arguments_;
    std::vector<Object> binding_;
    std::mutex mutex_;
};

}  // namespace saltus
