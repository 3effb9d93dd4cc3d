// Ground rules that also keep track of what can become false: atoms that do not hold, or that an action deletes. Nested
// conditions become atoms of their own: a pattern may have a match if some completion of it is possible; it may have
// none if for every completion some part of it may be false.
#include <algorithm>
#include <initializer_list>
#include <limits>
#include <map>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "match.hpp"
#include "relaxation.hpp"
#include "state.hpp"

namespace saltus {

namespace {

// Predicates whose atoms some condition needs to be false: [predicates].
std::vector<std::uint8_t> find_negated(const Task& task) {
    std::vector<std::uint8_t> found(task.fluent.size(), 0);
    auto mark = [&](const Pattern& pattern, bool all) {
        for (const Literal& literal : pattern.literals)
            if (literal.predicate >= 0 && (all || !literal.positive))
                found[static_cast<std::size_t>(literal.predicate)] = 1;
    };
    for (const Schema& schema : task.schemas) {
        mark(schema.pattern, false);
        for (const Effect& effect : schema.effects) mark(effect.when, false);
    }
    for (const Axiom& axiom : task.axioms) mark(axiom.body, false);
    for (const Nested& nested : task.nested) mark(nested.pattern, true);
    for (std::size_t p = 0; p < found.size(); ++p) found[p] &= task.fluent[p] != 0 && task.derived[p] == 0;
    return found;
}

// A conjunction, split into what never changes and what may.
struct Parts {
    Pattern fixed;
    std::vector<Literal> changing;
    std::vector<std::uint8_t> wanted;  // [variables]: occurs in a changing condition, or is marked afterwards
};

Parts split(const Task& task, const std::vector<std::int32_t>& domains,
            std::initializer_list<const std::vector<Literal>*> conditions) {
    Parts parts{{domains, {}}, {}, std::vector<std::uint8_t>(domains.size(), 0)};
    for (const auto* literals : conditions)
        for (const Literal& literal : *literals)
            (is_fluent(task, literal) ? parts.changing : parts.fixed.literals).push_back(literal);
    for (const Literal& literal : parts.changing) mark_variables(literal, parts.wanted);
    return parts;
}

}  // namespace

class GroundRelaxation::Negation {
public:
    Negation(GroundRelaxation& rules, const Task& task, std::int64_t limit)
        : rules_(rules), task_(task), left_(limit), steps_(limit), nothing_(task, {}), matcher_(nothing_) {}

    // Whether all rules are there.
    bool run() {
        rules_.first_head_.push_back(0);
        const std::vector<std::uint8_t> negated = find_negated(task_);
        for (const Schema& schema : task_.schemas)
            for (const Effect& effect : schema.effects) {
                std::vector<Literal> gone;
                for (const Literal& literal : effect.deletes)
                    if (negated[static_cast<std::size_t>(literal.predicate)]) gone.push_back(literal);
                add_source(split(task_, effect.when.domains, {&schema.pattern.literals, &effect.when.literals}),
                           effect.adds, gone);
            }
        for (const Axiom& axiom : task_.axioms)
            add_source(split(task_, axiom.body.domains, {&axiom.body.literals}), axiom.head, {});
        for (std::size_t i = 0; i < pending_.size() && left_ >= 0; ++i) define(Pending(pending_[i]));
        if (left_ < 0) return false;
        rules_.index_uses(condition_);
        return true;
    }

private:
    // A nested condition whose shared variables are bound; whether it is to have a match; the atom that says so.
    struct Pending {
        const Nested* nested;
        std::vector<Object> shared;
        bool match;
        std::int32_t atom;
    };

    // The atom that makes a literal possibly true or, if it is not wanted, possibly false; none if it always may be.
    std::optional<std::int32_t> atom_of(const Literal& literal, const std::vector<Object>& bound, bool wanted) {
        if (task_.is_nested(literal)) {
            const Nested& nested = task_.nested_of(literal);
            std::vector<Object> shared;
            for (std::int32_t term : literal.terms) shared.push_back(value_of(term, bound));
            return nested_atom(nested, std::move(shared), nested.positive == wanted);
        }
        const Code code = task_.encode(literal, bound);
        if (literal.positive == wanted) return rules_.atoms_.number(code);
        if (task_.derived[static_cast<std::size_t>(literal.predicate)]) return std::nullopt;
        return false_atom(code);
    }

    std::int32_t false_atom(Code code) {
        const std::int32_t before = rules_.atoms_.size();
        const std::int32_t atom = rules_.atoms_.number(~code);
        if (rules_.atoms_.size() > before) rules_.complements_.emplace_back(atom, code);
        return atom;
    }

    std::int32_t nested_atom(const Nested& nested, std::vector<Object> shared, bool match) {
        std::vector<std::int64_t> key(shared.begin(), shared.end());
        key.push_back(2 * (&nested - task_.nested.data()) + match);
        const auto [entry, is_new] = known_.try_emplace(std::move(key), 0);
        if (is_new) {
            entry->second = new_atom();
            left_ -= static_cast<std::int64_t>(shared.size()) + 1;
            pending_.push_back({&nested, std::move(shared), match, entry->second});
        }
        return entry->second;
    }

