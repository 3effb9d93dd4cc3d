#include "walks.hpp"

#include <algorithm>
#include <iterator>
#include <stdexcept>

#include "places.hpp"

namespace saltus {

Actions walks_before(const FreeMoves& moves, std::span<const Code> state, std::int32_t schema,
                     std::span<const Object> arguments) {
    Places places(moves, state);
    const Task& task = moves.task();
    const std::vector<Object> binding(arguments.begin(), arguments.end());
    std::vector<Places::Wish> wishes;
    for (const Literal& literal : task.schemas[static_cast<std::size_t>(schema)].pattern.literals) {
        if (!literal.positive || literal.predicate == kEquality) continue;
        if (!task.fluent[static_cast<std::size_t>(literal.predicate)]) continue;
        const Places::Wish wish = places.place_of(task.encode(literal, binding));
        if (wish.agent < 0 || places.place(wish.agent) < 0 || places.place(wish.agent) == wish.place) continue;
        if (!places.reaches(wish.agent, wish.place)) throw std::invalid_argument("walks: place out of reach");
        wishes.push_back(wish);
    }
    std::sort(wishes.begin(), wishes.end(), [&](const Places::Wish& a, const Places::Wish& b) {
        return std::pair(places.group_of(a.agent), places.key_of(a.agent)) <
               std::pair(places.group_of(b.agent), places.key_of(b.agent));
    });
    Actions walks;
    for (std::size_t i = 0; i < wishes.size(); ++i) {
        if (i > 0 && wishes[i].agent == wishes[i - 1].agent) continue;
        for (const Places::Step& step : places.walk(wishes[i].agent, wishes[i].place))
            walks.append(step.schema, step.binding);
    }
    return walks;
}

std::vector<Code> canonical_state(const FreeMoves& moves, std::span<const Code> state,
                                  std::span<const Code> goal_positive, std::span<const Code> goal_negative) {
    Places places(moves, state);
    auto is_mentioned = [&](Code code) {
        return std::binary_search(goal_positive.begin(), goal_positive.end(), code) ||
               std::binary_search(goal_negative.begin(), goal_negative.end(), code);
    };
    std::vector<Code> codes;
    for (Code code : state) {
        const Places::Wish wish = places.place_of(code);
        const bool walks = wish.agent >= 0 && places.place(wish.agent) >= 0 && !is_mentioned(code) &&
                           !moves.groups()[static_cast<std::size_t>(places.group_of(wish.agent))].blocked_by_others;
        if (walks) {
            const std::vector<Object> reached = places.reached(wish.agent);
            const auto first = std::find_if(reached.begin(), reached.end(), [&](Object place) {
                return !is_mentioned(places.code_of(wish.agent, place));
            });
            codes.push_back(places.code_of(wish.agent, *first));
        } else {
            codes.push_back(code);
        }
    }
    std::sort(codes.begin(), codes.end());
    return codes;
}

}  // namespace saltus
