#include "ground.hpp"

#include <algorithm>
#include <limits>
#include <new>
#include <utility>

#include "match.hpp"
#include "relaxation.hpp"
#include "state.hpp"

namespace saltus {

// A schema, or one of its conditional effects together with what the action does in any case.
struct GroundActions::Variant {
    std::int32_t schema = 0;
    Pattern fixed;                              // conditions that never change
    std::array<std::vector<Literal>, 4> parts;  // positive and negative conditions, adds, deletes
    std::vector<std::uint8_t> wanted;           // [variables]: occurs in a part

    std::int64_t size() const {
        std::int64_t total = 0;
        for (const auto& literals : parts) total += static_cast<std::int64_t>(literals.size());
        return total;
    }
};

std::vector<GroundActions::Variant> GroundActions::variants_of(const Task& task) {
    std::vector<Variant> variants;
    for (std::size_t s = 0; s < task.schemas.size(); ++s) {
        const Schema& schema = task.schemas[s];
        auto is_plain = [&](const Effect& effect) {
            return effect.when.literals.empty() && effect.when.domains.size() == schema.pattern.domains.size();
        };
        auto add = [&](const Effect* extra) {
            Variant variant{static_cast<std::int32_t>(s), {}, {}, {}};
            variant.fixed.domains = extra == nullptr ? schema.pattern.domains : extra->when.domains;
            for (const auto* literals : {&schema.pattern.literals, extra == nullptr ? nullptr : &extra->when.literals})
                if (literals != nullptr)
                    for (const Literal& literal : *literals)
                        (is_fluent(task, literal) ? variant.parts[literal.positive ? 0 : 1] : variant.fixed.literals)
                            .push_back(literal);
            for (const Effect& effect : schema.effects)
                if (is_plain(effect) || &effect == extra) {
                    variant.parts[2].insert(variant.parts[2].end(), effect.adds.begin(), effect.adds.end());
                    variant.parts[3].insert(variant.parts[3].end(), effect.deletes.begin(), effect.deletes.end());
                }
            variant.wanted.assign(variant.fixed.domains.size(), 0);
            for (const auto& literals : variant.parts)
                for (const Literal& literal : literals) mark_variables(literal, variant.wanted);
            variants.push_back(std::move(variant));
        };
        add(nullptr);
        for (const Effect& effect : schema.effects)
            if (!is_plain(effect)) add(&effect);
    }
    return variants;
}

GroundActions::GroundActions(const Task& task, std::int64_t limit) {
    try {
        ground(task, std::min<std::int64_t>(limit, std::numeric_limits<std::int32_t>::max() - 1));
    } catch (const std::bad_alloc&) {
        *this = GroundActions();
    }
}

std::int32_t GroundActions::number(Code code) {
    const std::int32_t atom = numbers_.number(code);
    if (atom == static_cast<std::int32_t>(code_.size())) code_.push_back(code);
    return atom;
}

void GroundActions::ground(const Task& task, std::int64_t limit) {
    auto has_changing_part = [&](const Pattern& pattern) {
        return std::any_of(pattern.literals.begin(), pattern.literals.end(),
                           [&](const Literal& literal) { return task.is_nested(literal) && task.is_fluent(literal); });
    };
    // Ground actions know atoms only: neither nested conditions nor what is derived from atoms.
    if (!task.axioms.empty()) return;
    for (const Schema& schema : task.schemas) {
        if (has_changing_part(schema.pattern)) return;
        for (const Effect& effect : schema.effects)
            if (has_changing_part(effect.when)) return;
    }
    const std::vector<Variant> variants = variants_of(task);
    if (variants.size() > std::numeric_limits<std::uint16_t>::max()) return;
    const StateView nothing(task, {});
    Matcher matcher(nothing);
    MatchOptions counting;
    counting.steps = limit;
    std::vector<Object> binding;
    std::int64_t rules = 0;
    std::int64_t atoms = 0;
    for (const Variant& variant : variants) {
        binding.assign(variant.fixed.domains.size(), kUnbound);
        const std::int64_t count = matcher.count(variant.fixed, binding, counting);
        counting.steps = matcher.steps_left();
        if (counting.steps < 0) return;
        rules = saturating_sum(rules, count);
        atoms = saturating_sum(atoms, saturating_product(count, variant.size()));
        if (std::max(rules, atoms) > limit) return;
    }
    atom_.reserve(static_cast<std::size_t>(atoms));
    block_of_.reserve(static_cast<std::size_t>(rules));
    for (const Variant& variant : variants) {
        Block block{variant.schema, static_cast<std::int32_t>(block_of_.size()), atom_.size(), {0}};
        for (std::size_t p = 0; p < 4; ++p) block.offset[p + 1] = block.offset[p] + variant.parts[p].size();
        const auto label = static_cast<std::uint16_t>(blocks_.size());
        MatchOptions options;
        options.wanted = variant.wanted.data();
        binding.assign(variant.fixed.domains.size(), kUnbound);
        matcher.run(variant.fixed, binding, options, [&](const std::vector<Object>& bound) {
            const std::size_t start = atom_.size();
            for (const auto& literals : variant.parts)
                for (const Literal& literal : literals) atom_.push_back(number(task.encode(literal, bound)));
            const auto first = atom_.begin() + static_cast<std::ptrdiff_t>(start);
            const auto adds = first + static_cast<std::ptrdiff_t>(block.offset[2]);
            const auto deletes = first + static_cast<std::ptrdiff_t>(block.offset[3]);
            for (auto entry = deletes; entry != atom_.end(); ++entry)
                if (std::find(adds, deletes, *entry) != deletes) *entry = -1;
            block_of_.push_back(label);
            return true;
        });
        blocks_.push_back(block);
    }
    index();
    task_ = &task;
    complete_ = true;
}

void GroundActions::index() {
    needed_.assign(code_.size(), 0);
    unwanted_.assign(code_.size(), 0);
    for (std::int32_t rule = 0; rule < rules(); ++rule) {
        for (std::int32_t atom : positive(rule)) ++needed_[static_cast<std::size_t>(atom)];
        for (std::int32_t atom : negative(rule)) unwanted_[static_cast<std::size_t>(atom)] = 1;
    }
    auto pivot_of = [&](std::int32_t rule) {
        const auto conditions = positive(rule);
        return *std::min_element(conditions.begin(), conditions.end(), [&](std::int32_t a, std::int32_t b) {
            return needed_[static_cast<std::size_t>(a)] < needed_[static_cast<std::size_t>(b)];
        });
    };
    first_at_.assign(code_.size() + 1, 0);
    for (std::int32_t rule = 0; rule < rules(); ++rule) {
        if (positive(rule).empty())
            unconditional_.push_back(rule);
        else
            ++first_at_[static_cast<std::size_t>(pivot_of(rule)) + 1];
    }
    for (std::size_t a = 1; a < first_at_.size(); ++a) first_at_[a] += first_at_[a - 1];
    at_.resize(static_cast<std::size_t>(first_at_.back()));
    std::vector<std::int32_t> next(first_at_.begin(), first_at_.end() - 1);
    for (std::int32_t rule = 0; rule < rules(); ++rule)
        if (!positive(rule).empty())
            at_[static_cast<std::size_t>(next[static_cast<std::size_t>(pivot_of(rule))]++)] = rule;
}

Reach::Reach(const GroundActions& actions, const std::vector<std::uint8_t>& first,
             std::function<bool(std::int32_t)> allows, std::span<const std::int32_t> state)
    : actions_(actions),
      first_(first),
      allows_(std::move(allows)),
      reached_(static_cast<std::size_t>(actions.atoms()), 0),
      waiting_(static_cast<std::size_t>(actions.atoms()), -1),
      behind_(std::make_unique_for_overwrite<std::int32_t[]>(static_cast<std::size_t>(actions.rules()))) {
    for (std::int32_t atom : state) reach(atom);
    for (std::int32_t rule : actions_.unconditional()) try_rule(rule);
}

Answer Reach::holds(std::int32_t atom, std::int64_t& steps) {
    const auto asked = static_cast<std::size_t>(atom);
    while (!reached_[asked]) {
        auto& queue = soon_.empty() ? later_ : soon_;
        if (queue.empty()) return Answer::no;
        if (steps < 0) return Answer::unknown;
        const std::int32_t next = queue.front();
        queue.pop_front();
        const auto rules = actions_.rules_at(next);
        ticker_.tick(1 + static_cast<std::uint32_t>(rules.size()));
        steps -= 1 + static_cast<std::int64_t>(rules.size());
        for (std::int32_t rule : rules) try_rule(rule);
        std::int32_t rule = waiting_[static_cast<std::size_t>(next)];
        while (rule >= 0) {
            const std::int32_t after = behind_[static_cast<std::size_t>(rule)];
            try_rule(rule);
            rule = after;
            --steps;
        }
    }
    return Answer::yes;
}

void Reach::reach(std::int32_t atom) {
    const auto a = static_cast<std::size_t>(atom);
    if (reached_[a]) return;
    reached_[a] = 1;
    (first_[a] ? soon_ : later_).push_back(atom);
}

// Fires a rule, or lets it wait for one of its conditions.
void Reach::try_rule(std::int32_t rule) {
    const auto r = static_cast<std::size_t>(rule);
    for (std::int32_t atom : actions_.positive(rule))
        if (!reached_[static_cast<std::size_t>(atom)]) {
            behind_[r] = waiting_[static_cast<std::size_t>(atom)];
            waiting_[static_cast<std::size_t>(atom)] = rule;
            return;
        }
    const auto adds = actions_.adds(rule);
    auto is_reached = [&](std::int32_t atom) { return reached_[static_cast<std::size_t>(atom)] != 0; };
    if (std::all_of(adds.begin(), adds.end(), is_reached) || !allows_(rule)) return;
    for (std::int32_t atom : adds) reach(atom);
}

}  // namespace saltus
