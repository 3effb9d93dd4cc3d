#include "frozen.hpp"

#include <algorithm>
#include <deque>
#include <limits>
#include <queue>
#include <stdexcept>
#include <unordered_set>
#include <utility>

#include "numbers.hpp"

namespace saltus {

namespace {

constexpr std::int64_t kFewSteps = 100'000;     // of the relaxation, before it is completed
constexpr std::int64_t kShortSearch = 100'000;  // steps of the first search for a goal
constexpr std::int64_t kPatience = 20'000;      // steps of a search, before it looks backwards from the goal
constexpr std::int32_t kFar = std::numeric_limits<std::int32_t>::max();

}  // namespace

FrozenTest::FrozenTest(const Task& task, const GroundActions& actions, std::span<const Code> goal,
                       std::span<const std::int32_t> program)
    : task_(task), actions_(actions), goal_(goal.begin(), goal.end()) {
    if (!actions.complete()) throw std::invalid_argument("frozen goals: the actions are not grounded");
    if (&actions.task() != &task) throw std::invalid_argument("frozen goals: the actions are those of another task");
    read(program);
    find_agents();
    find_keys();
    find_own_rules();
}

void FrozenTest::read(std::span<const std::int32_t> program) {
    Numbers numbers("frozen goals", program);
    walkers_.resize(static_cast<std::size_t>(numbers.count()));
    for (Walkers& group : walkers_) {
        group.predicate = numbers.next(task_.predicates(), "predicate");
        const std::int32_t arity = task_.arity[static_cast<std::size_t>(group.predicate)];
        group.place = numbers.next(arity, "place");
        for (std::int32_t i = 0; i < arity; ++i) {
            group.objects.emplace_back(static_cast<std::size_t>(task_.objects()), 0);
            for (std::int32_t n = numbers.count(); n > 0; --n) {
                const Object object = numbers.next(task_.objects(), "object");
                group.objects.back()[static_cast<std::size_t>(object)] = 1;
            }
        }
        group.moves.assign(task_.schemas.size(), 0);
        for (std::int32_t n = numbers.count(); n > 0; --n) {
            const std::int32_t schema = numbers.next(static_cast<std::int32_t>(task_.schemas.size()), "schema");
            group.moves[static_cast<std::size_t>(schema)] = 1;
        }
    }
    const std::int32_t exclusions = numbers.count();
    for (std::int32_t e = 0; e < exclusions; ++e) {
        std::vector<std::int32_t> types(static_cast<std::size_t>(numbers.count()));
        for (std::int32_t& type : types) type = numbers.next(task_.types, "type");
        for (std::int32_t n = numbers.count(); n > 0; --n) {
            Part part{e, numbers.next(task_.predicates(), "predicate"), types, {}};
            for (std::size_t i = 0; i < types.size(); ++i)
                part.owner.push_back(numbers.next(task_.arity[static_cast<std::size_t>(part.predicate)], "argument"));
            parts_.push_back(std::move(part));
        }
    }
    own_.resize(goal_.size());
    std::vector<Object> arguments(static_cast<std::size_t>(std::max(1, task_.max_arity)));
    for (std::size_t g = 0; g < goal_.size(); ++g) {
        const std::int32_t predicate = task_.decode(goal_[g], arguments.data());
        const auto end = arguments.begin() + task_.arity[static_cast<std::size_t>(predicate)];
        own_[g].objects.resize(static_cast<std::size_t>(numbers.count()));
        for (Object& object : own_[g].objects) {
            object = numbers.next(task_.objects(), "object");
            if (std::find(arguments.begin(), end, object) == end)
                throw std::invalid_argument("frozen goals: own object of a goal that does not mention it");
        }
    }
    if (!numbers.done()) throw std::invalid_argument("frozen goals: the program has values left over");
}

FrozenTest::Index FrozenTest::Index::of_pairs(std::vector<std::pair<std::int32_t, std::int32_t>>& pairs,
                                              std::size_t atoms) {
    std::sort(pairs.begin(), pairs.end());
    pairs.erase(std::unique(pairs.begin(), pairs.end()), pairs.end());
    Index index;
    index.first.assign(atoms + 1, 0);
    index.entries.reserve(pairs.size());
    for (const auto& [atom, entry] : pairs) {
        ++index.first[static_cast<std::size_t>(atom) + 1];
        index.entries.push_back(entry);
    }
    for (std::size_t a = 1; a < index.first.size(); ++a) index.first[a] += index.first[a - 1];
    return index;
}

// Numbers the walkers by their places, and finds their moves.
void FrozenTest::find_agents() {
    const auto atoms = static_cast<std::size_t>(actions_.atoms());
    std::vector<Object> arguments(static_cast<std::size_t>(std::max(1, task_.max_arity)));
    std::vector<std::int32_t> group_of(atoms, -1);
    agent_of_.assign(atoms, -1);
    early_.assign(atoms, 0);
    for (std::size_t g = 0; g < walkers_.size(); ++g) {
        const Walkers& group = walkers_[g];
        KeyNumbers agents;
        for (std::size_t a = 0; a < atoms; ++a) {
            const std::int32_t predicate = task_.decode(actions_.code(static_cast<std::int32_t>(a)), arguments.data());
            if (group.predicate != predicate || agent_of_[a] >= 0) continue;
            bool fits = true;
            Code key = 0;
            for (std::size_t i = 0; i < group.objects.size() && fits; ++i) {
                fits = group.objects[i][static_cast<std::size_t>(arguments[i])] != 0;
                if (static_cast<std::int32_t>(i) != group.place) key = key * task_.objects() + arguments[i];
            }
            if (!fits) continue;
            agent_of_[a] = agents_ + agents.number(key);
            group_of[a] = static_cast<std::int32_t>(g);
            early_[a] = 1;
        }
        agents_ += agents.size();
    }
    walker_of_.assign(static_cast<std::size_t>(actions_.rules()), -1);
    std::vector<std::pair<std::int32_t, std::int32_t>> leave;
    std::vector<std::pair<std::int32_t, std::int32_t>> enter;
    std::vector<std::pair<std::int32_t, std::int32_t>> need;
    for (std::int32_t rule = 0; rule < actions_.rules() && !walkers_.empty(); ++rule) {
        const auto adds = actions_.adds(rule);
        const auto deletes = actions_.deletes(rule);
        if (adds.size() != 1 || deletes.size() != 1 || deletes[0] < 0) continue;
        const std::int32_t group = group_of[static_cast<std::size_t>(deletes[0])];
        if (group < 0 ||
            !walkers_[static_cast<std::size_t>(group)].moves[static_cast<std::size_t>(actions_.schema(rule))])
            continue;
        const std::int32_t agent = agent_of_[static_cast<std::size_t>(deletes[0])];
        walker_of_[static_cast<std::size_t>(rule)] = agent;
        leave.emplace_back(deletes[0], rule);
        enter.emplace_back(adds[0], rule);
        for (const auto& conditions : {actions_.positive(rule), actions_.negative(rule)})
            for (std::int32_t atom : conditions)
                if (agent_of_[static_cast<std::size_t>(atom)] != agent) {
                    need.emplace_back(atom, agent);
                    early_[static_cast<std::size_t>(atom)] = 1;
                }
    }
    leave_ = Index::of_pairs(leave, atoms);
    enter_ = Index::of_pairs(enter, atoms);
    needed_by_ = Index::of_pairs(need, atoms);
}

// Key of an atom as one of the part's atoms; -1 if it is none.
Code FrozenTest::key_of(const Part& part, Code code, Object* arguments) const {
    if (part.predicate != task_.decode(code, arguments)) return -1;
    Code key = 0;
    for (std::size_t i = 0; i < part.owner.size(); ++i) {
        const Object object = arguments[part.owner[i]];
        if (task_.object_type[static_cast<std::size_t>(object)] != part.types[i]) return -1;
        key = key * task_.objects() + object;
    }
    return key;
}

void FrozenTest::find_keys() {
    std::vector<Object> arguments(static_cast<std::size_t>(std::max(1, task_.max_arity)));
    KeyNumbers numbers;
    std::vector<std::pair<std::int32_t, std::int32_t>> pairs;
    for (std::size_t p = 0; p < parts_.size(); ++p) {
        const Part& part = parts_[p];
        if (p > 0 && part.exclusion != parts_[p - 1].exclusion) {
            keys_ += numbers.size();
            numbers = KeyNumbers();
        }
        auto number = [&](Code code) {
            const Code key = key_of(part, code, arguments.data());
            return key < 0 ? -1 : keys_ + numbers.number(key);
        };
        for (std::int32_t atom = 0; atom < actions_.atoms(); ++atom)
            if (const std::int32_t key = number(actions_.code(atom)); key >= 0) pairs.emplace_back(atom, key);
        for (std::size_t g = 0; g < goal_.size(); ++g)
            if (const std::int32_t key = number(goal_[g]); key >= 0) own_[g].keys.push_back(key);
    }
    keys_ += numbers.size();
    keys_of_ = Index::of_pairs(pairs, static_cast<std::size_t>(actions_.atoms()));
}

void FrozenTest::find_own_rules() {
    const auto atoms = static_cast<std::size_t>(actions_.atoms());
    std::vector<std::vector<std::int32_t>> goals_of(static_cast<std::size_t>(task_.objects()));  // by first own object
    std::vector<std::int32_t> goal_at(atoms, -1);
    for (std::size_t g = 0; g < own_.size(); ++g) {
        own_[g].goal = actions_.find(goal_[g]);
        if (own_[g].goal >= 0) goal_at[static_cast<std::size_t>(own_[g].goal)] = static_cast<std::int32_t>(g);
        if (!own_[g].objects.empty())
            goals_of[static_cast<std::size_t>(own_[g].objects[0])].push_back(static_cast<std::int32_t>(g));
    }
    std::vector<std::pair<std::int32_t, std::int32_t>> pairs;
    std::vector<Object> arguments(static_cast<std::size_t>(std::max(1, task_.max_arity)));
    for (std::size_t a = 0; a < atoms; ++a) {
        const std::int32_t predicate = task_.decode(actions_.code(static_cast<std::int32_t>(a)), arguments.data());
        const auto mentioned =
            std::span(arguments).first(static_cast<std::size_t>(task_.arity[static_cast<std::size_t>(predicate)]));
        for (Object object : mentioned)
            for (std::int32_t g : goals_of[static_cast<std::size_t>(object)]) {
                const auto& own = own_[static_cast<std::size_t>(g)].objects;
                if (std::all_of(own.begin(), own.end(), [&](Object other) {
                        return std::find(mentioned.begin(), mentioned.end(), other) != mentioned.end();
                    }))
                    pairs.emplace_back(static_cast<std::int32_t>(a), g);
            }
    }
    const Index goals = Index::of_pairs(pairs, atoms);
    for (std::size_t a = 0; a < atoms; ++a)
        for (std::int32_t g : goals.of(static_cast<std::int32_t>(a)))
            own_[static_cast<std::size_t>(g)].atoms.push_back(static_cast<std::int32_t>(a));
    std::vector<std::vector<std::int32_t>> found(own_.size());
    Ticker ticker;
    for (std::int32_t rule = 0; rule < actions_.rules(); ++rule) {
        ticker.tick();
        for (const auto& changed : {actions_.adds(rule), actions_.deletes(rule)})
            for (std::int32_t atom : changed)
                if (atom >= 0)
                    for (std::int32_t g : goals.of(atom)) {
                        auto& rules = found[static_cast<std::size_t>(g)];
                        if (rules.empty() || rules.back() != rule) rules.push_back(rule);
                    }
        for (std::int32_t atom : actions_.deletes(rule))
            if (atom >= 0 && goal_at[static_cast<std::size_t>(atom)] >= 0) {
                auto& rules = own_[static_cast<std::size_t>(goal_at[static_cast<std::size_t>(atom)])].deleters;
                if (rules.empty() || rules.back() != rule) rules.push_back(rule);
            }
    }
    for (std::size_t g = 0; g < own_.size(); ++g)
        order_own_rules(own_[g], found[g], goals, static_cast<std::int32_t>(g));
}

// Sorts own rules by what they need, and finds agents and distances.
void FrozenTest::order_own_rules(Own& own, const std::vector<std::int32_t>& found, const Index& goals,
                                 std::int32_t number) const {
    auto is_own = [&](std::int32_t atom) {
        const auto owners = goals.of(atom);
        return std::binary_search(owners.begin(), owners.end(), number);
    };
    auto local = [&](std::int32_t atom) {
        return static_cast<std::int32_t>(std::lower_bound(own.atoms.begin(), own.atoms.end(), atom) -
                                         own.atoms.begin());
    };
    std::vector<std::pair<std::int32_t, std::int32_t>> needing;  // own atom, rule
    std::vector<std::pair<std::int32_t, std::int32_t>> adding;
    std::vector<std::uint8_t> concerned(static_cast<std::size_t>(agents_), 0);
    for (std::int32_t rule : found) {
        bool is_loose = true;
        for (std::int32_t atom : actions_.positive(rule))
            if (is_own(atom) && is_loose) {
                needing.emplace_back(local(atom), rule);
                is_loose = false;
            }
        if (is_loose) own.loose.push_back(rule);
        for (std::int32_t atom : actions_.adds(rule))
            if (is_own(atom)) adding.emplace_back(local(atom), rule);
        if (is_move(rule)) continue;
        for (const auto& changed : {actions_.adds(rule), actions_.deletes(rule)})
            for (std::int32_t atom : changed) {
                if (atom < 0) continue;
                if (const std::int32_t agent = agent_of_[static_cast<std::size_t>(atom)]; agent >= 0)
                    concerned[static_cast<std::size_t>(agent)] = 1;
                for (std::int32_t agent : needed_by_.of(atom)) concerned[static_cast<std::size_t>(agent)] = 1;
            }
    }
    for (std::int32_t agent = 0; agent < agents_; ++agent)
        if (concerned[static_cast<std::size_t>(agent)]) own.agents.push_back(agent);
    own.needing = Index::of_pairs(needing, own.atoms.size());
    own.adding = Index::of_pairs(adding, own.atoms.size());
    own.distance.assign(own.atoms.size(), kFar);
    if (own.goal < 0 || own.objects.empty()) return;
    std::deque<std::int32_t> queue{local(own.goal)};
    own.distance[static_cast<std::size_t>(queue.front())] = 0;
    while (!queue.empty()) {
        const std::int32_t here = queue.front();
        queue.pop_front();
        for (std::int32_t rule : own.adding.of(here))
            for (std::int32_t atom : actions_.positive(rule)) {
                if (!is_own(atom)) continue;
                std::int32_t& distance = own.distance[static_cast<std::size_t>(local(atom))];
                if (distance != kFar) continue;
                distance = own.distance[static_cast<std::size_t>(here)] + 1;
                queue.push_back(local(atom));
            }
    }
}

// A state with its reached goals frozen.
class Frozen {
public:
    Frozen(const FrozenTest& test, std::span<const Code> state)
        : test_(test),
          verdict_(static_cast<std::size_t>(test.actions_.rules()), kOpen),
          given_(static_cast<std::size_t>(test.actions_.atoms()), 0),
          held_(static_cast<std::size_t>(test.keys_), 0) {
        for (Code code : state)
            if (const std::int32_t atom = test.actions_.find(code); atom >= 0) {
                atoms.push_back(atom);
                given_[static_cast<std::size_t>(atom)] = 1;
            }
        for (std::size_t g = 0; g < test.goal_.size(); ++g) {
            const auto& own = test.own_[g];
            if (!std::binary_search(state.begin(), state.end(), test.goal_[g])) {
                missing.push_back(&own);
                continue;
            }
            for (std::int32_t rule : own.deleters) verdict_[static_cast<std::size_t>(rule)] = kForbidden;
            for (std::int32_t key : own.keys) held_[static_cast<std::size_t>(key)] = 1;
        }
    }

