// Frozen goals: whether every missing goal can still be reached by itself while the reached ones stay.
//
// tests/twins/frozen_goals.py is the definition. What does not depend on the state is worked out once per
// task and goal; the test itself asks the relaxation only for atoms that it meets, and searches towards the goal first.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "ground.hpp"
#include "keys.hpp"
#include "relaxation.hpp"
#include "task.hpp"

namespace saltus {

class FrozenTest {
public:
    // The program lists groups of walkers, exclusions, and the own objects of every goal atom:
    //   group      predicate, place, for each argument a list of objects, list of schemas of moves
    //   exclusion  list of types, list of parts: a predicate and, for each type, which argument is of the owner
    //   own        list of objects
    // Throws an invalid_argument that says what does not fit. Task and actions, which must be complete, outlive this.
    FrozenTest(const Task& task, const GroundActions& actions, std::span<const Code> goal,
               std::span<const std::int32_t> program);

    // The weak form, or the strong one with at most `work` steps of search for all missing goals together.
    Answer keeps(std::span<const Code> state, bool strong, std::int64_t work) const;

    const Task& task() const { return task_; }

private:
    friend class Frozen;
    friend class OwnSearch;

    // Lists of numbers by atom.
    struct Index {
        std::vector<std::int32_t> first;  // [atoms + 1]
        std::vector<std::int32_t> entries;

        std::span<const std::int32_t> of(std::int32_t atom) const {
            const auto begin = static_cast<std::size_t>(first[static_cast<std::size_t>(atom)]);
            const auto end = static_cast<std::size_t>(first[static_cast<std::size_t>(atom) + 1]);
            return std::span<const std::int32_t>(entries).subspan(begin, end - begin);
        }
        static Index of_pairs(std::vector<std::pair<std::int32_t, std::int32_t>>& pairs, std::size_t atoms);
    };

    struct Walkers {
        std::int32_t predicate = 0;
        std::int32_t place = 0;
        std::vector<std::vector<std::uint8_t>> objects;  // [arity][objects]
        std::vector<std::uint8_t> moves;                 // [schemas]
    };
    struct Part {
        std::int32_t exclusion = 0;
        std::int32_t predicate = 0;
        std::vector<std::int32_t> types;
        std::vector<std::int32_t> owner;  // arguments
    };
    // A goal with its own objects.
    struct Own {
        std::int32_t goal = -1;              // atom; -1 if no rule mentions it
        std::vector<Object> objects;         // own ones
        std::vector<std::int32_t> atoms;     // own ones, ascending
        std::vector<std::int32_t> distance;  // [atoms]: own rules from there to the goal, if nothing else is in the way
        Index needing;                       // own rules by the own atom, as numbered in `atoms`, that they need
        Index adding;                        // own rules by the own atoms that they add
        std::vector<std::int32_t> loose;     // own rules that need none
        std::vector<std::int32_t> agents;    // walkers that own rules concern
        std::vector<std::int32_t> deleters;  // rules that delete the goal
        std::vector<std::int32_t> keys;      // of the goal
    };
    void read(std::span<const std::int32_t> program);
    void find_agents();
    void find_keys();
    void find_own_rules();
    void order_own_rules(Own& own, const std::vector<std::int32_t>& found, const Index& goals,
                         std::int32_t number) const;
    Code key_of(const Part& part, Code code, Object* arguments) const;
    bool is_move(std::int32_t rule) const { return walker_of_[static_cast<std::size_t>(rule)] >= 0; }

    const Task& task_;
    const GroundActions& actions_;
    std::vector<Code> goal_;
    std::vector<Walkers> walkers_;
    std::vector<Part> parts_;
    std::vector<Own> own_;  // [goal]
    std::int32_t agents_ = 0;
    std::vector<std::int32_t> agent_of_;   // [atoms]: the walker whose place it is, -1 for none
    std::vector<std::int32_t> walker_of_;  // [rules]: the walker that moves by it, -1 for none
    Index leave_;                          // moves by the place that they leave
    Index enter_;                          // moves by the place that they lead to
    Index needed_by_;                      // walkers by what their moves need besides their place
    std::vector<std::uint8_t> early_;      // [atoms]: places and what moves need
    std::int32_t keys_ = 0;                // number of owners of exclusions
    Index keys_of_;                        // by atom
};

}  // namespace saltus
