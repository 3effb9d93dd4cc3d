#include "relaxed_search.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <queue>
#include <unordered_set>

#include "interrupt.hpp"

namespace saltus {

namespace {

using Word = std::uint64_t;
constexpr double kNever = std::numeric_limits<double>::infinity();
constexpr std::int64_t kStateWork = 1000;  // what valuing a state takes, however few actions there are
constexpr std::int64_t kBoost = 1000;      // how far preferred actions get ahead when a state is better than all before

constexpr std::size_t kMostBytes = std::size_t{1} << 30;  // of states and queues

struct Node {
    std::int64_t parent = -1;
    std::int32_t action = -1;
};

struct Entry {
    std::int64_t value;
    std::int64_t number;
    std::int64_t node;
    std::int32_t action;
    bool operator>(const Entry& other) const {
        return value != other.value ? value > other.value : number > other.number;
    }
};

using Queue = std::priority_queue<Entry, std::vector<Entry>, std::greater<>>;

class RelaxedSearch {
public:
    RelaxedSearch(const ListedActions& actions, const ListedGoal& goal)
        : actions_(actions),
          goal_(goal),
          words_((actions.atoms + 63) / 64),
          users_(inverse(actions.needs, actions.atoms)),
          adders_(inverse(actions.adds, actions.atoms)) {
        const std::size_t count = actions.count();
        size_ = kStateWork + static_cast<std::int64_t>(users_.atom.size() + adders_.atom.size());
        action_cost_.resize(count);
        open_.resize(count);
        cost_.resize(actions.atoms);
        mark_.assign(actions.atoms, 0);
        chosen_.assign(count, 0);
        for (std::size_t a = 0; a < count; ++a) {
            if (actions.needs[a].empty()) free_.push_back(static_cast<std::int32_t>(a));
        }
    }

    RelaxedFound run(std::span<const std::int32_t> initial, std::int64_t most_work, std::int64_t goal_share) {
        std::vector<Word> state(words_, 0);
        for (const std::int32_t atom : initial) set(state.data(), atom);
        const std::int64_t root = add(state, -1, -1);
        const std::int64_t reached = one_by_one(root, most_work, goal_share);
        if (is_final(reached, goal_.wanted)) return {true, path(reached), work_};
        const std::int64_t found = greedy(root, goal_.wanted, most_work);
        if (found >= 0) return {true, path(found), work_};
        return {false, path(reached), work_};
    }

private:
    static void set(Word* state, std::int32_t atom) { state[atom / 64] |= Word{1} << (atom % 64); }
    static void clear(Word* state, std::int32_t atom) { state[atom / 64] &= ~(Word{1} << (atom % 64)); }
    static bool has(const Word* state, std::int32_t atom) { return (state[atom / 64] >> (atom % 64) & 1) != 0; }
    const Word* state_of(std::int64_t node) const { return states_.data() + static_cast<std::size_t>(node) * words_; }

    std::int64_t add(const std::vector<Word>& state, std::int64_t parent, std::int32_t action) {
        states_.insert(states_.end(), state.begin(), state.end());
        nodes_.push_back({parent, action});
        return static_cast<std::int64_t>(nodes_.size()) - 1;
    }

    std::vector<std::int32_t> path(std::int64_t node) const {
        std::vector<std::int32_t> actions;
        for (; nodes_[static_cast<std::size_t>(node)].parent >= 0;
             node = nodes_[static_cast<std::size_t>(node)].parent) {
            actions.push_back(nodes_[static_cast<std::size_t>(node)].action);
        }
        std::reverse(actions.begin(), actions.end());
        return actions;
    }

    bool is_final(std::int64_t node, std::span<const std::int32_t> goal) const {
        const Word* state = state_of(node);
        const auto holds = [&](std::int32_t atom) { return has(state, atom); };
        if (!std::all_of(goal.begin(), goal.end(), holds)) return false;
        return goal.size() < goal_.wanted.size() || std::none_of(goal_.unwanted.begin(), goal_.unwanted.end(), holds);
    }

