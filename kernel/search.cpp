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

constexpr std::int64_t kScratch = 1 << 26;  // bytes that a search may always use besides the tree
constexpr std::uint32_t kPairSteps = 1024;  // steps of a join that take as long as marking a successor's pairs

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
      view_(task_, situation.state),
      matcher_(view_),
      changes_(task_, view_),
      novelty_(task_, spec.kind, spec.goal_identity, situation.goal_positive, situation.goal_negative),
      arguments_(static_cast<std::size_t>(task_.max_arity) + 1),
      budget_(std::max(kScratch, saturating_product(spec.max_atoms, sizeof(Code)))) {
    for (Code code : situation.goal_positive) ++goal_sign_[code];
    for (Code code : situation.goal_negative) --goal_sign_[code];
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
    for (Code code : situation_.goal_positive) root.goals += view_.root_holds(code) ? 1 : 0;
    for (Code code : situation_.goal_negative) root.goals += view_.root_holds(code) ? 0 : 1;
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
    }
}

void Search::expand_root() {
    std::vector<std::int64_t> counts;
    for (const Schema& schema : task_.schemas) {
        counts.push_back(matcher_.count(schema.pattern));
        root_actions_ = saturating_sum(root_actions_, counts.back());
    }
    mode_ = spec_.root;
    if (mode_ == RootMode::automatic)
        mode_ = spec_.width == 1 && root_actions_ > spec_.max_root_actions ? RootMode::classes : RootMode::all;
    Symmetry symmetry;
    if (mode_ == RootMode::classes)
        symmetry = find_symmetry(task_, situation_.state, situation_.goal_positive, situation_.goal_negative);
    for (std::size_t s = 0; s < task_.schemas.size() && !truncated_; ++s) {
        if (counts[s] == 0) continue;
        if (mode_ == RootMode::classes)
            expand_root_classes(s, symmetry, counts[s]);
        else
            in_order(matcher_, task_, task_.schemas[s].pattern, MatchOptions{}, counts[s],
                     [&](const std::vector<Object>& binding) { return add_root_successor(s, binding); });
    }
    if (mode_ == RootMode::classes && spec_.kind != Kind::flat && !truncated_) mark_root_actions();
}

