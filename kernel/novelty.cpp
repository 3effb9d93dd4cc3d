#include "novelty.hpp"

#include <algorithm>
#include <utility>

namespace saltus {

namespace {
constexpr std::int64_t kDenseLimit = std::int64_t{1} << 25;  // 4 MiB of bits; beyond that, a hash set
}

Novelty::Novelty(const Task& task, Kind kind, GoalIdentity goal_identity, std::span<const Code> goal_positive,
                 std::span<const Code> goal_negative)
    : task_(task),
      kind_(kind),
      goal_identity_(goal_identity),
      watches_of_(static_cast<std::size_t>(task.predicates())) {
    if (kind == Kind::iw) {
        total_ = task.code_offset.back();
    } else {
        number_types();
        base_.resize(static_cast<std::size_t>(task.predicates()));
        if (goal_identity != GoalIdentity::off) {
            for (std::span<const Code> codes : {goal_positive, goal_negative})
                for (Code code : codes) goal_feature_.number(code);
            index_goals();
        }
        total_ = goal_feature_.size();
        std::int64_t positions = 0;
        for (std::size_t p = 0; p < base_.size(); ++p) {
            if (!task.fluent[p]) continue;
            std::int64_t combinations = task.arity[p] == 0 ? 1 : task.objects();
            if (kind == Kind::aiw)
                for (std::int32_t i = 1; i < task.arity[p]; ++i)
                    combinations = saturating_product(combinations, types_);
            for (std::int32_t i = 0; i < std::max(1, task.arity[p]); ++i) {
                base_[p].push_back(total_);
                total_ = saturating_sum(total_, combinations);
                ++positions;
            }
        }
        wide_ = total_ >= kMany;
        if (wide_) {
            met_.resize(static_cast<std::size_t>(std::exchange(positions, 0)));
            for (auto& bases : base_)
                for (std::int64_t& base : bases) base = positions++;
        }
    }
    dense_ = total_ <= kDenseLimit;
    if (dense_) bits_.assign(static_cast<std::size_t>(total_ / 64 + 1), 0);
}

// Only types in use are numbered, so at most as many as objects: a position's features then number at most
// objects^arity, and atom codes bound that.
void Novelty::number_types() {
    std::vector<std::int32_t> number_of(static_cast<std::size_t>(task_.types), -1);
    object_type_.reserve(task_.object_type.size());
    for (std::int32_t type : task_.object_type) {
        std::int32_t& number = number_of[static_cast<std::size_t>(type)];
        if (number < 0) number = static_cast<std::int32_t>(types_++);
        object_type_.push_back(number);
    }
}

template <typename Visit>
bool Novelty::features(Code code, std::int32_t predicate, const Object* arguments, Visit&& visit) const {
    if (kind_ == Kind::iw) return visit(code, kIdentity);
    if (goal_feature_.size() > 0) {
        const std::int32_t found = goal_feature_.find(code);
        if (found >= 0) {
            if (visit(found, kIdentity)) return true;
            if (goal_identity_ == GoalIdentity::instead) return false;
        }
    }
    const auto p = static_cast<std::size_t>(predicate);
    const std::int32_t arity = task_.arity[p];
    if (arity == 0) return visit(numbered(base_[p][0], 0), 0);
    for (std::int32_t i = 0; i < arity; ++i) {
        std::int64_t feature = arguments[i];
        if (kind_ == Kind::aiw)
            for (std::int32_t j = 0; j < arity; ++j)
                if (j != i) feature = feature * types_ + object_type_[static_cast<std::size_t>(arguments[j])];
        if (visit(numbered(base_[p][static_cast<std::size_t>(i)], feature), i)) return true;
    }
    return false;
}

bool Novelty::unseen(Code code, std::int32_t predicate, const Object* arguments) const {
    return features(code, predicate, arguments, [&](std::int64_t feature, std::int32_t) { return !seen(feature); });
}

void Novelty::index_goals() {
    goal_rows_.resize(static_cast<std::size_t>(task_.max_arity));
    goal_objects_.resize(goal_rows_.size());
    std::vector<Object> arguments(static_cast<std::size_t>(task_.max_arity) + 1);
    goal_feature_.visit([&](Code code, std::int32_t) {
        const std::int32_t predicate = task_.decode(code, arguments.data());
        Code stride = 1;
        for (std::int32_t i = task_.arity[static_cast<std::size_t>(predicate)] - 1; i >= 0; --i) {
            const auto at = static_cast<std::size_t>(i);
            const auto row = static_cast<std::size_t>(goal_rows_[at].number(code - arguments[at] * stride));
            if (row == goal_objects_[at].size()) goal_objects_[at].emplace_back();
            goal_objects_[at][row].push_back(arguments[at]);
            stride *= task_.objects();
        }
    });
    for (auto& rows : goal_objects_)
        for (auto& objects : rows) std::sort(objects.begin(), objects.end());
}

bool Novelty::list_unseen(const Literal& literal, const std::vector<Object>& binding, std::span<const Object> objects,
                          std::size_t most, std::vector<Object>& unseen) const {
    if (wide_) return false;
    const std::size_t arity = literal.terms.size();
    const std::int64_t count = task_.objects();
    std::size_t position = arity;
    Code rest = 0;  // code with object 0 at the position
    Code stride = 0;
    for (std::size_t i = 0; i < arity; ++i) {
        const Object object = value_of(literal.terms[i], binding);
        if (object == kUnbound && position < arity) return false;
        if (object == kUnbound) position = i;
        rest = rest * count + (object == kUnbound ? 0 : object);
        stride = object == kUnbound ? 1 : stride * count;
    }
    if (position == arity) return false;
    rest += task_.code_offset[static_cast<std::size_t>(literal.predicate)];
    if (kind_ == Kind::iw) {
        for (Object object : objects) {
            if (seen(rest + object * stride)) continue;
            if (unseen.size() == most) return false;
            unseen.push_back(object);
        }
        return true;
    }
    // The features at other positions depend on the object's type alone.
    const auto p = static_cast<std::size_t>(literal.predicate);
    std::int64_t power = 1;
    std::int64_t own_types = 0;
    auto type_of = [&](std::size_t j) {
        return object_type_[static_cast<std::size_t>(value_of(literal.terms[j], binding))];
    };
    for (std::size_t j = 0; j < arity && kind_ == Kind::aiw; ++j) {
        if (j == position) continue;
        own_types = own_types * types_ + type_of(j);
        power *= types_;
    }
    auto others_unseen = [&](std::int64_t type) {
        for (std::size_t i = 0; i < arity; ++i) {
            if (i == position) continue;
            std::int64_t feature = value_of(literal.terms[i], binding);
            for (std::size_t j = 0; j < arity && kind_ == Kind::aiw; ++j)
                if (j != i) feature = feature * types_ + (j == position ? type : type_of(j));
            if (!seen(base_[p][i] + feature)) return true;
        }
        return false;
    };
    std::int64_t last_type = -1;
    bool is_unseen = false;
    for (Object object : objects) {
        const std::int64_t type = kind_ == Kind::aiw ? object_type_[static_cast<std::size_t>(object)] : 0;
        if (type != last_type) is_unseen = others_unseen(type);
        last_type = type;
        if (!is_unseen && seen(base_[p][position] + object * power + own_types)) continue;
        if (unseen.size() == most) return false;
        unseen.push_back(object);
    }
    if (goal_feature_.size() > 0) correct_goals(position, rest, stride, objects, unseen);
    return unseen.size() <= most;
}

// Puts right which of the objects make a goal atom that is unseen: such an atom has a feature of its own.
void Novelty::correct_goals(std::size_t position, Code rest, Code stride, std::span<const Object> objects,
                            std::vector<Object>& unseen) const {
    const std::int32_t row = goal_rows_[position].find(rest);
    if (row < 0) return;
    const std::vector<Object>& goals = goal_objects_[position][static_cast<std::size_t>(row)];
    if (goal_identity_ == GoalIdentity::instead)
        std::erase_if(unseen, [&](Object object) { return std::binary_search(goals.begin(), goals.end(), object); });
    const auto middle = static_cast<std::ptrdiff_t>(unseen.size());
    for (Object object : goals)
        if (std::binary_search(objects.begin(), objects.end(), object) &&
            !seen(goal_feature_.find(rest + object * stride)))
            unseen.push_back(object);
    std::inplace_merge(unseen.begin(), unseen.begin() + middle, unseen.end());
    unseen.erase(std::unique(unseen.begin(), unseen.end()), unseen.end());
}

bool Novelty::mark(Code code, std::int32_t predicate, const Object* arguments) {
    bool novel = false;
    features(code, predicate, arguments, [&](std::int64_t feature, std::int32_t position) {
        if (!see(feature)) return false;
        novel = true;
        for (std::size_t number : watches_of_[static_cast<std::size_t>(predicate)])
            if (concerns(watches_[number], position, arguments)) --watches_[number].open;
        return false;
    });
    return novel;
}

// Whether the watch counts the feature at `position` of this atom.
bool Novelty::concerns(const Watch& watch, std::int32_t position, const Object* arguments) const {
    const std::int32_t arity = task_.arity[static_cast<std::size_t>(watch.predicate)];
    for (std::int32_t i = 0; i < arity; ++i) {
        const auto at = static_cast<std::size_t>(i);
        const auto object = static_cast<std::size_t>(arguments[i]);
        if (position == kIdentity || i == position) {
            if (!watch.objects[at][object]) return false;
        } else if (kind_ == Kind::aiw && !watch.types[at][static_cast<std::size_t>(task_.object_type[object])]) {
            return false;
        }
    }
    return true;
}

std::size_t Novelty::watch(const Literal& literal, const std::vector<std::int32_t>& domains) {
    Watch result{literal.predicate, {}, {}, 0};
    std::vector<std::int64_t> objects;
    std::vector<std::int64_t> types;
    for (std::int32_t term : literal.terms) {
        std::vector<std::uint8_t> allowed(static_cast<std::size_t>(task_.objects()), 0);
        if (term < 0)
            allowed[static_cast<std::size_t>(~term)] = 1;
        else
            allowed = task_.domains[static_cast<std::size_t>(domains[static_cast<std::size_t>(term)])].allowed;
        std::vector<std::uint8_t> kinds(static_cast<std::size_t>(task_.types), 0);
        for (std::size_t o = 0; o < allowed.size(); ++o)
            if (allowed[o]) kinds[static_cast<std::size_t>(task_.object_type[o])] = 1;
        objects.push_back(std::count(allowed.begin(), allowed.end(), 1));
        types.push_back(std::count(kinds.begin(), kinds.end(), 1));
        result.objects.push_back(std::move(allowed));
        result.types.push_back(std::move(kinds));
    }
    if (kind_ == Kind::iw) {
        result.open = 1;
        for (std::int64_t n : objects) result.open = saturating_product(result.open, n);
    } else if (literal.terms.empty()) {
        result.open = 1;
    } else {
        for (std::size_t i = 0; i < objects.size(); ++i) {
            std::int64_t here = objects[i];
            for (std::size_t j = 0; j < objects.size() && kind_ == Kind::aiw; ++j)
                if (j != i) here = saturating_product(here, types[j]);
            result.open = saturating_sum(result.open, here);
        }
    }
    std::vector<Object> arguments(static_cast<std::size_t>(task_.max_arity) + 1);
    goal_feature_.visit([&](Code code, std::int32_t) {
        if (task_.decode(code, arguments.data()) != literal.predicate) return;
        if (concerns(result, kIdentity, arguments.data())) ++result.open;
    });
    watches_.push_back(std::move(result));
    watches_of_[static_cast<std::size_t>(literal.predicate)].push_back(watches_.size() - 1);
    return watches_.size() - 1;
}

std::vector<std::int64_t> Novelty::features_of(Code code) const {
    std::vector<Object> arguments(static_cast<std::size_t>(task_.max_arity) + 1);
    const std::int32_t predicate = task_.decode(code, arguments.data());
    std::vector<std::int64_t> result;
    features(code, predicate, arguments.data(), [&](std::int64_t feature, std::int32_t) {
        result.push_back(feature);
        return false;
    });
    return result;
}

bool Novelty::mark_pairs(std::span<const Code> added, std::span<const Code> state, std::int64_t budget) {
    bool novel = false;
    std::vector<std::vector<std::int64_t>> numbers(state.size());
    for (std::size_t i = 0; i < state.size(); ++i)
        for (std::int64_t feature : features_of(state[i])) numbers[i].push_back(feature_number_.number(feature));
    for (Code code : added) {
        const auto at = static_cast<std::size_t>(std::lower_bound(state.begin(), state.end(), code) - state.begin());
        for (std::int64_t a : numbers[at]) {
            novel = pairs_.insert(~a) || novel;  // singletons are negative, pairs are not
            for (std::size_t i = 0; i < state.size(); ++i) {
                if (i == at) continue;
                for (std::int64_t b : numbers[i]) novel = pairs_.insert(std::min(a, b) << 31 | std::max(a, b)) || novel;
            }
            if (pairs_.bytes() > budget) {
                full_ = true;
                return novel;
            }
        }
    }
    return novel;
}

void Novelty::release() {
    bits_ = {};
    sparse_ = KeySet();
    pairs_ = KeySet();
    feature_number_ = KeyNumbers();
    met_ = {};
}

}  // namespace saltus
