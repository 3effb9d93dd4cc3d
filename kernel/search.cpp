#include "search.hpp"

#include <algorithm>
#include <iterator>
#include <limits>
#include <new>
#include <set>

#include "budget.hpp"
#include "order.hpp"

namespace saltus {

namespace {

constexpr std::int64_t kScratch = 1 << 26;   // bytes that a search may always use besides the tree
constexpr std::size_t kStoredPlaces = 512;   // most places by which a stored closure differs from the root's
constexpr std::int64_t kScanned = 64;        // objects that are scanned in the time that a candidate of a join takes
constexpr std::int32_t kLongestPause = 15;   // joins that do not ask novelty after it could not narrow one
constexpr std::size_t kFewCompletions = 16;  // of an action, which are compared without looking for the nearest places
constexpr std::uint32_t kPairSteps = 1024;   // steps of a join that take as long as marking a successor's pairs

// Whether no completion of a partial binding comes before another binding, as far as variables up to `last` tell.
bool follows(const std::vector<Object>& partial, const std::vector<Object>& other, std::size_t last) {
    for (std::size_t i = 0; i <= last; ++i) {
        if (partial[i] == kUnbound || partial[i] < other[i]) return false;
        if (partial[i] > other[i]) return true;
    }
    return false;
}

// A thread allocates what it needs to throw when it first throws; without memory, that would end the process. So every
// thread throws once beforehand.
void prepare_exceptions() {
    static thread_local bool prepared = false;
    if (prepared) return;
    prepared = true;
    try {
        throw std::bad_alloc();
    } catch (const std::bad_alloc&) {
    }
}

}  // namespace

Search::Search(const Situation& situation, const Spec& spec)
    : task_(*situation.task),
      situation_(situation),
      spec_(spec),
      places_(situation.moves == nullptr ? std::optional<Places>()
                                         : std::optional<Places>(std::in_place, *situation.moves, situation.state)),
      closure_(places_ ? places_->closure() : std::vector<Code>()),
      view_(task_, places_ ? std::span<const Code>(closure_) : situation.state),
      matcher_(view_),
      changes_(task_, view_),
      novelty_(task_, spec.kind, spec.goal_identity, spec.derived_novelty, situation.goal_positive,
               situation.goal_negative),
      arguments_(static_cast<std::size_t>(task_.max_arity) + 1),
      asked_(task_.schemas.size()),
      budget_(std::max(kScratch, saturating_product(spec.max_atoms, sizeof(Code)))) {
    for (Code code : situation.goal_positive) ++goal_sign_[code];
    for (Code code : situation.goal_negative) --goal_sign_[code];
    if (!task_.axioms.empty()) derivation_.emplace(task_, situation.state);
    if (places_) {
        places_->watch(view_);
        locate_schemas();
        list_wanted_places();
    }
    if (spec.kind == Kind::flat || spec.width != 1) return;
    watches_.resize(task_.schemas.size());
    for (std::size_t s = 0; s < task_.schemas.size(); ++s) {
        const Schema& schema = task_.schemas[s];
        if (schema.conditional) continue;
        for (const Effect& effect : schema.effects)
            for (const Literal& literal : effect.adds)
                watches_[s].push_back(novelty_.watch(literal, schema.pattern.domains));
    }
}

Tree Search::run() {
    Node root;
    for (Code code : situation_.goal_positive) root.goals += in_root(code) ? 1 : 0;
    for (Code code : situation_.goal_negative) root.goals += in_root(code) ? 0 : 1;
    nodes_.push(root);
    std::size_t level = 1;  // first node of the deepest level
    prepare_exceptions();
    try {
        search(level);
    } catch (const std::bad_alloc&) {
        truncated_ = true;
        release();
        bound_level(level);
    }
    for (;;) {
        try {
            apply_budget();
            return take_tree();
        } catch (const std::bad_alloc&) {
            if (nodes_.size() == 1) throw;
            truncated_ = true;
            release();
            nodes_.halve();
        }
    }
}

void Search::search(std::size_t& level) {
    mark_root();
    if (!truncated_) expand_root();
    bound_level(level);
    while (spec_.kind != Kind::flat && !truncated_ && !stopped_ && level < nodes_.size()) {
        const std::size_t first = level;
        level = nodes_.size();
        for (std::size_t i = first; i < level && !truncated_ && !stopped_; ++i) {
            if (!nodes_[i].expand) continue;
            stopped_ = has_enough();
            if (!stopped_) expand(i);
        }
        bound_level(level);
    }
}

// Whether the tree holds so many nodes with more goals than its root that no further one is expanded.
bool Search::has_enough() const { return spec_.max_better > 0 && nodes_.better() >= spec_.max_better; }

// Leaves out what is too much for the network.
void Search::apply_budget() {
    if (spec_.max_encoded == 0 || static_cast<std::int64_t>(nodes_.size()) <= spec_.max_encoded) return;
    const std::size_t goals = situation_.goal_positive.size() + situation_.goal_negative.size();
    const std::vector<std::size_t> kept = choose_encoded(nodes_, goals, spec_.max_encoded);
    left_out_ += static_cast<std::int64_t>(nodes_.size() - kept.size());
    nodes_.keep(kept);
}

// Frees what only the search needs.
void Search::release() {
    novelty_.release();
    root_successors_ = {};
    flat_ = {};
    fresh_arguments_ = {};
}

Tree Search::take_tree() const {
    Tree tree = nodes_.to_tree();
    tree.generated = generated_;
    tree.root_actions = root_actions_;
    tree.root = mode_;
    tree.truncated = truncated_;
    tree.stopped = stopped_;
    tree.left_out = left_out_;
    return tree;
}

// -- the root --------------------------------------------------------------------------------------------------------

void Search::mark_root() {
    if (spec_.kind == Kind::flat) return;
    if (spec_.width == 2) {
        novelty_.mark_pairs(situation_.state, situation_.state, budget_);
        truncated_ = novelty_.full();
        return;
    }
    for (Code code : situation_.state) {
        const std::int32_t predicate = task_.decode(code, arguments_.data());
        novelty_.mark(code, predicate, arguments_.data());
        if (!places_) continue;
        if (const Places::Wish found = places_->place_of(code); found.agent >= 0)
            somewhere_.insert(places_->key_of(found.agent));
    }
}

void Search::expand_root() {
    std::vector<std::int64_t> counts;
    for (std::size_t s = 0; s < task_.schemas.size(); ++s) {
        counts.push_back(places_ && skips(s) ? 0 : matcher_.count(pattern_of(s)));
        if (!places_ || located_[s].move == nullptr) root_actions_ = saturating_sum(root_actions_, counts.back());
    }
    mode_ = spec_.root;
    if (mode_ == RootMode::automatic)
        mode_ = spec_.width == 1 && root_actions_ > spec_.max_root_actions ? RootMode::classes : RootMode::all;
    Symmetry symmetry;
    if (mode_ == RootMode::classes)
        symmetry = find_symmetry(task_, situation_.state, situation_.goal_positive, situation_.goal_negative);
    if (places_) expand_walks(0);
    for (std::size_t s = 0; s < task_.schemas.size() && !truncated_; ++s) {
        if (counts[s] == 0) continue;
        if (mode_ == RootMode::classes)
            expand_root_classes(s, symmetry, counts[s]);
        else
            visit_root(s, MatchOptions{}, counts[s],
                       [&](const std::vector<Object>& binding) { return add_root_successor(s, binding); });
    }
    if (mode_ == RootMode::classes && spec_.kind != Kind::flat && !truncated_) mark_root_actions();
}

// Takes the first binding of every class: same schema, same colours, same pattern of equal arguments. A first binding
// uses at most as many exchangeable objects as the schema has parameters, so the join leaves out the others.
void Search::expand_root_classes(std::size_t s, const Symmetry& symmetry, std::int64_t count) {
    const Pattern& pattern = pattern_of(s);
    std::vector<std::uint8_t> mask(symmetry.rank.size());
    for (std::size_t o = 0; o < mask.size(); ++o)
        mask[o] = symmetry.rank[o] < static_cast<std::int32_t>(pattern.domains.size()) ? 1 : 0;
    MatchOptions options;
    options.mask = mask.data();
    std::set<std::vector<std::int32_t>> classes;
    const auto class_bytes = static_cast<std::int64_t>(96 + 2 * sizeof(std::int32_t) * pattern.domains.size());
    visit_root(s, options, count, [&](const std::vector<Object>& binding) {
        std::vector<std::int32_t> key;
        for (Object object : binding) {
            key.push_back(symmetry.colour[static_cast<std::size_t>(object)]);
            const auto first = std::find(binding.begin(), binding.end(), object);
            key.push_back(static_cast<std::int32_t>(first - binding.begin()));
        }
        if (!classes.insert(std::move(key)).second) return true;
        if (static_cast<std::int64_t>(classes.size()) * class_bytes > budget_) truncated_ = true;
        return !truncated_ && add_root_successor(s, binding);
    });
}

// Calls visit(binding) -> bool for the actions of a schema in contract order until it returns false; modulo free moves,
// those with the shortest walks come first.
template <typename Visit>
void Search::visit_root(std::size_t s, const MatchOptions& options, std::int64_t count, Visit&& visit) {
    const Pattern& pattern = pattern_of(s);
    if (!places_) {
        in_order(matcher_, task_, pattern, options, count, visit);
        return;
    }
    if (located_[s].needed.empty() || pattern.domains.empty()) {
        in_order(matcher_, task_, pattern, options, count,
                 [&](const std::vector<Object>& binding) { return !settle(s, binding) || visit(binding); });
        return;
    }
    if (count <= kSortAtOnce) {
        flat_.clear();
        std::vector<Object> binding(pattern.domains.size(), kUnbound);
        matcher_.run(pattern, binding, options, [&](const std::vector<Object>& found) {
            flat_.insert(flat_.end(), found.begin(), found.end());
            return true;
        });
        visit_nearest(s, binding, visit);
        return;
    }
    // Too many to be sorted: one length after the other.
    std::int32_t next = 0;
    for (std::int32_t steps = 0; steps >= 0; steps = next) {
        next = -1;
        const bool go_on = in_order(matcher_, task_, pattern, options, count, [&](const std::vector<Object>& binding) {
            if (!settle(s, binding)) return true;
            const std::int32_t own = walking_steps();
            if (own > steps && (next < 0 || own < next)) next = own;
            return own != steps || visit(binding);
        });
        if (!go_on) return;
    }
}

// Marks what the other members of the classes add, as if they had been generated.
void Search::mark_root_actions() {
    view_.show({}, {});
    for (std::size_t s = 0; s < task_.schemas.size(); ++s) {
        if (places_ && skips(s)) continue;
        const Schema& schema = task_.schemas[s];
        std::vector<Object> binding(schema.pattern.domains.size(), kUnbound);
        MatchOptions options;
        const bool is_checked = places_ && located_[s].checked;
        if (schema.projects && !schema.conditional && !is_checked) options.wanted = schema.projected.data();
        auto gate = [&](const std::vector<Object>& found) { return schema.conditional || promises(s, found); };
        matcher_.run(pattern_of(s), binding, options, gate, [&](const std::vector<Object>& found) {
            if (!settle(s, found)) return true;
            compute_changes(nodes_[0], s, found);
            mark(changes_.adds);
            return true;
        });
    }
}

bool Search::add_root_successor(std::size_t s, const std::vector<Object>& binding) {
    ++generated_;
    ticker_.tick(spec_.width == 2 ? kPairSteps : 1);
    if (!settle(s, binding)) return true;
    compute_changes(nodes_[0], s, binding);
    return add_changed_root(s, binding);
}

// Adds the successor that the changes at hand lead to.
bool Search::add_changed_root(std::size_t s, const std::vector<Object>& binding) {
    bool novel = true;
    if (spec_.kind != Kind::flat) novel = spec_.width == 2 ? mark_pairs(nodes_[0]) : mark(changes_.adds);
    if (truncated_) return false;
    if (!novel && mode_ == RootMode::novel) return true;
    add_walks();
    compute_difference(nodes_[0]);
    if (difference_.empty()) return true;
    if (places_) split_difference(difference_.added, difference_.deleted, own_class_);
    const std::uint64_t hash = places_ ? own_class_.difference.hash() : difference_.hash();
    if (places_ && own_class_.difference.empty() && is_same_class(nodes_[0], own_class_)) return true;
    if (is_known_successor(hash)) return true;
    root_successors_.emplace(hash, nodes_.size());
    return append(0, s, binding, novel, novel || spec_.expand_root_successors);
}

// Whether an earlier successor of the root is the same state as the one at hand, or the same but for walks.
bool Search::is_known_successor(std::uint64_t hash) {
    const auto [begin, end] = root_successors_.equal_range(hash);
    return std::any_of(begin, end, [&](const auto& entry) {
        const Node& node = nodes_[entry.second];
        if (places_) return is_same_class(node, own_class_);
        return std::ranges::equal(nodes_.codes(node.added), difference_.added) &&
               std::ranges::equal(nodes_.codes(node.deleted), difference_.deleted);
    });
}

// -- below the root --------------------------------------------------------------------------------------------------

void Search::expand(std::size_t number) {
    const Node node = nodes_[number];
    if (places_) {
        at_root_ = false;
        show_closure(number);
        expand_walks(number);
    } else {
        view_.show(nodes_.codes(node.added), nodes_.codes(node.deleted));
    }
    decode_fresh(node);
    for (std::size_t s = 0; s < task_.schemas.size() && !truncated_; ++s) {
        const Schema& schema = task_.schemas[s];
        if (places_ && skips(s)) continue;
        if (places_ && schema.conditional && !located_[s].needed.empty())
            expand_gathered(number, s);
        else if (spec_.width == 2 || schema.conditional)
            expand_fully(number, s);
        else if (places_ && located_[s].move != nullptr)
            expand_move(number, s);
        else if (exhausted(s))
            continue;
        else if (schema.projects)
            expand_projected(number, s);
        else
            expand_anchored(number, s);
    }
}

// Whether no action of an unconditional schema can be novel any more.
bool Search::exhausted(std::size_t s) const {
    if (places_ && located_[s].adds_places) return false;
    return std::all_of(watches_[s].begin(), watches_[s].end(),
                       [&](std::size_t watch) { return novelty_.exhausted(watch); });
}

// Tries all applicable actions of a schema.
void Search::expand_fully(std::size_t number, std::size_t s) {
    const Pattern& pattern = pattern_of(s);
    std::int64_t expected = 1;
    for (std::int32_t domain : pattern.domains) {
        const std::size_t members = task_.domains[static_cast<std::size_t>(domain)].members.size();
        expected = saturating_product(expected, static_cast<std::int64_t>(members));
    }
    // Counting costs as much as a small join, so count only where there may be many bindings.
    if (expected > kSortAtOnce) expected = matcher_.count(pattern);
    in_order(matcher_, task_, pattern, MatchOptions{}, expected,
             [&](const std::vector<Object>& binding) { return try_action(number, s, binding); });
}

// Tries all actions of a conditional schema, those with the shortest walks first.
void Search::expand_gathered(std::size_t number, std::size_t s) {
    flat_.clear();
    bool found_empty = false;
    std::vector<Object> binding(pattern_of(s).domains.size(), kUnbound);
    matcher_.run(pattern_of(s), binding, MatchOptions{}, [&](const std::vector<Object>& found) {
        ++generated_;
        flat_.insert(flat_.end(), found.begin(), found.end());
        found_empty = true;
        return fits(flat_.size() * sizeof(Object));
    });
    try_bindings(number, s, found_empty);
}

// Tries the moves that need what the node changed, and those that lead to places that their agent reached in the parent
// and does not reach any more: they lead out of its places only now.
void Search::expand_move(std::size_t number, std::size_t s) {
    const Move& move = *located_[s].move;
    const Pattern& pattern = pattern_of(s);
    flat_.clear();
    auto any = [](const std::vector<Object>&) { return true; };
    auto gather = [&](const std::vector<Object>& found) {
        ++generated_;
        if (promises(s, found)) flat_.insert(flat_.end(), found.begin(), found.end());
        return fits(flat_.size() * sizeof(Object));
    };
    std::vector<Object> binding(pattern.domains.size(), kUnbound);
    if (places_->has_several()) {
        matcher_.run(pattern, binding, MatchOptions{}, gather);
    } else {
        join_fresh(s, MatchOptions{}, any, gather);
        Literal there = move.here;
        there.terms[static_cast<std::size_t>(located_[s].group->place)] = move.end;
        for (Code code : lost_places_) {
            if (truncated_) return;
            if (task_.decode(code, arguments_.data()) == there.predicate &&
                matcher_.unify(pattern, there, arguments_.data(), binding))
                matcher_.run(pattern, binding, MatchOptions{}, gather);
        }
    }
    try_bindings(number, s, false);
}

// Tries the actions that need what the node changed; all others were applicable in its parent.
void Search::expand_anchored(std::size_t number, std::size_t s) {
    flat_.clear();
    bool found_empty = false;
    const Narrow narrowed = narrow(s);
    MatchOptions options;
    if (places_) options.narrow = &narrowed;  // without free moves, candidates are few and mostly new
    auto any = [](const std::vector<Object>&) { return true; };
    join_fresh(s, options, any, [&](const std::vector<Object>& found) {
        ++generated_;
        if (promises(s, found)) {
            flat_.insert(flat_.end(), found.begin(), found.end());
            found_empty = true;
        }
        return fits(flat_.size() * sizeof(Object));
    });
    try_bindings(number, s, found_empty);
}

// The same where some parameters occur in no added atom: of the actions that add the same, only the first one counts.
void Search::expand_projected(std::size_t number, std::size_t s) {
    const Schema& schema = task_.schemas[s];
    const Narrow narrowed = narrow(s);
    MatchOptions options;
    options.wanted = schema.projected.data();
    if (places_) options.narrow = &narrowed;
    std::set<std::vector<Object>> projections;
    std::vector<Object> projection;
    auto project = [&](const std::vector<Object>& found) {
        projection = found;
        for (std::size_t i = 0; i < projection.size(); ++i)
            if (!schema.projected[i]) projection[i] = kUnbound;
    };
    auto gate = [&](const std::vector<Object>& found) {
        ++generated_;
        if (!promises(s, found)) return false;
        project(found);
        return !projections.contains(projection);
    };
    join_fresh(s, options, gate, [&](const std::vector<Object>& found) {
        project(found);
        projections.insert(projection);
        return fits(projections.size() * (80 + sizeof(Object) * projection.size()));
    });
    flat_.clear();
    if (truncated_) return;
    for (std::vector<Object> binding : projections) {
        if (places_)
            take_nearest(s, binding);
        else if (matcher_.least(pattern_of(s), binding))
            flat_.insert(flat_.end(), binding.begin(), binding.end());
    }
    try_bindings(number, s, false);
}

void Search::decode_fresh(const Node& node) {
    fresh_.clear();
    fresh_arguments_.clear();
    auto decode = [&](Code code, bool added) {
        const std::int32_t predicate = task_.decode(code, arguments_.data());
        fresh_.push_back({predicate, added, fresh_arguments_.size()});
        fresh_arguments_.insert(fresh_arguments_.end(), arguments_.begin(),
                                arguments_.begin() + task_.arity[static_cast<std::size_t>(predicate)]);
    };
    for (Code code : nodes_.codes(node.fresh_added)) decode(code, true);
    for (Code code : fresh_places_) decode(code, true);
    for (Code code : nodes_.codes(node.fresh_deleted)) decode(code, false);
}

// Joins from every fresh atom: an added one makes a positive literal true, a deleted one a negative literal.
template <typename Gate, typename Emit>
void Search::join_fresh(std::size_t s, const MatchOptions& options, Gate&& gate, Emit&& emit) {
    const Pattern& pattern = pattern_of(s);
    std::vector<Object> binding;
    for (std::size_t l = 0; l < pattern.literals.size(); ++l) {
        const Literal& literal = pattern.literals[l];
        for (const FreshAtom& atom : fresh_) {
            if (atom.predicate != literal.predicate || atom.added != literal.positive) continue;
            if (!matcher_.unify(pattern, literal, fresh_arguments_.data() + atom.begin, binding)) continue;
            if (!matcher_.run(pattern, binding, options, gate, emit, static_cast<std::int32_t>(l))) return;
        }
    }
}

// Whether so many bytes of bindings may be gathered; if not, the tree is truncated.
bool Search::fits(std::size_t bytes) {
    if (static_cast<std::int64_t>(bytes) > budget_) truncated_ = true;
    return !truncated_;
}

// Tries the gathered actions in order; `found_empty` stands for the one binding of a schema without parameters.
void Search::try_bindings(std::size_t number, std::size_t s, bool found_empty) {
    if (truncated_) return;
    std::vector<Object> binding(task_.schemas[s].pattern.domains.size());
    if (places_ && !binding.empty())
        visit_nearest(s, binding, [&](const std::vector<Object>& found) { return try_action(number, s, found); });
    else if (!binding.empty())
        visit_sorted(flat_, binding, [&](const std::vector<Object>& found) { return try_action(number, s, found); });
    else if (found_empty)
        try_action(number, s, binding);
}

bool Search::try_action(std::size_t number, std::size_t s, const std::vector<Object>& binding) {
    ticker_.tick(spec_.width == 2 ? kPairSteps : 1);
    if (!settle(s, binding)) return true;
    compute_changes(nodes_[number], s, binding);
    if (spec_.width == 2 || task_.schemas[s].conditional) ++generated_;
    const bool novel = spec_.width == 2 ? mark_pairs(nodes_[number]) : mark(changes_.adds);
    if (truncated_) return false;
    if (!novel) return true;
    add_walks();
    compute_difference(nodes_[number]);
    return append(number, s, binding, true, true);
}

// -- modulo free moves -----------------------------------------------------------------------------------------------

void Search::locate_schemas() {
    const std::vector<Group>& groups = situation_.moves->groups();
    patterns_.resize(task_.schemas.size());
    located_.resize(task_.schemas.size());
    for (std::size_t s = 0; s < task_.schemas.size(); ++s) {
        const Schema& schema = task_.schemas[s];
        Located& located = located_[s];
        auto may_be_place = [&](const Literal& literal, const Pattern& pattern, const Group& group) {
            if (literal.predicate != group.predicate) return false;
            for (std::size_t i = 0; i < literal.terms.size(); ++i) {
                const std::int32_t term = literal.terms[i];
                if (term < 0 && !group.objects[i][static_cast<std::size_t>(~term)]) return false;
                if (term < 0) continue;
                const auto domain = static_cast<std::size_t>(pattern.domains[static_cast<std::size_t>(term)]);
                const std::vector<Object>& members = task_.domains[domain].members;
                if (std::none_of(members.begin(), members.end(),
                                 [&](Object o) { return group.objects[i][static_cast<std::size_t>(o)] != 0; }))
                    return false;
            }
            return true;
        };
        patterns_[s].domains = schema.pattern.domains;
        std::vector<std::int32_t> predicates;
        for (std::size_t l = 0; l < schema.pattern.literals.size(); ++l) {
            const Literal& literal = schema.pattern.literals[l];
            const bool place = std::any_of(groups.begin(), groups.end(), [&](const Group& group) {
                return may_be_place(literal, schema.pattern, group);
            });
            if (place && !literal.positive) {
                located.forbidden.push_back(l);
                continue;
            }
            patterns_[s].literals.push_back(literal);
            if (!place) continue;
            located.needed.push_back(l);
            if (std::find(predicates.begin(), predicates.end(), literal.predicate) != predicates.end())
                located.checked = true;
            predicates.push_back(literal.predicate);
        }
        for (const Group& group : groups) {
            for (const Move& move : group.moves)
                if (static_cast<std::size_t>(move.schema) == s) {
                    located.move = &move;
                    located.group = &group;
                }
            for (const Effect& effect : schema.effects)
                for (const Literal& literal : effect.adds)
                    located.adds_places = located.adds_places || may_be_place(literal, effect.when, group);
        }
        located.checked = located.checked || !located.forbidden.empty() || located.move != nullptr;
    }
}

void Search::list_wanted_places() {
    std::unordered_map<std::int32_t, std::vector<Object>> places;  // by agent
    for (Code code : situation_.goal_positive)
        if (const Places::Wish found = places_->place_of(code); found.agent >= 0)
            places[found.agent].push_back(found.place);
    for (Code code : situation_.goal_negative)
        if (const Places::Wish found = places_->place_of(code); found.agent >= 0) places[found.agent];
    if (places.empty()) return;
    for (std::int32_t agent : places_->sorted_agents())
        if (const auto found = places.find(agent); found != places.end())
            wanted_.push_back({agent, std::move(found->second)});
}

// Whether a schema has nothing but moves within agents' places.
bool Search::skips(std::size_t s) const {
    const Located& located = located_[s];
    return located.move != nullptr && located.group->symmetric && !located.group->blocked_by_others &&
           !places_->has_several();
}

// Whether an action that matches the closure is one: no agent is needed at two places, and it is no move within an
// agent's places. Notes who walks.
bool Search::settle(std::size_t s, const std::vector<Object>& binding) {
    if (!places_) return true;
    const Located& located = located_[s];
    const std::vector<Literal>& literals = task_.schemas[s].pattern.literals;
    wishes_.clear();
    walking_.clear();
    leaves_ = false;
    steps_ = 0;
    for (std::size_t l : located.needed) {
        const Places::Wish wish = places_->place_of(task_.encode(literals[l], binding));
        if (wish.agent < 0 || places_->place(wish.agent) < 0) continue;
        const auto known = std::find_if(wishes_.begin(), wishes_.end(),
                                        [&](const Places::Wish& other) { return other.agent == wish.agent; });
        if (known != wishes_.end()) {
            if (known->place != wish.place) return false;
            continue;
        }
        wishes_.push_back(wish);
        if (places_->place(wish.agent) != wish.place) walking_.push_back(wish);
    }
    if (located.move != nullptr) {
        const std::int32_t agent = places_->place_of(task_.encode(located.move->here, binding)).agent;
        leaves_ = true;
        if (agent >= 0 && places_->place(agent) >= 0) {
            leaves_ = !places_->reaches(agent, binding[static_cast<std::size_t>(located.move->end)]);
            if (!leaves_ && (!walking_.empty() || !at_root_ || !located.group->blocked_by_others)) return false;
        }
    }
    for (std::size_t l : located.forbidden) {
        const Code code = task_.encode(literals[l], binding);
        const Places::Wish wish = places_->place_of(code);
        if (wish.agent < 0) {
            if (view_.holds(code)) return false;
            continue;
        }
        const auto known = std::find_if(wishes_.begin(), wishes_.end(),
                                        [&](const Places::Wish& other) { return other.agent == wish.agent; });
        if (known != wishes_.end() ? known->place == wish.place : places_->holds(wish)) return false;
    }
    return true;
}

// Moves before the action at hand.
std::int32_t Search::walking_steps() {
    std::int32_t steps = 0;
    for (const Places::Wish& wish : walking_) steps += places_->distance(wish.agent, wish.place);
    return steps;
}

// Visits the gathered matches that are actions: those with the shortest walks first, then in order.
template <typename Visit>
void Search::visit_nearest(std::size_t s, std::vector<Object>& binding, Visit&& visit) {
    const std::size_t width = binding.size();
    sort_bindings(flat_, width);
    std::vector<std::pair<std::int32_t, std::size_t>> order;
    for (std::size_t i = 0; i < flat_.size(); i += width) {
        std::copy_n(flat_.begin() + static_cast<std::ptrdiff_t>(i), width, binding.begin());
        if (settle(s, binding)) order.emplace_back(walking_steps(), i);
    }
    std::sort(order.begin(), order.end());
    const std::vector<Object> bindings = std::move(flat_);
    for (const auto& [steps, i] : order) {
        std::copy_n(bindings.begin() + static_cast<std::ptrdiff_t>(i), width, binding.begin());
        if (!visit(binding)) break;
    }
}

// Gathers the completion with the shortest walks; among several, the least one.
void Search::take_nearest(std::size_t s, std::vector<Object> binding) {
    std::int32_t best = -1;
    std::vector<Object> nearest;
    std::size_t seen = 0;
    std::size_t most = std::numeric_limits<std::size_t>::max();
    auto consider = [&](const std::vector<Object>& found) {
        ticker_.tick();
        if (++seen > most) return false;
        if (!settle(s, found)) return true;
        const std::int32_t steps = walking_steps();
        if (best < 0 || steps < best || (steps == best && found < nearest)) {
            best = steps;
            nearest = found;
        }
        return true;
    };
    for (std::size_t i = 0; i < binding.size(); ++i) {
        const auto& members = task_.domains[static_cast<std::size_t>(pattern_of(s).domains[i])].members;
        if (binding[i] == kUnbound && members.size() == 1) binding[i] = members[0];
    }
    const bool one_walks = walks_to(s, binding);
    if (one_walks) most = kFewCompletions;
    std::vector<Object> completed = binding;
    if (!matcher_.run(pattern_of(s), completed, MatchOptions{}, consider) && one_walks) {
        most = std::numeric_limits<std::size_t>::max();
        visit_walkers(s, binding, [&](std::int32_t agent, std::vector<Object>& walker, std::int32_t variable) {
            if (agent < 0) {
                matcher_.run(pattern_of(s), walker, MatchOptions{}, consider);
                return;
            }
            const auto at = static_cast<std::size_t>(variable);
            const Domain& domain = task_.domains[static_cast<std::size_t>(pattern_of(s).domains[at])];
            places_->along_walks(agent, [&](Object place, std::int32_t steps) {
                if (best >= 0 && steps > best) return false;
                walker[at] = place;
                const bool is_later = best >= 0 && steps == best && follows(walker, nearest, at);
                if (!is_later && domain.allowed[static_cast<std::size_t>(place)]) {
                    std::vector<Object> there = walker;
                    matcher_.run(pattern_of(s), there, MatchOptions{}, consider);
                }
                return true;
            });
        });
    }
    if (best >= 0) flat_.insert(flat_.end(), nearest.begin(), nearest.end());
}

// Whether a schema needs one agent somewhere, and the binding leaves open where.
bool Search::walks_to(std::size_t s, const std::vector<Object>& binding) const {
    if (located_[s].needed.size() != 1) return false;
    const Literal& needed = task_.schemas[s].pattern.literals[located_[s].needed[0]];
    const auto of_predicate = [&](const Group& group) { return group.predicate == needed.predicate; };
    const std::vector<Group>& groups = situation_.moves->groups();
    const auto group = std::find_if(groups.begin(), groups.end(), of_predicate);
    const std::int32_t term = needed.terms[static_cast<std::size_t>(group->place)];
    return term >= 0 && binding[static_cast<std::size_t>(term)] == kUnbound &&
           std::count(needed.terms.begin(), needed.terms.end(), term) == 1;
}

// Calls visit(agent, binding, variable) for every agent that may take part in an action, with the agent's objects bound
// and its place, the variable, not; the agent is -1 if it does not walk.
template <typename Visit>
void Search::visit_walkers(std::size_t s, const std::vector<Object>& binding, Visit&& visit) {
    const Literal& needed = task_.schemas[s].pattern.literals[located_[s].needed[0]];
    const auto of_predicate = [&](const Group& group) { return group.predicate == needed.predicate; };
    const std::vector<Group>& groups = situation_.moves->groups();
    const auto place = static_cast<std::size_t>(std::find_if(groups.begin(), groups.end(), of_predicate)->place);
    const std::int32_t variable = needed.terms[place];
    std::vector<std::uint8_t> wanted(binding.size(), 0);
    for (std::int32_t term : needed.terms)
        if (term >= 0 && term != variable) wanted[static_cast<std::size_t>(term)] = 1;
    std::set<std::vector<Object>> walkers;
    auto project = [&](const std::vector<Object>& found) {
        std::vector<Object> walker = binding;
        for (std::size_t i = 0; i < wanted.size(); ++i)
            if (wanted[i]) walker[i] = found[i];
        return walker;
    };
    MatchOptions options;
    options.wanted = wanted.data();
    std::vector<Object> free = binding;
    matcher_.run(
        pattern_of(s), free, options,
        [&](const std::vector<Object>& found) { return !walkers.contains(project(found)); },
        [&](const std::vector<Object>& found) {
            walkers.insert(project(found));
            return true;
        });
    for (std::vector<Object> walker : walkers) {
        walker[static_cast<std::size_t>(variable)] = 0;
        const std::int32_t agent = places_->place_of(task_.encode(needed, walker)).agent;
        walker[static_cast<std::size_t>(variable)] = kUnbound;
        visit(agent >= 0 && places_->place(agent) >= 0 ? agent : -1, walker, variable);
    }
}

// Splits a difference from the root into where agents are that may walk on, and everything else.
void Search::split_difference(std::span<const Code> added, std::span<const Code> deleted, Class& result) {
    result.difference.added.clear();
    result.difference.deleted.clear();
    result.moved.clear();
    std::vector<std::int32_t> agents;
    for (const auto& codes : {added, deleted})
        for (Code code : codes)
            if (const Places::Wish found = places_->place_of(code); found.agent >= 0) agents.push_back(found.agent);
    std::sort(agents.begin(), agents.end());
    agents.erase(std::unique(agents.begin(), agents.end()), agents.end());
    std::vector<std::int32_t> fixed;  // that do not walk on
    for (std::int32_t agent : agents) {
        Object place = places_->root_place(agent);
        bool is_fixed =
            situation_.moves->groups()[static_cast<std::size_t>(places_->group_of(agent))].blocked_by_others;
        if (place == Places::kSeveral) {  // what is left of them
            place = Places::kNowhere;
            for (Code code : situation_.state) {
                const Places::Wish found = places_->place_of(code);
                if (found.agent != agent || std::binary_search(deleted.begin(), deleted.end(), code)) continue;
                is_fixed = is_fixed || place >= 0 || goal_sign_.contains(code);
                place = found.place;
            }
        } else {
            for (Code code : deleted)
                if (const Places::Wish found = places_->place_of(code); found.agent == agent) place = Places::kNowhere;
        }
        for (Code code : added)
            if (const Places::Wish found = places_->place_of(code); found.agent == agent) {
                is_fixed = is_fixed || place >= 0 || goal_sign_.contains(code);
                place = found.place;
            }
        if (is_fixed)
            fixed.push_back(agent);
        else
            result.moved.push_back({agent, place});
    }
    auto keep = [&](std::span<const Code> codes, std::vector<Code>& kept) {
        for (Code code : codes) {
            const Places::Wish found = places_->place_of(code);
            // Leaving a place that the goal mentions is a difference of its own.
            if (found.agent < 0 || std::binary_search(fixed.begin(), fixed.end(), found.agent) ||
                goal_sign_.contains(code))
                kept.push_back(code);
        }
    };
    keep(added, result.difference.added);
    keep(deleted, result.difference.deleted);
}

// Whether a node and the successor at hand are the same state but for walks.
bool Search::is_same_class(const Node& node, const Class& other) {
    Class own;
    split_difference(nodes_.codes(node.added), nodes_.codes(node.deleted), own);
    if (own.difference.added != other.difference.added || own.difference.deleted != other.difference.deleted)
        return false;
    auto place_in = [&](const Class& in, std::int32_t agent) {
        const auto found = std::find_if(in.moved.begin(), in.moved.end(),
                                        [&](const Places::Wish& wish) { return wish.agent == agent; });
        return found == in.moved.end() ? places_->root_place(agent) : found->place;
    };
    bool is_searched = false;
    for (const Class* in : {static_cast<const Class*>(&own), &other})
        for (const Places::Wish& wish : in->moved) {
            const Object a = place_in(own, wish.agent);
            const Object b = place_in(other, wish.agent);
            if (a == b) continue;
            if (a < 0 || b < 0) return false;
            const Places::Answer answer = places_->are_connected(wish.agent, a, b);
            if (answer == Places::Answer::no) return false;
            is_searched = is_searched || answer == Places::Answer::unknown;
        }
    if (!is_searched) return true;
    auto canonical = [&](std::span<const Code> added, std::span<const Code> deleted) {
        std::vector<Code> kept;
        std::set_difference(situation_.state.begin(), situation_.state.end(), deleted.begin(), deleted.end(),
                            std::back_inserter(kept));
        std::vector<Code> state;
        std::set_union(kept.begin(), kept.end(), added.begin(), added.end(), std::back_inserter(state));
        return canonical_state(*situation_.moves, state, situation_.goal_positive, situation_.goal_negative);
    };
    return canonical(nodes_.codes(node.added), nodes_.codes(node.deleted)) ==
           canonical(difference_.added, difference_.deleted);
}

// Adds to the changes at hand what the walks before the action change.
void Search::add_walks() {
    if (!places_ || walking_.empty()) return;
    std::vector<Code> before;
    for (const Places::Wish& wish : walking_) {
        const Code there = places_->code_of(wish.agent, wish.place);
        if (!std::binary_search(changes_.deletes.begin(), changes_.deletes.end(), there))
            changes_.adds.push_back(there);
        before.push_back(places_->code_of(wish.agent, places_->place(wish.agent)));
    }
    steps_ = walking_steps();
    changes_.deletes.insert(changes_.deletes.end(), before.begin(), before.end());
    changes_.settle();
}

// Adds the walks that lead an agent to where the goal wants it; at the root, also away from where it does not.
void Search::expand_walks(std::size_t number) {
    for (const Wanted& wanted : wanted_) {
        const Object at = places_->place(wanted.agent);
        if (at < 0) continue;
        auto is_unwanted = [&](Object place) {
            return std::binary_search(situation_.goal_negative.begin(), situation_.goal_negative.end(),
                                      places_->code_of(wanted.agent, place));
        };
        std::vector<Object> ends;
        for (Object place : wanted.places)
            if (place != at && places_->reaches(wanted.agent, place)) ends.push_back(place);
        if (number == 0 && is_unwanted(at)) {
            const std::vector<Object> order = places_->in_walking_order(wanted.agent);
            const auto away = std::find_if_not(order.begin(), order.end(), is_unwanted);
            if (away != order.end()) ends.push_back(*away);
        }
        for (Object end : ends) {
            if (truncated_) return;
            walking_.clear();
            leaves_ = false;
            changes_.adds.assign(1, places_->code_of(wanted.agent, end));
            changes_.deletes.assign(1, places_->code_of(wanted.agent, at));
            if (number != 0 && !mark(changes_.adds)) continue;
            const Places::Step last = places_->walk(wanted.agent, end).back();
            const auto schema = static_cast<std::size_t>(last.schema);
            steps_ = places_->distance(wanted.agent, end) - 1;
            if (number == 0) {
                add_changed_root(schema, last.binding);
            } else {
                compute_difference(nodes_[number]);
                append(number, schema, last.binding, true, true);
            }
            steps_ = 0;
        }
    }
}

// Shows the closure of a node, and notes which places its parent's closure does not have.
void Search::show_closure(std::size_t number) {
    const Node node = nodes_[number];
    if (node.parent != closed_parent_) {
        closed_parent_ = node.parent;
        parent_added_.clear();
        parent_removed_.clear();
        const Node& parent = nodes_[static_cast<std::size_t>(node.parent)];
        if (parent.is_closed) {
            const auto codes = std::span<const Code>(closed_codes_);
            const auto gained = codes.subspan(parent.gained.begin, parent.gained.size);
            const auto lost = codes.subspan(parent.lost.begin, parent.lost.size);
            parent_added_.assign(gained.begin(), gained.end());
            parent_removed_.assign(lost.begin(), lost.end());
        } else if (node.parent != 0) {
            load_closure(parent, false, parent_added_, parent_removed_);
        }
    }
    load_closure(node, true, own_added_, own_removed_);
    if (own_added_.size() + own_removed_.size() <= kStoredPlaces) {
        auto store = [&](const std::vector<Code>& codes) {
            const Range range{closed_codes_.size(), codes.size()};
            closed_codes_.insert(closed_codes_.end(), codes.begin(), codes.end());
            return range;
        };
        const Range gained = store(own_added_);
        nodes_.set_closure(number, gained, store(own_removed_));
    }
    lost_places_.clear();
    std::set_difference(parent_added_.begin(), parent_added_.end(), own_added_.begin(), own_added_.end(),
                        std::back_inserter(lost_places_));
    std::set_difference(own_removed_.begin(), own_removed_.end(), parent_removed_.begin(), parent_removed_.end(),
                        std::back_inserter(lost_places_));
    fresh_places_.clear();
    std::set_difference(own_added_.begin(), own_added_.end(), parent_added_.begin(), parent_added_.end(),
                        std::back_inserter(fresh_places_));
    std::set_difference(parent_removed_.begin(), parent_removed_.end(), own_removed_.begin(), own_removed_.end(),
                        std::back_inserter(fresh_places_));
}

// Shows a node's closure, and finds how its places differ from those of the root's closure; from its parent's closure
// if that is at hand.
void Search::load_closure(const Node& node, bool has_parent, std::vector<Code>& added, std::vector<Code>& removed) {
    std::vector<Code> other_added;
    std::vector<Code> other_deleted;
    for (Code code : nodes_.codes(node.added))
        if (!places_->is_place(code)) other_added.push_back(code);
    for (Code code : nodes_.codes(node.deleted))
        if (!places_->is_place(code)) other_deleted.push_back(code);
    view_.show(other_added, other_deleted);
    places_->show(nodes_.codes(node.added), nodes_.codes(node.deleted));
    const Places::Parent parent{parent_added_, parent_removed_, nodes_.codes(node.fresh_added),
                                nodes_.codes(node.fresh_deleted)};
    places_->close(has_parent ? &parent : nullptr, added, removed);
    if (added.empty() && removed.empty()) return;
    other_added.insert(other_added.end(), added.begin(), added.end());
    other_deleted.insert(other_deleted.end(), removed.begin(), removed.end());
    view_.show(other_added, other_deleted);
}

// Whether the root has an atom; the view's root is its closure.
bool Search::in_root(Code code) {
    if (places_ && places_->is_place(code))
        return std::binary_search(situation_.state.begin(), situation_.state.end(), code);
    return view_.root_holds(code);
}

// -- novelty ---------------------------------------------------------------------------------------------------------

// Whether some added atom has an unseen feature; reads only the parameters that occur in added atoms.
bool Search::promises(std::size_t s, const std::vector<Object>& binding) {
    for (const Effect& effect : task_.schemas[s].effects)
        for (const Literal& literal : effect.adds)
            if (unseen(s, literal, binding)) return true;
    return false;
}

// Whether an added atom has an unseen feature.
bool Search::unseen(std::size_t s, const Literal& literal, const std::vector<Object>& binding) {
    for (std::size_t i = 0; i < literal.terms.size(); ++i) arguments_[i] = value_of(literal.terms[i], binding);
    const Code code = task_.encode(literal.predicate, arguments_.data());
    if (places_ && located_[s].adds_places && located_[s].move == nullptr)
        if (const Places::Wish found = places_->place_of(code); found.agent >= 0 && !goal_sign_.contains(code))
            return !somewhere_.contains(places_->key_of(found.agent));
    return novelty_.unseen(code, literal.predicate, arguments_.data());
}

// How a join of a schema's preconditions is narrowed to actions that promise something new.
Narrow Search::narrow(std::size_t s) {
    return [this, s](const std::vector<Object>& binding, std::int64_t rows, Values& values) {
        return list_promising(s, binding, rows, values);
    };
}

// Lists the objects by which the last unbound parameter of the added atoms may make one of them new; false if that does
// not save time, or if such an atom is new whatever the parameter.
bool Search::list_promising(std::size_t s, const std::vector<Object>& binding, std::int64_t rows, Values& values) {
    const Schema& schema = task_.schemas[s];
    if (located_[s].adds_places) return false;
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
    // Where most objects make something new, asking again soon is not worth it.
    Asked& asked = asked_[s];
    if (asked.wait > 0) {
        --asked.wait;
        return false;
    }
    auto give_up = [&] {
        asked.wait = asked.pause = std::min(2 * asked.pause + 1, kLongestPause);
        return false;
    };
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
                if (!novelty_.list_unseen(literal, binding, objects, most, unseen)) return give_up();
                values.objects.insert(values.objects.end(), unseen.begin(), unseen.end());
            }
        }
    if (lists > 1) {
        std::sort(values.objects.begin(), values.objects.end());
        values.objects.erase(std::unique(values.objects.begin(), values.objects.end()), values.objects.end());
    }
    if (values.objects.size() > most) return give_up();
    asked.pause = 0;
    return true;
}

