#include "lookahead.hpp"

#include <algorithm>
#include <atomic>
#include <exception>
#include <limits>
#include <new>
#include <set>
#include <stdexcept>
#include <unordered_map>
#include <unordered_set>

#include "colours.hpp"
#include "interrupt.hpp"
#include "match.hpp"
#include "state.hpp"
#include "team.hpp"

namespace saltus {

namespace {

constexpr std::int64_t kScratch = 1 << 26;  // bytes that a search may take for what is not part of the tree, at least
constexpr std::uint32_t kPairSteps = 1024;  // a successor's pairs weigh as much as so many steps of a join
constexpr std::int64_t kSortAtOnce = 1 << 20;  // bindings gathered before they are sorted; more are split by parameter

struct Range {
    std::size_t begin = 0;
    std::size_t size = 0;
};

struct Node {
    std::int32_t parent = -1;
    std::int32_t depth = 0;
    std::int32_t schema = -1;
    Range arguments;
    Range added, deleted;              // against the root
    Range fresh_added, fresh_deleted;  // against the parent
    std::int32_t goals = 0;
    bool novel = true;
    bool expand = true;
};

// What a thread needs to throw is allocated when it first throws: once now, since without memory that ends the process.
void prepare_exceptions() {
    static thread_local bool prepared = false;
    if (prepared) return;
    prepared = true;
    try {
        throw std::bad_alloc();
    } catch (const std::bad_alloc&) {
    }
}

void sort_unique(std::vector<Code>& codes) {
    std::sort(codes.begin(), codes.end());
    codes.erase(std::unique(codes.begin(), codes.end()), codes.end());
}

// Bindings of equal length in one vector, sorted lexicographically without repetitions.
void sort_bindings(std::vector<Object>& flat, std::size_t width) {
    if (width == 0) {
        return;
    }
    const std::size_t count = flat.size() / width;
    bool sorted = true;
    for (std::size_t i = 1; i < count && sorted; ++i)
        sorted = std::lexicographical_compare(&flat[(i - 1) * width], &flat[(i - 1) * width] + width, &flat[i * width],
                                              &flat[i * width] + width);
    if (sorted) return;
    std::vector<std::uint32_t> order(count);
    for (std::size_t i = 0; i < count; ++i) order[i] = static_cast<std::uint32_t>(i);
    auto row = [&](std::uint32_t i) { return flat.data() + static_cast<std::size_t>(i) * width; };
    std::sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) {
        return std::lexicographical_compare(row(a), row(a) + width, row(b), row(b) + width);
    });
    std::vector<Object> result;
    result.reserve(flat.size());
    for (std::size_t i = 0; i < count; ++i)
        if (i == 0 || !std::equal(row(order[i]), row(order[i]) + width, row(order[i - 1])))
            result.insert(result.end(), row(order[i]), row(order[i]) + width);
    flat = std::move(result);
}

// Calls visit(binding) -> bool for every binding of the pattern in lexicographic order; false if visit stopped.
template <typename Visit>
bool in_order(Matcher& matcher, const Task& task, const Pattern& pattern, const MatchOptions& options,
              std::int64_t expected, std::vector<Object>& prefix, std::size_t bound, Visit&& visit) {
    const std::size_t width = pattern.domains.size();
    if (expected > kSortAtOnce && bound + 1 < width) {
        for (Object object : task.domains[static_cast<std::size_t>(pattern.domains[bound])].members) {
            if (options.mask != nullptr && !options.mask[object]) continue;
            prefix[bound] = object;
            // Counted again: the bindings may all start with the same object.
            const std::int64_t share = matcher.count(pattern, prefix, options);
            const bool go_on = share == 0 || in_order(matcher, task, pattern, options, share, prefix, bound + 1, visit);
            std::fill(prefix.begin() + static_cast<std::ptrdiff_t>(bound), prefix.end(), kUnbound);
            if (!go_on) return false;
        }
        return true;
    }
    std::vector<Object> flat;
    bool empty_binding = false;
    std::vector<Object> binding = prefix;
    matcher.run(pattern, binding, options, [&](const std::vector<Object>& found) {
        flat.insert(flat.end(), found.begin(), found.end());
        empty_binding = true;
        return true;
    });
    if (width == 0) return !empty_binding || visit(std::vector<Object>{});
    sort_bindings(flat, width);
    for (std::size_t i = 0; i < flat.size(); i += width) {
        std::copy(flat.begin() + static_cast<std::ptrdiff_t>(i), flat.begin() + static_cast<std::ptrdiff_t>(i + width),
                  binding.begin());
        if (!visit(binding)) return false;
    }
    return true;
}

