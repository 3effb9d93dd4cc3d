#include "ground.hpp"

#include <algorithm>
#include <limits>
#include <map>
#include <new>
#include <unordered_map>

#include "match.hpp"
#include "order.hpp"
#include "rounds.hpp"
#include "rules.hpp"
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

}  // namespace

bool has_negation(const Task& task) {
    const std::vector<std::uint8_t> negated = find_negated(task);
    return std::any_of(task.nested.begin(), task.nested.end(), [](const Nested& nested) { return nested.fluent; }) ||
           std::find(negated.begin(), negated.end(), 1) != negated.end();
}

// With negation, rules also keep track of what can become false: atoms that do not hold, or that an action deletes.
// Nested conditions become atoms of their own: a pattern may have a match if some completion of it is possible; it may
// have none if for every completion some part of it may be false.
class Grounder {
public:
    using Form = GroundActions::Form;

    Grounder(GroundActions& rules, const Task& task, std::int64_t limit, Form form)
        : rules_(rules), task_(task), form_(form), left_(limit), steps_(limit), nothing_(task, {}), matcher_(nothing_) {
        const std::vector<std::uint8_t> negated =
            form == Form::negation ? find_negated(task) : std::vector<std::uint8_t>(task.fluent.size(), 0);
        for (Rule& rule : rules_of(task, form == Form::actions)) {
            std::erase_if(rule.deletes, [&](const Literal& literal) {
                return form != Form::actions && !negated[static_cast<std::size_t>(literal.predicate)];
            });
            if (rule.adds.empty() && (form == Form::actions || rule.deletes.empty())) continue;
            Split split(task, rule.conditions);
            Source& source = sources_.emplace_back(Source{std::move(rule), std::move(split)});
            if (form != Form::negation) source.split.others.clear();
            for (const auto* literals : {&source.split.others, &source.rule.adds, &source.rule.deletes})
                source.split.want(*literals);
        }
    }

    // Whether all rules are there.
    bool run() {
        if (form_ != Form::negation && !reserve()) return false;
        for (const Source& source : sources_) {
            if (left_ < 0) return false;
            add(source);
        }
        for (std::size_t i = 0; i < pending_.size() && left_ >= 0; ++i) define(Pending(pending_[i]));
        if (left_ < 0) return false;
        rules_.index();
        rules_.needs_.atom = std::vector<std::int32_t>();  // the index suffices
        return true;
    }

private:
    struct Source {
        Rule rule;
        Split split;
    };
    // A nested condition whose shared variables are bound; whether it is to have a match; the atom that says so.
    struct Pending {
        const Nested* nested;
        std::vector<Object> shared;
        bool match;
        std::int32_t atom;
    };

    // Counts the rules and their atoms, and makes room for them; false if there are too many.
    bool reserve() {
        std::int64_t rules = 0;
        std::int64_t needs = 0;
        std::int64_t adds = 0;
        std::int64_t rest = 0;
        MatchOptions counting;
        for (const Source& source : sources_) {
            std::vector<Object> binding(source.split.fixed.domains.size(), kUnbound);
            counting.steps = steps_;
            const std::int64_t count = matcher_.count(source.split.fixed, binding, counting);
            steps_ = matcher_.steps_left();
            if (steps_ < 0) return false;
            auto add = [&](std::int64_t& to, std::size_t size) {
                to = saturating_sum(to, saturating_product(count, static_cast<std::int64_t>(size)));
            };
            add(rules, 1);
            add(needs, source.split.needs.size());
            add(adds, source.rule.adds.size());
            add(rest, source.split.others.size() + source.rule.deletes.size());
            if (std::max(rules, saturating_sum(needs, saturating_sum(adds, rest))) > left_) return false;
        }
        steps_ = kMany;
        for (GrowingLists* lists : {&rules_.needs_, &rules_.adds_})
            lists->offset.reserve(static_cast<std::size_t>(rules) + 1);
        rules_.needs_.atom.reserve(static_cast<std::size_t>(needs));
        rules_.adds_.atom.reserve(static_cast<std::size_t>(adds));
        return true;
    }

    // Calls emit(binding) for the completions of the part that never changes; ends once the limit is exceeded.
    template <typename Emit>
    void match(const Split& split, std::vector<Object>& binding, Emit&& emit) {
        MatchOptions options;
        options.wanted = split.wanted.data();
        options.steps = steps_;
        matcher_.run(split.fixed, binding, options, [&](const std::vector<Object>& bound) {
            emit(bound);
            return left_ >= 0;
        });
        steps_ = matcher_.steps_left();
        if (steps_ < 0) left_ = -1;
    }