    // Whether a rule deletes no frozen goal and adds nothing that excludes one.
    bool allows(std::int32_t rule) {
        std::uint8_t& verdict = verdict_[static_cast<std::size_t>(rule)];
        if (verdict == kOpen) {
            const auto adds = test_.actions_.adds(rule);
            const bool breaks =
                std::any_of(adds.begin(), adds.end(), [&](std::int32_t atom) { return excludes(atom); });
            verdict = breaks ? kForbidden : kAllowed;
        }
        return verdict == kAllowed;
    }

    // Whether an atom excludes a frozen goal, and so is out of reach.
    bool excludes(std::int32_t atom) const {
        if (given_[static_cast<std::size_t>(atom)]) return false;
        const auto keys = test_.keys_of_.of(atom);
        return std::any_of(keys.begin(), keys.end(),
                           [&](std::int32_t key) { return held_[static_cast<std::size_t>(key)] != 0; });
    }

    std::vector<std::int32_t> atoms;  // of the state
    std::vector<const FrozenTest::Own*> missing;

private:
    enum : std::uint8_t { kOpen = 0, kAllowed = 1, kForbidden = 2 };

    const FrozenTest& test_;
    std::vector<std::uint8_t> verdict_;  // [rules]
    std::vector<std::uint8_t> given_;    // [atoms]: true in the state
    std::vector<std::uint8_t> held_;     // [keys]: of a frozen goal
};

// The search for one goal after the other, in one state.
class OwnSearch {
public:
    OwnSearch(const FrozenTest& test, Frozen& frozen, Reach& reach)
        : test_(test),
          actions_(test.actions_),
          frozen_(frozen),
          reach_(reach),
          local_(static_cast<std::size_t>(actions_.atoms()), -1),
          flags_(static_cast<std::size_t>(actions_.atoms()), 0),
          known_(static_cast<std::size_t>(actions_.atoms()), kUnknown),
          seen_(static_cast<std::size_t>(actions_.atoms()), 0),
          target_(static_cast<std::size_t>(actions_.atoms()), 0),
          held_(static_cast<std::size_t>(test.keys_), 0),
          black_(static_cast<std::size_t>(test.agents_), -1),
          place_(static_cast<std::size_t>(test.agents_), kNowhere) {
        for (std::int32_t atom : frozen.atoms)
            if (const std::int32_t agent = test.agent_of_[static_cast<std::size_t>(atom)]; agent >= 0) {
                std::int32_t& place = place_[static_cast<std::size_t>(agent)];
                place = place == kNowhere ? atom : kSeveral;
            }
    }

