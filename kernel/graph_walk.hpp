// Graph walk: the atoms of one graph in the twin's order. The same walk first counts them, then writes them.
#pragma once

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <limits>
#include <span>
#include <vector>

#include "graph.hpp"
#include "keys.hpp"

namespace saltus {

inline std::size_t index(std::int64_t value) { return static_cast<std::size_t>(value); }
inline std::int32_t narrow(std::size_t value) { return static_cast<std::int32_t>(value); }

template <typename Value>
std::span<const Value> part(std::span<const Value> values, std::span<const std::int64_t> offset, std::size_t i) {
    return values.subspan(index(offset[i]), index(offset[i + 1] - offset[i]));
}

struct Goals {
    explicit Goals(const GraphQuery& query)
        : positive(2 * query.goal_positive.size()), negative(2 * query.goal_negative.size()) {
        for (Code code : query.goal_positive) positive.insert(code);
        for (Code code : query.goal_negative) negative.insert(code);
    }
    KeySet positive;
    KeySet negative;
};

// Depths that occur below the root, ascending: those that have depth nodes.
inline std::vector<std::int32_t> levels_of(const RelationTables& tables, const GraphQuery& query) {
    std::vector<std::int32_t> levels;
    if (tables.order < 0 || !tables.parts.tree) return levels;
    // Runs of equal depths first: breadth first, there is nothing but runs.
    const auto below = query.depth.subspan(1);
    std::unique_copy(below.begin(), below.end(), std::back_inserter(levels));
    std::sort(levels.begin(), levels.end());
    levels.erase(std::unique(levels.begin(), levels.end()), levels.end());
    return levels;
}

// Number of the graph's first state, action or depth node.
inline std::int32_t first_extra(const RelationTables& tables, const Task& task) {
    return task.objects() + (tables.world ? 1 : 0);
}

// Counts the atoms of every relation.
class Counter {
public:
    explicit Counter(std::int64_t* counts) : counts_(counts) {}

    void ground(std::int32_t relation, std::int32_t, Code, std::int32_t) { ++counts_[relation]; }
    void rows(std::int32_t relation, const Object*, std::size_t count, std::int32_t) {
        counts_[relation] += static_cast<std::int64_t>(count);
    }
    void action(std::int32_t relation, std::int32_t, std::span<const Object>) { ++counts_[relation]; }
    void pair(std::int32_t relation, std::int32_t, std::int32_t) { ++counts_[relation]; }
    void ordered_pairs(std::int32_t relation, std::int32_t, std::int64_t count) {
        counts_[relation] += count * (count - 1) / 2;
    }

private:
    std::int64_t* counts_;
};

// Writes every relation's atoms to their place; `base` is the number of the graph's first node.
class Writer {
public:
    Writer(std::int32_t** places, std::int32_t base, std::int32_t objects)
        : places_(places), base_(base), objects_(objects) {}

