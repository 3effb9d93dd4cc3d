#include "relaxation.hpp"

#include <algorithm>
#include <utility>

namespace saltus {

namespace {

// What ground actions reach from a state. Asked for one atom, it goes on only until that atom is reached.
class Reach {
public:
    // Rules that delete an atom marked in `kept` are left out; it may be empty.
    Reach(const GroundActions& actions, std::span<const std::int32_t> state, const std::vector<std::uint8_t>& kept)
        : actions_(actions),
          kept_(kept),
          reached_(static_cast<std::size_t>(actions.atoms()), 0),
          open_(std::make_unique_for_overwrite<std::int32_t[]>(static_cast<std::size_t>(actions.rules()))) {
        for (std::int32_t rule = 0; rule < actions.rules(); ++rule)
            open_[static_cast<std::size_t>(rule)] = actions.conditions(rule);
        for (std::int32_t atom : state) reach(atom);
        for (std::int32_t rule : actions_.unconditional()) fire(rule);
    }

    bool holds(std::int32_t atom) {
        while (!reached_[static_cast<std::size_t>(atom)] && !queue_.empty()) {
            const auto users = actions_.users(queue_.back());
            queue_.pop_back();
            ticker_.tick(1 + static_cast<std::uint32_t>(users.size()));
            for (std::int32_t rule : users)
                if (--open_[static_cast<std::size_t>(rule)] == 0) fire(rule);
        }
        return reached_[static_cast<std::size_t>(atom)] != 0;
    }

private:
    void reach(std::int32_t atom) {
        std::uint8_t& reached = reached_[static_cast<std::size_t>(atom)];
        if (!reached) queue_.push_back(atom);
        reached = 1;
    }
    void fire(std::int32_t rule) {
        if (!kept_.empty()) {
            const auto deletes = actions_.deletes(rule);
            if (std::any_of(deletes.begin(), deletes.end(),
                            [&](std::int32_t atom) { return kept_[static_cast<std::size_t>(atom)] != 0; }))
                return;
        }
        for (std::int32_t atom : actions_.adds(rule)) reach(atom);
    }

