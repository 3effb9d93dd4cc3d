#include "tidy.hpp"

#include <algorithm>
#include <numeric>
#include <unordered_map>

#include "interrupt.hpp"
#include "keys.hpp"

namespace saltus {

namespace {

std::size_t at(std::int32_t number) { return static_cast<std::size_t>(number); }

// A pseudo-random number per atom.
std::uint64_t mixed(std::int32_t atom) { return mix(static_cast<std::uint64_t>(atom) + 0x9E3779B97F4A7C15ULL); }

// A state: whether each atom holds.
class Values {
public:
    Values(std::size_t atoms, std::span<const std::int32_t> initial) : value_(atoms, 0) {
        for (std::int32_t atom : initial) value_[at(atom)] = 1;
    }

    bool holds(std::int32_t atom) const { return value_[at(atom)] != 0; }
    void flip(std::int32_t atom) { value_[at(atom)] ^= 1; }

    bool allows(const ListedActions& actions, std::size_t action) const {
        const auto needs = actions.needs[action];
        const auto forbids = actions.forbids[action];
        return std::all_of(needs.begin(), needs.end(), [&](std::int32_t atom) { return holds(atom); }) &&
               std::none_of(forbids.begin(), forbids.end(), [&](std::int32_t atom) { return holds(atom); });
    }

    bool reaches(const ListedGoal& goal) const {
        return std::all_of(goal.wanted.begin(), goal.wanted.end(), [&](std::int32_t atom) { return holds(atom); }) &&
               std::none_of(goal.unwanted.begin(), goal.unwanted.end(), [&](std::int32_t atom) { return holds(atom); });
    }

    // `change` is called for every atom whose value changes, after the change.
    template <typename Change>
    void apply(const ListedActions& actions, std::size_t action, Change&& change) {
        for (std::int32_t atom : actions.deletes[action])
            if (holds(atom)) {
                flip(atom);
                change(atom);
            }
        for (std::int32_t atom : actions.adds[action])
            if (!holds(atom)) {
                flip(atom);
                change(atom);
            }
    }

private:
    std::vector<std::uint8_t> value_;
};

// Two runs side by side, of the plan as it is and of the plan without one of its actions, from the same state.
class Elimination {
public:
    Elimination(const ListedActions& actions, std::span<const std::int32_t> plan, std::span<const std::int32_t> initial,
                const ListedGoal& goal, std::int64_t most_work)
        : actions_(actions),
          plan_(plan),
          goal_(goal),
          most_work_(most_work),
          kept_(plan.size()),
          with_(actions.atoms, initial),
          without_(actions.atoms, initial),
          is_wanted_(actions.atoms, 0),
          is_unwanted_(actions.atoms, 0),
          last_true_(actions.atoms, -1),
          last_false_(actions.atoms, -1) {
        std::iota(kept_.begin(), kept_.end(), 0);
        for (std::int32_t atom : goal.wanted) is_wanted_[at(atom)] = 1;
        for (std::int32_t atom : goal.unwanted) is_unwanted_[at(atom)] = 1;
        find_last();
    }

    std::vector<std::int32_t> run() {
        Ticker ticker;
        std::size_t i = 0;
        while (i < kept_.size() && work_ <= most_work_) {
            const std::int64_t before = work_;
            if (!try_without(i)) {
                const std::size_t action = action_at(i);
                count(action);
                with_.apply(actions_, action, [&](std::int32_t atom) { without_.flip(atom); });
                ++i;
            }
            ticker.tick(static_cast<std::uint32_t>(std::min<std::int64_t>(work_ - before, 1 << 20)));
        }
        return kept_;
    }

private:
    std::size_t action_at(std::size_t i) const { return at(plan_[at(kept_[i])]); }

    void count(std::size_t action) {
        work_ += static_cast<std::int64_t>(actions_.needs[action].size() + actions_.forbids[action].size() +
                                           actions_.adds[action].size() + actions_.deletes[action].size() + 1);
    }

    // The last position in the plan at which an atom of the goal is made true, or false.
    void find_last() {
        for (std::int32_t atom : goal_.wanted) last_true_[at(atom)] = -1;
        for (std::int32_t atom : goal_.unwanted) last_false_[at(atom)] = -1;
        for (std::int32_t position : kept_) {
            const std::size_t action = at(plan_[at(position)]);
            for (std::int32_t atom : actions_.adds[action]) last_true_[at(atom)] = position;
            for (std::int32_t atom : actions_.deletes[action]) last_false_[at(atom)] = position;
            count(action);
        }
    }

    // Whether the goal is out of reach once the action at a position of the plan was left out.
    bool is_lost(std::int32_t position) const {
        const std::size_t action = at(plan_[at(position)]);
        for (std::int32_t atom : actions_.adds[action])
            if (is_wanted_[at(atom)] && last_true_[at(atom)] <= position && !without_.holds(atom)) return true;
        for (std::int32_t atom : actions_.deletes[action])
            if (is_unwanted_[at(atom)] && last_false_[at(atom)] <= position && without_.holds(atom)) return true;
        return false;
    }

