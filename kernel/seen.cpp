#include "seen.hpp"

#include <algorithm>

namespace saltus {

namespace {

constexpr std::int64_t kScanned = 64;  // objects that are scanned in the time that a candidate of a join takes

}  // namespace

Seen::Seen(Scene& scene, const Spec& spec, const Walking* walking)
    : novelty(scene.task, spec.kind, spec.goal_identity, scene.situation.goal_positive, scene.situation.goal_negative),
      scene_(scene),
      task_(scene.task),
      walking_(walking) {
    if (spec.width != 1) return;
    watches_.resize(task_.schemas.size());
    for (std::size_t s = 0; s < task_.schemas.size(); ++s) {
        const Schema& schema = task_.schemas[s];
        if (schema.conditional) continue;
        for (const Effect& effect : schema.effects)
            for (const Literal& literal : effect.adds)
                watches_[s].push_back(novelty.watch(literal, schema.pattern.domains));
    }
}

void Seen::mark_root() {
    for (Code code : scene_.situation.state) {
        const std::int32_t predicate = task_.decode(code, scene_.arguments.data());
        novelty.mark(code, predicate, scene_.arguments.data());
        if (walking_ == nullptr) continue;
        if (const Places::Wish found = scene_.places->place_of(code); found.agent >= 0)
            somewhere_.insert(scene_.places->key_of(found.agent));
    }
}

bool Seen::is_exhausted(std::size_t s) const {
    if (walking_ != nullptr && walking_->adds_places(s)) return false;
    return std::all_of(watches_[s].begin(), watches_[s].end(),
                       [&](std::size_t watch) { return novelty.exhausted(watch); });
}

bool Seen::promises(std::size_t s, const std::vector<Object>& binding) {
    for (const Effect& effect : task_.schemas[s].effects)
        for (const Literal& literal : effect.adds)
            if (unseen(s, literal, binding)) return true;
    return false;
}

// Whether an added atom has an unseen feature.
bool Seen::unseen(std::size_t s, const Literal& literal, const std::vector<Object>& binding) {
    for (std::size_t i = 0; i < literal.terms.size(); ++i) scene_.arguments[i] = value_of(literal.terms[i], binding);
    const Code code = task_.encode(literal.predicate, scene_.arguments.data());
    if (walking_ != nullptr && walking_->adds_places(s) && walking_->move(s) == nullptr)
        if (const Places::Wish found = scene_.places->place_of(code); found.agent >= 0 && !scene_.is_mentioned(code))
            return !somewhere_.contains(scene_.places->key_of(found.agent));
    return novelty.unseen(code, literal.predicate, scene_.arguments.data());
}

Narrow Seen::narrow(std::size_t s) {
    return [this, s](const std::vector<Object>& binding, std::int64_t rows, Values& values) {
        return list_promising(s, binding, rows, values);
    };
}

// Lists the objects by which the last unbound parameter of the added atoms may make one of them new; false if that does
// not save time, or if such an atom is new whatever the parameter.
bool Seen::list_promising(std::size_t s, const std::vector<Object>& binding, std::int64_t rows, Values& values) {
    const Schema& schema = task_.schemas[s];
    if (walking_ != nullptr && walking_->adds_places(s)) return false;
    std::size_t unbound = 0;
    for (std::size_t i = 0; i < binding.size(); ++i) {
        if (!schema.projected[i] || binding[i] != kUnbound) continue;
        if (++unbound > 1) return false;
        values.variable = i;
    }
    if (unbound == 0) return false;
    const auto domain = static_cast<std::size_t>(schema.pattern.domains[values.variable]);
    const std::vector<Object>& objects = task_.domains[domain].members;
    if (static_cast<std::int64_t>(objects.size()) / kScanned > rows) return false;
    const auto most = static_cast<std::size_t>(rows / 2);
    std::size_t lists = 0;
    for (const Effect& effect : schema.effects)
        for (const Literal& literal : effect.adds) {
            const auto variable = static_cast<std::int32_t>(values.variable);
            if (std::find(literal.terms.begin(), literal.terms.end(), variable) == literal.terms.end()) {
                if (unseen(s, literal, binding)) return false;
            } else {
                ++lists;
                std::vector<Object> unseen;
                if (!novelty.list_unseen(literal, binding, objects, most, unseen)) return false;
                values.objects.insert(values.objects.end(), unseen.begin(), unseen.end());
            }
        }
    if (lists > 1) sort_unique(values.objects);
    return values.objects.size() <= most;
}

bool Seen::mark(const std::vector<Code>& adds) {
    bool novel = false;
    for (Code code : adds) {
        if (walking_ != nullptr) {
            Places& places = *scene_.places;
            if (const Places::Wish found = places.place_of(code); found.agent >= 0) {
                if (places.holds(found)) continue;
                if (!walking_->leaves() && !scene_.is_mentioned(code)) {
                    novel = somewhere_.insert(places.key_of(found.agent)) || novel;
                    continue;
                }
            }
        }
        const std::int32_t predicate = task_.decode(code, scene_.arguments.data());
        novel = novelty.mark(code, predicate, scene_.arguments.data()) || novel;
    }
    return novel;
}

}  // namespace saltus