    // Atom number `rest` of a predicate, after the anchor if there is one.
    void ground(std::int32_t relation, std::int32_t anchor, Code rest, std::int32_t arity) {
        std::int32_t* out = places_[relation];
        if (anchor >= 0) *out++ = base_ + anchor;
        if (arity == 0) *out++ = base_ + objects_;
        std::int32_t i = arity;
        // 32-bit division is cheaper, so use it as soon as the number fits.
        for (; i > 0 && rest > std::numeric_limits<std::uint32_t>::max(); rest /= objects_)
            out[--i] = base_ + static_cast<std::int32_t>(rest % objects_);
        auto small = static_cast<std::uint32_t>(rest);
        const auto radix = static_cast<std::uint32_t>(objects_);
        for (; i > 0; small /= radix) out[--i] = base_ + static_cast<std::int32_t>(small % radix);
        places_[relation] = out + arity;
    }
    void rows(std::int32_t relation, const Object* values, std::size_t count, std::int32_t arity) {
        std::int32_t* out = places_[relation];
        const std::size_t slots = count * static_cast<std::size_t>(std::max(1, arity));
        if (arity == 0)
            std::fill(out, out + slots, base_ + objects_);
        else
            for (std::size_t i = 0; i < slots; ++i) out[i] = base_ + values[i];
        places_[relation] = out + slots;
    }
    void action(std::int32_t relation, std::int32_t node, std::span<const Object> arguments) {
        std::int32_t*& out = places_[relation];
        *out++ = base_ + node;
        for (Object object : arguments) *out++ = base_ + object;
    }
    void pair(std::int32_t relation, std::int32_t from, std::int32_t to) {
        std::int32_t*& out = places_[relation];
        *out++ = base_ + from;
        *out++ = base_ + to;
    }
    void ordered_pairs(std::int32_t relation, std::int32_t first, std::int64_t count) {
        for (std::int64_t i = 0; i < count; ++i)
            for (std::int64_t k = i + 1; k < count; ++k)
                pair(relation, first + static_cast<std::int32_t>(i), first + static_cast<std::int32_t>(k));
    }

private:
    std::int32_t** places_;
    std::int32_t base_;
    std::int32_t objects_;
};

// Passes the atoms of one graph to a Counter or a Writer.
template <typename Sink>
class Walk {
public:
    Walk(const RelationTables& tables, const GraphQuery& query, const Goals& goals,
         std::span<const std::int32_t> levels, Sink sink)
        : tables_(tables), query_(query), goals_(goals), levels_(levels), task_(*query.task->task), sink_(sink) {}

    // `node` is the candidate whose graph this is; 0 for the root's graph, or if all candidates share one.
    void run(std::size_t node) {
        statics();
        const EncodingParts& parts = tables_.parts;
        state(parts.has_root_graph && node != 0 ? successor(node) : query_.state, kTrue);
        if (parts.primed) state(successor(node), kNextTrue);
        if (parts.delta) deltas(node);
        if (parts.actions) actions();
        if (parts.tree) tree();
    }

private:
    const std::int32_t* relations_of(std::size_t role) const {
        return tables_.relation.data() + role * tables_.predicates();
    }

    // Calls use(predicate, number of the atom within the predicate, code) for ascending codes.
    template <typename Use>
    void each(std::span<const Code> codes, Use use) const {
        const Code* offset = task_.code_offset.data();
        std::size_t predicate = 0;
        for (Code code : codes) {
            while (code >= offset[predicate + 1]) ++predicate;
            use(predicate, code - offset[predicate], code);
        }
    }
    void atom(std::size_t role, std::size_t predicate, std::int32_t anchor, Code rest) {
        if (predicate >= tables_.predicates()) return;  // of a derived goal atom: no relation of the domain
        const std::int32_t relation = relations_of(role)[predicate];
        if (relation >= 0) sink_.ground(relation, anchor, rest, task_.arity[predicate]);
    }

    void statics() {
        for (std::size_t predicate = 0; predicate < tables_.predicates(); ++predicate) {
            const Relation& atoms = task_.statics[predicate];
            const std::int32_t relation = relations_of(kTrue)[predicate];
            if (relation >= 0)
                sink_.rows(relation, atoms.rows.data(), static_cast<std::size_t>(atoms.size), atoms.arity);
        }
        const GraphTask& task = *query_.task;
        for (std::size_t type = 0; type < tables_.of_type.size(); ++type) {
            const std::span<const Object> members =
                part(std::span(task.type_object), std::span(task.type_offset), type);
            sink_.rows(tables_.of_type[type], members.data(), members.size(), 1);
        }
    }