    // Removes the action at place i and the later ones that need it if the goal is still reached.
    bool try_without(std::size_t i) {
        std::size_t differing = 0;  // atoms
        std::vector<std::int32_t> changed_with;
        std::vector<std::int32_t> changed_without;
        auto differ = [&](std::int32_t atom) {
            if (with_.holds(atom) != without_.holds(atom))
                ++differing;
            else
                --differing;
        };
        auto step = [&](Values& values, std::size_t action, std::vector<std::int32_t>& changed) {
            values.apply(actions_, action, [&](std::int32_t atom) {
                changed.push_back(atom);
                differ(atom);
            });
        };
        std::vector<std::size_t> dropped{i};
        step(with_, action_at(i), changed_with);
        bool is_over = is_lost(kept_[i]);
        bool is_reached = false;
        std::size_t j = i + 1;
        for (; !is_over && differing != 0 && j < kept_.size(); ++j) {
            const std::size_t action = action_at(j);
            count(action);
            const bool is_applicable = without_.allows(actions_, action);
            step(with_, action, changed_with);
            if (is_applicable) {
                step(without_, action, changed_without);
            } else {
                dropped.push_back(j);
                is_over = is_lost(kept_[j]);
            }
        }
        if (!is_over) is_reached = differing == 0 || without_.reaches(goal_);
        for (auto it = changed_with.rbegin(); it != changed_with.rend(); ++it) with_.flip(*it);
        for (auto it = changed_without.rbegin(); it != changed_without.rend(); ++it) without_.flip(*it);
        if (!is_reached) return false;
        const bool was_last =
            std::any_of(dropped.begin(), dropped.end(), [&](std::size_t place) { return serves_goal(place); });
        std::size_t next = 0;
        std::size_t end = i;
        for (std::size_t place = i; place < kept_.size(); ++place) {
            if (next < dropped.size() && dropped[next] == place)
                ++next;
            else
                kept_[end++] = kept_[place];
        }
        kept_.resize(end);
        if (was_last) find_last();
        return true;
    }

    // Whether an action adds or deletes an atom that the goal is about.
    bool serves_goal(std::size_t place) const {
        const std::size_t action = action_at(place);
        const auto adds = actions_.adds[action];
        const auto deletes = actions_.deletes[action];
        return std::any_of(adds.begin(), adds.end(), [&](std::int32_t atom) { return is_wanted_[at(atom)] != 0; }) ||
               std::any_of(deletes.begin(), deletes.end(),
                           [&](std::int32_t atom) { return is_unwanted_[at(atom)] != 0; });
    }

    const ListedActions& actions_;
    std::span<const std::int32_t> plan_;
    ListedGoal goal_;
    std::int64_t most_work_;
    std::int64_t work_ = 0;
    std::vector<std::int32_t> kept_;  // positions in the plan
    Values with_;
    Values without_;
    std::vector<std::uint8_t> is_wanted_;
    std::vector<std::uint8_t> is_unwanted_;
    std::vector<std::int32_t> last_true_;  // [atoms]: the last position that makes it so; only for atoms of the goal
    std::vector<std::int32_t> last_false_;
};

}  // namespace

std::vector<std::int32_t> without_loops(const ListedActions& actions, std::span<const std::int32_t> plan,
                                        std::span<const std::int32_t> initial, const ListedGoal& goal) {
    Values values(actions.atoms, initial);
    std::vector<std::int8_t> sign(actions.atoms, 0);  // 1: the goal wants it, -1: it must not hold
    for (std::int32_t atom : goal.wanted) sign[at(atom)] = 1;
    for (std::int32_t atom : goal.unwanted) sign[at(atom)] = -1;
    auto is_open = [&](std::int32_t atom) { return sign[at(atom)] != 0 && values.holds(atom) != (sign[at(atom)] > 0); };
    std::size_t open = 0;  // literals of the goal that do not hold
    for (const auto& atoms : {goal.wanted, goal.unwanted})
        for (std::int32_t atom : atoms) open += is_open(atom);
    std::vector<std::uint64_t> hash{0};  // [states up to the first goal state], relative to the initial state
    for (std::size_t i = 0; i < plan.size() && open > 0; ++i) {
        std::uint64_t now = hash.back();
        values.apply(actions, at(plan[i]), [&](std::int32_t atom) {
            now += values.holds(atom) ? mixed(atom) : 0 - mixed(atom);
            if (sign[at(atom)] != 0) open = is_open(atom) ? open + 1 : open - 1;
        });
        hash.push_back(now);
    }
    std::unordered_map<std::uint64_t, std::size_t> last;
    for (std::size_t i = 0; i < hash.size(); ++i) last[hash[i]] = i;
    Values state(actions.atoms, initial);
    // Moves on from one place to another; whether the states there are the same, as their hashes are.
    auto skip = [&](std::size_t from, std::size_t to) {
        std::unordered_map<std::int32_t, bool> differs;
        for (std::size_t i = from; i < to; ++i)
            state.apply(actions, at(plan[i]), [&](std::int32_t atom) { differs[atom] ^= true; });
        if (std::none_of(differs.begin(), differs.end(), [](const auto& entry) { return entry.second; })) return true;
        for (const auto& [atom, is_other] : differs)
            if (is_other) state.flip(atom);
        return false;
    };
    std::vector<std::int32_t> kept;
    std::size_t place = 0;
    while (true) {
        const std::size_t same = last[hash[place]];
        if (same > place && skip(place, same)) place = same;
        if (place + 1 >= hash.size()) return kept;
        kept.push_back(static_cast<std::int32_t>(place));
        state.apply(actions, at(plan[place]), [](std::int32_t) {});
        ++place;
    }
}

std::vector<std::int32_t> without_redundant(const ListedActions& actions, std::span<const std::int32_t> plan,
                                            std::span<const std::int32_t> initial, const ListedGoal& goal,
                                            std::int64_t most_work) {
    return Elimination(actions, plan, initial, goal, most_work).run();
}

}  // namespace saltus
