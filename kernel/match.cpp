#include "match.hpp"

#include <numeric>
#include <stdexcept>

namespace saltus {

bool Matcher::unify(const Pattern& pattern, const Literal& literal, const Object* arguments,
                    std::vector<Object>& binding) const {
    binding.assign(pattern.domains.size(), kUnbound);
    return unify_more(pattern, literal, arguments, binding);
}

bool Matcher::unify_more(const Pattern& pattern, const Literal& literal, const Object* arguments,
                         std::vector<Object>& binding) const {
    for (std::size_t i = 0; i < literal.terms.size(); ++i) {
        const std::int32_t term = literal.terms[i];
        if (term < 0) {
            if (~term != arguments[i]) return false;
            continue;
        }
        const auto variable = static_cast<std::size_t>(term);
        if (binding[variable] == kUnbound) {
            const std::int32_t domain = pattern.domains[variable];
            if (domain >= 0 &&
                !task_.domains[static_cast<std::size_t>(domain)].allowed[static_cast<std::size_t>(arguments[i])])
                return false;
            binding[variable] = arguments[i];
        } else if (binding[variable] != arguments[i]) {
            return false;
        }
    }
    return true;
}

bool Matcher::true_nested(const Literal& literal) const {
    const Nested& nested = task_.nested_of(literal);
    if (!inner_) inner_ = std::make_unique<Matcher>(view_);
    std::vector<Object> binding(nested.pattern.domains.size(), kUnbound);
    for (std::size_t i = 0; i < literal.terms.size(); ++i) binding[i] = value(literal.terms[i]);
    const bool found =
        !inner_->run(nested.pattern, binding, MatchOptions{}, [](const std::vector<Object>&) { return false; });
    return found == nested.positive;
}

bool Matcher::least(const Pattern& pattern, std::vector<Object>& binding) {
    std::vector<std::uint8_t> wanted(binding.size(), 0);
    MatchOptions options;
    options.wanted = wanted.data();
    bool is_match = false;
    // Variable by variable: the least object with which there is a completion.
    for (std::size_t variable = 0; variable < binding.size(); ++variable) {
        if (binding[variable] != kUnbound) continue;
        Object best = kUnbound;
        auto is_less = [&](const std::vector<Object>& bound) { return best == kUnbound || bound[variable] < best; };
        wanted[variable] = 1;
        run(pattern, binding, options, is_less, [&](const std::vector<Object>& bound) {
            best = bound[variable];
            return true;
        });
        wanted[variable] = 0;
        if (best == kUnbound) return false;
        binding[variable] = best;
        is_match = true;
    }
    return is_match || !run(pattern, binding, MatchOptions{}, [](const std::vector<Object>&) { return false; });
}

// Groups of variables connected by open literals; the groups are independent of each other.
std::vector<std::vector<std::int32_t>> Matcher::components(const std::vector<std::int32_t>& variables) const {
    std::vector<std::int32_t> leader(binding_->size());
    std::iota(leader.begin(), leader.end(), 0);
    auto find = [&](std::int32_t v) {
        while (leader[static_cast<std::size_t>(v)] != v) v = leader[static_cast<std::size_t>(v)];
        return v;
    };
    for (const Literal& literal : pattern_->literals) {
        std::int32_t first = -1;
        for (std::int32_t term : literal.terms) {
            if (term < 0 || value(term) != kUnbound) continue;
            if (first < 0)
                first = find(term);
            else
                leader[static_cast<std::size_t>(find(term))] = first;
        }
    }
    std::vector<std::vector<std::int32_t>> parts;
    std::vector<std::int32_t> part_of(binding_->size(), -1);
    for (std::int32_t v : variables) {
        if ((*binding_)[static_cast<std::size_t>(v)] != kUnbound) continue;
        const auto root = static_cast<std::size_t>(find(v));
        if (part_of[root] < 0) {
            part_of[root] = static_cast<std::int32_t>(parts.size());
            parts.emplace_back();
        }
        parts[static_cast<std::size_t>(part_of[root])].push_back(v);
    }
    return parts;
}

// Whether all literals that are fully bound by now and mention one of the variables are true.
bool Matcher::settle(const std::vector<std::int32_t>& variables) {
    for (const Literal& literal : pattern_->literals) {
        const bool concerned = std::any_of(literal.terms.begin(), literal.terms.end(), [&](std::int32_t term) {
            return term >= 0 && std::find(variables.begin(), variables.end(), term) != variables.end();
        });
        if (concerned && fully_bound(literal) && !true_literal(literal)) return false;
    }
    return true;
}

// Calls visit(rest) -> bool for every consistent binding of some of the variables; `rest` are those still free.
template <typename Visit>
void Matcher::branches(const std::vector<std::int32_t>& variables, Visit&& visit) {
    const Literal* best = nullptr;
    std::int64_t best_rows = kMany;
    for (const Literal& literal : pattern_->literals) {
        if (!literal.positive || literal.predicate == kEquality || fully_bound(literal)) continue;
        const bool concerned = std::any_of(literal.terms.begin(), literal.terms.end(), [&](std::int32_t term) {
            return term >= 0 && std::find(variables.begin(), variables.end(), term) != variables.end();
        });
        if (!concerned) continue;
        const std::int64_t rows = estimate(literal);
        if (rows < best_rows) {
            best_rows = rows;
            best = &literal;
        }
    }
    const std::size_t keep = bound_.size();
    auto proceed = [&]() {
        ticker_.tick();
        if (--steps_ < 0) return false;
        bool go_on = true;
        if (settle({bound_.begin() + static_cast<std::ptrdiff_t>(keep), bound_.end()})) {
            std::vector<std::int32_t> rest;
            for (std::int32_t v : variables)
                if ((*binding_)[static_cast<std::size_t>(v)] == kUnbound) rest.push_back(v);
            go_on = visit(rest);
        }
        return go_on;
    };
    if (best != nullptr) {
        candidates(*best, [&](const Object* row) {
            bool go_on = true;
            if (bind_row(*best, row)) go_on = proceed();
            if (go_on) unbind(keep);
            return go_on;
        });
        return;
    }
    const auto variable = static_cast<std::size_t>(variables.front());
    for (Object object : members_of(variable)) {
        if (!admits(variable, object)) continue;
        (*binding_)[variable] = object;
        bound_.push_back(variables.front());
        if (!proceed()) return;
        unbind(keep);
    }
}

std::int64_t Matcher::count_parts(const std::vector<std::int32_t>& variables) {
    std::int64_t total = 1;
    for (const auto& part : components(variables)) {
        const std::int64_t here = count_part(part);
        if (here == 0 || steps_ < 0) return 0;
        total = saturating_product(total, here);
    }
    return total;
}

std::int64_t Matcher::count_part(const std::vector<std::int32_t>& variables) {
    std::int64_t total = 0;
    branches(variables, [&](const std::vector<std::int32_t>& rest) {
        total = saturating_sum(total, count_parts(rest));
        return steps_ >= 0;
    });
    return total;
}

std::int64_t Matcher::count(const Pattern& pattern, std::vector<Object>& binding, const MatchOptions& options) {
    start(pattern, binding, options);
    for (const Literal& literal : pattern.literals)
        if (fully_bound(literal) && !true_literal(literal)) return 0;
    std::vector<std::int32_t> variables(binding.size());
    std::iota(variables.begin(), variables.end(), 0);
    return count_parts(variables);
}

void Matcher::pick_parts(const std::vector<std::int32_t>& variables, std::int64_t index) {
    for (const auto& part : components(variables)) {
        const std::int64_t here = count_part(part);
        if (here == 0) throw std::invalid_argument("no binding to pick");
        pick_part(part, index % here);
        index /= here;
    }
    if (index != 0) throw std::invalid_argument("fewer bindings than the index of the one to pick");
}

void Matcher::pick_part(const std::vector<std::int32_t>& variables, std::int64_t index) {
    branches(variables, [&](const std::vector<std::int32_t>& rest) {
        const std::int64_t here = count_parts(rest);
        if (index >= here) {
            index -= here;
            return true;
        }
        pick_parts(rest, index);
        return false;  // the binding stays as it is
    });
}

void Matcher::pick(const Pattern& pattern, std::int64_t index, std::vector<Object>& binding) {
    binding.assign(pattern.domains.size(), kUnbound);
    start(pattern, binding, MatchOptions{});
    if (index < 0) throw std::invalid_argument("the index of a binding to pick is negative");
    for (const Literal& literal : pattern.literals)
        if (fully_bound(literal) && !true_literal(literal)) throw std::invalid_argument("no binding to pick");
    std::vector<std::int32_t> variables(binding.size());
    std::iota(variables.begin(), variables.end(), 0);
    pick_parts(variables, index);
}

}  // namespace saltus
