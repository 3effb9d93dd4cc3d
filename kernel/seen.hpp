// Seen: which features the atoms of a search had, and whether an action promises one that none had.
//
// Modulo free moves, where an agent is counts as one feature, that it is somewhere, unless the goal mentions the place
// or the agent cannot come back from where it leaves for.
#pragma once

#include <cstdint>
#include <vector>

#include "match.hpp"
#include "novelty.hpp"
#include "scene.hpp"
#include "walking.hpp"

namespace saltus {

class Seen {
public:
    // `walking` is null but modulo free moves.
    Seen(Scene& scene, const Spec& spec, const Walking* walking);

    // The features of the root's atoms.
    void mark_root();
    // Whether some atom has an unseen feature; marks all of them.
    bool mark(const std::vector<Code>& adds);
    // Whether some added atom has an unseen feature; reads only the parameters that occur in added atoms.
    bool promises(std::size_t s, const std::vector<Object>& binding);
    // Whether no action of an unconditional schema can be novel any more.
    bool is_exhausted(std::size_t s) const;
    // How a join of a schema's preconditions is narrowed to actions that promise something new.
    Narrow narrow(std::size_t s);
    // All pairs of features, for width 2.
    Novelty novelty;

private:
    bool unseen(std::size_t s, const Literal& literal, const std::vector<Object>& binding);
    bool list_promising(std::size_t s, const std::vector<Object>& binding, std::int64_t rows, Values& values);

    Scene& scene_;
    const Task& task_;
    const Walking* walking_;
    KeySet somewhere_;                               // agents that have been somewhere
    std::vector<std::vector<std::size_t>> watches_;  // [schemas][added literals]
};

}  // namespace saltus
