// Relaxation: what can be reached if nothing that is true ever becomes false; a goal out of its reach is a dead end.
// Or if what holds of the goal is not even for a moment given up: then the rest of the goal may be out of reach.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

#include "ground.hpp"
#include "interrupt.hpp"
#include "keys.hpp"
#include "match.hpp"
#include "rounds.hpp"
#include "rules.hpp"
#include "task.hpp"

namespace saltus {

// Different atoms of which so many are to be reached.
struct Quota {
    std::span<const Code> atoms;
    std::int64_t least = 0;
};

// What is to be reached: all atoms of a goal, and so many of other atoms.
struct Target {
    std::span<const Code> goal;
    std::vector<Quota> quotas;
};

// Whether a target can be reached from a state, as far as ground actions tell. If not, the state is a dead end; if so,
// nothing is known. With `keeping`, actions that delete what holds of the goal are left out.
bool reaches(const GroundActions& actions, std::span<const Code> state, const Target& target, bool keeping = false);

// The same by joins, without ground actions: negative conditions that may change are taken as true. There is no answer
// once the work (`Rounds`) is spent.
//
// For one state after another, many ground rules make joins slow, but what showed that the goal can be reached from
// earlier states often shows it for the next one, too. The ground rules by which joins have reached atoms are kept and
// tried first, each with the rule that leads back, if there is one: states differ in where something has moved to.
class RelaxedProof {
public:
    // At most `limit` atoms are kept in rules; once there are so many, it forgets them and begins anew. With 0, every
    // answer is that of the joins alone.
    RelaxedProof(const Task& task, std::int64_t limit);

    const Task& task() const { return task_; }
    std::optional<bool> reaches(std::span<const Code> state, const Target& target, std::int64_t work);
    // Number of rules that are kept.
    std::int64_t rules() const { return count_; }

private:
    void forget();
    bool is_full() const { return size_ >= limit_; }
    void keep(std::size_t rule, const std::vector<Object>& bound);
    void keep_way_back(std::size_t rule, const std::vector<Object>& bound);

    const Task& task_;
    std::vector<JoinedRule> rules_;
    std::vector<Split> splits_;  // [rules]
    std::int64_t limit_;
    StateView nothing_;
    Matcher matcher_;
    GroundActions kept_;
    std::int64_t size_ = 0;                // atoms of the kept rules
    bool indexed_ = false;                 // kept_ is whole: no rule is newer than its index
    std::atomic<std::int64_t> count_ = 0;  // rules of kept_
    std::int64_t spare_ = 0;               // steps left for ways back
    KeySet known_;                         // hashes of kept rules
    std::vector<Code> needs_;
    std::vector<Object> arguments_;
    std::vector<Object> binding_;
    std::mutex mutex_;
};

}  // namespace saltus
