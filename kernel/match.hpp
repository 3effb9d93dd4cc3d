// Match: all bindings of a pattern in a state, by a join that always continues with the most selective literal.
//
// Fully bound literals are tested at once; of the others, the one with the fewest candidate atoms (by the per-position
// indices) is enumerated next. Bindings come in no particular order; see order.hpp for callers that need one.
#pragma once

#include <algorithm>
#include <functional>
#include <limits>
#include <memory>
#include <random>
#include <vector>

#include "interrupt.hpp"
#include "state.hpp"

namespace saltus {

// A variable, and the only objects that it needs to take.
struct Values {
    std::size_t variable = 0;
    std::vector<Object> objects;
};

// Says whether it is enough to try some objects for one variable of a partial binding, where a literal, or two of them
// together, have about `rows` candidates. Callers that look for few of many bindings narrow a join that way.
using Narrow = std::function<bool(const std::vector<Object>& binding, std::int64_t rows, Values& values)>;

struct MatchOptions {
    const std::uint8_t* wanted = nullptr;                           // per variable: only these distinguish bindings
    const std::uint8_t* mask = nullptr;                             // per object: only these are used
    bool distinct = false;                                          // different variables take different objects
    std::mt19937_64* shuffle = nullptr;                             // tries candidates in random order
    std::int64_t steps = std::numeric_limits<std::int64_t>::max();  // limit on the join's search tree
    const Narrow* narrow = nullptr;                                 // asked until the gate, where candidates are many
};

class Matcher {
public:
    explicit Matcher(const StateView& view) : view_(view), task_(view.task()) {}

    const StateView& view() const { return view_; }

    // Calls emit(binding) -> bool for every completion of `binding` (kUnbound entries are free) until it returns false.
    // With `wanted`: once the wanted variables are bound, gate(binding) -> bool is called; if it returns true, emit is
    // called for the first completion found, and others with the same wanted values are skipped.
    // `given`: number of a literal known to hold. Returns false if emit stopped the enumeration or the steps ran out.
    template <typename Gate, typename Emit>
    bool run(const Pattern& pattern, std::vector<Object>& binding, const MatchOptions& options, Gate&& gate,
             Emit&& emit, std::int32_t given = -1) {
        start(pattern, binding, options);
        if (given >= 0) done_[static_cast<std::size_t>(given)] = 1;
        if (options.distinct && !all_distinct()) return true;
        return extend(options.wanted == nullptr, gate, emit) != Outcome::stop;
    }

    template <typename Emit>
    bool run(const Pattern& pattern, std::vector<Object>& binding, const MatchOptions& options, Emit&& emit) {
        return run(pattern, binding, options, [](const std::vector<Object>&) { return true; }, emit);
    }

    // The lexicographically least completion of `binding`, in place; false if there is none.
    bool least(const Pattern& pattern, std::vector<Object>& binding);

    // Number of completions of `binding`; independent parts are multiplied, not enumerated. Saturates at 2^62.
    // Meaningless if the steps ran out (`steps_left` is negative).
    std::int64_t count(const Pattern& pattern, std::vector<Object>& binding, const MatchOptions& options);
    std::int64_t count(const Pattern& pattern) {
        std::vector<Object> binding(pattern.domains.size(), kUnbound);
        return count(pattern, binding, MatchOptions{});
    }

    // Binding number `index` in an order of the matcher's own; throws an invalid_argument unless it is below count.
    void pick(const Pattern& pattern, std::int64_t index, std::vector<Object>& binding);

    // What is left of the last run's steps; negative if they ran out.
    std::int64_t steps_left() const { return steps_; }

    // Binds a literal's terms to an atom's arguments; false, with `binding` undefined, if they clash.
    bool unify(const Pattern& pattern, const Literal& literal, const Object* arguments,
               std::vector<Object>& binding) const;
    // The same for one more literal of a partial binding.
    bool unify_more(const Pattern& pattern, const Literal& literal, const Object* arguments,
                    std::vector<Object>& binding) const;

private:
    enum class Outcome { go_on, found, stop };
    static constexpr std::size_t kFew = 8;          // atoms worth checking one by one for a better estimate
    static constexpr std::int64_t kNarrowFrom = 8;  // candidates from which on it is worth asking for fewer
    static constexpr std::int64_t kDetour = 4;      // how many times fewer candidates make a detour worth it