    // Whether a goal is reachable. What the relaxation cannot decide within its steps is taken as true; then `guessed`
    // is set, and only the answer "no" counts.
    Answer run(const FrozenTest::Own& own, std::int64_t work, std::int64_t& relaxation_steps) {
        own_ = &own;
        steps_ = &relaxation_steps;
        guessed = false;
        work_ = work;
        for (std::size_t i = 0; i < own.atoms.size(); ++i)
            local_[static_cast<std::size_t>(own.atoms[i])] = static_cast<std::int32_t>(i);
        agents_.clear();
        for (std::int32_t agent : own.agents)
            if (place_[static_cast<std::size_t>(agent)] >= 0) {
                black_[static_cast<std::size_t>(agent)] = static_cast<std::int32_t>(agents_.size());
                agents_.push_back(agent);
            }
        placed_.clear();
        for (std::size_t i = 0; i < own.atoms.size(); ++i)
            if (agent(own.atoms[i]) >= 0) {
                const auto rules = own.needing.of(static_cast<std::int32_t>(i));
                placed_.insert(placed_.end(), rules.begin(), rules.end());
            }
        const Answer answer = search();
        for (std::int32_t atom : own.atoms) local_[static_cast<std::size_t>(atom)] = -1;
        for (std::int32_t agent : agents_) black_[static_cast<std::size_t>(agent)] = -1;
        return answer;
    }