    // Atoms of a state, then goals; `first` is the first of five roles.
    void state(std::span<const Code> codes, std::size_t first) {
        each(codes, [&](std::size_t predicate, Code rest, Code) { atom(first, predicate, -1, rest); });
        goals(codes, query_.goal_positive, first + kGoalTrue, first + kGoalFalse);
        goals(codes, query_.goal_negative, first + kNegatedTrue, first + kNegatedFalse);
    }
    void goals(std::span<const Code> codes, std::span<const Code> goal, std::size_t if_true, std::size_t if_false) {
        auto at = codes.begin();
        each(goal, [&](std::size_t predicate, Code rest, Code code) {
            while (at != codes.end() && *at < code) ++at;
            atom(at != codes.end() && *at == code ? if_true : if_false, predicate, -1, rest);
        });
    }

    // Differences of the candidate, or of all candidates, each with its node as the first argument.
    void deltas(std::size_t node) {
        if (!tables_.parts.is_joint) return delta(node, -1);
        const std::int32_t first = first_extra(tables_, task_) - 1;  // tree node 0 has none
        for (std::size_t i = 1; i < query_.nodes(); ++i) delta(i, first + narrow(i));
    }
    void delta(std::size_t node, std::int32_t anchor) {
        changes(part(query_.added, query_.added_offset, node), anchor, kAdded, kAddedGoal, kAddedNegated);
        changes(part(query_.deleted, query_.deleted_offset, node), anchor, kDeleted, kDeletedGoal, kDeletedNegated);
    }
    void changes(std::span<const Code> codes, std::int32_t anchor, std::size_t changed, std::size_t wanted,
                 std::size_t unwanted) {
        each(codes, [&](std::size_t predicate, Code rest, Code code) {
            atom(changed, predicate, anchor, rest);
            if (goals_.positive.contains(code)) atom(wanted, predicate, anchor, rest);
            if (goals_.negative.contains(code)) atom(unwanted, predicate, anchor, rest);
        });
    }

    // State of a node: the root's atoms without the deleted ones, and the added ones.
    std::span<const Code> successor(std::size_t node) {
        const auto added = part(query_.added, query_.added_offset, node);
        const auto deleted = part(query_.deleted, query_.deleted_offset, node);
        state_.clear();
        auto fresh = added.begin();
        auto gone = deleted.begin();
        for (Code code : query_.state) {
            while (fresh != added.end() && *fresh < code) state_.push_back(*fresh++);
            while (gone != deleted.end() && *gone < code) ++gone;
            if (gone == deleted.end() || *gone != code) state_.push_back(code);
        }
        state_.insert(state_.end(), fresh, added.end());
        return state_;
    }

    void actions() {
        const std::int32_t first = first_extra(tables_, task_) - 1;  // tree node 0 has none
        for (std::size_t node = 1; node < query_.nodes(); ++node)
            sink_.action(tables_.of_schema[index(query_.schema[node])], first + narrow(node),
                         part(query_.argument, query_.argument_offset, node));
    }

    void tree() {
        const std::int32_t first = first_extra(tables_, task_) - 1;  // tree node 0 has none
        const std::size_t nodes = query_.nodes();
        if (tables_.edge >= 0)
            for (std::size_t node = 1; node < nodes; ++node)
                if (query_.parent[node] != 0)
                    sink_.pair(tables_.edge, first + query_.parent[node], first + narrow(node));
        if (tables_.order < 0) return;
        const std::int32_t first_depth = first + narrow(nodes);
        sink_.ordered_pairs(tables_.order, first_depth, static_cast<std::int64_t>(levels_.size()));
        for (std::size_t node = 1; node < nodes; ++node) {
            const auto found = std::lower_bound(levels_.begin(), levels_.end(), query_.depth[node]);
            sink_.pair(tables_.level, first + narrow(node), first_depth + narrow(index(found - levels_.begin())));
        }
    }

    const RelationTables& tables_;
    const GraphQuery& query_;
    const Goals& goals_;
    std::span<const std::int32_t> levels_;
    const Task& task_;
    Sink sink_;
    std::vector<Code> state_;
};

}  // namespace saltus
