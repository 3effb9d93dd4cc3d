#include "changes.hpp"

#include <algorithm>

namespace saltus {

void Changes::compute(const Schema& schema, const std::vector<Object>& binding) {
    adds.clear();
    deletes.clear();
    for (const Effect& effect : schema.effects) {
        if (effect.when.domains.size() == binding.size() && effect.when.literals.empty()) {
            collect(effect, binding);
            continue;
        }
        std::vector<Object> extended = binding;
        extended.resize(effect.when.domains.size(), kUnbound);
        matcher_.run(effect.when, extended, MatchOptions{}, [&](const std::vector<Object>& found) {
            collect(effect, found);
            return true;
        });
    }
    settle();
}

void Changes::settle() {
    sort_unique(adds);
    sort_unique(deletes);
    if (!deletes.empty() && !adds.empty())
        std::erase_if(deletes, [&](Code code) { return std::binary_search(adds.begin(), adds.end(), code); });
}

void Changes::collect(const Effect& effect, const std::vector<Object>& binding) {
    for (const Literal& literal : effect.adds) adds.push_back(task_.encode(literal, binding));
    for (const Literal& literal : effect.deletes) deletes.push_back(task_.encode(literal, binding));
}

void Difference::merge(std::span<const Code> kept, const std::vector<Code>& removed, const std::vector<Code>& extra,
                       std::vector<Code>& result) {
    std::size_t r = 0;
    std::size_t e = 0;
    for (Code code : kept) {
        while (r < removed.size() && removed[r] < code) ++r;
        if (r < removed.size() && removed[r] == code) continue;
        while (e < extra.size() && extra[e] < code) result.push_back(extra[e++]);
        if (e < extra.size() && extra[e] == code) ++e;
        result.push_back(code);
    }
    while (e < extra.size()) result.push_back(extra[e++]);
}

std::uint64_t Difference::hash() const {
    std::uint64_t hash = 1;
    for (Code code : added) hash = mix(hash + static_cast<std::uint64_t>(code));
    for (Code code : deleted) hash = mix(hash ^ ~static_cast<std::uint64_t>(code));
    return hash;
}

}  // namespace saltus
