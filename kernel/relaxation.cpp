#include "relaxation.hpp"

#include <algorithm>
#include <vector>

#include "match.hpp"
#include "state.hpp"

namespace saltus {

namespace {

// An atom that may be added, and what must be true for it.
struct Rule {
    Pattern pattern;
    const Literal* head = nullptr;
    std::vector<std::uint8_t> wanted;  // per variable: occurs in the head
};

bool is_relaxed(const Task& task, const Literal& literal) {
    return !literal.positive && literal.predicate != kEquality && task.fluent[static_cast<std::size_t>(literal.predicate)];
}

std::vector<Rule> rules_of(const Task& task) {
    std::vector<Rule> rules;
    for (const Schema& schema : task.schemas)
        for (const Effect& effect : schema.effects)
            for (const Literal& head : effect.adds) {
                Rule rule{{effect.when.domains, {}}, &head, std::vector<std::uint8_t>(effect.when.domains.size(), 0)};
                for (const auto* literals : {&schema.pattern.literals, &effect.when.literals})
                    for (const Literal& literal : *literals)
                        if (!is_relaxed(task, literal)) rule.pattern.literals.push_back(literal);
                for (std::int32_t term : head.terms)
                    if (term >= 0) rule.wanted[static_cast<std::size_t>(term)] = 1;
                rules.push_back(std::move(rule));
            }
    return rules;
}

}  // namespace

// Round by round; from the second on, only bindings that use an atom of the round before are looked for.
bool relaxed_reaches(const Task& task, std::span<const Code> state, std::span<const Code> goal, std::int64_t work) {
    std::vector<Code> atoms(state.begin(), state.end());
    KeySet reached(2 * atoms.size() + 16);
    for (Code code : atoms) reached.insert(code);
    auto satisfied = [&] { return std::all_of(goal.begin(), goal.end(), [&](Code code) { return reached.contains(code); }); };
    if (satisfied()) return true;
    const std::vector<Rule> rules = rules_of(task);
    std::vector<Code> fresh;
    std::vector<Object> arguments(static_cast<std::size_t>(std::max(1, task.max_arity)));
    std::vector<Object> binding;
    for (bool first = true;; first = false) {
        work -= static_cast<std::int64_t>(atoms.size());
        if (work < 0) return true;
        const StateView view(task, atoms);
        Matcher matcher(view);
        std::vector<Code> next;
        for (const Rule& rule : rules) {
            MatchOptions options;
            // Later on the join starts from a new atom, and its most selective literals come first, not the head's.
            if (first) options.wanted = rule.wanted.data();
            auto match = [&](auto&& gate, auto&& emit, std::int32_t given) {
                options.steps = work;
                matcher.run(rule.pattern, binding, options, gate, emit, given);
                work = matcher.steps_left();
            };
            auto head = [&](const std::vector<Object>& bound) {
                Code code = 0;
                for (std::int32_t term : rule.head->terms)
                    code = code * task.objects() + (term >= 0 ? bound[static_cast<std::size_t>(term)] : ~term);
                return code + task.code_offset[static_cast<std::size_t>(rule.head->predicate)];
            };
            auto is_new = [&](const std::vector<Object>& bound) { return !reached.contains(head(bound)); };
            auto add = [&](const std::vector<Object>& bound) {
                const Code code = head(bound);
                if (reached.insert(code)) next.push_back(code);
                return true;
            };
            if (first) {
                binding.assign(rule.pattern.domains.size(), kUnbound);
                match(is_new, add, -1);
                continue;
            }
            const auto& literals = rule.pattern.literals;
            for (Code code : fresh) {
                if (work < 0) return true;
                const std::int32_t predicate = task.decode(code, arguments.data());
                for (std::size_t l = 0; l < literals.size(); ++l)
                    if (literals[l].predicate == predicate && matcher.unify(rule.pattern, literals[l], arguments.data(), binding))
                        match(is_new, add, static_cast<std::int32_t>(l));
            }
        }
        if (work < 0) return true;
        if (next.empty()) return false;
        if (satisfied()) return true;
        std::sort(next.begin(), next.end());
        const auto middle = static_cast<std::ptrdiff_t>(atoms.size());
        atoms.insert(atoms.end(), next.begin(), next.end());
        std::inplace_merge(atoms.begin(), atoms.begin() + middle, atoms.end());
        fresh = std::move(next);
    }
}

}  // namespace saltus
