#include "places.hpp"

#include <algorithm>
#include <iterator>

namespace saltus {

namespace {

constexpr std::size_t kKeptTours = 1024;  // tours kept from one state to the next

// Puts an agent at one more place; whether it is at several from now on.
bool put(Object& at, Object place) {
    const bool is_second = at >= 0;
    at = at == Places::kNowhere ? place : Places::kSeveral;
    return is_second;
}

}  // namespace

Places::Places(const FreeMoves& moves, std::span<const Code> root)
    : moves_(moves),
      task_(moves.task()),
      root_(root),
      view_(&own_view_),
      own_view_(task_, std::all_of(moves.groups().begin(), moves.groups().end(),
                                   [](const Group& group) { return group.is_fixed; })
                           ? std::span<const Code>{}
                           : root),
      matcher_(own_view_),
      groups_of_(static_cast<std::size_t>(task_.predicates())),
      group_affected_(moves.groups().size(), 0),
      arguments_(static_cast<std::size_t>(task_.max_arity) + 1) {
    for (std::size_t g = 0; g < moves.groups().size(); ++g)
        groups_of_[static_cast<std::size_t>(moves.groups()[g].predicate)].push_back(static_cast<std::int32_t>(g));
    for (Code code : root) {
        const Wish found = place_of(code);
        if (found.agent < 0) continue;
        root_several_ += put(root_at_[static_cast<std::size_t>(found.agent)], found.place) ? 1 : 0;
    }
    at_ = root_at_;
    several_ = root_several_;
    for (std::size_t a = 0; a < agents_.size(); ++a) {
        const auto agent = static_cast<std::int32_t>(a);
        if (root_at_[a] == kNowhere) continue;
        std::vector<Object> places = compute_reached(agent);
        agents_[a].root_places = std::move(places);
    }
}

std::vector<Code> Places::closure() {
    std::vector<Code> codes(root_.begin(), root_.end());
    for (std::size_t a = 0; a < agents_.size(); ++a)
        for (Object place : agents_[a].root_places) codes.push_back(code_of(static_cast<std::int32_t>(a), place));
    sort_unique(codes);
    return codes;
}

Places::Wish Places::place_of(Code code) {
    for (std::size_t g = 0; g < moves_.groups().size(); ++g) {
        const Group& group = moves_.groups()[g];
        const auto p = static_cast<std::size_t>(group.predicate);
        const Code rest = code - task_.code_offset[p];
        if (rest < 0 || code >= task_.code_offset[p + 1]) continue;
        const auto place = static_cast<Object>(rest / group.stride % task_.objects());
        return {agent_number(code - place * group.stride, p), place};
    }
    return {-1, 0};
}

// Number of the agent with this key, which is met for the first time if it is new; -1 if it is none.
std::int32_t Places::agent_number(Code key, std::size_t predicate) {
    const std::int32_t number = numbers_.number(key);
    if (static_cast<std::size_t>(number) == agents_.size()) {
        Agent agent;
        agent.key = key;
        agent.arguments.resize(static_cast<std::size_t>(task_.max_arity) + 1);
        task_.decode(key, agent.arguments.data());
        const auto arity = static_cast<std::size_t>(task_.arity[predicate]);
        for (std::int32_t g : groups_of_[predicate]) {
            const Group& group = moves_.groups()[static_cast<std::size_t>(g)];
            bool fits = true;
            for (std::size_t i = 0; i < arity && fits; ++i)
                fits = i == static_cast<std::size_t>(group.place) ||
                       group.objects[i][static_cast<std::size_t>(agent.arguments[i])] != 0;
            if (!fits) continue;
            agent.is_agent = true;
            agent.group = g;
            agent.class_number = moves_.class_of(group, key);
            for (std::size_t m = 0; m < group.moves.size(); ++m)
                if (moves_.serves(group, group.moves[m], agent.arguments.data())) agent.moves |= std::uint64_t{1} << m;
            break;
        }
        agents_.push_back(std::move(agent));
        root_at_.push_back(kNowhere);
        if (at_.size() + 1 == agents_.size()) at_.push_back(kNowhere);
    }
    return agents_[static_cast<std::size_t>(number)].is_agent ? number : -1;
}

std::vector<std::int32_t> Places::sorted_agents() const {
    std::vector<std::int32_t> agents;
    for (std::size_t a = 0; a < agents_.size(); ++a)
        if (agents_[a].is_agent) agents.push_back(static_cast<std::int32_t>(a));
    std::sort(agents.begin(), agents.end(), [&](std::int32_t a, std::int32_t b) {
        return std::pair(group_of(a), key_of(a)) < std::pair(group_of(b), key_of(b));
    });
    return agents;
}

// Calls visit(move) for every fluent condition of a move that an atom matches; binding_ is what they have in common.
template <typename Visit>
void Places::visit_touched(const Group& group, Code code, Visit&& visit) {
    const std::int32_t predicate = task_.decode(code, arguments_.data());
    for (const Move& move : group.moves)
        for (const Literal& literal : move.changing)
            if (literal.predicate == predicate && matcher_->unify(move.pattern, literal, arguments_.data(), binding_))
                visit(move);
}

void Places::show(std::span<const Code> added, std::span<const Code> deleted) {
    for (std::int32_t agent : moved_) at_[static_cast<std::size_t>(agent)] = root_at_[static_cast<std::size_t>(agent)];
    moved_.clear();
    shifts_.clear();
    tours_.clear();
    if (fixed_tours_.size() > kKeptTours) {
        fixed_tours_.clear();
        fixed_tour_numbers_ = KeyNumbers();
    }
    agents_affected_.clear();
    std::fill(group_affected_.begin(), group_affected_.end(), 0);
    several_ = root_several_;
    added_.assign(added.begin(), added.end());
    deleted_.assign(deleted.begin(), deleted.end());
    for (const auto& codes : {deleted, added})
        for (Code code : codes) {
            const Wish found = place_of(code);
            if (found.agent >= 0) moved_.push_back(found.agent);
        }
    sort_unique(moved_);
    // Count again from the root's atoms only where there may be several; else a difference says it all.
    for (Code code : deleted) {
        const Wish found = place_of(code);
        if (found.agent < 0) continue;
        Object& at = at_[static_cast<std::size_t>(found.agent)];
        if (at == found.place) at = kNowhere;
    }
    for (std::int32_t agent : moved_) {
        Object& at = at_[static_cast<std::size_t>(agent)];
        if (root_at_[static_cast<std::size_t>(agent)] != kSeveral) continue;
        --several_;
        at = kNowhere;
        for (Object place = 0; place < task_.objects(); ++place) {
            const Code code = code_of(agent, place);
            if (std::binary_search(root_.begin(), root_.end(), code) &&
                !std::binary_search(deleted.begin(), deleted.end(), code)) {
                several_ += put(at, place) ? 1 : 0;
            }
        }
    }
    for (Code code : added) {
        const Wish found = place_of(code);
        if (found.agent < 0) continue;
        several_ += put(at_[static_cast<std::size_t>(found.agent)], found.place) ? 1 : 0;
    }
    for (const auto& codes : {added, deleted}) {
        for (Code code : codes) {
            for (std::size_t g = 0; g < moves_.groups().size(); ++g) {
                const Group& group = moves_.groups()[g];
                if (group.is_fixed || group_affected_[g] != 0) continue;
                visit_touched(group, code, [&](const Move& move) {
                    binding_[static_cast<std::size_t>(move.start)] = 0;
                    const bool names_agent =
                        std::all_of(move.here.terms.begin(), move.here.terms.end(),
                                    [&](std::int32_t term) { return value_of(term, binding_) != kUnbound; });
                    if (names_agent)
                        agents_affected_.push_back(
                            agent_number(task_.encode(move.here, binding_), static_cast<std::size_t>(group.predicate)));
                    else
                        group_affected_[g] = 1;
                });
            }
        }
    }
}

bool Places::holds(const Wish& wish) const {
    const Object at = place(wish.agent);
    if (at != kSeveral) return at == wish.place;
    const Code code = code_of(wish.agent, wish.place);
    if (std::binary_search(added_.begin(), added_.end(), code)) return true;
    return std::binary_search(root_.begin(), root_.end(), code) &&
           !std::binary_search(deleted_.begin(), deleted_.end(), code);
}

void Places::close(const Parent* parent, std::vector<Code>& added, std::vector<Code>& removed) {
    added.clear();
    removed.clear();
    if (std::any_of(group_affected_.begin(), group_affected_.end(), [](std::uint8_t flag) { return flag != 0; })) {
        for (std::size_t a = 0; a < agents_.size(); ++a) {
            const auto agent = static_cast<std::int32_t>(a);
            if (!agents_[a].is_agent) continue;
            if (affected(agent) || std::binary_search(moved_.begin(), moved_.end(), agent))
                close(agent, parent, added, removed);
        }
    } else {
        std::vector<std::int32_t> agents = moved_;
        for (std::int32_t agent : agents_affected_)
            if (agent >= 0) agents.push_back(agent);
        sort_unique(agents);
        for (std::int32_t agent : agents) close(agent, parent, added, removed);
    }
    std::sort(added.begin(), added.end());
    std::sort(removed.begin(), removed.end());
}

void Places::close(std::int32_t agent, const Parent* parent, std::vector<Code>& added, std::vector<Code>& removed) {
    const std::vector<Object>& before = agents_[static_cast<std::size_t>(agent)].root_places;
    const std::vector<Object>* known = known_places(agent);
    if (known == &before) return;
    Shift shift;
    shift.agent = agent;
    if (known != nullptr || parent == nullptr || !update(agent, *parent, shift)) {
        const std::vector<Object> now = known != nullptr ? *known : compute_reached(agent);
        shift.gained.clear();
        shift.lost.clear();
        std::set_difference(now.begin(), now.end(), before.begin(), before.end(), std::back_inserter(shift.gained));
        std::set_difference(before.begin(), before.end(), now.begin(), now.end(), std::back_inserter(shift.lost));
    }
    for (Object place : shift.gained) added.push_back(code_of(agent, place));
    for (Object place : shift.lost) removed.push_back(code_of(agent, place));
    shifts_.push_back(std::move(shift));
}

// Finds an agent's places from those that it reached in the parent, by looking around the places whose moves the last
// action touched. False if that is not enough.
bool Places::update(std::int32_t agent, const Parent& parent, Shift& shift) {
    Agent& known = agents_[static_cast<std::size_t>(agent)];
    const Object at = place(agent);
    if (at < 0) return false;
    std::vector<Object> touched;
    if (!touched_places(agent, parent, touched)) return false;
    for (Code code : parent.added)
        if (const Wish wish = place_of(code); wish.agent == agent) shift.gained.push_back(wish.place);
    for (Code code : parent.removed)
        if (const Wish wish = place_of(code); wish.agent == agent) shift.lost.push_back(wish.place);
    const std::vector<Object>& root = known.root_places;
    const bool is_touched = std::binary_search(touched.begin(), touched.end(), at);
    if (!is_touched && !shift.reaches(root, at)) return false;
    if (touched.empty()) return true;
    // Searches around the touched places side by side. Each is a group; groups that meet are joined. One that ends has
    // seen all of its places. All places reached in the parent that no such group has seen are in the one that goes on.
    const auto none = static_cast<std::int32_t>(-1);
    const auto objects = static_cast<std::size_t>(task_.objects());
    group_at_.resize(objects, none);
    changed_.resize(objects, 0);
    if (known.in_root_places.empty()) {
        known.in_root_places.resize(objects, 0);
        for (Object place : root) known.in_root_places[static_cast<std::size_t>(place)] = 1;
    }
    auto note_changes = [&](bool is_on) {
        for (Object place : shift.gained) changed_[static_cast<std::size_t>(place)] = is_on ? 1 : 0;
        for (Object place : shift.lost) changed_[static_cast<std::size_t>(place)] = is_on ? 1 : 0;
    };
    note_changes(true);
    auto was_reached = [&](Object place) {
        const auto at_place = static_cast<std::size_t>(place);
        return known.in_root_places[at_place] != changed_[at_place];
    };
    std::vector<std::vector<Object>> queues;
    std::vector<std::size_t> next;
    std::vector<std::int32_t> parent_group;
    std::vector<Object> seen;
    auto find = [&](std::int32_t g) {
        while (parent_group[static_cast<std::size_t>(g)] != g) g = parent_group[static_cast<std::size_t>(g)];
        return g;
    };
    auto seed = [&](Object place) {
        std::int32_t& group = group_at_[static_cast<std::size_t>(place)];
        if (group != none) return;
        group = static_cast<std::int32_t>(queues.size());
        queues.push_back({place});
        next.push_back(0);
        parent_group.push_back(group);
        seen.push_back(place);
    };
    for (Object place : touched) seed(place);
    for (Object place : touched)
        neighbours(known, place, [&](Object end, std::int32_t, std::uint64_t) {
            if (was_reached(end)) seed(end);
        });
    const std::size_t groups = queues.size();
    auto is_open = [&](std::size_t g) {
        return parent_group[g] == static_cast<std::int32_t>(g) && next[g] < queues[g].size();
    };
    for (;;) {
        std::size_t open = 0;
        for (std::size_t g = 0; g < groups; ++g) open += is_open(g) ? 1 : 0;
        if (open <= 1) break;
        for (std::size_t g = 0; g < groups; ++g) {
            if (!is_open(g)) continue;
            ticker_.tick();
            const Object place = queues[g][next[g]++];
            auto own = static_cast<std::int32_t>(g);
            neighbours(known, place, [&](Object end, std::int32_t m, std::uint64_t back) {
                std::int32_t& group = group_at_[static_cast<std::size_t>(end)];
                if (group != none && find(group) == own) return;
                if (!is_edge(known, static_cast<std::size_t>(m), place, end, back)) return;
                if (group == none) {
                    group = own;
                    queues[static_cast<std::size_t>(own)].push_back(end);
                    seen.push_back(end);
                    return;
                }
                const std::int32_t other = find(group);
                auto& from = queues[static_cast<std::size_t>(other)];
                auto& to = queues[static_cast<std::size_t>(own)];
                to.insert(to.end(), from.begin() + static_cast<std::ptrdiff_t>(next[static_cast<std::size_t>(other)]),
                          from.end());
                from.clear();
                next[static_cast<std::size_t>(other)] = 0;
                parent_group[static_cast<std::size_t>(other)] = own;
            });
        }
    }
    std::int32_t open = none;
    for (std::size_t g = 0; g < groups; ++g)
        if (is_open(g)) open = static_cast<std::int32_t>(g);
    auto group_of_place = [&](Object place) {
        const std::int32_t group = group_at_[static_cast<std::size_t>(place)];
        return group == none ? open : find(group);
    };
    // The one that goes on is the rest of the parent's places only if it has one of them.
    const bool is_rest = std::any_of(seen.begin(), seen.end(), [&](Object place) {
        return find(group_at_[static_cast<std::size_t>(place)]) == open && was_reached(place);
    });
    const std::int32_t home = group_of_place(at);
    std::vector<Object> gained;
    std::vector<Object> lost;
    bool complete = true;
    if (group_at_[static_cast<std::size_t>(at)] == none && !is_rest) {
        // Nothing touched is connected with the parent's places.
    } else if (home == none) {
        complete = false;  // cannot be: a place reached in the parent that no group has seen
    } else if (home != open) {
        for (Object place : seen)
            if (find(group_at_[static_cast<std::size_t>(place)]) == home && !was_reached(place))
                gained.push_back(place);
        auto lose = [&](Object place) {
            const std::int32_t group = group_at_[static_cast<std::size_t>(place)];
            if ((group == none || find(group) != home) && was_reached(place)) lost.push_back(place);
        };
        for (Object place : root) lose(place);
        for (Object place : shift.gained)
            if (!std::binary_search(root.begin(), root.end(), place)) lose(place);
    } else {
        for (Object place : seen)
            if (find(group_at_[static_cast<std::size_t>(place)]) != home && was_reached(place)) lost.push_back(place);
        // Places that are new can be reached only through those that the action touched.
        std::vector<Object> stack;
        for (Object place : seen)
            if (find(group_at_[static_cast<std::size_t>(place)]) == home && !was_reached(place)) {
                gained.push_back(place);
                stack.push_back(place);
            }
        for (Object place : touched)
            if (group_of_place(place) == home && was_reached(place)) stack.push_back(place);
        while (!stack.empty()) {
            const Object place = stack.back();
            stack.pop_back();
            ticker_.tick();
            neighbours(known, place, [&](Object end, std::int32_t m, std::uint64_t back) {
                std::int32_t& group = group_at_[static_cast<std::size_t>(end)];
                if (group != none || was_reached(end)) return;
                if (!is_edge(known, static_cast<std::size_t>(m), place, end, back)) return;
                group = home;
                seen.push_back(end);
                gained.push_back(end);
                stack.push_back(end);
            });
        }
    }
    for (Object place : seen) group_at_[static_cast<std::size_t>(place)] = none;
    note_changes(false);
    if (!complete) return false;
    // From the root's places: what was gained and is lost now, and the other way round, cancels out.
    auto apply = [&](std::vector<Object>& plus, std::vector<Object>& minus, std::vector<Object>& changed) {
        std::sort(changed.begin(), changed.end());
        std::vector<Object> undone;
        std::vector<Object> fresh;
        std::set_intersection(minus.begin(), minus.end(), changed.begin(), changed.end(), std::back_inserter(undone));
        std::set_difference(changed.begin(), changed.end(), undone.begin(), undone.end(), std::back_inserter(fresh));
        std::vector<Object> kept;
        std::set_difference(minus.begin(), minus.end(), undone.begin(), undone.end(), std::back_inserter(kept));
        minus = std::move(kept);
        std::vector<Object> joined;
        std::merge(plus.begin(), plus.end(), fresh.begin(), fresh.end(), std::back_inserter(joined));
        plus = std::move(joined);
    };
    apply(shift.gained, shift.lost, gained);
    apply(shift.lost, shift.gained, lost);
    return true;
}

// Places whose moves the last action may have changed, ascending. False if they cannot be told.
bool Places::touched_places(std::int32_t agent, const Parent& parent, std::vector<Object>& touched) {
    const Group& group = moves_.groups()[static_cast<std::size_t>(group_of(agent))];
    bool are_known = true;
    for (const auto& codes : {parent.fresh_added, parent.fresh_deleted})
        for (Code code : codes)
            visit_touched(group, code, [&](const Move& move) {
                const Object start = binding_[static_cast<std::size_t>(move.start)];
                const Object end = binding_[static_cast<std::size_t>(move.end)];
                are_known = are_known && (start != kUnbound || end != kUnbound);
                touched.push_back(end != kUnbound ? end : start);
            });
    sort_unique(touched);
    return are_known;
}

bool Places::affected(std::int32_t agent) const {
    return group_affected_[static_cast<std::size_t>(group_of(agent))] != 0 ||
           std::find(agents_affected_.begin(), agents_affected_.end(), agent) != agents_affected_.end();
}

bool Places::Shift::reaches(const std::vector<Object>& root, Object place) const {
    if (std::binary_search(gained.begin(), gained.end(), place)) return true;
    return std::binary_search(root.begin(), root.end(), place) && !std::binary_search(lost.begin(), lost.end(), place);
}

const Places::Shift* Places::shift_of(std::int32_t agent) const {
    for (const Shift& shift : shifts_)
        if (shift.agent == agent) return &shift;
    return nullptr;
}

bool Places::reaches(std::int32_t agent, Object place) {
    if (const auto* known = known_places(agent)) return std::binary_search(known->begin(), known->end(), place);
    if (const Shift* shift = shift_of(agent))
        return shift->reaches(agents_[static_cast<std::size_t>(agent)].root_places, place);
    const std::vector<Object> places = compute_reached(agent);
    return std::binary_search(places.begin(), places.end(), place);
}

std::vector<Object> Places::reached(std::int32_t agent) {
    const auto* known = known_places(agent);
    return known != nullptr ? *known : compute_reached(agent);
}

// Places of an agent of the shown state, as far as they are listed somewhere; null if they are not.
const std::vector<Object>* Places::known_places(std::int32_t agent) const {
    const Agent& known = agents_[static_cast<std::size_t>(agent)];
    const Object at = place(agent);
    const Object before = root_at_[static_cast<std::size_t>(agent)];
    if (at < 0) return nullptr;
    // Walking back and forth within the root's places changes nothing.
    if (!affected(agent) && before >= 0 &&
        (at == before || std::binary_search(known.root_places.begin(), known.root_places.end(), at)))
        return &known.root_places;
    return fixed_component(known, at);
}

bool Places::all_moves(const Agent& agent) const {
    const std::size_t count = moves_.groups()[static_cast<std::size_t>(agent.group)].moves.size();
    return agent.moves == (count == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << count) - 1);
}

