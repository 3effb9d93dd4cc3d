#include "budget.hpp"

namespace saltus {

namespace {

// 0 for goal states, 1 for more satisfied goals than the root, 2 for all others.
int rank(const Nodes& nodes, std::size_t i, std::size_t goals) {
    if (static_cast<std::size_t>(nodes[i].goals) == goals) return 0;
    return nodes[i].goals > nodes[0].goals ? 1 : 2;
}

}  // namespace

std::vector<std::size_t> choose_encoded(const Nodes& nodes, std::size_t goals, std::int64_t most) {
    std::vector<bool> is_kept(nodes.size(), false);
    is_kept[0] = true;
    std::int64_t room = most;
    auto parent = [&](std::size_t i) { return static_cast<std::size_t>(nodes[i].parent); };
    for (int wanted = 0; wanted < 3; ++wanted) {
        for (std::size_t i = 1; i < nodes.size() && room > 0; ++i) {
            if (rank(nodes, i, goals) != wanted) continue;
            std::int64_t missing = 0;
            for (std::size_t at = i; !is_kept[at] && missing <= room; at = parent(at)) ++missing;
            if (missing > room) continue;
            for (std::size_t at = i; !is_kept[at]; at = parent(at)) is_kept[at] = true;
            room -= missing;
        }
    }
    std::vector<std::size_t> kept;
    for (std::size_t i = 0; i < nodes.size(); ++i)
        if (is_kept[i]) kept.push_back(i);
    return kept;
}

}  // namespace saltus
