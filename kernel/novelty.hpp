// Novelty: which features of atoms a lookahead has seen.
//
// The features of a fluent atom depend on the kind of lookahead (iw: the atom itself; aiw: every argument with the
// types of the others; baiw: every argument alone). Nullary and unary atoms are their own feature. An atom mentioned in
// the goal has its identity as a feature, instead of or in addition to the abstract ones. Width 2 adds pairs of
// features of different atoms.
#pragma once

#include <span>
#include <vector>

#include "keys.hpp"
#include "task.hpp"

namespace saltus {

enum class Kind : std::int32_t { flat = 0, iw = 1, aiw = 2, baiw = 3 };
enum class GoalIdentity : std::int32_t { off = 0, instead = 1, also = 2 };

class Novelty {
public:
    Novelty(const Task& task, Kind kind, GoalIdentity goal_identity, std::span<const Code> goal_positive,
            std::span<const Code> goal_negative);

    // Width 1: whether some feature of the atom is unseen; mark() also marks them as seen.
    bool unseen(Code code, std::int32_t predicate, const Object* arguments) const;
    bool mark(Code code, std::int32_t predicate, const Object* arguments);

    // Lists the objects for which the literal is unseen if its one unbound variable takes them; false if there are more
    // than `most`, or if that cannot be told fast.
    bool list_unseen(const Literal& literal, const std::vector<Object>& binding, std::span<const Object> objects,
                     std::size_t most, std::vector<Object>& unseen) const;

    // exhausted(): whether every feature that an instance of the watched literal can have has been seen, so that no
    // instance can be novel any more. watch() returns the literal's number.
    std::size_t watch(const Literal& literal, const std::vector<std::int32_t>& domains);
    bool exhausted(std::size_t number) const { return watches_[number].open == 0; }

    // Width 2: marks all features and pairs that involve an added atom; true if one was unseen. Stops early, and is
    // full, once the pairs take more than `budget` bytes.
    bool mark_pairs(std::span<const Code> added, std::span<const Code> state, std::int64_t budget);
    bool full() const { return full_; }

    // Frees all memory; nothing else may be called afterwards.
    void release();

private:
    struct Watch {
        std::int32_t predicate;
        std::vector<std::vector<std::uint8_t>> objects;  // [arity][objects]: possible at that position
        std::vector<std::vector<std::uint8_t>> types;    // [arity][types]: their types
        std::int64_t open;                               // upper bound on the unseen features
    };

    static constexpr std::int32_t kIdentity = -1;  // "position" of a feature that is the whole atom

    void number_types();
    std::int64_t numbered(std::int64_t base, std::int64_t feature) const {
        if (!wide_) return base + feature;
        const std::int64_t number = met_[static_cast<std::size_t>(base)].number(feature);
        return goal_feature_.size() + number * static_cast<std::int64_t>(met_.size()) + base;
    }

    // Calls visit(feature, position) -> bool for every feature until it returns true.
    template <typename Visit>
    bool features(Code code, std::int32_t predicate, const Object* arguments, Visit&& visit) const;
    bool concerns(const Watch& watch, std::int32_t position, const Object* arguments) const;
    std::vector<std::int64_t> features_of(Code code) const;
    void index_goals();
    void correct_goals(std::size_t position, Code rest, Code stride, std::span<const Object> objects,
                       std::vector<Object>& unseen) const;

    bool seen(std::int64_t feature) const {
        return dense_ ? (bits_[static_cast<std::size_t>(feature) >> 6] >> (feature & 63) & 1) != 0
                      : sparse_.contains(feature);
    }
    bool see(std::int64_t feature) {
        if (!dense_) return sparse_.insert(feature);
        std::uint64_t& word = bits_[static_cast<std::size_t>(feature) >> 6];
        const std::uint64_t bit = std::uint64_t{1} << (feature & 63);
        if (word & bit) return false;
        word |= bit;
        return true;
    }

    const Task& task_;
    Kind kind_;
    GoalIdentity goal_identity_;
    KeyNumbers goal_feature_;  // the number is the feature
    // Goal atoms by position and by their code with object 0 there: the objects that stand there, ascending.
    std::vector<KeyNumbers> goal_rows_;                           // [max arity]
    std::vector<std::vector<std::vector<Object>>> goal_objects_;  // [max arity][rows]
    std::vector<std::int32_t> object_type_;                       // [objects]: types in use, numbered without gaps
    std::int64_t types_ = 0;
    std::vector<std::vector<std::int64_t>>
        base_;  // [predicates][arity]: position's first feature; if wide, its index in met_
    std::int64_t total_ = 0;
    bool dense_ = true;
    bool wide_ = false;                    // too many features for 64 bits: number those that occur
    mutable std::vector<KeyNumbers> met_;  // [positions of all predicates]
    std::vector<std::uint64_t> bits_;
    KeySet sparse_;
    std::vector<Watch> watches_;
    std::vector<std::vector<std::size_t>> watches_of_;  // [predicates]
    KeySet pairs_;
    bool full_ = false;
    KeyNumbers feature_number_;
};

}  // namespace saltus