bool Search::mark(const std::vector<Code>& adds) {
    bool novel = false;
    for (Code code : adds) {
        if (places_) {
            if (const Places::Wish found = places_->place_of(code); found.agent >= 0) {
                if (places_->holds(found)) continue;
                if (!leaves_ && !goal_sign_.contains(code)) {
                    novel = somewhere_.insert(places_->key_of(found.agent)) || novel;
                    continue;
                }
            }
        }
        const std::int32_t predicate = task_.decode(code, arguments_.data());
        novel = novelty_.mark(code, predicate, arguments_.data()) || novel;
    }
    return novel;
}

// Width 2 needs the whole successor: new atoms pair up with old ones.
bool Search::mark_pairs(const Node& parent) {
    compute_difference(parent);
    std::vector<Code> kept;
    std::set_difference(situation_.state.begin(), situation_.state.end(), difference_.deleted.begin(),
                        difference_.deleted.end(), std::back_inserter(kept));
    std::vector<Code> state;
    std::set_union(kept.begin(), kept.end(), difference_.added.begin(), difference_.added.end(),
                   std::back_inserter(state));
    std::vector<Code> fresh;
    for (Code code : changes_.adds)
        if (!view_.holds(code)) fresh.push_back(code);
    const bool novel = novelty_.mark_pairs(fresh, state, budget_);
    truncated_ = truncated_ || novelty_.full();
    return novel;
}