    const GroundActions& actions_;
    const std::vector<std::uint8_t>& kept_;  // [atoms]
    std::vector<std::uint8_t> reached_;      // [atoms]
    std::unique_ptr<std::int32_t[]> open_;   // [rules]: conditions that are not reached
    std::vector<std::int32_t> queue_;        // reached, but not followed up
    Ticker ticker_;
};

bool are_met(const std::vector<Quota>& quotas, const std::function<bool(Code)>& is_reached) {
    return std::all_of(quotas.begin(), quotas.end(), [&](const Quota& quota) {
        return std::count_if(quota.atoms.begin(), quota.atoms.end(), is_reached) >= quota.least;
    });
}

// Rules of effects and axioms, one for each atom that they add. Negative conditions that may change are taken as true.
std::vector<JoinedRule> relaxed_rules(const Task& task) {
    std::vector<JoinedRule> rules;
    for (const Rule& rule : rules_of(task, false))
        for (const Literal& head : rule.adds) {
            JoinedRule joined{{rule.conditions.domains, {}}, {head}, {}};
            for (const Literal& literal : rule.conditions.literals)
                if (literal.positive || !task.is_fluent(literal)) joined.pattern.literals.push_back(literal);
            joined.wanted.assign(rule.conditions.domains.size(), 0);
            for (std::int32_t term : head.terms)
                if (term >= 0) joined.wanted[static_cast<std::size_t>(term)] = 1;
            rules.push_back(std::move(joined));
        }
    return rules;
}

}  // namespace

bool reaches(const GroundActions& actions, std::span<const Code> state, const Target& target, bool keeping) {
    auto in_state = [&](Code code) { return std::binary_search(state.begin(), state.end(), code); };
    std::vector<std::int32_t> goal;
    std::vector<std::uint8_t> kept(keeping ? static_cast<std::size_t>(actions.atoms()) : 0, 0);
    for (Code code : target.goal) {
        const std::int32_t atom = actions.find(code);
        if (in_state(code)) {
            if (keeping && atom >= 0) kept[static_cast<std::size_t>(atom)] = 1;
            continue;
        }
        if (atom < 0) return false;
        goal.push_back(atom);
    }
    if (goal.empty() && target.quotas.empty()) return true;
    std::vector<std::int32_t> initial;
    for (Code code : state)
        if (const std::int32_t atom = actions.find(code); atom >= 0) initial.push_back(atom);
    for (const auto& [atom, code] : actions.complements())
        if (!in_state(code)) initial.push_back(atom);
    Reach reach(actions, initial, kept);
    auto holds = [&](std::int32_t atom) { return reach.holds(atom); };
    return std::all_of(goal.begin(), goal.end(), holds) && are_met(target.quotas, [&](Code code) {
               const std::int32_t atom = actions.find(code);
               return atom < 0 ? in_state(code) : holds(atom);
           });
}

RelaxedProof::RelaxedProof(const Task& task, std::int64_t limit)
    : task_(task),
      rules_(relaxed_rules(task)),
      limit_(std::max<std::int64_t>(limit, 0)),
      nothing_(task, {}),
      matcher_(nothing_),
      kept_(task),
      arguments_(static_cast<std::size_t>(std::max(1, task.max_arity))) {
    for (const JoinedRule& rule : rules_) splits_.emplace_back(task, rule.pattern);
}

std::optional<bool> RelaxedProof::reaches(std::span<const Code> state, const Target& target, std::int64_t work) {
    const std::scoped_lock lock(mutex_);
    if (indexed_ && saltus::reaches(kept_, state, target)) return true;
    if (!indexed_ || is_full()) forget();
    indexed_ = false;  // until rules that are added have been indexed; an interrupt or a lack of memory may prevent it
    spare_ = work;
    Rounds rounds(task_, rules_, state);
    auto is_reached = [&](Code code) { return rounds.is_reached(code); };
    const auto answer = rounds.run(
        work,
        [&](const JoinedRule& rule, const std::vector<Object>& bound, bool is_new) {
            if (!is_new || is_full()) return true;
            const auto number = static_cast<std::size_t>(&rule - rules_.data());
            keep(number, bound);
            keep_way_back(number, bound);
            return true;
        },
        [&] {
            return std::all_of(target.goal.begin(), target.goal.end(), is_reached) &&
                   are_met(target.quotas, is_reached);
        });
    kept_.index();
    indexed_ = true;
    count_ = kept_.rules();
    return answer;
}

void RelaxedProof::forget() {
    kept_ = GroundActions(task_);
    size_ = 0;
    known_ = KeySet();
    count_ = 0;
}

void RelaxedProof::keep(std::size_t rule, const std::vector<Object>& bound) {
    if (is_full()) return;
    const Code head = task_.encode(rules_[rule].heads[0], bound);
    needs_.clear();
    for (const Literal& literal : splits_[rule].needs) needs_.push_back(task_.encode(literal, bound));
    std::uint64_t hash = mix(static_cast<std::uint64_t>(head));
    for (Code code : needs_) hash = mix(hash + static_cast<std::uint64_t>(code) + 1);
    if (!known_.insert(static_cast<std::int64_t>(hash))) return;
    kept_.add_rule(needs_, head);
    size_ += static_cast<std::int64_t>(needs_.size()) + 1;
}

// A rule that adds a condition of the given one, and needs what the given one adds: two atoms of the same predicate.
void RelaxedProof::keep_way_back(std::size_t rule, const std::vector<Object>& bound) {
    constexpr std::int64_t kSteps = 64;  // of a join, for the static conditions of one way back

    const Literal& added = rules_[rule].heads[0];
    const std::int32_t predicate = added.predicate;
    std::vector<Object> head;
    for (const Literal& condition : splits_[rule].needs) {
        if (condition.predicate != predicate) continue;
        head.clear();
        for (std::int32_t term : added.terms) head.push_back(value_of(term, bound));
        for (std::size_t i = 0; i < condition.terms.size(); ++i) arguments_[i] = value_of(condition.terms[i], bound);
        for (std::size_t other = 0; other < rules_.size(); ++other) {
            if (rules_[other].heads[0].predicate != predicate) continue;
            const Pattern& fixed = splits_[other].fixed;
            for (const Literal& literal : splits_[other].needs) {
                if (literal.predicate != predicate || --spare_ < 0) continue;
                if (!matcher_.unify(fixed, literal, head.data(), binding_)) continue;
                if (!matcher_.unify_more(fixed, rules_[other].heads[0], arguments_.data(), binding_)) continue;
                MatchOptions options;
                options.steps = std::min(kSteps, spare_);
                matcher_.run(fixed, binding_, options, [&](const std::vector<Object>& found) {
                    keep(other, found);
                    return false;
                });
                spare_ -= options.steps - matcher_.steps_left();
            }
        }
    }
}

}  // namespace saltus