    std::int32_t new_atom() { return rules_.atoms_.number(std::numeric_limits<std::int64_t>::min() + made_++); }

    void add_rule(const std::vector<std::int32_t>& conditions, const std::vector<std::int32_t>& heads) {
        left_ -= static_cast<std::int64_t>(conditions.size() + heads.size());
        if (conditions.empty()) rules_.ready_.push_back(static_cast<std::int32_t>(rules_.open_.size()));
        rules_.open_.push_back(static_cast<std::int32_t>(conditions.size()));
        condition_.insert(condition_.end(), conditions.begin(), conditions.end());
        rules_.head_.insert(rules_.head_.end(), heads.begin(), heads.end());
        rules_.first_head_.push_back(static_cast<std::int32_t>(rules_.head_.size()));
    }

    // Calls emit(binding) for the completions of the part that never changes; ends once the limit is exceeded.
    template <typename Emit>
    void match(const Parts& parts, std::vector<Object>& binding, Emit&& emit) {
        MatchOptions options;
        options.wanted = parts.wanted.data();
        options.steps = steps_;
        matcher_.run(parts.fixed, binding, options, [&](const std::vector<Object>& bound) {
            emit(bound);
            return left_ >= 0;
        });
        steps_ = matcher_.steps_left();
        if (steps_ < 0) left_ = -1;
    }

    // The conditions of a completion that must all be possible.
    std::vector<std::int32_t> all_of(const Parts& parts, const std::vector<Object>& bound) {
        std::vector<std::int32_t> found;
        for (const Literal& literal : parts.changing)
            if (const auto atom = atom_of(literal, bound, true)) found.push_back(*atom);
        return found;
    }

    void add_source(Parts parts, const std::vector<Literal>& adds, const std::vector<Literal>& gone) {
        if (left_ < 0 || (adds.empty() && gone.empty())) return;
        for (const auto* heads : {&adds, &gone})
            for (const Literal& literal : *heads) mark_variables(literal, parts.wanted);
        std::vector<Object> binding(parts.fixed.domains.size(), kUnbound);
        match(parts, binding, [&](const std::vector<Object>& bound) {
            std::vector<std::int32_t> heads;
            for (const Literal& literal : adds) heads.push_back(rules_.atoms_.number(task_.encode(literal, bound)));
            for (const Literal& literal : gone) heads.push_back(false_atom(task_.encode(literal, bound)));
            add_rule(all_of(parts, bound), heads);
        });
    }

    void define(const Pending& wanted) {
        const Pattern& pattern = wanted.nested->pattern;
        auto place = parts_.find(wanted.nested);
        if (place == parts_.end())
            place = parts_.emplace(wanted.nested, split(task_, pattern.domains, {&pattern.literals})).first;
        const Parts& parts = place->second;
        std::vector<Object> binding(pattern.domains.size(), kUnbound);
        std::copy(wanted.shared.begin(), wanted.shared.end(), binding.begin());
        if (wanted.match) {
            match(parts, binding,
                  [&](const std::vector<Object>& bound) { add_rule(all_of(parts, bound), {wanted.atom}); });
            return;
        }
        std::vector<std::int32_t> every;  // one per completion: that it may fail
        bool always_matches = false;
        match(parts, binding, [&](const std::vector<Object>& bound) {
            always_matches |= parts.changing.empty();
            std::vector<std::int32_t> ways;
            for (const Literal& literal : parts.changing) {
                const auto atom = atom_of(literal, bound, false);
                if (!atom) return;
                ways.push_back(*atom);
            }
            if (ways.size() == 1) {
                every.push_back(ways[0]);
            } else if (!ways.empty()) {
                every.push_back(new_atom());
                for (std::int32_t way : ways) add_rule({way}, {every.back()});
            }
        });
        if (!always_matches && left_ >= 0) add_rule(every, {wanted.atom});
    }

    GroundRelaxation& rules_;
    const Task& task_;
    std::int64_t left_;   // of the limit, for atoms
    std::int64_t steps_;  // for joins
    StateView nothing_;
    Matcher matcher_;
    std::int64_t made_ = 0;                // atoms that stand for no atom of the task
    std::vector<std::int32_t> condition_;  // atom numbers, rule by rule
    std::vector<Pending> pending_;
    std::map<std::vector<std::int64_t>, std::int32_t> known_;
    std::unordered_map<const Nested*, Parts> parts_;
};

bool has_negation(const Task& task) {
    const std::vector<std::uint8_t> negated = find_negated(task);
    return std::any_of(task.nested.begin(), task.nested.end(), [](const Nested& nested) { return nested.fluent; }) ||
           std::find(negated.begin(), negated.end(), 1) != negated.end();
}

bool GroundRelaxation::ground_with_negation(const Task& task, std::int64_t limit) {
    return Negation(*this, task, limit).run();
}

}  // namespace saltus
