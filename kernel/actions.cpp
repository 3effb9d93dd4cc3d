#include "actions.hpp"

#include <random>

#include "axioms.hpp"
#include "changes.hpp"
#include "match.hpp"
#include "order.hpp"
#include "state.hpp"

namespace saltus {

Actions applicable(const Task& task, std::span<const Code> state, std::int64_t limit) {
    const StateView view(task, state);
    Matcher matcher(view);
    Actions result;
    for (std::size_t s = 0; s < task.schemas.size(); ++s) {
        const Pattern& pattern = task.schemas[s].pattern;
        auto append = [&](const std::vector<Object>& binding) {
            if (static_cast<std::int64_t>(result.schema.size()) >= limit) return false;
            result.append(static_cast<std::int32_t>(s), binding);
            return true;
        };
        if (!in_order(matcher, task, pattern, MatchOptions{}, matcher.count(pattern), append)) break;
    }
    return result;
}

std::vector<std::int64_t> count_applicable(const Task& task, std::span<const Code> state) {
    const StateView view(task, state);
    Matcher matcher(view);
    std::vector<std::int64_t> counts;
    for (const Schema& schema : task.schemas) counts.push_back(matcher.count(schema.pattern));
    return counts;
}

std::vector<Object> pick_action(const Task& task, std::span<const Code> state, std::int32_t schema,
                                std::int64_t index) {
    const StateView view(task, state);
    Matcher matcher(view);
    std::vector<Object> binding;
    matcher.pick(task.schemas[static_cast<std::size_t>(schema)].pattern, index, binding);
    return binding;
}

std::vector<Code> successor(const Task& task, std::span<const Code> state, std::int32_t schema,
                            std::span<const Object> arguments) {
    const StateView view(task, state);
    Changes changes(task, view);
    changes.compute(task.schemas[static_cast<std::size_t>(schema)], {arguments.begin(), arguments.end()});
    if (!task.axioms.empty()) Derivation(task, state).extend({}, {}, changes);
    return changed_state(state, changes.adds, changes.deletes);
}

Bindings find_bindings(const Task& task, std::span<const Code> state, const Pattern& pattern, std::int64_t limit,
                       std::uint64_t seed, std::int64_t steps) {
    const StateView view(task, state);
    Matcher matcher(view);
    std::mt19937_64 random(seed);
    MatchOptions options;
    options.distinct = true;
    options.shuffle = &random;
    options.steps = steps;
    Bindings result;
    std::vector<Object> binding(pattern.domains.size(), kUnbound);
    if (limit <= 0) return result;
    matcher.run(pattern, binding, options, [&](const std::vector<Object>& values) {
        result.objects.insert(result.objects.end(), values.begin(), values.end());
        return ++result.count < limit;
    });
    return result;
}

}  // namespace saltus
