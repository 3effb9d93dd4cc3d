#include "walking.hpp"

#include <algorithm>
#include <iterator>
#include <unordered_map>

#include "walks.hpp"

namespace saltus {

namespace {

constexpr std::size_t kStoredPlaces = 512;  // most places by which a stored closure differs from the root's

}  // namespace

Walking::Walking(Scene& scene, Growth& growth)
    : scene_(scene), growth_(growth), task_(scene.task), places_(*scene.places) {
    locate_schemas();
    list_wanted_places();
}

void Walking::locate_schemas() {
    const std::vector<Group>& groups = scene_.situation.moves->groups();
    patterns_.resize(task_.schemas.size());
    located_.resize(task_.schemas.size());
    for (std::size_t s = 0; s < task_.schemas.size(); ++s) {
        const Schema& schema = task_.schemas[s];
        Located& located = located_[s];
        auto may_be_place = [&](const Literal& literal, const Pattern& pattern, const Group& group) {
            if (literal.predicate != group.predicate) return false;
            for (std::size_t i = 0; i < literal.terms.size(); ++i) {
                const std::int32_t term = literal.terms[i];
                if (term < 0 && !group.objects[i][static_cast<std::size_t>(~term)]) return false;
                if (term < 0) continue;
                const auto domain = static_cast<std::size_t>(pattern.domains[static_cast<std::size_t>(term)]);
                const std::vector<Object>& members = task_.domains[domain].members;
                if (std::none_of(members.begin(), members.end(),
                                 [&](Object o) { return group.objects[i][static_cast<std::size_t>(o)] != 0; }))
                    return false;
            }
            return true;
        };
        patterns_[s].domains = schema.pattern.domains;
        std::vector<std::int32_t> predicates;
        for (std::size_t l = 0; l < schema.pattern.literals.size(); ++l) {
            const Literal& literal = schema.pattern.literals[l];
            const bool place = std::any_of(groups.begin(), groups.end(), [&](const Group& group) {
                return may_be_place(literal, schema.pattern, group);
            });
            if (place && !literal.positive) {
                located.forbidden.push_back(l);
                continue;
            }
            patterns_[s].literals.push_back(literal);
            if (!place) continue;
            located.needed.push_back(l);
            if (std::find(predicates.begin(), predicates.end(), literal.predicate) != predicates.end())
                located.checked = true;
            predicates.push_back(literal.predicate);
        }
        for (const Group& group : groups) {
            for (const Move& move : group.moves)
                if (static_cast<std::size_t>(move.schema) == s) {
                    located.move = &move;
                    located.group = &group;
                }
            for (const Effect& effect : schema.effects)
                for (const Literal& literal : effect.adds)
                    located.adds_places = located.adds_places || may_be_place(literal, effect.when, group);
        }
        located.checked = located.checked || !located.forbidden.empty() || located.move != nullptr;
    }
}

void Walking::list_wanted_places() {
    std::unordered_map<std::int32_t, std::vector<Object>> places;  // by agent
    for (Code code : scene_.situation.goal_positive)
        if (const Places::Wish found = places_.place_of(code); found.agent >= 0)
            places[found.agent].push_back(found.place);
    for (Code code : scene_.situation.goal_negative)
        if (const Places::Wish found = places_.place_of(code); found.agent >= 0) places[found.agent];
    if (places.empty()) return;
    for (std::int32_t agent : places_.sorted_agents())
        if (const auto found = places.find(agent); found != places.end())
            wanted_.push_back({agent, std::move(found->second)});
}

bool Walking::skips(std::size_t s) const {
    const Located& located = located_[s];
    return located.move != nullptr && located.group->symmetric && !located.group->blocked_by_others &&
           !places_.has_several();
}

bool Walking::settle(std::size_t s, const std::vector<Object>& binding) {
    const Located& located = located_[s];
    const std::vector<Literal>& literals = task_.schemas[s].pattern.literals;
    wishes_.clear();
    walking_.clear();
    leaves_ = false;
    steps_ = 0;
    for (std::size_t l : located.needed) {
        const Places::Wish wish = places_.place_of(task_.encode(literals[l], binding));
        if (wish.agent < 0 || places_.place(wish.agent) < 0) continue;
        const auto known = std::find_if(wishes_.begin(), wishes_.end(),
                                        [&](const Places::Wish& other) { return other.agent == wish.agent; });
        if (known != wishes_.end()) {
            if (known->place != wish.place) return false;
            continue;
        }
        wishes_.push_back(wish);
        if (places_.place(wish.agent) != wish.place) walking_.push_back(wish);
    }
    if (located.move != nullptr) {
        const std::int32_t agent = places_.place_of(task_.encode(located.move->here, binding)).agent;
        leaves_ = true;
        if (agent >= 0 && places_.place(agent) >= 0) {
            leaves_ = !places_.reaches(agent, binding[static_cast<std::size_t>(located.move->end)]);
            if (!leaves_ && (!walking_.empty() || !at_root_ || !located.group->blocked_by_others)) return false;
        }
    }
    for (std::size_t l : located.forbidden) {
        const Code code = task_.encode(literals[l], binding);
        const Places::Wish wish = places_.place_of(code);
        if (wish.agent < 0) {
            if (scene_.view.holds(code)) return false;
            continue;
        }
        const auto known = std::find_if(wishes_.begin(), wishes_.end(),
                                        [&](const Places::Wish& other) { return other.agent == wish.agent; });
        if (known != wishes_.end() ? known->place == wish.place : places_.holds(wish)) return false;
    }
    return true;
}

std::int32_t Walking::walking_steps() {
    std::int32_t steps = 0;
    for (const Places::Wish& wish : walking_) steps += places_.distance(wish.agent, wish.place);
    return steps;
}

void Walking::take_nearest(std::size_t s, std::vector<Object> binding, std::vector<Object>& gathered) {
    std::int32_t best = -1;
    std::vector<Object> nearest;
    scene_.matcher.run(patterns_[s], binding, MatchOptions{}, [&](const std::vector<Object>& found) {
        ticker_.tick();
        if (!settle(s, found)) return true;
        const std::int32_t steps = walking_steps();
        if (best < 0 || steps < best || (steps == best && found < nearest)) {
            best = steps;
            nearest = found;
        }
        return true;
    });
    if (best >= 0) gathered.insert(gathered.end(), nearest.begin(), nearest.end());
}

std::vector<Places::Wish> Walking::wanted_walks() {
    const std::span<const Code> unwanted = scene_.situation.goal_negative;
    std::vector<Places::Wish> ends;
    for (const Wanted& wanted : wanted_) {
        const Object at = places_.place(wanted.agent);
        if (at < 0) continue;
        auto is_unwanted = [&](Object place) {
            return std::binary_search(unwanted.begin(), unwanted.end(), places_.code_of(wanted.agent, place));
        };
        for (Object place : wanted.places)
            if (place != at && places_.reaches(wanted.agent, place)) ends.push_back({wanted.agent, place});
        if (at_root_ && is_unwanted(at)) {
            const std::vector<Object> order = places_.in_walking_order(wanted.agent);
            const auto away = std::find_if_not(order.begin(), order.end(), is_unwanted);
            if (away != order.end()) ends.push_back({wanted.agent, *away});
        }
    }
    return ends;
}

void Walking::begin_walk(const Places::Wish& wish) {
    walking_.clear();
    leaves_ = false;
    growth_.changes.adds.assign(1, places_.code_of(wish.agent, wish.place));
    growth_.changes.deletes.assign(1, places_.code_of(wish.agent, places_.place(wish.agent)));
}

Places::Step Walking::last_step(const Places::Wish& wish) {
    steps_ = places_.distance(wish.agent, wish.place) - 1;
    return places_.walk(wish.agent, wish.place).back();
}

void Walking::add_walks() {
    if (walking_.empty()) return;
    std::vector<Code> before;
    for (const Places::Wish& wish : walking_) {
        const Code there = places_.code_of(wish.agent, wish.place);
        if (!std::binary_search(growth_.changes.deletes.begin(), growth_.changes.deletes.end(), there))
            growth_.changes.adds.push_back(there);
        before.push_back(places_.code_of(wish.agent, places_.place(wish.agent)));
    }
    steps_ = walking_steps();
    growth_.changes.deletes.insert(growth_.changes.deletes.end(), before.begin(), before.end());
    growth_.changes.settle();
}

void Walking::split_difference(std::span<const Code> added, std::span<const Code> deleted, Class& result) {
    result.difference.added.clear();
    result.difference.deleted.clear();
    result.moved.clear();
    std::vector<std::int32_t> agents;
    for (const auto& codes : {added, deleted})
        for (Code code : codes)
            if (const Places::Wish found = places_.place_of(code); found.agent >= 0) agents.push_back(found.agent);
    sort_unique(agents);
    std::vector<std::int32_t> fixed;  // that do not walk on
    for (std::int32_t agent : agents) {
        Object place = places_.root_place(agent);
        bool is_fixed =
            scene_.situation.moves->groups()[static_cast<std::size_t>(places_.group_of(agent))].blocked_by_others;
        if (place == Places::kSeveral) {  // what is left of them
            place = Places::kNowhere;
            for (Code code : scene_.situation.state) {
                const Places::Wish found = places_.place_of(code);
                if (found.agent != agent || std::binary_search(deleted.begin(), deleted.end(), code)) continue;
                is_fixed = is_fixed || place >= 0 || scene_.is_mentioned(code);
                place = found.place;
            }
        } else {
            for (Code code : deleted)
                if (const Places::Wish found = places_.place_of(code); found.agent == agent) place = Places::kNowhere;
        }
        for (Code code : added)
            if (const Places::Wish found = places_.place_of(code); found.agent == agent) {
                is_fixed = is_fixed || place >= 0 || scene_.is_mentioned(code);
                place = found.place;
            }
        if (is_fixed)
            fixed.push_back(agent);
        else
            result.moved.push_back({agent, place});
    }
    auto keep = [&](std::span<const Code> codes, std::vector<Code>& kept) {
        for (Code code : codes) {
            const Places::Wish found = places_.place_of(code);
            // Leaving a place that the goal mentions is a difference of its own.
            if (found.agent < 0 || std::binary_search(fixed.begin(), fixed.end(), found.agent) ||
                scene_.is_mentioned(code))
                kept.push_back(code);
        }
    };
    keep(added, result.difference.added);
    keep(deleted, result.difference.deleted);
}

// Whether a node and the successor at hand are the same state but for walks.
bool Walking::is_same_class(const Node& node, const Class& other) {
    Class own;
    split_difference(growth_.nodes.codes(node.added), growth_.nodes.codes(node.deleted), own);
    if (own.difference.added != other.difference.added || own.difference.deleted != other.difference.deleted)
        return false;
    auto place_in = [&](const Class& in, std::int32_t agent) {
        const auto found = std::find_if(in.moved.begin(), in.moved.end(),
                                        [&](const Places::Wish& wish) { return wish.agent == agent; });
        return found == in.moved.end() ? places_.root_place(agent) : found->place;
    };
    bool is_searched = false;
    for (const Class* in : {static_cast<const Class*>(&own), &other})
        for (const Places::Wish& wish : in->moved) {
            const Object a = place_in(own, wish.agent);
            const Object b = place_in(other, wish.agent);
            if (a == b) continue;
            if (a < 0 || b < 0) return false;
            const Places::Answer answer = places_.are_connected(wish.agent, a, b);
            if (answer == Places::Answer::no) return false;
            is_searched = is_searched || answer == Places::Answer::unknown;
        }
    if (!is_searched) return true;
    auto canonical = [&](std::span<const Code> added, std::span<const Code> deleted) {
        const Situation& root = scene_.situation;
        return canonical_state(*root.moves, changed_state(root.state, added, deleted), root.goal_positive,
                               root.goal_negative);
    };
    return canonical(growth_.nodes.codes(node.added), growth_.nodes.codes(node.deleted)) ==
           canonical(growth_.difference.added, growth_.difference.deleted);
}

void Walking::show_closure(std::size_t number) {
    at_root_ = false;
    const Node node = growth_.nodes[number];
    if (node.parent != closed_parent_) {
        closed_parent_ = node.parent;
        parent_added_.clear();
        parent_removed_.clear();
        const Node& parent = growth_.nodes[static_cast<std::size_t>(node.parent)];
        if (parent.is_closed) {
            const auto codes = std::span<const Code>(closed_codes_);
            const auto gained = codes.subspan(parent.gained.begin, parent.gained.size);
            const auto lost = codes.subspan(parent.lost.begin, parent.lost.size);
            parent_added_.assign(gained.begin(), gained.end());
            parent_removed_.assign(lost.begin(), lost.end());
        } else if (node.parent != 0) {
            load_closure(parent, false, parent_added_, parent_removed_);
        }
    }
    load_closure(node, true, own_added_, own_removed_);
    if (own_added_.size() + own_removed_.size() <= kStoredPlaces) {
        auto store = [&](const std::vector<Code>& codes) {
            const Range range{closed_codes_.size(), codes.size()};
            closed_codes_.insert(closed_codes_.end(), codes.begin(), codes.end());
            return range;
        };
        const Range gained = store(own_added_);
        growth_.nodes.set_closure(number, gained, store(own_removed_));
    }
    lost_places_.clear();
    std::set_difference(parent_added_.begin(), parent_added_.end(), own_added_.begin(), own_added_.end(),
                        std::back_inserter(lost_places_));
    std::set_difference(own_removed_.begin(), own_removed_.end(), parent_removed_.begin(), parent_removed_.end(),
                        std::back_inserter(lost_places_));
    fresh_places_.clear();
    std::set_difference(own_added_.begin(), own_added_.end(), parent_added_.begin(), parent_added_.end(),
                        std::back_inserter(fresh_places_));
    std::set_difference(parent_removed_.begin(), parent_removed_.end(), own_removed_.begin(), own_removed_.end(),
                        std::back_inserter(fresh_places_));
}

// Shows a node's closure, and finds how its places differ from those of the root's closure; from its parent's closure
// if that is at hand.
void Walking::load_closure(const Node& node, bool has_parent, std::vector<Code>& added, std::vector<Code>& removed) {
    std::vector<Code> other_added;
    std::vector<Code> other_deleted;
    for (Code code : growth_.nodes.codes(node.added))
        if (!places_.is_place(code)) other_added.push_back(code);
    for (Code code : growth_.nodes.codes(node.deleted))
        if (!places_.is_place(code)) other_deleted.push_back(code);
    scene_.view.show(other_added, other_deleted);
    places_.show(growth_.nodes.codes(node.added), growth_.nodes.codes(node.deleted));
    const Places::Parent parent{parent_added_, parent_removed_, growth_.nodes.codes(node.fresh_added),
                                growth_.nodes.codes(node.fresh_deleted)};
    places_.close(has_parent ? &parent : nullptr, added, removed);
    if (added.empty() && removed.empty()) return;
    other_added.insert(other_added.end(), added.begin(), added.end());
    other_deleted.insert(other_deleted.end(), removed.begin(), removed.end());
    scene_.view.show(other_added, other_deleted);
}

}  // namespace saltus