template <typename Visit>
bool in_order(Matcher& matcher, const Task& task, const Pattern& pattern, const MatchOptions& options,
              std::int64_t expected, Visit&& visit) {
    std::vector<Object> prefix(pattern.domains.size(), kUnbound);
    return in_order(matcher, task, pattern, options, expected, prefix, 0, visit);
}

Code ground(const Task& task, const Literal& literal, const std::vector<Object>& binding, Object* arguments) {
    for (std::size_t i = 0; i < literal.terms.size(); ++i) {
        const std::int32_t term = literal.terms[i];
        arguments[i] = term >= 0 ? binding[static_cast<std::size_t>(term)] : ~term;
    }
    return task.encode(literal.predicate, arguments);
}

// Added and deleted atoms of an action in the state that the view shows, sorted; what is added is not deleted.
class Changes {
public:
    Changes(const Task& task, const StateView& view)
        : task_(task), matcher_(view), arguments_(static_cast<std::size_t>(task.max_arity) + 1) {}

    void compute(const Schema& schema, const std::vector<Object>& binding) {
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
        sort_unique(adds);
        sort_unique(deletes);
        if (!deletes.empty() && !adds.empty())
            std::erase_if(deletes, [&](Code code) { return std::binary_search(adds.begin(), adds.end(), code); });
    }

    std::vector<Code> adds;
    std::vector<Code> deletes;

private:
    void collect(const Effect& effect, const std::vector<Object>& binding) {
        for (const Literal& literal : effect.adds) adds.push_back(ground(task_, literal, binding, arguments_.data()));
        for (const Literal& literal : effect.deletes)
            deletes.push_back(ground(task_, literal, binding, arguments_.data()));
    }

    const Task& task_;
    Matcher matcher_;
    std::vector<Object> arguments_;
};

class Search {
public:
    Search(const Query& query, const Spec& spec)
        : task_(*query.task),
          query_(query),
          spec_(spec),
          view_(task_, query.state),
          matcher_(view_),
          changes_(task_, view_),
          novelty_(task_, spec.kind, spec.goal_identity, query.goal_positive, query.goal_negative),
          arguments_(static_cast<std::size_t>(task_.max_arity) + 1),
          budget_(std::max(kScratch, saturating_product(spec.max_atoms, sizeof(Code)))) {
        for (Code code : query.goal_positive) ++goal_sign_[code];
        for (Code code : query.goal_negative) --goal_sign_[code];
        if (spec.kind == Kind::flat || spec.width != 1) return;
        watches_.resize(task_.schemas.size());
        for (std::size_t s = 0; s < task_.schemas.size(); ++s)
            for (const Effect& effect : task_.schemas[s].effects)
                if (!task_.schemas[s].conditional)
                    for (const Literal& literal : effect.adds)
                        watches_[s].push_back(novelty_.watch(literal, task_.schemas[s].pattern.domains));
    }

    // Out of memory is one more limit: the tree so far, cut off.
    Tree run() {
        Node root;
        for (Code code : query_.goal_positive) root.goals += view_.root_holds(code) ? 1 : 0;
        for (Code code : query_.goal_negative) root.goals += view_.root_holds(code) ? 0 : 1;
        nodes_.push_back(root);
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
                return take_tree();
            } catch (const std::bad_alloc&) {
                if (nodes_.size() == 1) throw;
                truncated_ = true;
                release();
                nodes_.resize(nodes_.size() / 2);
            }
        }
    }

