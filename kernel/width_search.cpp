#include "width_search.hpp"

#include <algorithm>
#include <set>
#include <utility>

#include "order.hpp"

namespace saltus {

void WidthSearch::search() {
    mark_root();
    if (!growth_.truncated) expand_root();
    if (growth_.mode == RootMode::classes && !growth_.truncated) mark_root_actions();
    growth_.bound_level();
    while (!growth_.has_ended()) {
        const auto [first, end] = growth_.next_level();
        if (first == end) return;
        for (std::size_t i = first; i < end && !growth_.has_ended(); ++i)
            if (growth_.nodes[i].expand && !growth_.has_enough()) expand(i);
        growth_.bound_level();
    }
}

void WidthSearch::release() {
    Search::release();
    seen_.novelty.release();
    gathered_ = std::vector<Object>();
    fresh_arguments_ = std::vector<Object>();
}

// -- the root --------------------------------------------------------------------------------------------------------

void WidthSearch::mark_root() {
    if (spec_.width == 1) {
        seen_.mark_root();
        return;
    }
    const std::span<const Code> state = scene_.situation.state;
    seen_.novelty.mark_pairs(state, state, growth_.budget());
    growth_.truncated = seen_.novelty.full();
}

// Marks what the other members of the classes add, as if they had been generated.
void WidthSearch::mark_root_actions() {
    scene_.view.show({}, {});
    for (std::size_t s = 0; s < task_.schemas.size(); ++s) {
        if (skips(s)) continue;
        const Schema& schema = task_.schemas[s];
        std::vector<Object> binding(schema.pattern.domains.size(), kUnbound);
        MatchOptions options;
        const bool is_checked = walking_ && walking_->is_checked(s);
        if (schema.projects && !schema.conditional && !is_checked) options.wanted = schema.projected.data();
        auto gate = [&](const std::vector<Object>& found) { return schema.conditional || seen_.promises(s, found); };
        scene_.matcher.run(pattern_of(s), binding, options, gate, [&](const std::vector<Object>& found) {
            if (!settle(s, found)) return true;
            growth_.compute_changes(0, s, found);
            seen_.mark(growth_.changes.adds);
            return true;
        });
    }
}

// -- below the root --------------------------------------------------------------------------------------------------

void WidthSearch::expand(std::size_t number) {
    const Node node = growth_.nodes[number];
    if (walking_) {
        walking_->show_closure(number);
        expand_walks(number);
    } else {
        scene_.view.show(growth_.nodes.codes(node.added), growth_.nodes.codes(node.deleted));
    }
    decode_fresh(node);
    for (std::size_t s = 0; s < task_.schemas.size() && !growth_.truncated; ++s) {
        const Schema& schema = task_.schemas[s];
        if (skips(s)) continue;
        if (walking_ && schema.conditional && walking_->needs_places(s))
            expand_gathered(number, s);
        else if (spec_.width == 2 || schema.conditional)
            expand_fully(number, s);
        else if (walking_ && walking_->move(s) != nullptr)
            expand_move(number, s);
        else if (seen_.is_exhausted(s))
            continue;
        else if (schema.projects)
            expand_projected(number, s);
        else
            expand_anchored(number, s);
    }
}

void WidthSearch::expand_walks(std::size_t number) {
    for (const Places::Wish& wish : walking_->wanted_walks()) {
        if (growth_.truncated) return;
        walking_->begin_walk(wish);
        if (!seen_.mark(growth_.changes.adds)) continue;
        const Places::Step last = walking_->last_step(wish);
        growth_.compute_difference(number);
        append(number, static_cast<std::size_t>(last.schema), last.binding, true, true);
    }
    walking_->end_walks();
}

// Tries all applicable actions of a schema.
void WidthSearch::expand_fully(std::size_t number, std::size_t s) {
    const Pattern& pattern = pattern_of(s);
    std::int64_t expected = 1;
    for (std::int32_t domain : pattern.domains) {
        const std::size_t members = task_.domains[static_cast<std::size_t>(domain)].members.size();
        expected = saturating_product(expected, static_cast<std::int64_t>(members));
    }
    // Counting costs as much as a small join, so count only where there may be many bindings.
    if (expected > kSortAtOnce) expected = scene_.matcher.count(pattern);
    in_order(scene_.matcher, task_, pattern, MatchOptions{}, expected,
             [&](const std::vector<Object>& binding) { return try_action(number, s, binding); });
}

// Tries all actions of a conditional schema, those with the shortest walks first.
void WidthSearch::expand_gathered(std::size_t number, std::size_t s) {
    begin_gathering();
    std::vector<Object> binding(pattern_of(s).domains.size(), kUnbound);
    scene_.matcher.run(pattern_of(s), binding, MatchOptions{},
                       [&](const std::vector<Object>& found) { return gather(found, true); });
    try_bindings(number, s);
}

// Tries the moves that need what the node changed, and those that lead to places that their agent reached in the parent
// and does not reach any more: they lead out of its places only now.
void WidthSearch::expand_move(std::size_t number, std::size_t s) {
    const Move& move = *walking_->move(s);
    const Pattern& pattern = pattern_of(s);
    begin_gathering();
    auto any = [](const std::vector<Object>&) { return true; };
    auto take = [&](const std::vector<Object>& found) { return gather(found, seen_.promises(s, found)); };
    std::vector<Object> binding(pattern.domains.size(), kUnbound);
    if (scene_.places->has_several()) {
        scene_.matcher.run(pattern, binding, MatchOptions{}, take);
    } else {
        join_fresh(s, MatchOptions{}, any, take);
        Literal there = move.here;
        there.terms[static_cast<std::size_t>(walking_->group(s).place)] = move.end;
        for (Code code : walking_->lost_places()) {
            if (growth_.truncated) return;
            if (task_.decode(code, scene_.arguments.data()) == there.predicate &&
                scene_.matcher.unify(pattern, there, scene_.arguments.data(), binding))
                scene_.matcher.run(pattern, binding, MatchOptions{}, take);
        }
    }
    try_bindings(number, s);
}

// Tries the actions that need what the node changed; all others were applicable in its parent.
void WidthSearch::expand_anchored(std::size_t number, std::size_t s) {
    begin_gathering();
    const Narrow narrowed = seen_.narrow(s);
    MatchOptions options;
    if (walking_) options.narrow = &narrowed;  // without free moves, candidates are few and mostly new
    auto any = [](const std::vector<Object>&) { return true; };
    join_fresh(s, options, any,
               [&](const std::vector<Object>& found) { return gather(found, seen_.promises(s, found)); });
    try_bindings(number, s);
}

// The same where some parameters occur in no added atom: of the actions that add the same, only the first one counts.
void WidthSearch::expand_projected(std::size_t number, std::size_t s) {
    const Schema& schema = task_.schemas[s];
    const Narrow narrowed = seen_.narrow(s);
    MatchOptions options;
    options.wanted = schema.projected.data();
    if (walking_) options.narrow = &narrowed;
    std::set<std::vector<Object>> projections;
    std::vector<Object> projection;
    auto project = [&](const std::vector<Object>& found) {
        projection = found;
        for (std::size_t i = 0; i < projection.size(); ++i)
            if (!schema.projected[i]) projection[i] = kUnbound;
    };
    auto gate = [&](const std::vector<Object>& found) {
        ++growth_.generated;
        if (!seen_.promises(s, found)) return false;
        project(found);
        return !projections.contains(projection);
    };
    join_fresh(s, options, gate, [&](const std::vector<Object>& found) {
        project(found);
        projections.insert(projection);
        return growth_.fits(projections.size() * (80 + sizeof(Object) * projection.size()));
    });
    begin_gathering();
    if (growth_.truncated) return;
    for (std::vector<Object> binding : projections) {
        if (walking_)
            walking_->take_nearest(s, binding, gathered_);
        else if (scene_.matcher.least(pattern_of(s), binding))
            gathered_.insert(gathered_.end(), binding.begin(), binding.end());
    }
    try_bindings(number, s);
}

void WidthSearch::decode_fresh(const Node& node) {
    fresh_.clear();
    fresh_arguments_.clear();
    auto decode = [&](Code code, bool added) {
        const std::int32_t predicate = task_.decode(code, scene_.arguments.data());
        fresh_.push_back({predicate, added, fresh_arguments_.size()});
        fresh_arguments_.insert(fresh_arguments_.end(), scene_.arguments.begin(),
                                scene_.arguments.begin() + task_.arity[static_cast<std::size_t>(predicate)]);
    };
    for (Code code : growth_.nodes.codes(node.fresh_added)) decode(code, true);
    if (walking_)
        for (Code code : walking_->fresh_places()) decode(code, true);
    for (Code code : growth_.nodes.codes(node.fresh_deleted)) decode(code, false);
}

// Joins from every fresh atom: an added one makes a positive literal true, a deleted one a negative literal.
template <typename Gate, typename Emit>
void WidthSearch::join_fresh(std::size_t s, const MatchOptions& options, Gate&& gate, Emit&& emit) {
    const Pattern& pattern = pattern_of(s);
    std::vector<Object> binding;
    for (std::size_t l = 0; l < pattern.literals.size(); ++l) {
        const Literal& literal = pattern.literals[l];
        for (const FreshAtom& atom : fresh_) {
            if (atom.predicate != literal.predicate || atom.added != literal.positive) continue;
            if (!scene_.matcher.unify(pattern, literal, fresh_arguments_.data() + atom.begin, binding)) continue;
            if (!scene_.matcher.run(pattern, binding, options, gate, emit, static_cast<std::int32_t>(l))) return;
        }
    }
}

void WidthSearch::begin_gathering() {
    gathered_.clear();
    found_any_ = false;
}

// Counts an action, and gathers it if it promises something new.
bool WidthSearch::gather(const std::vector<Object>& found, bool promises) {
    ++growth_.generated;
    if (promises) {
        gathered_.insert(gathered_.end(), found.begin(), found.end());
        found_any_ = true;
    }
    return growth_.fits(gathered_.size() * sizeof(Object));
}

// Tries the gathered actions in order.
void WidthSearch::try_bindings(std::size_t number, std::size_t s) {
    if (growth_.truncated) return;
    std::vector<Object> binding(task_.schemas[s].pattern.domains.size());
    auto take = [&](const std::vector<Object>& found) { return try_action(number, s, found); };
    if (binding.empty()) {
        if (found_any_) try_action(number, s, binding);
    } else if (walking_) {
        walking_->visit_nearest(s, std::move(gathered_), binding, take);
    } else {
        visit_sorted(gathered_, binding, take);
    }
}

bool WidthSearch::try_action(std::size_t number, std::size_t s, const std::vector<Object>& binding) {
    tick();
    if (!settle(s, binding)) return true;
    growth_.compute_changes(number, s, binding);
    if (spec_.width == 2 || task_.schemas[s].conditional) ++growth_.generated;
    const bool novel = mark(number);
    if (growth_.truncated) return false;
    if (!novel) return true;
    if (walking_) walking_->add_walks();
    growth_.compute_difference(number);
    return append(number, s, binding, true, true);
}

// Width 2 needs the whole successor: new atoms pair up with old ones.
bool WidthSearch::mark_pairs(std::size_t parent) {
    growth_.compute_difference(parent);
    const std::vector<Code> state =
        changed_state(scene_.situation.state, growth_.difference.added, growth_.difference.deleted);
    std::vector<Code> fresh;
    for (Code code : growth_.changes.adds)
        if (!scene_.view.holds(code)) fresh.push_back(code);
    const bool novel = seen_.novelty.mark_pairs(fresh, state, growth_.budget());
    growth_.truncated = growth_.truncated || seen_.novelty.full();
    return novel;
}

}  // namespace saltus
