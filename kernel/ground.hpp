// Ground: the ground actions of a task, and what the delete relaxation reaches by some of them, found on demand.
#pragma once

#include <array>
#include <deque>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "interrupt.hpp"
#include "keys.hpp"
#include "task.hpp"

namespace saltus {

// Ground actions, called rules: all that types, static atoms and equality allow. An action with conditional effects is
// one rule without them and one for each of them. Atoms are numbered.
class GroundActions {
public:
    // Grounds nothing if the rules may have more than `limit` atoms in all, if counting them takes more than `limit`
    // steps, or if memory runs out.
    GroundActions(const Task& task, std::int64_t limit);
    GroundActions() = default;

    bool complete() const { return complete_; }
    const Task* task() const { return task_; }
    std::int32_t rules() const { return static_cast<std::int32_t>(block_of_.size()); }
    std::int32_t atoms() const { return static_cast<std::int32_t>(code_.size()); }
    Code code(std::int32_t atom) const { return code_[static_cast<std::size_t>(atom)]; }
    std::int32_t find(Code code) const { return numbers_.find(code); }

    std::int32_t schema(std::int32_t rule) const { return block(rule).schema; }
    std::span<const std::int32_t> positive(std::int32_t rule) const { return part(rule, 0); }
    std::span<const std::int32_t> negative(std::int32_t rule) const { return part(rule, 1); }
    std::span<const std::int32_t> adds(std::int32_t rule) const { return part(rule, 2); }
    // An entry is -1 where the rule adds the atom as well.
    std::span<const std::int32_t> deletes(std::int32_t rule) const { return part(rule, 3); }

    bool is_needed(std::int32_t atom) const { return needed_[static_cast<std::size_t>(atom)] > 0; }
    bool is_unwanted(std::int32_t atom) const { return unwanted_[static_cast<std::size_t>(atom)] != 0; }

    // Rules of which the atom is the pivot: of their positive conditions, the one that fewest rules need.
    std::span<const std::int32_t> rules_at(std::int32_t pivot) const {
        const auto first = static_cast<std::size_t>(first_at_[static_cast<std::size_t>(pivot)]);
        const auto end = static_cast<std::size_t>(first_at_[static_cast<std::size_t>(pivot) + 1]);
        return std::span<const std::int32_t>(at_).subspan(first, end - first);
    }
    const std::vector<std::int32_t>& unconditional() const { return unconditional_; }

private:
    struct Variant;
    struct Block {
        std::int32_t schema = 0;
        std::int32_t first = 0;                // rule
        std::size_t start = 0;                 // of its atoms
        std::array<std::size_t, 5> offset{0};  // of the four parts, and the length of a rule
    };

    static std::vector<Variant> variants_of(const Task& task);
    void ground(const Task& task, std::int64_t limit);
    std::int32_t number(Code code);
    void index();
    const Block& block(std::int32_t rule) const { return blocks_[block_of_[static_cast<std::size_t>(rule)]]; }
    std::span<const std::int32_t> part(std::int32_t rule, std::size_t which) const {
        const Block& owner = block(rule);
        const std::size_t start = owner.start + static_cast<std::size_t>(rule - owner.first) * owner.offset[4];
        return std::span<const std::int32_t>(atom_).subspan(start + owner.offset[which],
                                                            owner.offset[which + 1] - owner.offset[which]);
    }

    const Task* task_ = nullptr;
    bool complete_ = false;
    KeyNumbers numbers_;
    std::vector<Code> code_;  // [atoms]
    std::vector<Block> blocks_;
    std::vector<std::uint16_t> block_of_;  // [rules]
    std::vector<std::int32_t> atom_;       // rule by rule
    std::vector<std::int32_t> needed_;     // [atoms]: number of rules that need it
    std::vector<std::uint8_t> unwanted_;   // [atoms]: a negative condition of some rule
    std::vector<std::int32_t> first_at_;   // [atoms + 1]
    std::vector<std::int32_t> at_;
    std::vector<std::int32_t> unconditional_;
};

enum class Answer : std::int32_t { unknown = -1, no = 0, yes = 1 };

// What the delete relaxation reaches from a state by the allowed rules. Asked for one atom, it goes on only until that
// atom is reached: atoms marked as `first` are followed up before others.
class Reach {
public:
    Reach(const GroundActions& actions, const std::vector<std::uint8_t>& first,
          std::function<bool(std::int32_t)> allows, std::span<const std::int32_t> state);

    // Whether an atom is reached; unknown if that takes more than `steps`, from which the steps taken are subtracted.
    Answer holds(std::int32_t atom, std::int64_t& steps);

private:
    void reach(std::int32_t atom);
    void try_rule(std::int32_t rule);

    const GroundActions& actions_;
    const std::vector<std::uint8_t>& first_;          // [atoms]
    const std::function<bool(std::int32_t)> allows_;  // asked about a rule once its conditions are reached
    std::vector<std::uint8_t> reached_;               // [atoms]
    std::vector<std::int32_t> waiting_;               // [atoms]: first of the rules that wait for it, -1 for none
    std::unique_ptr<std::int32_t[]> behind_;          // [rules]: the rule that waits for the same atom, -1 for none
    std::deque<std::int32_t> soon_;
    std::deque<std::int32_t> later_;
    Ticker ticker_;
};

}  // namespace saltus
