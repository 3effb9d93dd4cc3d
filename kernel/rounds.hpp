// Rounds: what lifted rules reach from a state, round by round, if nothing becomes false.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "keys.hpp"
#include "match.hpp"
#include "rules.hpp"
#include "state.hpp"

namespace saltus {

// Conditions without negative ones that may change, and atoms that are reached where they hold.
struct JoinedRule {
    Pattern pattern;
    std::vector<Literal> heads;
    std::vector<std::uint8_t> wanted;  // [variables]: only these distinguish bindings; empty: all do
};

// Joins rules with a state, and then with what was reached; from the second round on, only bindings that use an atom of
// the previous round are sought, and such an atom may be used for several conditions of one binding.
class Rounds {
public:
    Rounds(const Task& task, std::span<const JoinedRule> rules, std::span<const Code> state)
        : task_(task), rules_(rules), atoms_(state.begin(), state.end()), reached_(2 * state.size() + 16) {
        for (Code code : state) reached_.insert(code);
    }

    bool is_reached(Code code) const { return reached_.contains(code); }
    // Reached atoms, ascending, but for those of a round that has not ended.
    const std::vector<Code>& atoms() const { return atoms_; }

    // Runs until done() holds after a round (true) or nothing is new (false). No answer once the work (steps of joins,
    // and all atoms again in every round) is spent, or emit(rule, binding, is_new) returns false. Bindings that differ
    // in unwanted variables alone count once, and only if they reach a new atom.
    template <typename Emit, typename Done>
    std::optional<bool> run(std::int64_t work, Emit&& emit, Done&& done) {
        if (done()) return true;
        std::vector<Object> arguments(static_cast<std::size_t>(std::max(1, task_.max_arity)));
        std::vector<Object> binding;
        for (bool first = true;; first = false) {
            work -= static_cast<std::int64_t>(atoms_.size());
            if (work < 0) return std::nullopt;
            const StateView view(task_, atoms_);
            Matcher matcher(view);
            next_.clear();
            for (const JoinedRule& rule : rules_) {
                MatchOptions options;
                // In later rounds the join starts from a new atom and then takes the most selective literals first.
                if (first && !rule.wanted.empty()) options.wanted = rule.wanted.data();
                auto is_new = [&](const std::vector<Object>& bound) {
                    return std::any_of(rule.heads.begin(), rule.heads.end(), [&](const Literal& head) {
                        return !reached_.contains(task_.encode(head, bound));
                    });
                };
                auto match = [&](std::int32_t given) {
                    options.steps = work;
                    const bool go_on = matcher.run(
                        rule.pattern, binding, options, is_new,
                        [&](const std::vector<Object>& bound) { return emit(rule, bound, reach(rule, bound)); }, given);
                    work = matcher.steps_left();
                    return go_on;
                };
                if (first) {
                    binding.assign(rule.pattern.domains.size(), kUnbound);
                    if (!match(-1)) return std::nullopt;
                    continue;
                }
                const auto& literals = rule.pattern.literals;
                for (Code code : fresh_) {
                    const std::int32_t predicate = task_.decode(code, arguments.data());
                    for (std::size_t l = 0; l < literals.size(); ++l)
                        if (literals[l].predicate == predicate &&
                            matcher.unify(rule.pattern, literals[l], arguments.data(), binding) &&
                            !match(static_cast<std::int32_t>(l)))
                            return std::nullopt;
                }
            }
            if (next_.empty()) return false;
            if (done()) return true;
            std::sort(next_.begin(), next_.end());
            const auto middle = static_cast<std::ptrdiff_t>(atoms_.size());
            atoms_.insert(atoms_.end(), next_.begin(), next_.end());
            std::inplace_merge(atoms_.begin(), atoms_.begin() + middle, atoms_.end());
            std::swap(fresh_, next_);
        }
    }

private:
    // Whether an atom that a binding reaches is new.
    bool reach(const JoinedRule& rule, const std::vector<Object>& bound) {
        bool is_new = false;
        for (const Literal& head : rule.heads) {
            const Code code = task_.encode(head, bound);
            if (!reached_.insert(code)) continue;
            next_.push_back(code);
            is_new = true;
        }
        return is_new;
    }

    const Task& task_;
    std::span<const JoinedRule> rules_;
    std::vector<Code> atoms_;
    KeySet reached_;
    std::vector<Code> fresh_;  // of the previous round
    std::vector<Code> next_;
};

}  // namespace saltus