// Places of an agent whose moves have static conditions only; null if they must be searched for.
const std::vector<Object>* Places::fixed_component(const Agent& agent, Object place) const {
    const Group& group = moves_.groups()[static_cast<std::size_t>(agent.group)];
    if (!group.is_fixed || !all_moves(agent) || agent.class_number < 0) return nullptr;
    const std::int32_t vertex = group.vertices.find(moves_.row_key(agent.class_number, place));
    if (vertex < 0) return nullptr;
    return &group.members[static_cast<std::size_t>(group.component[static_cast<std::size_t>(vertex)])];
}

Places::Answer Places::are_connected(std::int32_t agent, Object a, Object b) const {
    const Agent& known = agents_[static_cast<std::size_t>(agent)];
    const auto* from = fixed_component(known, a);
    if (from == nullptr) return Answer::unknown;
    return std::binary_search(from->begin(), from->end(), b) ? Answer::yes : Answer::no;
}

std::vector<Object> Places::compute_reached(std::int32_t agent) {
    const Object at = place(agent);
    if (at == kNowhere) return {};
    if (at == kSeveral) {
        std::vector<Object> places;
        for (Object other = 0; other < task_.objects(); ++other)
            if (holds({agent, other})) places.push_back(other);
        return places;
    }
    if (const auto* fixed = fixed_component(agents_[static_cast<std::size_t>(agent)], at)) return *fixed;
    Tour& known = tour(agent);
    while (extend(known)) continue;
    std::vector<Object> places = known.order;
    std::sort(places.begin(), places.end());
    return places;
}

