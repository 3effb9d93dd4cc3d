// Places: where the agents of a lookahead's states are, where they can walk, and how.
//
// Same places and walks as tests/twins/free_moves.py. One object serves a whole lookahead: it shows one
// state at a time, as a difference from the root.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "free_moves.hpp"
#include "interrupt.hpp"
#include "keys.hpp"
#include "match.hpp"
#include "state.hpp"

namespace saltus {

class Places {
public:
    static constexpr Object kNowhere = -1;
    static constexpr Object kSeveral = -2;  // more than one place: the agent does not walk

    // An agent to be somewhere.
    struct Wish {
        std::int32_t agent;
        Object place;
    };
    struct Step {
        std::int32_t schema;
        std::vector<Object> binding;
    };

    Places(const FreeMoves& moves, std::span<const Code> root);

    // The root, with every agent at all of its places; sorted.
    std::vector<Code> closure();
    // From now on, conditions of moves other than places are read from this view.
    void watch(const StateView& view) {
        view_ = &view;
        matcher_.emplace(view);
    }

    // Agent and place that an atom is about; {-1, 0} if it is no agent's place.
    Wish place_of(Code code);
    bool is_place(Code code) { return place_of(code).agent >= 0; }
    Code code_of(std::int32_t agent, Object place) const {
        const Agent& known = agents_[static_cast<std::size_t>(agent)];
        return known.key + place * moves_.groups()[static_cast<std::size_t>(known.group)].stride;
    }
    std::int32_t group_of(std::int32_t agent) const { return agents_[static_cast<std::size_t>(agent)].group; }
    Code key_of(std::int32_t agent) const { return agents_[static_cast<std::size_t>(agent)].key; }
    // All agents met so far, by group and objects.
    std::vector<std::int32_t> sorted_agents() const;

    // Shows a state: the root without `deleted` and with `added`, both sorted. The view must show it, too.
    void show(std::span<const Code> added, std::span<const Code> deleted);
    Object place(std::int32_t agent) const { return at_[static_cast<std::size_t>(agent)]; }
    Object root_place(std::int32_t agent) const { return root_at_[static_cast<std::size_t>(agent)]; }
    // Whether an agent walks from one place to the other in every state; unknown if that depends on the state.
    enum class Answer { no, yes, unknown };
    Answer are_connected(std::int32_t agent, Object a, Object b) const;
    bool has_several() const { return several_ > 0; }
    // Whether the shown state has the agent's atom for this place.
    bool holds(const Wish& wish) const;

    // How the closure of the shown state differs from the root's: both lists are sorted. What is known of the parent,
    // if anything, saves time: how its closure differs from the root's, and how the shown state differs from it.
    struct Parent {
        std::span<const Code> added;
        std::span<const Code> removed;
        std::span<const Code> fresh_added;
        std::span<const Code> fresh_deleted;
    };
    void close(const Parent* parent, std::vector<Code>& added, std::vector<Code>& removed);
    // Whether an agent of the shown state reaches a place.
    bool reaches(std::int32_t agent, Object place);
    std::vector<Object> reached(std::int32_t agent);  // ascending

    // Moves from where an agent is to a place that it reaches.
    std::int32_t distance(std::int32_t agent, Object place);
    std::vector<Object> in_walking_order(std::int32_t agent);
    std::vector<Step> walk(std::int32_t agent, Object place);

private:
    struct Agent {
        Code key = 0;  // code of its atom for place 0
        std::int32_t group = -1;
        std::int32_t class_number = -1;
        std::uint64_t moves = 0;  // those that may shift it, one bit each
        bool is_agent = false;
        std::vector<Object> arguments;             // of its atom; the place is 0
        std::vector<Object> root_places;           // that it reaches in the root
        std::vector<std::uint8_t> in_root_places;  // [objects]: the same as flags; empty unless update() needs them
    };
    // How the places of an agent in the shown state differ from those in the root; both lists are sorted.
    struct Shift {
        std::int32_t agent = -1;
        std::vector<Object> gained;
        std::vector<Object> lost;

        // Whether the agent reaches a place in the shown state; `root` are those in the root.
        bool reaches(const std::vector<Object>& root, Object place) const;
    };
    // A breadth-first search from where an agent is, as far as it was needed.
    struct Tour {
        std::int32_t agent = -1;
        std::size_t next = 0;  // position in the order from where to go on
        std::vector<Object> order;
        std::vector<std::int32_t> from;      // [order]: position in the order; -1 for the start
        std::vector<std::int32_t> move;      // [order]: number of the move within the group
        std::vector<std::int32_t> distance;  // [order]
        std::vector<std::int32_t> position;  // [objects]: in the order; -1 if not reached
    };

    std::int32_t agent_number(Code key, std::size_t predicate);
    bool all_moves(const Agent& agent) const;
    const std::vector<Object>* fixed_component(const Agent& agent, Object place) const;
    template <typename Visit>
    void visit_touched(const Group& group, Code code, Visit&& visit);
    bool affected(std::int32_t agent) const;
    void close(std::int32_t agent, const Parent* parent, std::vector<Code>& added, std::vector<Code>& removed);
    const std::vector<Object>* known_places(std::int32_t agent) const;
    std::vector<Object> compute_reached(std::int32_t agent);
    const Shift* shift_of(std::int32_t agent) const;
    bool update(std::int32_t agent, const Parent& parent, Shift& shift);
    bool touched_places(std::int32_t agent, const Parent& parent, std::vector<Object>& touched);
    Tour& tour(std::int32_t agent);
    Tour& tour_to(std::int32_t agent, Object place);
    bool extend(Tour& tour);
    bool is_edge(const Agent& agent, std::size_t move, Object start, Object end, std::uint64_t back);
    template <typename Visit>
    void neighbours(const Agent& agent, Object place, Visit&& visit);
    static void bind(const Agent& agent, const Move& move, Object start, Object end, std::vector<Object>& binding);
    bool allows(const Agent& agent, const Move& move, Object start, Object end);

    const FreeMoves& moves_;
    const Task& task_;
    std::span<const Code> root_;
    const StateView* view_;
    StateView own_view_;
    std::optional<Matcher> matcher_;
    std::vector<std::vector<std::int32_t>> groups_of_;  // [predicates]
    KeyNumbers numbers_;                                // by key
    std::vector<Agent> agents_;
    std::vector<Object> root_at_;      // [agents]
    std::vector<Object> at_;           // [agents]: in the shown state
    std::vector<std::int32_t> moved_;  // agents whose place may differ from the root's
    std::int32_t several_ = 0;
    std::int32_t root_several_ = 0;
    std::vector<std::uint8_t> group_affected_;  // [groups]: for all agents
    std::vector<std::int32_t> agents_affected_;
    std::deque<Shift> shifts_;  // of the shown state
    std::deque<Tour> tours_;    // of the shown state
    // Where moves have static conditions only, tours serve all states: by agent and start.
    KeyNumbers fixed_tour_numbers_;
    std::deque<Tour> fixed_tours_;
    std::vector<Code> added_;
    std::vector<Code> deleted_;
    std::vector<std::int32_t> group_at_;  // [objects]: scratch of update(), -1 between calls
    std::vector<std::uint8_t> changed_;   // [objects]: scratch of update(), 0 between calls
    std::vector<Object> arguments_;
    std::vector<Object> binding_;
    Ticker ticker_;
};

}  // namespace saltus