    void start(const Pattern& pattern, std::vector<Object>& binding, const MatchOptions& options) {
        pattern_ = &pattern;
        binding_ = &binding;
        options_ = options;
        steps_ = options.steps;
        done_.assign(pattern.literals.size(), 0);
        trail_.clear();
        bound_.clear();
    }

    bool all_distinct() const {
        for (std::size_t a = 0; a < binding_->size(); ++a)
            for (std::size_t b = a + 1; b < binding_->size(); ++b)
                if ((*binding_)[a] != kUnbound && (*binding_)[a] == (*binding_)[b]) return false;
        return true;
    }

    Object value(std::int32_t term) const { return value_of(term, *binding_); }

    bool admits(std::size_t variable, Object object) const {
        if (options_.mask != nullptr && !options_.mask[object]) return false;
        const std::int32_t domain = pattern_->domains[variable];
        if (domain >= 0 && !task_.domains[static_cast<std::size_t>(domain)].allowed[static_cast<std::size_t>(object)])
            return false;
        if (options_.distinct)
            for (Object other : *binding_)
                if (other == object) return false;
        return true;
    }

    bool fully_bound(const Literal& literal) const {
        for (std::int32_t term : literal.terms)
            if (value(term) == kUnbound) return false;
        return true;
    }

    // Truth of a fully bound literal.
    bool true_literal(const Literal& literal) const {
        if (literal.predicate < 0) [[unlikely]] {
            if (literal.predicate == kEquality)
                return (value(literal.terms[0]) == value(literal.terms[1])) == literal.positive;
            return true_nested(literal);
        }
        const Code code = task_.encode(literal, *binding_);
        const bool holds =
            task_.fluent[static_cast<std::size_t>(literal.predicate)] ? view_.holds(code) : task_.static_holds(code);
        return holds == literal.positive;
    }

    // Truth of a nested condition whose shared variables are bound.
    bool true_nested(const Literal& literal) const;

    // Upper bound on the atoms that match a positive literal; tight if there are few.
    std::int64_t estimate(const Literal& literal) const {
        const auto p = static_cast<std::size_t>(literal.predicate);
        const bool fluent = task_.fluent[p] != 0;
        const Relation& relation = fluent ? view_.root_relation(literal.predicate) : task_.statics[p];
        std::int64_t rows = relation.size;
        const std::size_t prefix = bound_prefix(literal);
        if (prefix >= 2) {
            const auto [begin, end] = relation.rows_from(prefix_.data(), prefix);
            rows = end - begin;
        } else {
            std::span<const std::int32_t> shortest;
            for (std::size_t i = 0; i < literal.terms.size(); ++i) {
                const Object object = value(literal.terms[i]);
                if (object == kUnbound) continue;
                const auto some = relation.rows_with(i, object);
                if (static_cast<std::int64_t>(some.size()) > rows) continue;
                rows = static_cast<std::int64_t>(some.size());
                shortest = some;
            }
            if (fluent && !shortest.empty() && shortest.size() <= kFew) {
                rows = 0;
                for (std::int32_t row : shortest) rows += view_.root_row_alive(literal.predicate, row) ? 1 : 0;
            }
        }
        if (!fluent) return rows;
        const std::int32_t extra = view_.extra_count(literal.predicate);
        if (extra > static_cast<std::int32_t>(kFew)) return rows + extra;
        const auto added = view_.extra_rows(literal.predicate);
        for (std::int32_t i = 0; i < extra; ++i) {
            const Object* row = added.data() + static_cast<std::ptrdiff_t>(i) * relation.arity;
            bool fits = true;
            for (std::size_t k = 0; k < literal.terms.size() && fits; ++k) {
                const Object object = value(literal.terms[k]);
                fits = object == kUnbound || object == row[k];
            }
            rows += fits ? 1 : 0;
        }
        return rows;
    }