    bool guessed = false;
    std::int64_t work_left() const { return work_; }

private:
    static constexpr std::int32_t kNowhere = -1;
    static constexpr std::int32_t kSeveral = -2;
    enum : std::uint8_t { kUnknown = 0, kReached = 1, kOut = 2 };
    enum : std::uint8_t { kTrue = 1, kDeleted = 2, kAdded = 4 };

    // A search state: true own atoms, other atoms deleted and added, all ascending; and where each agent is.
    struct Node {
        std::vector<std::int32_t> own;
        std::vector<std::int32_t> deleted;
        std::vector<std::int32_t> added;
        std::vector<std::int32_t> places;  // [agents]: atom or kNowhere

        bool operator==(const Node&) const = default;
    };
    struct NodeHash {
        std::size_t operator()(const Node& node) const {
            std::uint64_t hash = 1;
            for (const auto* part : {&node.own, &node.deleted, &node.added, &node.places}) {
                hash = mix(hash + 0x9E3779B97F4A7C15ULL);
                for (std::int32_t value : *part) hash = mix(hash + static_cast<std::uint32_t>(value));
            }
            return static_cast<std::size_t>(hash);
        }
    };
    struct Entry {
        std::int32_t distance;
        std::int32_t number;  // in the order in which they came
        const Node* node;
        bool operator<(const Entry& other) const {
            return std::pair(distance, number) > std::pair(other.distance, other.number);
        }
    };
    struct Candidate {
        std::int32_t rule;
        std::vector<std::pair<std::int32_t, std::int32_t>> walks;  // agent, place
    };

