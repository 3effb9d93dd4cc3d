// Roles: objects that nothing but their names tells apart, kept up to date from state to state.
//
// Two objects have the same role if they have the same atoms (state, goal, static) once their own places are left
// blank. Exchanging them changes nothing, so a few of them stand for all: the representatives. Roles are hashes of
// those atoms, sums of one term per atom, so that an atom that comes or goes changes only the roles of its own objects.
//
// Twin: tests/twins/roles.py.
#pragma once

#include <cstdint>
#include <mutex>
#include <set>
#include <span>
#include <unordered_map>
#include <vector>

#include "keys.hpp"
#include "task.hpp"

namespace saltus {

// A situation with its representatives alone, which are numbered anew in the same order.
struct Projection {
    std::vector<Object> representatives;  // ascending; empty if no object waits
    std::vector<std::int32_t> static_rows;
    std::vector<std::int64_t> static_count;  // [predicates]: atoms in static_rows
    std::vector<Code> state;
    std::vector<Code> goal_positive;
    std::vector<Code> goal_negative;
    std::int32_t satisfied = 0;  // goal literals that hold and are left out, since some of their objects wait
};

class Roles {
public:
    // At most `most` objects of a role are representatives; objects named by the domain always are. The task must
    // outlive the roles.
    Roles(const Task& task, std::span<const Code> goal_positive, std::span<const Code> goal_negative,
          std::int32_t fixed, std::int32_t most);

    // Representatives in a state, and what is about them alone. Costs one comparison of the state with the last one,
    // a look at every atom met so far, and what has changed. May be called from several threads, one after the other.
    Projection project(std::span<const Code> state);

    const Task& task() const { return task_; }

private:
    enum Mark : std::uint8_t { kStatic = 1, kInState = 2, kWanted = 4, kUnwanted = 8 };

    // An atom that has been seen in some state, in the goal, or among the static ones.
    struct Atom {
        Code code;
        std::int32_t waiting;  // arguments (occurrences) that are no representatives
        std::uint8_t marks;
    };
    struct Role {
        std::set<Object> objects;
        std::vector<Object> representatives;
    };

    std::int32_t number_of(Code code);
    void mark(std::int32_t atom, Mark mark, bool on);
    void add_terms(const Atom& atom, bool negated);
    void update(std::span<const Code> state);
    void regroup();
    void represent(Object object, bool on);

    const Task& task_;
    const std::int32_t fixed_;
    const std::size_t most_;
    std::mutex mutex_;
    KeyNumbers numbers_;  // of atoms, by code
    std::vector<Atom> atoms_;
    std::vector<std::vector<std::int32_t>> atoms_of_;  // [objects]
    std::vector<std::uint64_t> hash_;                  // [objects]: role
    std::vector<std::uint64_t> grouped_;               // [objects]: role under which the object is listed
    std::vector<std::uint8_t> touched_;                // [objects]
    std::vector<Object> changed_;
    std::unordered_map<std::uint64_t, Role> roles_;
    std::set<Object> representatives_;
    std::vector<Code> state_;
    std::int32_t satisfied_ = 0;  // goal literals that hold
    std::vector<Object> arguments_;
    std::vector<std::int32_t> small_;  // [objects]: number among the representatives
};

// Codes of a task of representatives as codes of the whole task; ascending stays ascending.
std::vector<Code> lift_codes(const Task& small, const Task& whole, std::span<const Object> representatives,
                             std::span<const Code> codes);

}  // namespace saltus
