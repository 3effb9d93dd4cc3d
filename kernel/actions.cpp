#include "actions.hpp"

#include <algorithm>
#include <iterator>

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
    result.argument_offset.push_back(0);
    for (std::size_t s = 0; s < task.schemas.size(); ++s) {
        const Pattern& pattern = task.schemas[s].pattern;
        auto append = [&](const std::vector<Object>& binding) {
            if (static_cast<std::int64_t>(result.schema.size()) >= limit) return false;
            result.schema.push_back(static_cast<std::int32_t>(s));
            result.argument.insert(result.argument.end(), binding.begin(), binding.end());
            result.argument_offset.push_back(static_cast<std::int64_t>(result.argument.size()));
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
    std::vector<Code> kept;
    std::set_difference(state.begin(), state.end(), changes.deletes.begin(), changes.deletes.end(),
                        std::back_inserter(kept));
    std::vector<Code> result;
    std::set_union(kept.begin(), kept.end(), changes.adds.begin(), changes.adds.end(), std::back_inserter(result));
    return result;
}

}  // namespace saltus