    // Calls visit(row) -> bool for every atom that may match; false if visit stopped.
    template <typename Visit>
    bool candidates(const Literal& literal, Visit&& visit) const {
        const auto p = static_cast<std::size_t>(literal.predicate);
        const bool fluent = task_.fluent[p] != 0;
        const Relation& relation = fluent ? view_.root_relation(literal.predicate) : task_.statics[p];
        std::size_t best_position = literal.terms.size();
        std::int64_t best = relation.size;
        const std::size_t prefix = bound_prefix(literal);
        if (prefix >= 2) {
            const auto [begin, end] = relation.rows_from(prefix_.data(), prefix);
            for (std::int32_t row = begin; row < end; ++row)
                if ((!fluent || view_.root_row_alive(literal.predicate, row)) && !visit(relation.row(row)))
                    return false;
            return !fluent || extra_candidates(literal, visit);
        }
        for (std::size_t i = 0; i < literal.terms.size(); ++i) {
            const Object object = value(literal.terms[i]);
            if (object == kUnbound) continue;
            const auto rows = static_cast<std::int64_t>(relation.rows_with(i, object).size());
            if (rows < best || best_position == literal.terms.size()) {
                best = rows;
                best_position = i;
            }
        }
        if (best_position < literal.terms.size()) {
            for (std::int32_t row : relation.rows_with(best_position, value(literal.terms[best_position])))
                if ((!fluent || view_.root_row_alive(literal.predicate, row)) && !visit(relation.row(row)))
                    return false;
        } else {
            for (std::int32_t row = 0; row < relation.size; ++row)
                if ((!fluent || view_.root_row_alive(literal.predicate, row)) && !visit(relation.row(row)))
                    return false;
        }
        return !fluent || extra_candidates(literal, visit);
    }

    template <typename Visit>
    bool extra_candidates(const Literal& literal, Visit&& visit) const {
        const std::int32_t count = view_.extra_count(literal.predicate);
        if (count == 0) return true;
        const auto rows = view_.extra_rows(literal.predicate);
        const auto arity = static_cast<std::ptrdiff_t>(literal.terms.size());
        for (std::int32_t i = 0; i < count; ++i)
            if (!visit(rows.data() + i * arity)) return false;
        return true;
    }

    // Number of leading terms that are bound; writes their values to prefix_.
    std::size_t bound_prefix(const Literal& literal) const {
        prefix_.clear();
        if (literal.terms.size() < 3) return 0;
        for (std::int32_t term : literal.terms) {
            const Object object = value(term);
            if (object == kUnbound) break;
            prefix_.push_back(object);
        }
        return prefix_.size();
    }

    // Binds the literal's free terms to a row and records the variables in bound_; false if they clash.
    bool bind_row(const Literal& literal, const Object* row) {
        for (std::size_t i = 0; i < literal.terms.size(); ++i) {
            const std::int32_t term = literal.terms[i];
            const Object known = value(term);
            if (known != kUnbound) {
                if (known != row[i]) return false;
            } else {
                if (!admits(static_cast<std::size_t>(term), row[i])) return false;
                (*binding_)[static_cast<std::size_t>(term)] = row[i];
                bound_.push_back(term);
            }
        }
        return true;
    }

    void unbind(std::size_t keep) {
        while (bound_.size() > keep) {
            (*binding_)[static_cast<std::size_t>(bound_.back())] = kUnbound;
            bound_.pop_back();
        }
    }

    void undo(std::size_t keep) {
        while (trail_.size() > keep) {
            done_[static_cast<std::size_t>(trail_.back())] = 0;
            trail_.pop_back();
        }
    }

    bool wanted_bound() const {
        for (std::size_t i = 0; i < binding_->size(); ++i)
            if (options_.wanted[i] && (*binding_)[i] == kUnbound) return false;
        return true;
    }

    bool binds_wanted(const Literal& literal) const {
        for (std::int32_t term : literal.terms)
            if (term >= 0 && options_.wanted[term] && value(term) == kUnbound) return true;
        return false;
    }

