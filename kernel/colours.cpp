#include "colours.hpp"

#include <algorithm>
#include <unordered_map>

#include "keys.hpp"

namespace saltus {

namespace {

// Atoms of the situation; the label stands for predicate and role: static, state, goal true or false, negated goal true
// or false.
struct LabelledAtoms {
    struct Atom {
        std::uint64_t label;
        std::int32_t begin;
        std::int32_t arity;
    };

    const Object* values(const Atom& atom) const { return arguments.data() + atom.begin; }

    std::vector<Atom> atoms;
    std::vector<Object> arguments;
};

std::vector<std::int32_t> renumber(const std::vector<std::uint64_t>& values, std::size_t& distinct) {
    std::unordered_map<std::uint64_t, std::int32_t> number;
    std::vector<std::int32_t> result(values.size());
    for (std::size_t i = 0; i < values.size(); ++i)
        result[i] = number.try_emplace(values[i], static_cast<std::int32_t>(number.size())).first->second;
    distinct = number.size();
    return result;
}

LabelledAtoms labelled_atoms(const Task& task, std::span<const Code> state, std::span<const Code> goal_positive,
                             std::span<const Code> goal_negative) {
    LabelledAtoms result;
    auto add = [&](std::uint64_t role, std::int32_t predicate, const Object* values) {
        const std::int32_t arity = task.arity[static_cast<std::size_t>(predicate)];
        const auto begin = static_cast<std::int32_t>(result.arguments.size());
        result.atoms.push_back({join(role, static_cast<std::uint64_t>(predicate)), begin, arity});
        result.arguments.insert(result.arguments.end(), values, values + arity);
    };
    for (std::int32_t p = 0; p < task.predicates(); ++p) {
        const Relation& relation = task.statics[static_cast<std::size_t>(p)];
        for (std::int32_t i = 0; i < relation.size; ++i) add(0, p, relation.row(i));
    }
    std::vector<Object> row(static_cast<std::size_t>(task.max_arity) + 1);
    auto add_codes = [&](std::span<const Code> codes, std::uint64_t role, bool compare) {
        for (Code code : codes) {
            const bool holds = compare && std::binary_search(state.begin(), state.end(), code);
            const std::int32_t predicate = task.decode(code, row.data());
            add(role + (holds ? 1 : 0), predicate, row.data());
        }
    };
    add_codes(state, 1, false);
    add_codes(goal_positive, 2, true);
    add_codes(goal_negative, 4, true);
    return result;
}

// 1-WL: an object's colour is refined by the multiset of its atoms with all their colours, until nothing splits.
std::vector<std::int32_t> refine(const LabelledAtoms& labelled, std::vector<std::uint64_t> colour) {
    std::size_t distinct = 0;
    std::vector<std::int32_t> result = renumber(colour, distinct);
    for (;;) {
        std::vector<std::uint64_t> sums(colour.size(), 0);
        for (const auto& atom : labelled.atoms) {
            const Object* values = labelled.values(atom);
            std::uint64_t hash = atom.label;
            for (std::int32_t i = 0; i < atom.arity; ++i)
                hash = join(hash, colour[static_cast<std::size_t>(values[i])]);
            for (std::int32_t i = 0; i < atom.arity; ++i)
                sums[static_cast<std::size_t>(values[i])] += join(hash, static_cast<std::uint64_t>(i));
        }
        for (std::size_t o = 0; o < colour.size(); ++o) colour[o] = join(colour[o], sums[o]);
        std::size_t refined = 0;
        result = renumber(colour, refined);
        if (refined == distinct) return result;
        distinct = refined;
    }
}

std::vector<std::int32_t> rank(const LabelledAtoms& labelled, std::vector<std::uint64_t> own) {
    for (const auto& atom : labelled.atoms)
        visit_parts(atom.label, {labelled.values(atom), static_cast<std::size_t>(atom.arity)},
                    [&](Object object, std::uint64_t hash) { own[static_cast<std::size_t>(object)] += hash; });
    std::unordered_map<std::uint64_t, std::int32_t> members;
    std::vector<std::int32_t> result(own.size());
    for (std::size_t o = 0; o < own.size(); ++o) result[o] = members[own[o]]++;
    return result;
}

}  // namespace

Symmetry find_symmetry(const Task& task, std::span<const Code> state, std::span<const Code> goal_positive,
                       std::span<const Code> goal_negative) {
    std::vector<std::uint64_t> start;
    start.reserve(task.object_type.size());
    for (std::int32_t type : task.object_type) start.push_back(mix(static_cast<std::uint64_t>(type) + 1));
    for (Object constant : task.constants) {
        std::uint64_t& colour = start[static_cast<std::size_t>(constant)];
        colour = join(colour, static_cast<std::uint64_t>(constant) + 7);
    }
    const LabelledAtoms labelled = labelled_atoms(task, state, goal_positive, goal_negative);
    return {refine(labelled, start), rank(labelled, start)};
}

}  // namespace saltus