    void add(const Source& source) {
        const Rule& rule = source.rule;
        const bool whole = form_ == Form::actions;
        std::vector<Object> binding(source.split.fixed.domains.size(), kUnbound);
        match(source.split, binding, [&](const std::vector<Object>& bound) {
            for (const Literal& literal : source.split.needs) need(rules_.number(task_.encode(literal, bound)));
            for (const Literal& literal : source.split.others)
                if (const auto atom = atom_of(literal, bound, true)) need(*atom);
            for (const Literal& literal : rule.adds) reach(rules_.number(task_.encode(literal, bound)));
            if (!whole)
                for (const Literal& literal : rule.deletes) reach(false_atom(task_.encode(literal, bound)));
            close();
            if (!whole) return;
            const auto added = rules_.adds(rules_.rules() - 1);
            for (const Literal& literal : rule.deletes) {
                const std::int32_t atom = rules_.number(task_.encode(literal, bound));
                if (std::find(added.begin(), added.end(), atom) == added.end()) rules_.deletes_.atom.push_back(atom);
            }
            rules_.deletes_.close();
        });
    }

    void need(std::int32_t atom) {
        rules_.needs_.atom.push_back(atom);
        --left_;
    }
    void reach(std::int32_t atom) {
        rules_.adds_.atom.push_back(atom);
        --left_;
    }
    void close() {
        rules_.needs_.close();
        rules_.adds_.close();
    }

    // The atom that makes a literal possibly true or, if it is not wanted, possibly false; none if it always may be.
    std::optional<std::int32_t> atom_of(const Literal& literal, const std::vector<Object>& bound, bool wanted) {
        if (task_.is_nested(literal)) {
            const Nested& nested = task_.nested_of(literal);
            std::vector<Object> shared;
            for (std::int32_t term : literal.terms) shared.push_back(value_of(term, bound));
            return nested_atom(nested, std::move(shared), nested.positive == wanted);
        }
        const Code code = task_.encode(literal, bound);
        if (literal.positive == wanted) return rules_.number(code);
        if (task_.derived[static_cast<std::size_t>(literal.predicate)]) return std::nullopt;
        return false_atom(code);
    }

