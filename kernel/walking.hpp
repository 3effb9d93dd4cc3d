// Walking: what a search modulo free moves knows besides its states: which schemas have to do with agents' places, who
// walks before an action, and which places agents reach.
//
// Actions are joined with the closure of a node's state; agents that an action needs elsewhere walk there first.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "growth.hpp"
#include "order.hpp"
#include "scene.hpp"

namespace saltus {

class Walking {
public:
    // A state up to walks: how it differs from the root, apart from agents that may walk on, and where those are.
    struct Class {
        Difference difference;
        std::vector<Places::Wish> moved;
    };

    // The scene has places.
    Walking(Scene& scene, Growth& growth);

    // Preconditions without negative ones on places, which are tested by settle().
    const Pattern& pattern(std::size_t s) const { return patterns_[s]; }
    const Move* move(std::size_t s) const { return located_[s].move; }
    const Group& group(std::size_t s) const { return *located_[s].group; }  // of the move
    bool needs_places(std::size_t s) const { return !located_[s].needed.empty(); }
    bool adds_places(std::size_t s) const { return located_[s].adds_places; }
    // Whether a match may turn out to be no action: it cannot stand for others.
    bool is_checked(std::size_t s) const { return located_[s].checked; }
    // Whether a schema has nothing but moves within agents' places.
    bool skips(std::size_t s) const;

    // Whether an action that matches the closure is one: no agent is needed at two places, and it is no move within an
    // agent's places. Notes who walks.
    bool settle(std::size_t s, const std::vector<Object>& binding);
    // Whether the action at hand is a move that cannot be undone.
    bool leaves() const { return leaves_; }
    // Adds to the changes at hand what the walks before the action change.
    void add_walks();
    // Moves before the action at hand.
    std::int32_t steps() const { return steps_; }

    // Visits the gathered matches that are actions: those with the shortest walks first, then in order.
    template <typename Visit>
    void visit_nearest(std::size_t s, std::vector<Object> gathered, std::vector<Object>& binding, Visit&& visit) {
        const std::size_t width = binding.size();
        sort_bindings(gathered, width);
        std::vector<std::pair<std::int32_t, std::size_t>> order;
        auto read = [&](std::size_t i) {
            std::copy_n(gathered.begin() + static_cast<std::ptrdiff_t>(i), width, binding.begin());
        };
        for (std::size_t i = 0; i < gathered.size(); i += width) {
            read(i);
            if (settle(s, binding)) order.emplace_back(walking_steps(), i);
        }
        std::sort(order.begin(), order.end());
        for (const auto& [steps, i] : order) {
            read(i);
            if (!visit(binding)) break;
        }
    }
    // Calls visit(binding) -> bool for the root's actions, those with the shortest walks first, until it returns false.
    template <typename Visit>
    void visit_root(std::size_t s, const MatchOptions& options, std::int64_t count, Visit&& visit);
    // Gathers the completion with the shortest walks; among several, the least one.
    void take_nearest(std::size_t s, std::vector<Object> binding, std::vector<Object>& gathered);

    // Walks that lead an agent to where the goal wants it; at the root, also away from where it does not.
    std::vector<Places::Wish> wanted_walks();
    // Such a walk becomes the action at hand: first what it changes, then its last step; end_walks() after all of them.
    void begin_walk(const Places::Wish& wish);
    Places::Step last_step(const Places::Wish& wish);
    void end_walks() { steps_ = 0; }

    // Of a difference from the root: where agents are that may walk on, and everything else.
    void split_difference(std::span<const Code> added, std::span<const Code> deleted, Class& result);
    // Whether a node is the same state as one of this class but for walks.
    bool is_same_class(const Node& node, const Class& other);

    // Shows the closure of a node, and finds which places its parent's closure does not have, and the reverse.
    void show_closure(std::size_t number);
    const std::vector<Code>& fresh_places() const { return fresh_places_; }
    const std::vector<Code>& lost_places() const { return lost_places_; }

private:
    // What a schema has to do with agents' places.
    struct Located {
        std::vector<std::size_t> needed;     // positive preconditions that may be places
        std::vector<std::size_t> forbidden;  // negative ones; the pattern leaves them out
        const Move* move = nullptr;          // if it is a move
        const Group* group = nullptr;        // of the move
        bool adds_places = false;
        bool checked = false;
    };
    // The agents that the goal mentions, and their places there.
    struct Wanted {
        std::int32_t agent;
        std::vector<Object> places;
    };

    void locate_schemas();
    void list_wanted_places();
    std::int32_t walking_steps();
    void load_closure(const Node& node, bool has_parent, std::vector<Code>& added, std::vector<Code>& removed);

    Scene& scene_;
    Growth& growth_;
    const Task& task_;
    Places& places_;
    std::vector<Pattern> patterns_;  // [schemas]
    std::vector<Located> located_;   // [schemas]
    std::vector<Wanted> wanted_;     // by group and agent
    std::vector<Places::Wish> wishes_;
    std::vector<Places::Wish> walking_;  // agents that walk before the action at hand
    bool leaves_ = false;
    bool at_root_ = true;
    std::int32_t steps_ = 0;
    std::int32_t closed_parent_ = -1;  // whose closure the following two describe
    std::vector<Code> parent_added_;
    std::vector<Code> parent_removed_;
    std::vector<Code> closed_codes_;  // of nodes whose closure is known
    std::vector<Code> own_added_;
    std::vector<Code> own_removed_;
    std::vector<Code> fresh_places_;
    std::vector<Code> lost_places_;
    Ticker ticker_;
};

template <typename Visit>
void Walking::visit_root(std::size_t s, const MatchOptions& options, std::int64_t count, Visit&& visit) {
    if (located_[s].needed.empty() || patterns_[s].domains.empty()) {
        in_order(scene_.matcher, task_, patterns_[s], options, count,
                 [&](const std::vector<Object>& binding) { return !settle(s, binding) || visit(binding); });
        return;
    }
    if (count <= kSortAtOnce) {
        std::vector<Object> gathered;
        std::vector<Object> binding(patterns_[s].domains.size(), kUnbound);
        scene_.matcher.run(patterns_[s], binding, options, [&](const std::vector<Object>& found) {
            gathered.insert(gathered.end(), found.begin(), found.end());
            return true;
        });
        visit_nearest(s, std::move(gathered), binding, visit);
        return;
    }
    // Too many to be sorted: one length after the other.
    std::int32_t next = 0;
    for (std::int32_t steps = 0; steps >= 0; steps = next) {
        next = -1;
        auto visit_near = [&](const std::vector<Object>& binding) {
            if (!settle(s, binding)) return true;
            const std::int32_t own = walking_steps();
            if (own > steps && (next < 0 || own < next)) next = own;
            return own != steps || visit(binding);
        };
        if (!in_order(scene_.matcher, task_, patterns_[s], options, count, visit_near)) return;
    }
}

}  // namespace saltus
