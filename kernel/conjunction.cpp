#include "conjunction.hpp"

#include <random>

#include "match.hpp"
#include "state.hpp"

namespace saltus {

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