    static void insert(std::vector<std::int32_t>& values, std::int32_t value) {
        const auto at = std::lower_bound(values.begin(), values.end(), value);
        if (at == values.end() || *at != value) values.insert(at, value);
    }
    static void erase(std::vector<std::int32_t>& values, std::int32_t value) {
        const auto at = std::lower_bound(values.begin(), values.end(), value);
        if (at != values.end() && *at == value) values.erase(at);
    }

    Answer search() {
        nodes_.clear();
        open_ = {};
        Node first;
        for (std::int32_t atom : frozen_.atoms)
            if (is_own(atom) && agent(atom) < 0) insert(first.own, atom);
        for (std::int32_t number : agents_) first.places.push_back(place_[static_cast<std::size_t>(number)]);
        const std::vector<std::int32_t> start = first.own;
        push(std::move(first));
        const std::int64_t patience = work_ - kPatience;
        bool is_checked = false;
        while (!open_.empty()) {
            if (work_ < patience && !is_checked) {
                if (!may_lead_to_goal(start)) return Answer::no;
                is_checked = true;
            }
            const Node& node = *open_.top().node;
            open_.pop();
            show(node, true);
            const bool found = expand(node);
            show(node, false);
            if (found) return Answer::yes;
            if (work_ < 0) return Answer::unknown;
        }
        return Answer::no;
    }