// Calls visit(end, number of the move) for every edge from a place, in the order of walks.
template <typename Visit>
void Places::neighbours(const Agent& agent, Object place, Visit&& visit) {
    const Group& group = moves_.groups()[static_cast<std::size_t>(agent.group)];
    for (std::size_t m = 0; m < group.moves.size(); ++m) {
        if ((agent.moves >> m & 1) == 0) continue;
        const Move& move = group.moves[m];
        const auto [begin, end] = moves_.row(move, agent.class_number, place);
        for (std::size_t e = begin; e < end; ++e) {
            const Object to = move.ends[e];
            if (to == place) continue;
            std::uint64_t back = (move.dense ? std::uint64_t{1} : move.back[e]) & agent.moves;
            if (back == 0) continue;
            visit(to, static_cast<std::int32_t>(m), back);
        }
    }
}

// Binds a move's agent, start and end, and nothing else.
void Places::bind(const Agent& agent, const Move& move, Object start, Object end, std::vector<Object>& binding) {
    binding.assign(move.pattern.domains.size(), kUnbound);
    for (std::size_t i = 0; i < move.here.terms.size(); ++i)
        if (move.here.terms[i] >= 0) binding[static_cast<std::size_t>(move.here.terms[i])] = agent.arguments[i];
    binding[static_cast<std::size_t>(move.start)] = start;
    binding[static_cast<std::size_t>(move.end)] = end;
}