    std::int32_t false_atom(Code code) {
        const std::int32_t before = rules_.atoms();
        const std::int32_t atom = rules_.number(~code);
        if (rules_.atoms() > before) rules_.complements_.emplace_back(atom, code);
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

    std::int32_t new_atom() { return rules_.number(std::numeric_limits<std::int64_t>::min() + made_++); }

    void define(const Pending& wanted) {
        const Pattern& pattern = wanted.nested->pattern;
        auto place = splits_.find(wanted.nested);
        if (place == splits_.end()) {
            place = splits_.emplace(wanted.nested, Split(task_, pattern)).first;
            place->second.want(place->second.others);
        }
        const Split& split = place->second;
        std::vector<Object> binding(pattern.domains.size(), kUnbound);
        std::copy(wanted.shared.begin(), wanted.shared.end(), binding.begin());
        if (wanted.match)
            define_match(split, binding, wanted.atom);
        else
            define_no_match(split, binding, wanted.atom);
    }

    // One rule per completion: all of its conditions may hold.
    void define_match(const Split& split, std::vector<Object>& binding, std::int32_t atom) {
        match(split, binding, [&](const std::vector<Object>& bound) {
            for (const auto* literals : {&split.needs, &split.others})
                for (const Literal& literal : *literals)
                    if (const auto part = atom_of(literal, bound, true)) need(*part);
            reach(atom);
            close();
        });
    }

    // One rule: of every completion, some condition may fail.
    void define_no_match(const Split& split, std::vector<Object>& binding, std::int32_t atom) {
        std::vector<std::int32_t> every;
        bool always_matches = false;
        match(split, binding, [&](const std::vector<Object>& bound) {
            always_matches |= split.needs.empty() && split.others.empty();
            std::vector<std::int32_t> ways;
            for (const auto* literals : {&split.needs, &split.others})
                for (const Literal& literal : *literals) {
                    const auto part = atom_of(literal, bound, false);
                    if (!part) return;
                    ways.push_back(*part);
                }
            if (ways.size() == 1) {
                every.push_back(ways[0]);
            } else if (!ways.empty()) {
                every.push_back(new_atom());
                for (std::int32_t way : ways) {
                    need(way);
                    reach(every.back());
                    close();
                }
            }
        });
        if (always_matches || left_ < 0) return;
        for (std::int32_t part : every) need(part);
        reach(atom);
        close();
    }

    GroundActions& rules_;
    const Task& task_;
    Form form_;
    std::int64_t left_;   // of the limit, for atoms
    std::int64_t steps_;  // for joins
    StateView nothing_;
    Matcher matcher_;
    std::vector<Source> sources_;
    std::int64_t made_ = 0;  // atoms that stand for no atom of the task
    std::vector<Pending> pending_;
    std::map<std::vector<std::int64_t>, std::int32_t> known_;
    std::unordered_map<const Nested*, Split> splits_;
};

GroundActions::GroundActions(const Task& task, std::int64_t limit, Form form) : task_(&task) {
    limit = std::min<std::int64_t>(limit, std::numeric_limits<std::int32_t>::max() - 1);
    try {
        complete_ = Grounder(*this, task, limit, form).run();
    } catch (const std::bad_alloc&) {
    }
    if (!complete_) *this = GroundActions(task);
}

void GroundActions::add_rule(std::span<const Code> needs, Code added) {
    for (Code code : needs) needs_.atom.push_back(number(code));
    adds_.atom.push_back(number(added));
    needs_.close();
    adds_.close();
}

void GroundActions::index() {
    users_ = inverse(needs_, codes_.size());
    unconditional_.clear();
    for (std::int32_t rule = 0; rule < rules(); ++rule)
        if (conditions(rule) == 0) unconditional_.push_back(rule);
}

std::optional<ReachableActions> reachable_actions(const Task& task, std::span<const Code> state, std::int64_t most) {
    const std::vector<Rule> rules = rules_of(task, true);
    std::vector<Split> splits;
    std::vector<JoinedRule> joined;
    for (const Rule& rule : rules) {
        splits.emplace_back(task, rule.conditions);
        JoinedRule join{splits.back().fixed, rule.adds, {}};
        join.pattern.literals.insert(join.pattern.literals.end(), splits.back().needs.begin(),
                                     splits.back().needs.end());
        joined.push_back(std::move(join));
    }
    std::vector<std::vector<Object>> found(rules.size());  // bindings, one after the other
    std::vector<std::int64_t> counts(rules.size(), 0);
    std::int64_t total = 0;
    // An action is found once for every new atom that it needs.
    auto settle = [&] {
        total = 0;
        for (std::size_t r = 0; r < rules.size(); ++r) {
            const std::size_t width = rules[r].conditions.domains.size();
            if (width > 0) sort_bindings(found[r], width);
            counts[r] =
                width > 0 ? static_cast<std::int64_t>(found[r].size() / width) : std::min<std::int64_t>(counts[r], 1);
            total = saturating_sum(total, counts[r]);
        }
        return total <= most;
    };
    Rounds rounds(task, joined, state);
    const auto ended = rounds.run(
        kMany,
        [&](const JoinedRule& rule, const std::vector<Object>& bound, bool) {
            const auto r = static_cast<std::size_t>(&rule - joined.data());
            found[r].insert(found[r].end(), bound.begin(), bound.end());
            ++counts[r];
            return ++total <= 2 * most || settle();
        },
        [] { return false; });
    if (!ended || !settle()) return std::nullopt;
    ReachableActions result;
    result.codes = rounds.atoms();
    KeyNumbers numbers(result.codes.size());
    for (Code code : result.codes) numbers.number(code);
    std::vector<std::int32_t> atoms;
    auto list = [&](GrowingLists& lists, const std::vector<Literal>& literals, const std::vector<Object>& bound) {
        atoms.clear();
        for (const Literal& literal : literals)
            if (const std::int32_t atom = numbers.find(task.encode(literal, bound)); atom >= 0) atoms.push_back(atom);
        std::sort(atoms.begin(), atoms.end());
        lists.atom.insert(lists.atom.end(), atoms.begin(), std::unique(atoms.begin(), atoms.end()));
        lists.close();
    };
    for (std::size_t r = 0; r < rules.size(); ++r) {
        const std::size_t width = rules[r].conditions.domains.size();
        std::vector<Object> bound(width);
        for (std::size_t i = 0; i < static_cast<std::size_t>(counts[r]); ++i) {
            std::copy_n(found[r].begin() + static_cast<std::ptrdiff_t>(i * width), width, bound.begin());
            result.schema.push_back(rules[r].schema);
            list(result.needs, splits[r].needs, bound);
            list(result.forbids, splits[r].others, bound);
            list(result.adds, rules[r].adds, bound);
            list(result.deletes, rules[r].deletes, bound);
        }
        result.argument.insert(result.argument.end(), found[r].begin(), found[r].end());
        found[r] = std::vector<Object>();
    }
    return result;
}

}  // namespace saltus
