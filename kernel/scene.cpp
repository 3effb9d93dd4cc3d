#include "scene.hpp"

#include <algorithm>

namespace saltus {

Scene::Scene(const Situation& start)
    : situation(start),
      task(*start.task),
      places(start.moves == nullptr ? std::optional<Places>()
                                    : std::optional<Places>(std::in_place, *start.moves, start.state)),
      closure(places ? places->closure() : std::vector<Code>()),
      view(task, places ? std::span<const Code>(closure) : start.state),
      matcher(view),
      arguments(static_cast<std::size_t>(task.max_arity) + 1) {
    for (Code code : start.goal_positive) ++goal_signs[code];
    for (Code code : start.goal_negative) --goal_signs[code];
    if (places) places->watch(view);
}

bool Scene::in_root(Code code) {
    if (places && places->is_place(code))
        return std::binary_search(situation.state.begin(), situation.state.end(), code);
    return view.root_holds(code);
}

}  // namespace saltus