    // Costs of all atoms and actions from a state: an action costs one more than all that it needs together.
    void find_costs(const Word* state) {
        work_ += size_;
        std::fill(cost_.begin(), cost_.end(), kNever);
        std::fill(action_cost_.begin(), action_cost_.end(), kNever);
        for (std::size_t a = 0; a < open_.size(); ++a) open_[a] = static_cast<std::int32_t>(actions_.needs[a].size());
        sum_.assign(open_.size(), 1.0);
        heap_.clear();
        for (std::int32_t atom = 0; atom < static_cast<std::int32_t>(actions_.atoms); ++atom) {
            if (has(state, atom)) push(atom, 0.0);
        }
        for (const std::int32_t action : free_) finish(action);
        while (!heap_.empty()) {
            std::pop_heap(heap_.begin(), heap_.end(), std::greater<>());
            const auto [cost, atom] = heap_.back();
            heap_.pop_back();
            const auto at = static_cast<std::size_t>(atom);
            if (cost > cost_[at]) continue;
            ticker_.tick(static_cast<std::uint32_t>(users_[atom].size()) + 1);
            for (const std::int32_t action : users_[atom]) {
                sum_[static_cast<std::size_t>(action)] += cost;
                if (--open_[static_cast<std::size_t>(action)] == 0) finish(action);
            }
        }
    }

    void push(std::int32_t atom, double cost) {
        if (cost >= cost_[static_cast<std::size_t>(atom)]) return;
        cost_[static_cast<std::size_t>(atom)] = cost;
        heap_.emplace_back(cost, atom);
        std::push_heap(heap_.begin(), heap_.end(), std::greater<>());
    }

    void finish(std::int32_t action) {
        const auto at = static_cast<std::size_t>(action);
        action_cost_[at] = sum_[at];
        for (const std::int32_t atom : actions_.adds[at]) push(atom, sum_[at]);
    }

    // Marks the actions of a relaxed plan for some atoms in `chosen_`, and returns their number; -1 if there is none.
    std::int64_t relaxed_plan(const Word* state, std::span<const std::int32_t> goal) {
        find_costs(state);
        for (const std::int32_t action : plan_) chosen_[static_cast<std::size_t>(action)] = 0;
        plan_.clear();
        for (const std::int32_t atom : goal) {
            if (cost_[static_cast<std::size_t>(atom)] == kNever) return -1;
        }
        std::vector<std::int32_t> known;
        const auto want = [&](std::int32_t atom) {
            const auto at = static_cast<std::size_t>(atom);
            if (cost_[at] <= 0.0 || mark_[at] != 0) return;
            mark_[at] = 1;
            known.push_back(atom);
        };
        for (const std::int32_t atom : goal) want(atom);
        for (std::size_t next = 0; next < known.size(); ++next) {
            std::int32_t best = -1;
            for (const std::int32_t action : adders_[known[next]]) {
                if (best < 0 ||
                    action_cost_[static_cast<std::size_t>(action)] < action_cost_[static_cast<std::size_t>(best)]) {
                    best = action;
                }
            }
            if (chosen_[static_cast<std::size_t>(best)] != 0) continue;
            chosen_[static_cast<std::size_t>(best)] = 1;
            plan_.push_back(best);
            for (const std::int32_t need : actions_.needs[static_cast<std::size_t>(best)]) want(need);
        }
        for (const std::int32_t atom : known) mark_[static_cast<std::size_t>(atom)] = 0;
        return static_cast<std::int64_t>(plan_.size());
    }

    // A node with all goals, or with many: each time, the cheapest one is added to those that hold. A goal that takes
    // too long is left out.
    std::int64_t one_by_one(std::int64_t node, std::int64_t most_work, std::int64_t goal_share) {
        std::unordered_set<std::int32_t> left_out;
        while (true) {
            std::vector<std::int32_t> goal;
            std::vector<std::int32_t> wanted;
            for (const std::int32_t atom : goal_.wanted) {
                if (has(state_of(node), atom))
                    goal.push_back(atom);
                else if (!left_out.contains(atom))
                    wanted.push_back(atom);
            }
            if (wanted.empty() || work_ >= most_work) return node;
            find_costs(state_of(node));
            const std::int32_t cheapest = *std::min_element(wanted.begin(), wanted.end(), [&](auto one, auto other) {
                const double first = cost_[static_cast<std::size_t>(one)];
                const double second = cost_[static_cast<std::size_t>(other)];
                return first != second ? first < second : one < other;
            });
            goal.push_back(cheapest);
            const std::int64_t found = greedy(node, goal, std::min(most_work, work_ + most_work / goal_share));
            if (found < 0)
                left_out.insert(cheapest);
            else
                node = found;
        }
    }

    bool is_applicable(const Word* state, std::size_t action) const {
        for (const std::int32_t atom : actions_.needs[action]) {
            if (!has(state, atom)) return false;
        }
        for (const std::int32_t atom : actions_.forbids[action]) {
            if (has(state, atom)) return false;
        }
        return true;
    }