private:
    void search(std::size_t& level) {
        mark_root();
        if (!truncated_) expand_root();
        bound_level(level);
        while (spec_.kind != Kind::flat && !truncated_ && level < nodes_.size()) {
            const std::size_t first = level;
            level = nodes_.size();
            for (std::size_t i = first; i < level && !truncated_; ++i)
                if (nodes_[i].expand) expand(i);
            bound_level(level);
        }
    }

    // Gives back what only the search needs.
    void release() {
        novelty_.release();
        successors_ = {};
        flat_ = {};
        fresh_arguments_ = {};
    }

    // -- the root ----------------------------------------------------------------------------------------------------

    void mark_root() {
        if (spec_.kind == Kind::flat) return;
        if (spec_.width == 2) {
            novelty_.mark_pairs(query_.state, query_.state, budget_);
            truncated_ = novelty_.full();
            return;
        }
        for (Code code : query_.state) {
            const std::int32_t predicate = task_.decode(code, arguments_.data());
            novelty_.mark(code, predicate, arguments_.data());
        }
    }

    void expand_root() {
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
            symmetry = find_symmetry(task_, query_.state, query_.goal_positive, query_.goal_negative);
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

    // The first binding of every class: same schema, same colours, same pattern of equal arguments. Exchangeable
    // objects beyond as many as the schema has parameters cannot make a first binding, so they are left out of the
    // join.
    void expand_root_classes(std::size_t s, const Symmetry& symmetry, std::int64_t count) {
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
            for (std::size_t i = 0; i < binding.size(); ++i) {
                key.push_back(symmetry.colour[static_cast<std::size_t>(binding[i])]);
                key.push_back(
                    static_cast<std::int32_t>(std::find(binding.begin(), binding.end(), binding[i]) - binding.begin()));
            }
            if (!classes.insert(std::move(key)).second) return true;
            if (static_cast<std::int64_t>(classes.size()) * class_bytes > budget_) truncated_ = true;
            return !truncated_ && add_root_successor(s, binding);
        });
    }

    // What the other members of the classes add counts as seen, as if they had been generated.
    void mark_root_actions() {
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

    bool add_root_successor(std::size_t s, const std::vector<Object>& binding) {
        ++generated_;
        ticker_.tick(spec_.width == 2 ? kPairSteps : 1);
        changes_.compute(task_.schemas[s], binding);
        bool novel = true;
        if (spec_.kind != Kind::flat) novel = spec_.width == 2 ? mark_pairs(nodes_[0]) : mark(changes_.adds);
        if (truncated_) return false;
        if (!novel && mode_ == RootMode::novel) return true;
        // Distinct from the root and from the successors before it.
        build_difference(nodes_[0]);
        if (added_.empty() && deleted_.empty()) return true;
        std::uint64_t hash = 1;
        for (Code code : added_) hash = mix(hash + static_cast<std::uint64_t>(code));
        for (Code code : deleted_) hash = mix(hash ^ ~static_cast<std::uint64_t>(code));
        auto [begin, end] = successors_.equal_range(hash);
        for (; begin != end; ++begin)
            if (same_difference(nodes_[begin->second])) return true;
        successors_.emplace(hash, nodes_.size());
        return append(0, s, binding, novel, novel || spec_.expand_root_successors);
    }

    bool same_difference(const Node& node) const {
        auto equal = [&](const Range& range, const std::vector<Code>& codes) {
            return range.size == codes.size() &&
                   std::equal(codes.begin(), codes.end(), codes_.begin() + static_cast<std::ptrdiff_t>(range.begin));
        };
        return equal(node.added, added_) && equal(node.deleted, deleted_);
    }

    // -- below the root ----------------------------------------------------------------------------------------------

    void expand(std::size_t number) {
        const Node node = nodes_[number];
        current_added_.assign(slice(node.added).begin(), slice(node.added).end());
        current_deleted_.assign(slice(node.deleted).begin(), slice(node.deleted).end());
        view_.show(current_added_, current_deleted_);
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
    bool exhausted(std::size_t s) const {
        return std::all_of(watches_[s].begin(), watches_[s].end(),
                           [&](std::size_t number) { return novelty_.exhausted(number); });
    }

    void expand_fully(std::size_t number, std::size_t s) {
        const Pattern& pattern = task_.schemas[s].pattern;
        // Counting costs as much as a small join: only where there may be many bindings.
        std::int64_t expected = 1;
        for (std::int32_t domain : pattern.domains)
            expected = saturating_product(
                expected, static_cast<std::int64_t>(task_.domains[static_cast<std::size_t>(domain)].members.size()));
        if (expected > kSortAtOnce) expected = matcher_.count(pattern);
        in_order(matcher_, task_, pattern, MatchOptions{}, expected,
                 [&](const std::vector<Object>& binding) { return try_action(number, s, binding); });
    }

    struct FreshAtom {
        std::int32_t predicate;
        bool added;
        std::size_t begin;  // into fresh_arguments_
    };

    void decode_fresh(const Node& node) {
        fresh_.clear();
        fresh_arguments_.clear();
        for (bool added : {true, false}) {
            for (Code code : slice(added ? node.fresh_added : node.fresh_deleted)) {
                const std::int32_t predicate = task_.decode(code, arguments_.data());
                fresh_.push_back({predicate, added, fresh_arguments_.size()});
                fresh_arguments_.insert(fresh_arguments_.end(), arguments_.begin(),
                                        arguments_.begin() + task_.arity[static_cast<std::size_t>(predicate)]);
            }
        }
    }

    // Joins that start from what the node changed: an added atom under a positive literal, a deleted one under a
    // negative literal.
    template <typename Gate, typename Emit>
    void from_fresh(const Schema& schema, const MatchOptions& options, Gate&& gate, Emit&& emit) {
        std::vector<Object> binding;
        for (std::size_t l = 0; l < schema.pattern.literals.size(); ++l) {
            const Literal& literal = schema.pattern.literals[l];
            for (const FreshAtom& atom : fresh_)
                if (atom.predicate == literal.predicate && atom.added == literal.positive &&
                    matcher_.unify(schema.pattern, literal, fresh_arguments_.data() + atom.begin, binding))
                    if (!matcher_.run(schema.pattern, binding, options, gate, emit, static_cast<std::int32_t>(l)))
                        return;
        }
    }

    void expand_anchored(std::size_t number, std::size_t s) {
        const Schema& schema = task_.schemas[s];
        flat_.clear();
        bool empty_binding = false;
        auto any = [](const std::vector<Object>&) { return true; };
        from_fresh(schema, MatchOptions{}, any, [&](const std::vector<Object>& found) {
            ++generated_;
            if (promises(schema, found)) {
                flat_.insert(flat_.end(), found.begin(), found.end());
                empty_binding = true;
            }
            return fits(flat_.size() * sizeof(Object));
        });
        try_bindings(number, s, empty_binding);
    }

    void expand_projected(std::size_t number, std::size_t s) {
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
        from_fresh(schema, options, gate, [&](const std::vector<Object>& found) {
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

    // Whether so many bytes of bindings may be gathered; cuts the tree off where not.
    bool fits(std::size_t bytes) {
        if (static_cast<std::int64_t>(bytes) > budget_) truncated_ = true;
        return !truncated_;
    }

    void try_bindings(std::size_t number, std::size_t s, bool empty_binding) {
        if (truncated_) return;
        const std::size_t width = task_.schemas[s].pattern.domains.size();
        if (width == 0) {
            if (empty_binding) try_action(number, s, {});
            return;
        }
        sort_bindings(flat_, width);
        std::vector<Object> binding(width);
        for (std::size_t i = 0; i < flat_.size(); i += width) {
            std::copy(flat_.begin() + static_cast<std::ptrdiff_t>(i),
                      flat_.begin() + static_cast<std::ptrdiff_t>(i + width), binding.begin());
            if (!try_action(number, s, binding)) return;
        }
    }

    // Whether some added atom has an unseen feature; looks only at parameters that occur in added atoms.
    bool promises(const Schema& schema, const std::vector<Object>& binding) {
        for (const Effect& effect : schema.effects)
            for (const Literal& literal : effect.adds) {
                const Code code = ground(task_, literal, binding, arguments_.data());
                if (novelty_.unseen(code, literal.predicate, arguments_.data())) return true;
            }
        return false;
    }

    bool try_action(std::size_t number, std::size_t s, const std::vector<Object>& binding) {
        ticker_.tick(spec_.width == 2 ? kPairSteps : 1);
        changes_.compute(task_.schemas[s], binding);
        if (spec_.width == 2 || task_.schemas[s].conditional) ++generated_;
        const bool novel = spec_.width == 2 ? mark_pairs(nodes_[number]) : mark(changes_.adds);
        if (truncated_) return false;
        if (!novel) return true;
        build_difference(nodes_[number]);
        return append(number, s, binding, true, true);
    }

    // -- nodes -------------------------------------------------------------------------------------------------------

    bool mark(const std::vector<Code>& adds) {
        bool novel = false;
        for (Code code : adds) {
            const std::int32_t predicate = task_.decode(code, arguments_.data());
            novel = novelty_.mark(code, predicate, arguments_.data()) || novel;
        }
        return novel;
    }

    // Width 2 needs the whole successor.
    bool mark_pairs(const Node& node) {
        build_difference(node);
        std::vector<Code> state;
        std::set_difference(query_.state.begin(), query_.state.end(), deleted_.begin(), deleted_.end(),
                            std::back_inserter(state));
        std::vector<Code> whole;
        std::set_union(state.begin(), state.end(), added_.begin(), added_.end(), std::back_inserter(whole));
        std::vector<Code> fresh;
        for (Code code : changes_.adds)
            if (!view_.holds(code)) fresh.push_back(code);
        const bool novel = novelty_.mark_pairs(fresh, whole, budget_);
        truncated_ = truncated_ || novelty_.full();
        return novel;
    }

    // Differences of the successor to the root, from those of its parent and the action's changes.
    void build_difference(const Node& parent) {
        const auto before_added = slice(parent.added);
        const auto before_deleted = slice(parent.deleted);
        added_.clear();
        deleted_.clear();
        scratch_.clear();
        for (Code code : changes_.adds)
            if (!view_.root_holds(code)) scratch_.push_back(code);
        merge(before_added, changes_.deletes, scratch_, added_);
        scratch_.clear();
        for (Code code : changes_.deletes)
            if (view_.root_holds(code)) scratch_.push_back(code);
        merge(before_deleted, changes_.adds, scratch_, deleted_);
    }

    // result = (kept without removed) with extra; all sorted.
    static void merge(std::span<const Code> kept, const std::vector<Code>& removed, const std::vector<Code>& extra,
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

    std::span<const Code> slice(const Range& range) const {
        return std::span<const Code>(codes_).subspan(range.begin, range.size);
    }

    Range store(const std::vector<Code>& codes) {
        const Range range{codes_.size(), codes.size()};
        codes_.insert(codes_.end(), codes.begin(), codes.end());
        return range;
    }

    // Appends the successor described by added_, deleted_ and changes_; false once the tree is full.
    bool append(std::size_t parent, std::size_t s, const std::vector<Object>& binding, bool novel, bool expandable) {
        const auto most = std::min<std::int64_t>(spec_.max_nodes, std::numeric_limits<std::int32_t>::max());
        if (static_cast<std::int64_t>(nodes_.size()) >= most ||
            static_cast<std::int64_t>(codes_.size()) >= spec_.max_atoms) {
            truncated_ = true;
            return false;
        }
        Node node;
        node.parent = static_cast<std::int32_t>(parent);
        node.depth = nodes_[parent].depth + 1;
        node.schema = static_cast<std::int32_t>(s);
        node.arguments = {pool_.size(), binding.size()};
        pool_.insert(pool_.end(), binding.begin(), binding.end());
        node.added = store(added_);
        node.deleted = store(deleted_);
        node.goals = nodes_[0].goals;
        for (Code code : added_) node.goals += sign(code);
        for (Code code : deleted_) node.goals -= sign(code);
        node.novel = novel;
        node.expand = expandable;
        if (spec_.kind != Kind::flat) {
            scratch_.clear();
            for (Code code : changes_.adds)
                if (!view_.holds(code)) scratch_.push_back(code);
            node.fresh_added = store(scratch_);
            scratch_.clear();
            for (Code code : changes_.deletes)
                if (view_.holds(code)) scratch_.push_back(code);
            node.fresh_deleted = store(scratch_);
        }
        nodes_.push_back(node);
        return true;
    }

    std::int32_t sign(Code code) const {
        const auto found = goal_sign_.find(code);
        return found == goal_sign_.end() ? 0 : found->second;
    }

    // Capacity: of the novel nodes from `first` on, those with the most satisfied goals stay, ties by order. Root
    // successors stay in the tree all the same, unless only novel ones are wanted, but are not expanded.
    void bound_level(std::size_t first) {
        if (spec_.capacity <= 0 || spec_.kind == Kind::flat) return;
        std::vector<std::size_t> novel;
        for (std::size_t i = first; i < nodes_.size(); ++i)
            if (nodes_[i].novel) novel.push_back(i);
        if (static_cast<std::int64_t>(novel.size()) <= spec_.capacity) return;
        std::stable_sort(novel.begin(), novel.end(),
                         [&](std::size_t a, std::size_t b) { return nodes_[a].goals > nodes_[b].goals; });
        std::unordered_set<std::size_t> dropped(novel.begin() + static_cast<std::ptrdiff_t>(spec_.capacity),
                                                novel.end());
        const bool leaves = nodes_[first].depth == 1 && mode_ != RootMode::novel;
        std::size_t to = first;
        for (std::size_t i = first; i < nodes_.size(); ++i) {
            if (dropped.contains(i)) {
                if (!leaves) continue;
                nodes_[i].expand = false;
            }
            nodes_[to++] = nodes_[i];
        }
        nodes_.resize(to);
    }

    Tree take_tree() {
        Tree tree;
        tree.generated = generated_;
        tree.root_actions = root_actions_;
        tree.root = mode_;
        tree.truncated = truncated_;
        std::size_t added_total = 0;
        std::size_t deleted_total = 0;
        for (const Node& node : nodes_) {
            added_total += node.added.size;
            deleted_total += node.deleted.size;
        }
        tree.added.reserve(added_total);
        tree.deleted.reserve(deleted_total);
        tree.argument_offset.push_back(0);
        tree.added_offset.push_back(0);
        tree.deleted_offset.push_back(0);
        for (const Node& node : nodes_) {
            tree.parent.push_back(node.parent);
            tree.depth.push_back(node.depth);
            tree.schema.push_back(node.schema);
            tree.novel.push_back(node.novel ? 1 : 0);
            tree.goals.push_back(node.goals);
            const auto arguments = pool_.begin() + static_cast<std::ptrdiff_t>(node.arguments.begin);
            tree.argument.insert(tree.argument.end(), arguments,
                                 arguments + static_cast<std::ptrdiff_t>(node.arguments.size));
            tree.argument_offset.push_back(static_cast<std::int64_t>(tree.argument.size()));
            const auto added = slice(node.added);
            tree.added.insert(tree.added.end(), added.begin(), added.end());
            tree.added_offset.push_back(static_cast<std::int64_t>(tree.added.size()));
            const auto deleted = slice(node.deleted);
            tree.deleted.insert(tree.deleted.end(), deleted.begin(), deleted.end());
            tree.deleted_offset.push_back(static_cast<std::int64_t>(tree.deleted.size()));
        }
        return tree;
    }

    const Task& task_;
    const Query& query_;
    const Spec& spec_;
    StateView view_;
    Matcher matcher_;
    Changes changes_;
    Novelty novelty_;
    std::vector<Node> nodes_;
    std::vector<Code> codes_;
    std::vector<Object> pool_;
    std::unordered_map<Code, std::int32_t> goal_sign_;
    std::unordered_multimap<std::uint64_t, std::size_t> successors_;
    std::vector<Object> arguments_;
    std::vector<Code> added_, deleted_, scratch_, current_added_, current_deleted_;
    std::vector<std::vector<std::size_t>> watches_;  // [schemas][added literals]
    std::vector<FreshAtom> fresh_;
    std::vector<Object> fresh_arguments_;
    std::vector<Object> flat_;
    Ticker ticker_;
    std::int64_t generated_ = 0;
    std::int64_t root_actions_ = 0;
    std::int64_t budget_;  // bytes for what the search gathers beside the tree
    RootMode mode_ = RootMode::all;
    bool truncated_ = false;
};

}  // namespace

void Spec::check() const {
    auto within = [](auto value, std::int64_t least, std::int64_t most, const char* message) {
        if (static_cast<std::int64_t>(value) < least || static_cast<std::int64_t>(value) > most)
            throw std::invalid_argument(message);
    };
    within(kind, 0, 3, "spec: kind out of range");
    within(width, 1, 2, "spec: width out of range");
    within(capacity, 0, kMany, "spec: capacity out of range");
    within(goal_identity, 0, 2, "spec: goal_identity out of range");
    within(root, 0, 3, "spec: root out of range");
    within(max_nodes, 1, kMany, "spec: max_nodes out of range");
    within(max_atoms, 1, kMany, "spec: max_atoms out of range");
    within(max_root_actions, 1, kMany, "spec: max_root_actions out of range");
    if (width == 2 && root == RootMode::classes) throw std::invalid_argument("spec: root classes need width 1");
}

Tree lookahead(const Query& query, const Spec& spec) { return Search(query, spec).run(); }

std::vector<Tree> lookahead_batch(std::span<const Query> queries, const Spec& spec, std::int32_t threads) {
    std::vector<Tree> trees(queries.size());
    std::atomic<std::size_t> next{0};
    std::exception_ptr failure;
    std::atomic<bool> failed{false};
    Interrupt* const interrupt = Interrupt::current();
    auto work = [&]() {
        try {
            const Interrupt::Scope scope(interrupt);
            for (std::size_t i = next++; i < queries.size() && !failed; i = next++)
                trees[i] = lookahead(queries[i], spec);
        } catch (...) {
            if (!failed.exchange(true)) failure = std::current_exception();
        }
    };
    // While the others still work, the caller's thread asks for them.
    auto wait = [&]() {
        try {
            if (interrupt != nullptr) interrupt->check();
        } catch (const Interrupted&) {
            if (!failed.exchange(true)) failure = std::current_exception();
        }
    };
    run_team(work, std::min(queries.size(), static_cast<std::size_t>(std::max(1, threads))), wait);
    if (failure) std::rethrow_exception(failure);
    return trees;
}

Actions applicable(const Task& task, std::span<const Code> state, std::int64_t limit) {
    const StateView view(task, state);
    Matcher matcher(view);
    Actions result;
    result.argument_offset.push_back(0);
    for (std::size_t s = 0; s < task.schemas.size(); ++s) {
        const Pattern& pattern = task.schemas[s].pattern;
        const bool go_on = in_order(
            matcher, task, pattern, MatchOptions{}, matcher.count(pattern), [&](const std::vector<Object>& binding) {
                if (static_cast<std::int64_t>(result.schema.size()) >= limit) return false;
                result.schema.push_back(static_cast<std::int32_t>(s));
                result.argument.insert(result.argument.end(), binding.begin(), binding.end());
                result.argument_offset.push_back(static_cast<std::int64_t>(result.argument.size()));
                return true;
            });
        if (!go_on) break;
    }
    return result;
}

std::vector<std::int64_t> count_applicable(const Task& task, std::span<const Code> state) {
    const StateView view(task, state);
    Matcher matcher(view);
    std::vector<std::int64_t> counts;
    for (const Schema& schema : task.schemas) counts.push_back(matcher.count(schema.pattern));
    return counts;
}

std::vector<std::int32_t> pick_action(const Task& task, std::span<const Code> state, std::int32_t schema,
                                      std::int64_t index) {
    const StateView view(task, state);
    Matcher matcher(view);
    std::vector<Object> binding;
    matcher.pick(task.schemas[static_cast<std::size_t>(schema)].pattern, index, binding);
    return binding;
}

std::vector<Code> successor(const Task& task, std::span<const Code> state, std::int32_t schema,
                            std::span<const std::int32_t> arguments) {
    const StateView view(task, state);
    Changes changes(task, view);
    changes.compute(task.schemas[static_cast<std::size_t>(schema)],
                    std::vector<Object>(arguments.begin(), arguments.end()));
    std::vector<Code> kept;
    std::set_difference(state.begin(), state.end(), changes.deletes.begin(), changes.deletes.end(),
                        std::back_inserter(kept));
    std::vector<Code> result;
    std::set_union(kept.begin(), kept.end(), changes.adds.begin(), changes.adds.end(), std::back_inserter(result));
    return result;
}

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
