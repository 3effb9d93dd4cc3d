#include "rules.hpp"

namespace saltus {

std::vector<Rule> rules_of(const Task& task, bool whole) {
    std::vector<Rule> rules;
    auto append = [](std::vector<Literal>& to, const std::vector<Literal>& from) {
        to.insert(to.end(), from.begin(), from.end());
    };
    for (std::size_t s = 0; s < task.schemas.size(); ++s) {
        const Schema& schema = task.schemas[s];
        auto is_plain = [&](const Effect& effect) {
            return effect.when.literals.empty() && effect.when.domains.size() == schema.pattern.domains.size();
        };
        auto add = [&](const Effect* own) {
            Rule rule{static_cast<std::int32_t>(s), schema.pattern, {}, {}};
            if (own != nullptr) {
                rule.conditions.domains = own->when.domains;
                append(rule.conditions.literals, own->when.literals);
            }
            for (const Effect& effect : schema.effects)
                if (&effect == own || (whole && is_plain(effect))) {
                    append(rule.adds, effect.adds);
                    append(rule.deletes, effect.deletes);
                }
            rules.push_back(std::move(rule));
        };
        if (whole) add(nullptr);
        for (const Effect& effect : schema.effects)
            if (!whole || !is_plain(effect)) add(&effect);
    }
    for (const Axiom& axiom : task.axioms) rules.push_back({-1, axiom.body, axiom.head, {}});
    return rules;
}

Split::Split(const Task& task, const Pattern& conditions)
    : fixed{conditions.domains, {}}, wanted(conditions.domains.size(), 0) {
    for (const Literal& literal : conditions.literals) {
        if (!task.is_fluent(literal))
            fixed.literals.push_back(literal);
        else
            (literal.positive ? needs : others).push_back(literal);
    }
    want(needs);
}

void Split::want(const std::vector<Literal>& literals) {
    for (const Literal& literal : literals)
        for (std::int32_t term : literal.terms)
            if (term >= 0) wanted[static_cast<std::size_t>(term)] = 1;
}

}  // namespace saltus