// Whether the fluent conditions of a move hold; those that are static are known to.
bool Places::allows(const Agent& agent, const Move& move, Object start, Object end) {
    if (move.changing.empty()) return true;
    if (move.direct)
        return std::all_of(move.conditions.begin(), move.conditions.end(), [&](const Condition& condition) {
            Code code = condition.base + start * condition.start + end * condition.end;
            for (const auto& [argument, stride] : condition.agent) code += agent.arguments[argument] * stride;
            return view_->holds(code) == condition.positive;
        });
    bind(agent, move, start, end, binding_);
    std::vector<Object> binding = binding_;
    return !matcher_->run(move.pattern, binding, MatchOptions{}, [](const std::vector<Object>&) { return false; });
}

// Whether a move that static atoms allow, and one that leads back, are possible in the shown state.
bool Places::is_edge(const Agent& agent, std::size_t move, Object start, Object end, std::uint64_t back) {
    const Group& group = moves_.groups()[static_cast<std::size_t>(agent.group)];
    if (group.is_fixed) return true;
    if (!allows(agent, group.moves[move], start, end)) return false;
    for (std::size_t other = 0; other < group.moves.size(); ++other)
        if ((back >> other & 1) != 0 && allows(agent, group.moves[other], end, start)) return true;
    return false;
}

