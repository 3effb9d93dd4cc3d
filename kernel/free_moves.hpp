// Free moves: the agents of a task and the moves between their places, as src/saltus/lookahead/free_moves.py finds
// them.
//
// What static atoms allow is enumerated once per task: for every move, the ends that can be reached from a start, and
// which moves lead back. Immutable once built, so any number of threads may share it.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "keys.hpp"
#include "match.hpp"
#include "task.hpp"

namespace saltus {

// A fluent condition of a move whose atom depends on the agent, the start and the end alone: a sum of strides.
struct Condition {
    Code base = 0;
    Code start = 0;
    Code end = 0;
    std::vector<std::pair<std::size_t, Code>> agent;  // argument of the agent's atom, stride
    bool positive = true;
};

// A schema that shifts an agent from one place to another.
struct Move {
    std::int32_t schema = 0;
    std::int32_t start = 0;  // parameters
    std::int32_t end = 0;
    Literal here;                       // the precondition that says where the agent is
    Pattern pattern;                    // all other preconditions
    std::vector<Literal> own;           // static ones on the agent alone
    std::vector<Literal> changing;      // fluent ones
    bool direct = true;                 // the fluent ones mention only the agent, start and end
    std::vector<Condition> conditions;  // the same, if so
    bool dense = false;                 // from every place in `ends` to every other

    std::vector<Object> ends;          // row by row, ascending
    std::vector<std::uint64_t> back;   // [ends]: moves of the group that lead back, one bit each
    KeyNumbers rows;                   // by class and start
    std::vector<std::int32_t> row_of;  // [objects]: by start, if there is one class only; -1 if there is none
    std::vector<std::size_t> first;    // [rows + 1]
};

struct Group {
    std::int32_t predicate = 0;
    std::int32_t place = 0;  // argument that is the place
    bool blocked_by_others = false;
    Code stride = 1;                                 // between codes that differ in the place by one
    std::vector<std::vector<std::uint8_t>> objects;  // [arity][objects]: possible arguments
    std::vector<Move> moves;
    bool by_agent = false;    // static conditions on edges mention the agent: every agent is a class of its own
    bool is_fixed = true;     // no move has fluent preconditions
    bool symmetric = true;    // fixed, and every edge leads back
    bool reversible = false;  // some edge leads back
    KeyNumbers classes;       // agents by key, if by_agent
    // Only if fixed: components of places connected by edges that lead back.
    KeyNumbers vertices;                       // by class and place
    std::vector<std::int32_t> component;       // [vertices]
    std::vector<std::vector<Object>> members;  // [components], ascending
};

class FreeMoves {
public:
    // Agents that share a predicate of places, and the schemas that shift them.
    struct Description {
        std::int32_t predicate = 0;
        std::int32_t place = 0;
        bool blocked_by_others = false;
        std::vector<std::vector<Object>> objects;        // [arity]
        std::vector<std::array<std::int32_t, 4>> moves;  // schema, precondition that says where they are, start, end
    };

    // Throws an invalid_argument that says what does not fit the task, which must outlive this.
    FreeMoves(const Task& task, std::span<const Description> groups);

    const Task& task() const { return task_; }
    const std::vector<Group>& groups() const { return groups_; }
    // Number of the group's class of an agent; -1 if it has no edges.
    std::int32_t class_of(const Group& group, Code agent) const {
        return group.by_agent ? group.classes.find(agent) : 0;
    }
    // Whether a move may shift an agent, as far as its objects tell: they are the arguments of its atom but the place.
    bool serves(const Group& group, const Move& move, const Object* arguments) const;
    std::int64_t row_key(std::int32_t class_number, Object place) const {
        return static_cast<std::int64_t>(class_number) * task_.objects() + place;
    }
    // Row of a move: the ends that static atoms allow from a place; empty if there is none.
    std::pair<std::size_t, std::size_t> row(const Move& move, std::int32_t class_number, Object place) const;

private:
    void read(const Description& given, Group& group) const;
    void add_move(Group& group, std::int32_t schema, std::int32_t literal, std::int32_t start, std::int32_t end) const;
    void build(Group& group) const;
    Condition condition_of(const Move& move, const Literal& literal) const;
    bool enumerate(Group& group, Move& move, const Matcher& matcher) const;
    bool find_dense(const Group& group, Move& move) const;
    void find_ways_back(Group& group) const;
    bool admits(const Move& move, std::size_t i, Object object) const;
    bool share_agent(const Group& group, const Move& a, const Move& b) const;
    void find_components(Group& group) const;

    const Task& task_;
    std::vector<Group> groups_;
};

}  // namespace saltus