    // Whether a literal that binds no wanted variable goes before the best of those that do. Where it shares a variable
    // with that one and has far fewer candidates, it leaves few of the other's; elsewhere it multiplies them. Sets how
    // many candidates of both are to be expected then.
    bool is_worth(std::int32_t detour, std::int64_t detour_rows, std::int32_t best, std::int64_t& best_rows) const {
        if (best < 0) return true;
        if (detour_rows > best_rows / kDetour) return false;
        const Literal& other = pattern_->literals[static_cast<std::size_t>(best)];
        for (std::int32_t term : pattern_->literals[static_cast<std::size_t>(detour)].terms)
            if (value(term) == kUnbound &&
                std::find(other.terms.begin(), other.terms.end(), term) != other.terms.end()) {
                const auto members = static_cast<std::int64_t>(members_of(static_cast<std::size_t>(term)).size());
                best_rows = detour_rows * std::max<std::int64_t>(1, best_rows / std::max<std::int64_t>(1, members));
                return true;
            }
        return false;
    }

    template <typename Gate, typename Emit>
    Outcome extend(bool gated, Gate&& gate, Emit&& emit) {
        if (--steps_ < 0) return Outcome::stop;
        ticker_.tick();
        const std::size_t mark = trail_.size();
        const auto& literals = pattern_->literals;
        std::int32_t best = -1;
        std::int64_t best_rows = kMany;
        std::int32_t detour = -1;  // before the gate: the best literal that binds no wanted variable
        std::int64_t detour_rows = kMany;
        for (std::size_t l = 0; l < literals.size(); ++l) {
            if (done_[l]) continue;
            const Literal& literal = literals[l];
            if (fully_bound(literal)) {
                if (!true_literal(literal)) {
                    undo(mark);
                    return Outcome::go_on;
                }
                done_[l] = 1;
                trail_.push_back(static_cast<std::int32_t>(l));
                continue;
            }
            if (!literal.positive) continue;
            std::int64_t rows = 1;
            if (literal.predicate == kEquality) {
                if (value(literal.terms[0]) == kUnbound && value(literal.terms[1]) == kUnbound) continue;
            } else {
                rows = estimate(literal);
                // Before the gate, literals that bind wanted variables go first, unless another has only one candidate.
                if (!gated && rows > 1 && !binds_wanted(literal)) {
                    if (rows < detour_rows) {
                        detour_rows = rows;
                        detour = static_cast<std::int32_t>(l);
                    }
                    continue;
                }
            }
            if (rows < best_rows) {
                best_rows = rows;
                best = static_cast<std::int32_t>(l);
            }
        }
        if (detour >= 0 && is_worth(detour, detour_rows, best, best_rows)) {
            if (best < 0) best_rows = kMany;
            best = detour;
        }
        Outcome outcome = Outcome::go_on;
        if (!gated && wanted_bound()) {
            if (gate(*binding_)) {
                outcome = extend(true, gate, emit);
                if (outcome == Outcome::found) outcome = Outcome::go_on;
            }
        } else if (options_.narrow != nullptr && asks_to_narrow(gated, best_rows) &&
                   along_narrowed(best_rows, gated, gate, emit, outcome)) {
            // That was all.
        } else if (best >= 0) {
            outcome = along_literal(static_cast<std::size_t>(best), gated, gate, emit);
        } else {
            outcome = along_variable(gated, gate, emit);
        }
        undo(mark);
        return outcome;
    }

    bool asks_to_narrow(bool gated, std::int64_t rows) const {
        return rows >= kNarrowFrom && (!gated || options_.wanted == nullptr);
    }

    // Goes on with few objects for one variable, if that is enough. Not inlined: joins that are not narrowed shall not
    // pay for it.
    template <typename Gate, typename Emit>
    [[gnu::noinline]] bool along_narrowed(std::int64_t rows, bool gated, Gate&& gate, Emit&& emit, Outcome& outcome) {
        Values values;
        if (!(*options_.narrow)(*binding_, rows, values)) return false;
        outcome = along_objects(values.variable, values.objects, gated, gate, emit);
        return true;
    }