// The places of an agent in the order in which walks reach them, as far as they were needed.
Places::Tour& Places::tour(std::int32_t agent) {
    const Object start = place(agent);
    const bool is_fixed = moves_.groups()[static_cast<std::size_t>(group_of(agent))].is_fixed;
    if (is_fixed) {
        const auto number = static_cast<std::size_t>(fixed_tour_numbers_.number(moves_.row_key(agent, start)));
        if (number < fixed_tours_.size()) return fixed_tours_[number];
    }
    for (Tour& known : tours_)
        if (known.agent == agent) return known;
    Tour& tour = (is_fixed ? fixed_tours_ : tours_).emplace_back();
    tour.agent = agent;
    tour.order = {start};
    tour.from = {-1};
    tour.move = {-1};
    tour.distance = {0};
    tour.position.assign(static_cast<std::size_t>(task_.objects()), -1);
    tour.position[static_cast<std::size_t>(start)] = 0;
    return tour;
}

// The same, as far as to a place that the agent reaches.
Places::Tour& Places::tour_to(std::int32_t agent, Object place) {
    Tour& known = tour(agent);
    while (known.position[static_cast<std::size_t>(place)] < 0 && extend(known)) continue;
    return known;
}

// Visits the neighbours of the next place; false if there is none.
bool Places::extend(Tour& tour) {
    if (tour.next >= tour.order.size()) return false;
    const Agent& known = agents_[static_cast<std::size_t>(tour.agent)];
    const auto* fixed = fixed_component(known, tour.order[0]);
    if (fixed != nullptr && tour.order.size() == fixed->size()) return false;
    ticker_.tick();
    const std::size_t i = tour.next++;
    const Object place = tour.order[i];
    neighbours(known, place, [&](Object end, std::int32_t m, std::uint64_t back) {
        if (tour.position[static_cast<std::size_t>(end)] >= 0) return;
        if (!is_edge(known, static_cast<std::size_t>(m), place, end, back)) return;
        tour.position[static_cast<std::size_t>(end)] = static_cast<std::int32_t>(tour.order.size());
        tour.order.push_back(end);
        tour.from.push_back(static_cast<std::int32_t>(i));
        tour.move.push_back(m);
        tour.distance.push_back(tour.distance[i] + 1);
    });
    return true;
}

