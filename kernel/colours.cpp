#include "colours.hpp"

#include <algorithm>
#include <unordered_map>

#include "keys.hpp"

namespace saltus {

namespace {

struct ColouredAtom {
    std::uint64_t label;  // predicate and role: static, state, goal true or false, negated goal true or false
    std::int32_t begin;
    std::int32_t arity;
};

std::uint64_t join(std::uint64_t a, std::uint64_t b) { return mix(a * 0x9E3779B97F4A7C15ULL + b + 1); }

std::vector<std::int32_t> renumber(const std::vector<std::uint64_t>& values, std::size_t& distinct) {
    std::unordered_map<std::uint64_t, std::int32_t> number;
    std::vector<std::int32_t> result(values.size());
    for (std::size_t i = 0; i < values.size(); ++i)
        result[i] = number.try_emplace(values[i], static_cast<std::int32_t>(number.size())).first->second;
    distinct = number.size();
    return result;
}

}  // namespace

Symmetry find_symmetry(const Task& task, std::span<const Code> state, std::span<const Code> goal_positive,
                       std::span<const Code> goal_negative) {
    const auto objects = static_cast<std::size_t>(task.objects());
    std::vector<ColouredAtom> atoms;
    std::vector<Object> arguments;
    std::vector<Object> row(static_cast<std::size_t>(task.max_arity) + 1);
    auto add = [&](std::uint64_t role, std::int32_t predicate, const Object* values) {
        const std::int32_t arity = task.arity[static_cast<std::size_t>(predicate)];
        atoms.push_back(
            {join(role, static_cast<std::uint64_t>(predicate)), static_cast<std::int32_t>(arguments.size()), arity});
        arguments.insert(arguments.end(), values, values + arity);
    };
    for (std::int32_t p = 0; p < task.predicates(); ++p)
        for (std::int32_t i = 0; i < task.statics[static_cast<std::size_t>(p)].size; ++i)
            add(0, p, task.statics[static_cast<std::size_t>(p)].row(i));
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

    std::vector<std::uint64_t> start(objects);
    for (std::size_t o = 0; o < objects; ++o) start[o] = mix(static_cast<std::uint64_t>(task.object_type[o]) + 1);
    for (Object constant : task.constants)
        start[static_cast<std::size_t>(constant)] =
            join(start[static_cast<std::size_t>(constant)], static_cast<std::uint64_t>(constant) + 7);

    Symmetry result;
    // 1-WL: an object's colour is refined by the multiset of its atoms with all their colours, until nothing splits.
    std::vector<std::uint64_t> colour = start;
    std::size_t distinct = 0;
    result.colour = renumber(colour, distinct);
    for (;;) {
        std::vector<std::uint64_t> sums(objects, 0);
        for (const auto& atom : atoms) {
            std::uint64_t hash = atom.label;
            for (std::int32_t i = 0; i < atom.arity; ++i)
                hash =
                    join(hash, colour[static_cast<std::size_t>(arguments[static_cast<std::size_t>(atom.begin + i)])]);
            for (std::int32_t i = 0; i < atom.arity; ++i)
                sums[static_cast<std::size_t>(arguments[static_cast<std::size_t>(atom.begin + i)])] +=
                    join(hash, static_cast<std::uint64_t>(i));
        }
        for (std::size_t o = 0; o < objects; ++o) colour[o] = join(colour[o], sums[o]);
        std::size_t refined = 0;
        result.colour = renumber(colour, refined);
        if (refined == distinct) break;
        distinct = refined;
    }
    // Interchangeable: the same atoms with the object's own places left blank, all other arguments exact.
    std::vector<std::uint64_t> own = start;
    for (const auto& atom : atoms) {
        const Object* values = arguments.data() + atom.begin;
        for (std::int32_t i = 0; i < atom.arity; ++i) {
            if (std::find(values, values + i, values[i]) != values + i) continue;  // counted at its first place
            std::uint64_t hash = atom.label;
            for (std::int32_t j = 0; j < atom.arity; ++j)
                hash = join(hash, values[j] == values[i] ? 0 : static_cast<std::uint64_t>(values[j]) + 1);
            own[static_cast<std::size_t>(values[i])] += mix(hash);
        }
    }
    std::unordered_map<std::uint64_t, std::int32_t> members;
    result.rank.resize(objects);
    for (std::size_t o = 0; o < objects; ++o) result.rank[o] = members[own[o]]++;
    return result;
}

}  // namespace saltus