    // Whether own rules lead from an own atom to the goal if nothing but frozen goals is in the way: looks backwards,
    // so that a goal that is shut off is soon recognised.
    bool may_lead_to_goal(const std::vector<std::int32_t>& start) {
        if (agent(own_->goal) >= 0 || !own_->loose.empty() || !placed_.empty()) return true;
        std::vector<std::uint8_t> is_known(own_->atoms.size(), 0);
        std::vector<std::int32_t> queue{local_[static_cast<std::size_t>(own_->goal)]};
        is_known[static_cast<std::size_t>(queue[0])] = 1;
        for (std::size_t next = 0; next < queue.size(); ++next)
            for (std::int32_t rule : own_->adding.of(queue[next])) {
                ticker_.tick();
                if (!is_possible(rule)) continue;
                for (std::int32_t atom : actions_.positive(rule)) {
                    if (!is_own(atom)) continue;
                    if (std::binary_search(start.begin(), start.end(), atom)) return true;
                    const std::int32_t local = local_[static_cast<std::size_t>(atom)];
                    if (!is_known[static_cast<std::size_t>(local)]) queue.push_back(local);
                    is_known[static_cast<std::size_t>(local)] = 1;
                }
            }
        return false;
    }

    // Whether frozen goals do not exclude what a rule needs. An agent that another action takes to a place could have
    // walked there, so its moves tell whether it can be there.
    bool is_possible(std::int32_t rule) {
        if (!frozen_.allows(rule)) return false;
        for (std::int32_t atom : actions_.positive(rule)) {
            if (frozen_.excludes(atom)) return false;
            const std::int32_t number = agent(atom);
            if (number < 0 || place_[static_cast<std::size_t>(agents_[static_cast<std::size_t>(number)])] == atom)
                continue;
            const auto moves = test_.enter_.of(atom);
            if (std::none_of(moves.begin(), moves.end(), [&](std::int32_t move) {
                    const auto needed = actions_.positive(move);
                    return frozen_.allows(move) &&
                           std::none_of(needed.begin(), needed.end(),
                                        [&](std::int32_t condition) { return frozen_.excludes(condition); });
                }))
                return false;
        }
        return true;
    }

    bool is_own(std::int32_t atom) const { return local_[static_cast<std::size_t>(atom)] >= 0; }
    // Number of the agent whose place an atom is; -1 for none.
    std::int32_t agent(std::int32_t atom) const {
        const std::int32_t number = test_.agent_of_[static_cast<std::size_t>(atom)];
        return number < 0 ? -1 : black_[static_cast<std::size_t>(number)];
    }

    void push(Node&& node) {
        const auto [at, is_new] = nodes_.insert(std::move(node));
        if (!is_new) return;
        std::int32_t distance = kFar;
        for (std::int32_t atom : at->own)
            distance =
                std::min(distance, own_->distance[static_cast<std::size_t>(local_[static_cast<std::size_t>(atom)])]);
        open_.push({distance, static_cast<std::int32_t>(nodes_.size()), &*at});
    }

    // Makes the node the one that `holds` is about, or undoes that.
    void show(const Node& node, bool on) {
        auto flag = [&](const std::vector<std::int32_t>& atoms, std::uint8_t bit) {
            for (std::int32_t atom : atoms) flags_[static_cast<std::size_t>(atom)] = on ? bit : std::uint8_t{0};
        };
        flag(node.deleted, kDeleted);
        flag(node.added, kAdded);
        flag(node.own, kTrue);
        for (std::int32_t atom : node.own)
            for (std::int32_t key : test_.keys_of_.of(atom)) held_[static_cast<std::size_t>(key)] += on ? 1 : -1;
    }

    // Whether an atom that is no agent's place is true.
    bool holds(std::int32_t atom) {
        --work_;
        const std::uint8_t flag = flags_[static_cast<std::size_t>(atom)];
        if (is_own(atom)) return flag == kTrue;
        if (flag == kDeleted) return false;
        for (std::int32_t key : test_.keys_of_.of(atom))
            if (held_[static_cast<std::size_t>(key)] > 0) return false;
        std::uint8_t& known = known_[static_cast<std::size_t>(atom)];
        if (known == kUnknown) {
            const Answer reached = frozen_.excludes(atom) ? Answer::no : reach_.holds(atom, *steps_);
            if (reached == Answer::unknown) guessed = true;
            if (reached != Answer::unknown) known = reached == Answer::yes ? kReached : kOut;
        }
        return known != kOut;
    }
    // Whether an atom that is no agent's place may be false.
    bool allows(std::int32_t atom) {
        --work_;
        return flags_[static_cast<std::size_t>(atom)] != (is_own(atom) ? kTrue : kAdded);
    }