std::int32_t Places::distance(std::int32_t agent, Object place) {
    const Tour& known = tour_to(agent, place);
    return known.distance[static_cast<std::size_t>(known.position[static_cast<std::size_t>(place)])];
}

std::vector<Object> Places::in_walking_order(std::int32_t agent) {
    Tour& known = tour(agent);
    while (extend(known)) continue;
    return known.order;
}

std::vector<Places::Step> Places::walk(std::int32_t agent, Object place) {
    const Tour& known = tour_to(agent, place);
    const Agent& walker = agents_[static_cast<std::size_t>(agent)];
    const Group& group = moves_.groups()[static_cast<std::size_t>(walker.group)];
    std::vector<Step> steps;
    for (std::int32_t i = known.position[static_cast<std::size_t>(place)]; known.from[static_cast<std::size_t>(i)] >= 0;
         i = known.from[static_cast<std::size_t>(i)]) {
        const auto at = static_cast<std::size_t>(i);
        const Move& move = group.moves[static_cast<std::size_t>(known.move[at])];
        std::vector<Object> binding;
        bind(walker, move, known.order[static_cast<std::size_t>(known.from[at])], known.order[at], binding);
        matcher_->least(move.pattern, binding);
        steps.push_back({move.schema, std::move(binding)});
    }
    std::reverse(steps.begin(), steps.end());
    return steps;
}

}  // namespace saltus