    struct StateHash {
        const RelaxedSearch* search;
        std::size_t operator()(std::int64_t node) const {
            const Word* state = search->state_of(node);
            std::uint64_t hash = 0x9E3779B97F4A7C15ULL;
            for (std::size_t i = 0; i < search->words_; ++i) {
                hash = (hash ^ state[i]) * 0xFF51AFD7ED558CCDULL;
                hash ^= hash >> 32;
            }
            return static_cast<std::size_t>(hash);
        }
    };
    struct StateEqual {
        const RelaxedSearch* search;
        bool operator()(std::int64_t one, std::int64_t other) const {
            const Word* first = search->state_of(one);
            return std::equal(first, first + search->words_, search->state_of(other));
        }
    };
    using Seen = std::unordered_set<std::int64_t, StateHash, StateEqual>;

    std::size_t bytes(const std::array<Queue, 2>& queues) const {
        return states_.size() * sizeof(Word) + (queues[0].size() + queues[1].size()) * sizeof(Entry);
    }

    // A node in which some atoms are true; -1 if there is none before `most_work` is done in all, or memory is full.
    std::int64_t greedy(std::int64_t node, std::span<const std::int32_t> goal, std::int64_t most_work) {
        Seen seen(16, StateHash{this}, StateEqual{this});
        seen.insert(node);
        std::array<Queue, 2> queues;  // all actions, preferred ones
        std::array<std::int64_t, 2> credit{0, 0};
        auto best = static_cast<std::int64_t>(actions_.count()) + 1;
        std::int64_t entries = 0;
        while (work_ < most_work && bytes(queues) < kMostBytes) {
            if (is_final(node, goal)) return node;
            const std::int64_t value = relaxed_plan(state_of(node), goal);
            if (value >= 0) {
                if (value < best) {
                    best = value;
                    credit[1] -= kBoost;
                }
                work_ += static_cast<std::int64_t>(actions_.count());
                for (std::size_t a = 0; a < actions_.count(); ++a) {
                    if (!is_applicable(state_of(node), a)) continue;
                    const Entry entry{value, ++entries, node, static_cast<std::int32_t>(a)};
                    queues[0].push(entry);
                    if (chosen_[a] != 0) queues[1].push(entry);
                }
            }
            node = next(queues, credit, seen);
            if (node < 0) return -1;
        }
        return -1;
    }

    // The next new state; -1 if there is none.
    std::int64_t next(std::array<Queue, 2>& queues, std::array<std::int64_t, 2>& credit, Seen& seen) {
        std::vector<Word> state(words_);
        while (!queues[0].empty() || !queues[1].empty()) {
            const bool preferred = queues[0].empty() || (!queues[1].empty() && credit[1] <= credit[0]);
            Queue& queue = queues[preferred ? 1 : 0];
            ++credit[preferred ? 1 : 0];
            const Entry entry = queue.top();
            queue.pop();
            std::copy_n(state_of(entry.node), words_, state.begin());
            const auto action = static_cast<std::size_t>(entry.action);
            for (const std::int32_t atom : actions_.deletes[action]) clear(state.data(), atom);
            for (const std::int32_t atom : actions_.adds[action]) set(state.data(), atom);
            const std::int64_t node = add(state, entry.node, entry.action);
            if (seen.insert(node).second) return node;
            nodes_.pop_back();
            states_.resize(states_.size() - words_);
        }
        return -1;
    }

    const ListedActions& actions_;
    ListedGoal goal_;
    std::size_t words_;
    GrowingLists users_;              // [atoms]: actions that need an atom
    GrowingLists adders_;             // [atoms]: actions that add an atom
    std::vector<std::int32_t> free_;  // actions that need nothing
    std::int64_t size_ = 0;
    std::int64_t work_ = 0;
    std::vector<double> cost_;
    std::vector<double> action_cost_;
    std::vector<double> sum_;
    std::vector<std::int32_t> open_;
    std::vector<std::pair<double, std::int32_t>> heap_;
    std::vector<std::uint8_t> mark_;
    std::vector<std::uint8_t> chosen_;
    std::vector<std::int32_t> plan_;
    std::vector<Word> states_;
    std::vector<Node> nodes_;
    Ticker ticker_;
};

}  // namespace

RelaxedFound relaxed_search(const ListedActions& actions, std::span<const std::int32_t> initial, const ListedGoal& goal,
                            std::int64_t most_work, std::int64_t goal_share) {
    return RelaxedSearch(actions, goal).run(initial, most_work, goal_share);
}

}  // namespace saltus