    template <typename Gate, typename Emit>
    Outcome along_literal(std::size_t number, bool gated, Gate&& gate, Emit&& emit) {
        const Literal& literal = pattern_->literals[number];
        const std::size_t keep = bound_.size();
        Outcome outcome = Outcome::go_on;
        done_[number] = 1;
        auto visit = [&](const Object* row) {
            if (bind_row(literal, row)) outcome = extend(gated, gate, emit);
            unbind(keep);
            return outcome == Outcome::go_on;
        };
        if (literal.predicate == kEquality) {
            const Object known =
                value(literal.terms[0]) != kUnbound ? value(literal.terms[0]) : value(literal.terms[1]);
            const Object row[2] = {known, known};
            visit(row);
        } else if (options_.shuffle != nullptr) {
            std::vector<const Object*> rows;
            candidates(literal, [&](const Object* row) {
                rows.push_back(row);
                return true;
            });
            std::shuffle(rows.begin(), rows.end(), *options_.shuffle);
            for (const Object* row : rows)
                if (!visit(row)) break;
        } else {
            candidates(literal, visit);
        }
        done_[number] = 0;
        return outcome;
    }

    template <typename Gate, typename Emit>
    Outcome along_variable(bool gated, Gate&& gate, Emit&& emit) {
        std::size_t variable = binding_->size();
        for (std::size_t i = 0; i < binding_->size(); ++i) {
            if ((*binding_)[i] != kUnbound) continue;
            if (variable == binding_->size()) variable = i;
            if (!gated && options_.wanted[i]) {
                variable = i;
                break;
            }
        }
        if (variable == binding_->size()) {
            if (!emit(*binding_)) return Outcome::stop;
            return options_.wanted != nullptr ? Outcome::found : Outcome::go_on;
        }
        std::span<const Object> members = members_of(variable);
        std::vector<Object> shuffled;
        if (options_.shuffle != nullptr) {
            shuffled.assign(members.begin(), members.end());
            std::shuffle(shuffled.begin(), shuffled.end(), *options_.shuffle);
            members = shuffled;
        }
        return along_objects(variable, members, gated, gate, emit);
    }

    template <typename Gate, typename Emit>
    Outcome along_objects(std::size_t variable, std::span<const Object> objects, bool gated, Gate&& gate, Emit&& emit) {
        Outcome outcome = Outcome::go_on;
        for (Object object : objects) {
            if (!admits(variable, object)) continue;
            (*binding_)[variable] = object;
            outcome = extend(gated, gate, emit);
            (*binding_)[variable] = kUnbound;
            if (outcome != Outcome::go_on) break;
        }
        return outcome;
    }

    std::span<const Object> members_of(std::size_t variable) const {
        return task_.domains[static_cast<std::size_t>(pattern_->domains[variable])].members;
    }

    std::vector<std::vector<std::int32_t>> components(const std::vector<std::int32_t>& variables) const;
    bool settle(const std::vector<std::int32_t>& variables);
    std::int64_t count_parts(const std::vector<std::int32_t>& variables);
    std::int64_t count_part(const std::vector<std::int32_t>& variables);
    void pick_parts(const std::vector<std::int32_t>& variables, std::int64_t index);
    void pick_part(const std::vector<std::int32_t>& variables, std::int64_t index);
    template <typename Visit>
    void branches(const std::vector<std::int32_t>& variables, Visit&& visit);

    const StateView& view_;
    const Task& task_;
    const Pattern* pattern_ = nullptr;
    std::vector<Object>* binding_ = nullptr;
    MatchOptions options_;
    std::int64_t steps_ = 0;
    Ticker ticker_;
    std::vector<std::uint8_t> done_;
    std::vector<std::int32_t> trail_;  // literals done
    std::vector<std::int32_t> bound_;  // variables bound by rows
    mutable std::vector<Object> prefix_;
    mutable std::unique_ptr<Matcher> inner_;  // for nested conditions
};

}  // namespace saltus
