#include "relaxation.hpp"

#include <algorithm>
#include <limits>
#include <new>
#include <utility>
#include <vector>

namespace saltus {

bool is_fluent(const Task& task, const Literal& literal) { return task.is_fluent(literal); }

void mark_variables(const Literal& literal, std::vector<std::uint8_t>& marks) {
    for (std::int32_t term : literal.terms)
        if (term >= 0) marks[static_cast<std::size_t>(term)] = 1;
}

namespace {

// Something that makes atoms true: an effect, or an axiom.
struct Source {
    const std::vector<std::int32_t>* domains = nullptr;
    std::vector<Literal> conditions;  // without negative fluent literals
    const std::vector<Literal>* heads = nullptr;
};

std::vector<Source> sources_of(const Task& task) {
    std::vector<Source> sources;
    auto add = [&](const Pattern& body, const std::vector<Literal>* more, const std::vector<Literal>& heads) {
        if (heads.empty()) return;
        Source source{&body.domains, {}, &heads};
        for (const auto* literals : {more, &body.literals})
            if (literals != nullptr)
                for (const Literal& literal : *literals)
                    if (literal.positive || !is_fluent(task, literal)) source.conditions.push_back(literal);
        sources.push_back(std::move(source));
    };
    for (const Schema& schema : task.schemas)
        for (const Effect& effect : schema.effects) add(effect.when, &schema.pattern.literals, effect.adds);
    for (const Axiom& axiom : task.axioms) add(axiom.body, nullptr, axiom.head);
    return sources;
}

// A source with its conditions split into those that never change and those that may.
struct Split {
    Pattern fixed;
    std::vector<Literal> changing;
    const std::vector<Literal>* heads = nullptr;
    std::vector<std::uint8_t> wanted;  // [variables]: occurs in a changing condition or a head
};

std::vector<Split> splits_of(const Task& task) {
    std::vector<Split> splits;
    for (Source& source : sources_of(task)) {
        Split split{{*source.domains, {}}, {}, source.heads, std::vector<std::uint8_t>(source.domains->size(), 0)};
        for (Literal& literal : source.conditions)
            (is_fluent(task, literal) ? split.changing : split.fixed.literals).push_back(std::move(literal));
        for (const auto* literals : {&std::as_const(split.changing), split.heads})
            for (const Literal& literal : *literals) mark_variables(literal, split.wanted);
        splits.push_back(std::move(split));
    }
    return splits;
}

bool are_met(const std::vector<Quota>& quotas, const std::function<bool(Code)>& is_reached) {
    return std::all_of(quotas.begin(), quotas.end(), [&](const Quota& quota) {
        return std::count_if(quota.atoms.begin(), quota.atoms.end(), is_reached) >= quota.least;
    });
}

}  // namespace

std::vector<RelaxedRule> relaxed_rules(const Task& task) {
    std::vector<RelaxedRule> rules;
    for (const Source& source : sources_of(task))
        for (const Literal& head : *source.heads) {
            rules.push_back(
                {{*source.domains, source.conditions}, &head, std::vector<std::uint8_t>(source.domains->size(), 0)});
            mark_variables(head, rules.back().wanted);
        }
    return rules;
}

// Round by round; from the second round on, only bindings that use an atom of the previous round are sought.
std::optional<bool> relaxed_reaches(const Task& task, std::span<const RelaxedRule> rules, std::span<const Code> state,
                                    const Target& target, std::int64_t work, const Derived& derived) {
    std::vector<Code> atoms(state.begin(), state.end());
    KeySet reached(2 * atoms.size() + 16);
    for (Code code : atoms) reached.insert(code);
    auto is_reached = [&](Code code) { return reached.contains(code); };
    auto satisfied = [&] {
        return std::all_of(target.goal.begin(), target.goal.end(), is_reached) && are_met(target.quotas, is_reached);
    };
    if (satisfied()) return true;
    std::vector<Code> fresh;
    std::vector<Object> arguments(static_cast<std::size_t>(std::max(1, task.max_arity)));
    std::vector<Object> binding;
    for (bool first = true;; first = false) {
        work -= static_cast<std::int64_t>(atoms.size());
        if (work < 0) return std::nullopt;
        const StateView view(task, atoms);
        Matcher matcher(view);
        std::vector<Code> next;
        for (const RelaxedRule& rule : rules) {
            MatchOptions options;
            // In later rounds the join starts from a new atom and then takes the most selective literals first.
            if (first) options.wanted = rule.wanted.data();
            auto match = [&](auto&& gate, auto&& emit, std::int32_t given) {
                options.steps = work;
                matcher.run(rule.pattern, binding, options, gate, emit, given);
                work = matcher.steps_left();
            };
            auto is_new = [&](const std::vector<Object>& bound) {
                return !reached.contains(task.encode(*rule.head, bound));
            };
            auto add = [&](const std::vector<Object>& bound) {
                const Code code = task.encode(*rule.head, bound);
                if (reached.insert(code)) {
                    next.push_back(code);
                    if (derived) derived(rule, bound);
                }
                return true;
            };
            if (first) {
                binding.assign(rule.pattern.domains.size(), kUnbound);
                match(is_new, add, -1);
                continue;
            }
            const auto& literals = rule.pattern.literals;
            for (Code code : fresh) {
                if (work < 0) return std::nullopt;
                const std::int32_t predicate = task.decode(code, arguments.data());
                for (std::size_t l = 0; l < literals.size(); ++l)
                    if (literals[l].predicate == predicate &&
                        matcher.unify(rule.pattern, literals[l], arguments.data(), binding))
                        match(is_new, add, static_cast<std::int32_t>(l));
            }
        }
        if (work < 0) return std::nullopt;
        if (next.empty()) return false;
        if (satisfied()) return true;
        std::sort(next.begin(), next.end());
        const auto middle = static_cast<std::ptrdiff_t>(atoms.size());
        atoms.insert(atoms.end(), next.begin(), next.end());
        std::inplace_merge(atoms.begin(), atoms.begin() + middle, atoms.end());
        fresh = std::move(next);
    }
}

GroundRelaxation::GroundRelaxation(const Task& task, std::int64_t limit, bool negation) {
    const std::int64_t most = std::min<std::int64_t>(limit, std::numeric_limits<std::int32_t>::max() - 1);
    try {
        if (!negation)
            ground(task, most);
        else if (!(complete_ = ground_with_negation(task, most)))
            *this = GroundRelaxation();
    } catch (const std::bad_alloc&) {
        *this = GroundRelaxation();
    }
}

void GroundRelaxation::ground(const Task& task, std::int64_t limit) {
    const std::vector<Split> splits = splits_of(task);
    const StateView nothing(task, {});
    Matcher matcher(nothing);
    std::int64_t rules = 0;
    std::int64_t conditions = 0;
    std::int64_t heads = 0;
    MatchOptions counting;
    counting.steps = limit;
    std::vector<Object> binding;
    for (const Split& split : splits) {
        binding.assign(split.fixed.domains.size(), kUnbound);
        const std::int64_t count = matcher.count(split.fixed, binding, counting);
        counting.steps = matcher.steps_left();
        if (counting.steps < 0) return;
        rules = saturating_sum(rules, count);
        conditions =
            saturating_sum(conditions, saturating_product(count, static_cast<std::int64_t>(split.changing.size())));
        heads = saturating_sum(heads, saturating_product(count, static_cast<std::int64_t>(split.heads->size())));
        if (saturating_sum(conditions, heads) > limit) return;
    }
    std::vector<std::int32_t> condition;  // atom numbers, rule by rule
    condition.reserve(static_cast<std::size_t>(conditions));
    head_.reserve(static_cast<std::size_t>(heads));
    open_.reserve(static_cast<std::size_t>(rules));
    first_head_.reserve(static_cast<std::size_t>(rules) + 1);
    first_head_.push_back(0);
    for (const Split& split : splits) {
        MatchOptions options;
        options.wanted = split.wanted.data();
        binding.assign(split.fixed.domains.size(), kUnbound);
        matcher.run(split.fixed, binding, options, [&](const std::vector<Object>& bound) {
            if (split.changing.empty()) ready_.push_back(static_cast<std::int32_t>(open_.size()));
            open_.push_back(static_cast<std::int32_t>(split.changing.size()));
            for (const Literal& literal : split.changing)
                condition.push_back(atoms_.number(task.encode(literal, bound)));
            for (const Literal& literal : *split.heads) head_.push_back(atoms_.number(task.encode(literal, bound)));
            first_head_.push_back(static_cast<std::int32_t>(head_.size()));
            return true;
        });
    }
    index_uses(condition);
    complete_ = true;
}

// Lists, for every atom, the rules that it is a condition of; `condition` holds the atoms rule by rule.
void GroundRelaxation::index_uses(const std::vector<std::int32_t>& condition) {
    first_use_.assign(static_cast<std::size_t>(atoms_.size()) + 1, 0);
    for (std::int32_t atom : condition) ++first_use_[static_cast<std::size_t>(atom) + 1];
    for (std::size_t a = 1; a < first_use_.size(); ++a) first_use_[a] += first_use_[a - 1];
    use_.resize(condition.size());
    std::vector<std::int32_t> next(first_use_.begin(), first_use_.end() - 1);
    std::size_t at = 0;
    for (std::size_t rule = 0; rule < open_.size(); ++rule)
        for (std::int32_t i = 0; i < open_[rule]; ++i)
            use_[static_cast<std::size_t>(next[static_cast<std::size_t>(condition[at++])]++)] =
                static_cast<std::int32_t>(rule);
}

bool GroundRelaxation::reaches(std::span<const Code> state, const Target& target) const {
    enum : std::uint8_t { kReached = 1, kGoal = 2 };
    std::vector<std::uint8_t> marks(static_cast<std::size_t>(atoms_.size()), 0);
    std::vector<std::int32_t> queue;
    std::int64_t missing = 0;
    for (Code code : target.goal) {
        if (std::binary_search(state.begin(), state.end(), code)) continue;
        const std::int32_t atom = atoms_.find(code);
        if (atom < 0) return false;
        std::uint8_t& mark = marks[static_cast<std::size_t>(atom)];
        if (!(mark & kGoal)) ++missing;
        mark |= kGoal;
    }
    auto reach = [&](std::int32_t atom) {
        std::uint8_t& mark = marks[static_cast<std::size_t>(atom)];
        if (mark & kReached) return;
        if (mark & kGoal) --missing;
        mark |= kReached;
        queue.push_back(atom);
    };
    auto fire = [&](std::int32_t rule) {
        const auto r = static_cast<std::size_t>(rule);
        for (std::int32_t h = first_head_[r]; h < first_head_[r + 1]; ++h) reach(head_[static_cast<std::size_t>(h)]);
    };
    for (Code code : state)
        if (const std::int32_t atom = atoms_.find(code); atom >= 0) reach(atom);
    for (const auto& [atom, code] : complements_)
        if (!std::binary_search(state.begin(), state.end(), code)) reach(atom);
    for (std::int32_t rule : ready_) fire(rule);
    std::vector<std::int32_t> open = open_;
    Ticker ticker;
    while ((missing > 0 || !target.quotas.empty()) && !queue.empty()) {
        const auto atom = static_cast<std::size_t>(queue.back());
        queue.pop_back();
        ticker.tick();
        for (std::int32_t u = first_use_[atom]; u < first_use_[atom + 1]; ++u) {
            const std::int32_t rule = use_[static_cast<std::size_t>(u)];
            if (--open[static_cast<std::size_t>(rule)] == 0) fire(rule);
        }
    }
    return missing == 0 && are_met(target.quotas, [&](Code code) {
               const std::int32_t atom = atoms_.find(code);
               if (atom < 0) return std::binary_search(state.begin(), state.end(), code);
               return (marks[static_cast<std::size_t>(atom)] & kReached) != 0;
           });
}

RelaxedProof::RelaxedProof(const Task& task, std::int64_t limit)
    : task_(task),
      rules_(relaxed_rules(task)),
      limit_(static_cast<std::size_t>(std::max<std::int64_t>(limit, 0))),
      nothing_(task, {}),
      matcher_(nothing_),
      arguments_(static_cast<std::size_t>(std::max(1, task.max_arity))) {
    for (const RelaxedRule& rule : rules_) {
        Kept kept{{rule.pattern.domains, {}}, {}, rule.head};
        for (const Literal& literal : rule.pattern.literals)
            (is_fluent(task, literal) ? kept.changing : kept.fixed.literals).push_back(literal);
        split_.push_back(std::move(kept));
    }
}

std::optional<bool> RelaxedProof::reaches(std::span<const Code> state, const Target& target, std::int64_t work) {
    const std::scoped_lock lock(mutex_);
    if (indexed_ && kept_.reaches(state, target)) return true;
    if (!indexed_ || is_full()) forget();
    indexed_ = false;  // until rules that are added have been indexed; an interrupt or a lack of memory may prevent it
    spare_ = work;
    const auto answer = relaxed_reaches(task_, rules_, state, target, work,
                                        [&](const RelaxedRule& rule, const std::vector<Object>& bound) {
                                            if (is_full()) return;  // nor is a way back looked for
                                            const Kept& split = split_[static_cast<std::size_t>(&rule - rules_.data())];
                                            keep(split, bound);
                                            keep_way_back(split, bound);
                                        });
    kept_.index_uses(condition_);
    indexed_ = true;
    count_ = kept_.rules();
    return answer;
}

void RelaxedProof::forget() {
    kept_ = GroundRelaxation();
    kept_.first_head_.push_back(0);
    condition_ = {};
    known_ = KeySet();
    count_ = 0;
}

void RelaxedProof::keep(const Kept& rule, const std::vector<Object>& bound) {
    if (is_full()) return;
    const Code head = task_.encode(*rule.head, bound);
    std::uint64_t hash = mix(static_cast<std::uint64_t>(head));
    for (const Literal& literal : rule.changing)
        hash = mix(hash + static_cast<std::uint64_t>(task_.encode(literal, bound)) + 1);
    if (!known_.insert(static_cast<std::int64_t>(hash))) return;
    if (rule.changing.empty()) kept_.ready_.push_back(static_cast<std::int32_t>(kept_.open_.size()));
    kept_.open_.push_back(static_cast<std::int32_t>(rule.changing.size()));
    for (const Literal& literal : rule.changing)
        condition_.push_back(kept_.atoms_.number(task_.encode(literal, bound)));
    kept_.head_.push_back(kept_.atoms_.number(head));
    kept_.first_head_.push_back(static_cast<std::int32_t>(kept_.head_.size()));
}

// A rule that adds a condition of the given one, and needs what the given one adds: two atoms of the same predicate.
void RelaxedProof::keep_way_back(const Kept& rule, const std::vector<Object>& bound) {
    constexpr std::int64_t kSteps = 64;  // of a join, for the static conditions of one way back

    const std::int32_t predicate = rule.head->predicate;
    std::vector<Object> head;
    for (const Literal& condition : rule.changing) {
        if (condition.predicate != predicate) continue;
        head.clear();
        for (std::int32_t term : rule.head->terms) head.push_back(value_of(term, bound));
        for (std::size_t i = 0; i < condition.terms.size(); ++i) arguments_[i] = value_of(condition.terms[i], bound);
        for (const Kept& other : split_) {
            if (other.head->predicate != predicate) continue;
            for (const Literal& literal : other.changing) {
                if (literal.predicate != predicate || --spare_ < 0) continue;
                if (!matcher_.unify(other.fixed, literal, head.data(), binding_)) continue;
                if (!matcher_.unify_more(other.fixed, *other.head, arguments_.data(), binding_)) continue;
                MatchOptions options;
                options.steps = std::min(kSteps, spare_);
                matcher_.run(other.fixed, binding_, options, [&](const std::vector<Object>& found) {
                    keep(other, found);
                    return false;
                });
                spare_ -= options.steps - matcher_.steps_left();
            }
        }
    }
}

}  // namespace saltus