// Takes the first binding of every class: same schema, same colours, same pattern of equal arguments. A first binding
// uses at most as many exchangeable objects as the schema has parameters, so the join leaves out the others.
void Search::expand_root_classes(std::size_t s, const Symmetry& symmetry, std::int64_t count) {
    const Pattern& pattern = task_.schemas[s].pattern;
    std::vector<std::uint8_t> mask(symmetry.rank.size());
    for (std::size_t o = 0; o < mask.size(); ++o)
        mask[o] = symmetry.rank[o] < static_cast<std::int32_t>(pattern.domains.size()) ? 1 : 0;
    MatchOptions options;
    options.mask = mask.data();
    std::set<std::vector<std::int32_t>> classes;
    const auto class_bytes = static_cast<std::int64_t>(96 + 2 * sizeof(std::int32_t) * pattern.domains.size());
    in_order(matcher_, task_, pattern, options, count, [&](const std::vector<Object>& binding) {
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

// Marks what the other members of the classes add, as if they had been generated.
void Search::mark_root_actions() {
    view_.show({}, {});
    for (const Schema& schema : task_.schemas) {
        std::vector<Object> binding(schema.pattern.domains.size(), kUnbound);
        MatchOptions options;
        if (schema.projects && !schema.conditional) options.wanted = schema.projected.data();
        auto gate = [&](const std::vector<Object>& found) { return schema.conditional || promises(schema, found); };
        matcher_.run(schema.pattern, binding, options, gate, [&](const std::vector<Object>& found) {
            changes_.compute(schema, found);
            mark(changes_.adds);
            return true;
        });
    }
}

bool Search::add_root_successor(std::size_t s, const std::vector<Object>& binding) {
    ++generated_;
    ticker_.tick(spec_.width == 2 ? kPairSteps : 1);
    changes_.compute(task_.schemas[s], binding);
    bool novel = true;
    if (spec_.kind != Kind::flat) novel = spec_.width == 2 ? mark_pairs(nodes_[0]) : mark(changes_.adds);
    if (truncated_) return false;
    if (!novel && mode_ == RootMode::novel) return true;
    compute_difference(nodes_[0]);
    if (difference_.empty()) return true;
    const std::uint64_t hash = difference_.hash();
    if (is_known_successor(hash)) return true;
    root_successors_.emplace(hash, nodes_.size());
    return append(0, s, binding, novel, novel || spec_.expand_root_successors);
}

// Whether an earlier successor of the root is the same state as the one at hand.
bool Search::is_known_successor(std::uint64_t hash) const {
    const auto [begin, end] = root_successors_.equal_range(hash);
    return std::any_of(begin, end, [&](const auto& entry) {
        const Node& node = nodes_[entry.second];
        return std::ranges::equal(nodes_.codes(node.added), difference_.added) &&
               std::ranges::equal(nodes_.codes(node.deleted), difference_.deleted);
    });
}

// -- below the root --------------------------------------------------------------------------------------------------

void Search::expand(std::size_t number) {
    const Node node = nodes_[number];
    view_.show(nodes_.codes(node.added), nodes_.codes(node.deleted));
    decode_fresh(node);
    for (std::size_t s = 0; s < task_.schemas.size() && !truncated_; ++s) {
        const Schema& schema = task_.schemas[s];
        if (spec_.width == 2 || schema.conditional)
            expand_fully(number, s);
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
    return std::all_of(watches_[s].begin(), watches_[s].end(),
                       [&](std::size_t watch) { return novelty_.exhausted(watch); });
}

// Tries all applicable actions of a schema.
void Search::expand_fully(std::size_t number, std::size_t s) {
    const Pattern& pattern = task_.schemas[s].pattern;
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

// Tries the actions that need what the node changed; all others were applicable in its parent.
void Search::expand_anchored(std::size_t number, std::size_t s) {
    const Schema& schema = task_.schemas[s];
    flat_.clear();
    bool found_empty = false;
    auto any = [](const std::vector<Object>&) { return true; };
    join_fresh(schema, MatchOptions{}, any, [&](const std::vector<Object>& found) {
        ++generated_;
        if (promises(schema, found)) {
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
    MatchOptions options;
    options.wanted = schema.projected.data();
    std::set<std::vector<Object>> projections;
    std::vector<Object> projection;
    auto project = [&](const std::vector<Object>& found) {
        projection = found;
        for (std::size_t i = 0; i < projection.size(); ++i)
            if (!schema.projected[i]) projection[i] = kUnbound;
    };
    auto gate = [&](const std::vector<Object>& found) {
        ++generated_;
        if (!promises(schema, found)) return false;
        project(found);
        return !projections.contains(projection);
    };
    join_fresh(schema, options, gate, [&](const std::vector<Object>& found) {
        project(found);
        projections.insert(projection);
        return fits(projections.size() * (80 + sizeof(Object) * projection.size()));
    });
    flat_.clear();
    if (truncated_) return;
    for (std::vector<Object> binding : projections)
        if (matcher_.least(schema.pattern, binding)) flat_.insert(flat_.end(), binding.begin(), binding.end());
    try_bindings(number, s, false);
}

void Search::decode_fresh(const Node& node) {
    fresh_.clear();
    fresh_arguments_.clear();
    for (bool added : {true, false}) {
        for (Code code : nodes_.codes(added ? node.fresh_added : node.fresh_deleted)) {
            const std::int32_t predicate = task_.decode(code, arguments_.data());
            fresh_.push_back({predicate, added, fresh_arguments_.size()});
            fresh_arguments_.insert(fresh_arguments_.end(), arguments_.begin(),
                                    arguments_.begin() + task_.arity[static_cast<std::size_t>(predicate)]);
        }
    }
}

// Joins from every fresh atom: an added one makes a positive literal true, a deleted one a negative literal.
template <typename Gate, typename Emit>
void Search::join_fresh(const Schema& schema, const MatchOptions& options, Gate&& gate, Emit&& emit) {
    const Pattern& pattern = schema.pattern;
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
    if (!binding.empty())
        visit_sorted(flat_, binding, [&](const std::vector<Object>& found) { return try_action(number, s, found); });
    else if (found_empty)
        try_action(number, s, binding);
}

bool Search::try_action(std::size_t number, std::size_t s, const std::vector<Object>& binding) {
    ticker_.tick(spec_.width == 2 ? kPairSteps : 1);
    changes_.compute(task_.schemas[s], binding);
    if (spec_.width == 2 || task_.schemas[s].conditional) ++generated_;
    const bool novel = spec_.width == 2 ? mark_pairs(nodes_[number]) : mark(changes_.adds);
    if (truncated_) return false;
    if (!novel) return true;
    compute_difference(nodes_[number]);
    return append(number, s, binding, true, true);
}

// -- novelty ---------------------------------------------------------------------------------------------------------

// Whether some added atom has an unseen feature; reads only the parameters that occur in added atoms.
bool Search::promises(const Schema& schema, const std::vector<Object>& binding) {
    for (const Effect& effect : schema.effects)
        for (const Literal& literal : effect.adds) {
            for (std::size_t i = 0; i < literal.terms.size(); ++i) arguments_[i] = value_of(literal.terms[i], binding);
            const Code code = task_.encode(literal.predicate, arguments_.data());
            if (novelty_.unseen(code, literal.predicate, arguments_.data())) return true;
        }
    return false;
}

bool Search::mark(const std::vector<Code>& adds) {
    bool novel = false;
    for (Code code : adds) {
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

void Search::compute_difference(const Node& parent) {
    difference_.compute(nodes_.codes(parent.added), nodes_.codes(parent.deleted), changes_, view_);
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
    node.length = nodes_[parent].length + 1;
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
        for (Code code : changes_.adds)
            if (!view_.holds(code)) scratch_.push_back(code);
        node.fresh_added = nodes_.store(scratch_);
        scratch_.clear();
        for (Code code : changes_.deletes)
            if (view_.holds(code)) scratch_.push_back(code);
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
