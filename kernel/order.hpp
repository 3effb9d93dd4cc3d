// Order: all bindings of a pattern in lexicographic order, which is the order of actions in the lookahead's contract.
#pragma once

#include <algorithm>
#include <vector>

#include "match.hpp"

namespace saltus {

// Bindings gathered before they are sorted; where there are more, they are enumerated object by object.
inline constexpr std::int64_t kSortAtOnce = 1 << 20;

// Sorts bindings of equal width, stored one after the other, and removes repetitions.
void sort_bindings(std::vector<Object>& flat, std::size_t width);

// Sorts the bindings and calls visit(binding) -> bool for each until it returns false; then so does this. `binding` is
// written to and has their width, which is not 0.
template <typename Visit>
bool visit_sorted(std::vector<Object>& flat, std::vector<Object>& binding, Visit&& visit) {
    const std::size_t width = binding.size();
    sort_bindings(flat, width);
    for (std::size_t i = 0; i < flat.size(); i += width) {
        std::copy_n(flat.begin() + static_cast<std::ptrdiff_t>(i), width, binding.begin());
        if (!visit(binding)) return false;
    }
    return true;
}

// Calls visit(binding) -> bool for every binding of the pattern until it returns false; then so does this. `expected`
// is an upper bound on their number; the first `bound` variables of `prefix` are bound already.
template <typename Visit>
bool in_order(Matcher& matcher, const Task& task, const Pattern& pattern, const MatchOptions& options,
              std::int64_t expected, std::vector<Object>& prefix, std::size_t bound, Visit&& visit) {
    const std::size_t width = pattern.domains.size();
    if (expected > kSortAtOnce && bound + 1 < width) {
        for (Object object : task.domains[static_cast<std::size_t>(pattern.domains[bound])].members) {
            if (options.mask != nullptr && !options.mask[object]) continue;
            prefix[bound] = object;
            // Count again: all bindings may start with the same object.
            const std::int64_t share = matcher.count(pattern, prefix, options);
            const bool go_on = share == 0 || in_order(matcher, task, pattern, options, share, prefix, bound + 1, visit);
            std::fill(prefix.begin() + static_cast<std::ptrdiff_t>(bound), prefix.end(), kUnbound);
            if (!go_on) return false;
        }
        return true;
    }
    std::vector<Object> flat;
    bool found_any = false;
    std::vector<Object> binding = prefix;
    matcher.run(pattern, binding, options, [&](const std::vector<Object>& found) {
        flat.insert(flat.end(), found.begin(), found.end());
        found_any = true;
        return true;
    });
    if (width == 0) return !found_any || visit(binding);
    return visit_sorted(flat, binding, visit);
}

template <typename Visit>
bool in_order(Matcher& matcher, const Task& task, const Pattern& pattern, const MatchOptions& options,
              std::int64_t expected, Visit&& visit) {
    std::vector<Object> prefix(pattern.domains.size(), kUnbound);
    return in_order(matcher, task, pattern, options, expected, prefix, 0, visit);
}

}  // namespace saltus