    // Whether a move's conditions hold, apart from where its agent is.
    bool can_move(std::int32_t rule, std::int32_t number) {
        for (std::int32_t atom : actions_.positive(rule))
            if (agent(atom) != number && !holds(atom)) return false;
        for (std::int32_t atom : actions_.negative(rule))
            if (agent(atom) != number && !allows(atom)) return false;
        return frozen_.allows(rule);
    }

    // Marks places as seen, the nearest first, until all targets are found.
    void walk(std::int32_t number, std::int32_t start, std::int32_t targets) {
        queue_.assign(1, start);
        seen_[static_cast<std::size_t>(start)] = turn_;
        if (target_[static_cast<std::size_t>(start)] == turn_) --targets;
        for (std::size_t next = 0; next < queue_.size() && targets > 0 && work_ >= 0; ++next) {
            ticker_.tick();
            for (std::int32_t rule : test_.leave_.of(queue_[next])) {
                const std::int32_t end = actions_.adds(rule)[0];
                if (seen_[static_cast<std::size_t>(end)] == turn_ || !can_move(rule, number)) continue;
                seen_[static_cast<std::size_t>(end)] = turn_;
                if (target_[static_cast<std::size_t>(end)] == turn_) --targets;
                queue_.push_back(end);
            }
        }
    }

    // Whether some move may lead to a place.
    bool can_enter(std::int32_t place, std::int32_t number) {
        for (std::int32_t rule : test_.enter_.of(place))
            if (can_move(rule, number)) return true;
        return false;
    }

    // Notes that an agent must be at a place; false if it surely cannot get there.
    bool aim(const Node& node, std::int32_t number, std::int32_t place) {
        const std::int32_t here = node.places[static_cast<std::size_t>(number)];
        if (here == kNowhere) return false;
        if (target_[static_cast<std::size_t>(place)] == turn_) return true;
        if (here != place && !can_enter(place, number)) return false;
        target_[static_cast<std::size_t>(place)] = turn_;
        ++targets_[static_cast<std::size_t>(number)];
        return true;
    }

    void consider(const Node& node, std::int32_t rule) {
        if (const std::int32_t walker = test_.walker_of_[static_cast<std::size_t>(rule)];
            walker >= 0 && black_[static_cast<std::size_t>(walker)] >= 0)
            return;
        Candidate candidate{rule, {}};
        for (std::int32_t atom : actions_.positive(rule)) {
            const std::int32_t number = agent(atom);
            if (number < 0) {
                if (!holds(atom)) return;
                continue;
            }
            for (const auto& [other, place] : candidate.walks)
                if (other == number && place != atom) return;
            candidate.walks.emplace_back(number, atom);
        }
        for (std::int32_t atom : actions_.negative(rule)) {
            const std::int32_t number = agent(atom);
            if (number < 0) {
                if (!allows(atom)) return;
                continue;
            }
            std::int32_t where = node.places[static_cast<std::size_t>(number)];
            for (const auto& [other, place] : candidate.walks)
                if (other == number) where = place;
            if (where == atom) return;
        }
        if (!frozen_.allows(rule)) return;
        for (const auto& [number, place] : candidate.walks)
            if (!aim(node, number, place)) return;
        candidates_.push_back(std::move(candidate));
    }

    // Adds the successors of a node; whether the goal is reached.
    bool expand(const Node& node) {
        ++turn_;
        candidates_.clear();
        targets_.assign(agents_.size(), 0);
        for (std::int32_t atom : node.own) {
            for (std::int32_t rule : own_->needing.of(local_[static_cast<std::size_t>(atom)])) consider(node, rule);
        }
        for (const auto& rules : {std::span<const std::int32_t>(own_->loose), std::span<const std::int32_t>(placed_)})
            for (std::int32_t rule : rules) consider(node, rule);
        const std::int32_t goal = agent(own_->goal);
        if (goal >= 0) aim(node, goal, own_->goal);
        for (std::size_t i = 0; i < agents_.size(); ++i)
            if (targets_[i] > 0) walk(static_cast<std::int32_t>(i), node.places[i], targets_[i]);
        if (goal >= 0 && seen_[static_cast<std::size_t>(own_->goal)] == turn_) return true;
        for (const Candidate& candidate : candidates_) {
            ticker_.tick();
            --work_;
            const bool arrives = std::all_of(candidate.walks.begin(), candidate.walks.end(), [&](const auto& entry) {
                return seen_[static_cast<std::size_t>(entry.second)] == turn_;
            });
            if (arrives && apply(node, candidate)) return true;
        }
        return false;
    }