// -- nodes -----------------------------------------------------------------------------------------------------------

// What an action changes in a node's state, with all that is derived from it.
void Search::compute_changes(const Node& parent, std::size_t s, const std::vector<Object>& binding) {
    changes_.compute(task_.schemas[s], binding);
    if (derivation_) derivation_->extend(nodes_.codes(parent.added), nodes_.codes(parent.deleted), changes_);
}

void Search::compute_difference(const Node& parent) {
    difference_.compute(nodes_.codes(parent.added), nodes_.codes(parent.deleted), changes_,
                        [&](Code code) { return in_root(code); });
}

// Appends the successor at hand; false once the tree is full.
bool Search::append(std::size_t parent, std::size_t s, const std::vector<Object>& binding, bool novel, bool expand) {
    const auto most = std::min<std::int64_t>(spec_.max_nodes, std::numeric_limits<std::int32_t>::max());
    if (static_cast<std::int64_t>(nodes_.size()) >= most ||
        static_cast<std::int64_t>(nodes_.stored_codes()) >= spec_.max_atoms) {
        truncated_ = true;
        return false;
    }
    Node node;
    node.parent = static_cast<std::int32_t>(parent);
    node.depth = nodes_[parent].depth + 1;
    node.length = nodes_[parent].length + steps_ + 1;
    node.schema = static_cast<std::int32_t>(s);
    node.arguments = nodes_.store_arguments(binding);
    node.added = nodes_.store(difference_.added);
    node.deleted = nodes_.store(difference_.deleted);
    node.goals = nodes_[0].goals;
    for (Code code : difference_.added) node.goals += goal_sign(code);
    for (Code code : difference_.deleted) node.goals -= goal_sign(code);
    node.novel = novel;
    node.expand = expand;
    if (spec_.kind != Kind::flat) {
        scratch_.clear();
        auto is_other = [&](Code code) { return !places_ || !places_->is_place(code); };
        for (Code code : changes_.adds)
            if (is_other(code) && !view_.holds(code)) scratch_.push_back(code);
        node.fresh_added = nodes_.store(scratch_);
        scratch_.clear();
        for (Code code : changes_.deletes)
            if (is_other(code) && view_.holds(code)) scratch_.push_back(code);
        node.fresh_deleted = nodes_.store(scratch_);
    }
    nodes_.push(node);
    return true;
}

// Applies the capacity to the nodes from `first` on. Departure: successors of the root beyond it stay as leaves, unless
// the specification drops them or wants novel ones only.
void Search::bound_level(std::size_t first) {
    if (spec_.capacity <= 0 || spec_.kind == Kind::flat || first == nodes_.size()) return;
    const bool keeps_root_successors = spec_.keep_root_successors && mode_ != RootMode::novel;
    nodes_.bound(first, spec_.capacity, nodes_[first].depth == 1 && keeps_root_successors);
}

std::int32_t Search::goal_sign(Code code) const {
    const auto found = goal_sign_.find(code);
    return found == goal_sign_.end() ? 0 : found->second;
}

}  // namespace saltus