    // Adds the result of a candidate; whether the goal is reached.
    bool apply(const Node& node, const Candidate& candidate) {
        Node after = node;
        for (const auto& [number, place] : candidate.walks) after.places[static_cast<std::size_t>(number)] = place;
        for (std::int32_t atom : actions_.deletes(candidate.rule)) {
            if (atom < 0) continue;
            if (const std::int32_t number = agent(atom); number >= 0) {
                std::int32_t& place = after.places[static_cast<std::size_t>(number)];
                if (place == atom) place = kNowhere;
            } else if (is_own(atom)) {
                erase(after.own, atom);
            } else {
                if (actions_.is_needed(atom)) insert(after.deleted, atom);
                erase(after.added, atom);
            }
        }
        for (std::int32_t atom : actions_.adds(candidate.rule)) {
            if (const std::int32_t number = agent(atom); number >= 0) {
                after.places[static_cast<std::size_t>(number)] = atom;
            } else if (is_own(atom)) {
                insert(after.own, atom);
            } else {
                if (actions_.is_unwanted(atom)) insert(after.added, atom);
                erase(after.deleted, atom);
            }
        }
        if (std::binary_search(after.own.begin(), after.own.end(), own_->goal)) return true;
        push(std::move(after));
        return false;
    }

    const FrozenTest& test_;
    const GroundActions& actions_;
    Frozen& frozen_;
    Reach& reach_;
    std::vector<std::int32_t> local_;    // [atoms]: number among the goal's own atoms, -1 for others
    std::vector<std::uint8_t> flags_;    // [atoms]
    std::vector<std::uint8_t> known_;    // [atoms]: what the relaxation said
    std::vector<std::int32_t> seen_;     // [atoms]: the last turn in which an agent could walk there
    std::vector<std::int32_t> target_;   // [atoms]: the last turn in which an agent was wanted there
    std::vector<std::int32_t> held_;     // [keys]: true own atoms
    std::vector<std::int32_t> black_;    // [walkers]: number among the goal's agents, -1 for others
    std::vector<std::int32_t> place_;    // [walkers]: in the state
    std::vector<std::int32_t> agents_;   // walkers
    std::vector<std::int32_t> targets_;  // [agents]
    std::vector<std::int32_t> placed_;   // own rules whose own atom is the place of an agent
    std::vector<std::int32_t> queue_;
    std::vector<Candidate> candidates_;
    std::unordered_set<Node, NodeHash> nodes_;
    std::priority_queue<Entry> open_;
    const FrozenTest::Own* own_ = nullptr;
    std::int64_t work_ = 0;
    std::int64_t* steps_ = nullptr;  // of the relaxation
    std::int32_t turn_ = 0;
    Ticker ticker_;
};

Answer FrozenTest::keeps(std::span<const Code> state, bool strong, std::int64_t work) const {
    Frozen frozen(*this, state);
    for (const Own* own : frozen.missing)
        if (own->goal < 0) return Answer::no;
    Reach reach(actions_, frozen.atoms, &early_, [&](std::int32_t rule) { return frozen.allows(rule); });
    std::int64_t no_limit = std::numeric_limits<std::int64_t>::max();
    Answer answer = Answer::yes;
    OwnSearch search(*this, frozen, reach);
    // Most missing goals need few steps and little of the relaxation, and so do many that are out of reach. The others
    // have to wait until the relaxation is complete.
    std::int64_t few = kFewSteps;
    std::vector<const Own*> open;
    for (const Own* own : frozen.missing) {
        const bool searched = strong && !own->objects.empty() && work > 0;
        const std::int64_t most = std::min(work, kShortSearch);
        const Answer found = searched ? search.run(*own, most, few) : Answer::unknown;
        if (found == Answer::no) return found;
        if (searched) work -= most - std::max<std::int64_t>(0, search.work_left());
        if (found == Answer::unknown || search.guessed) open.push_back(own);
    }
    for (const Own* own : open)
        if (reach.holds(own->goal, no_limit) == Answer::no) return Answer::no;
    for (const Own* own : open) {
        if (!strong || own->objects.empty()) continue;
        const Answer found = work > 0 ? search.run(*own, work, no_limit) : Answer::unknown;
        if (found == Answer::no) return found;
        if (found == Answer::unknown) answer = found;
        if (work > 0) work = search.work_left();
    }
    return answer;
}

}  // namespace saltus
