#include "graph.hpp"

#include <algorithm>
#include <atomic>
#include <bit>
#include <exception>
#include <limits>
#include <stdexcept>
#include <system_error>
#include <thread>

namespace saltus {

namespace {

constexpr std::int64_t kMaxIndex = std::numeric_limits<std::int32_t>::max();
constexpr std::int64_t kWorkPerThread = 1 << 16;  // atoms; starting a thread for fewer costs more than it saves

std::size_t index(std::int64_t value) { return static_cast<std::size_t>(value); }
std::int32_t narrow(std::size_t value) { return static_cast<std::int32_t>(value); }

// Runs the body for 0 .. count - 1 on several threads; the first exception is thrown again here.
template <typename Body>
void in_parallel(std::size_t count, std::int32_t threads, std::int64_t work, Body body) {
    std::atomic<std::size_t> next{0};
    std::atomic<bool> failed{false};
    std::exception_ptr failure;
    auto run = [&]() {
        try {
            for (std::size_t i = next++; i < count && !failed; i = next++) body(i);
        } catch (...) {
            if (!failed.exchange(true)) failure = std::current_exception();
        }
    };
    const std::int64_t useful =
        std::min({static_cast<std::int64_t>(threads), static_cast<std::int64_t>(count), 1 + work / kWorkPerThread});
    std::vector<std::thread> team;
    try {
        for (std::int64_t i = 1; i < useful; ++i) team.emplace_back(run);
    } catch (const std::system_error&) {  // no more threads to be had: those there are do the work
    }
    run();
    for (std::thread& thread : team) thread.join();
    if (failure) std::rethrow_exception(failure);
}

// -- checks ----------------------------------------------------------------------------------------------------------

void require(bool condition, const char* message) {
    if (!condition) throw std::invalid_argument(message);
}

void check_codes(const Task& task, std::span<const Code> codes) {
    for (std::size_t i = 1; i < codes.size(); ++i) require(codes[i - 1] < codes[i], "codes are not ascending");
    require(codes.empty() || (codes.front() >= 0 && codes.back() < task.code_offset.back()),
            "codes do not belong to this task");
}

template <typename Value>
std::span<const Value> part(std::span<const Value> values, std::span<const std::int64_t> offset, std::size_t i) {
    return values.subspan(index(offset[i]), index(offset[i + 1] - offset[i]));
}

void check_offsets(std::span<const std::int64_t> offset, std::size_t parts, std::size_t size) {
    require(offset.size() == parts + 1 && offset.front() == 0 && offset.back() == static_cast<std::int64_t>(size) &&
                std::is_sorted(offset.begin(), offset.end()),
            "offsets do not fit their array");
}

// Every relation is as wide as the atoms that are written to it.
void check_arities(const GraphLayout& layout, const Task& task) {
    auto check = [&](std::int32_t relation, std::int32_t width) {
        require(relation < narrow(layout.relations()) && (relation < 0 || layout.arity[index(relation)] == width),
                "relation has a wrong arity");
    };
    for (std::size_t role = 0; role < kRoles; ++role) {
        const std::int32_t anchor = role >= kAdded && layout.encoding == Encoding::aggregated_delta ? 1 : 0;
        for (std::size_t predicate = 0; predicate < layout.predicates(); ++predicate) {
            const std::int32_t relation = layout.relation[role * layout.predicates() + predicate];
            check(relation, anchor + std::max(1, task.arity[predicate]));
            require(relation < 0 || task.arity[predicate] > 0 || layout.world,
                    "an atom without arguments needs the world node");
        }
    }
    for (std::size_t schema = 0; schema < layout.of_schema.size(); ++schema)
        check(layout.of_schema[schema], 1 + narrow(task.schemas[schema].pattern.domains.size()));
    for (std::int32_t relation : layout.of_type) check(relation, 1);
    for (std::int32_t relation : {layout.edge, layout.order, layout.level}) check(relation, 2);
    auto known = [](std::int32_t relation) { return relation >= 0; };
    require(std::all_of(layout.of_type.begin(), layout.of_type.end(), known), "a type has no relation");
    require(layout.encoding != Encoding::aggregated_actions ||
                std::all_of(layout.of_schema.begin(), layout.of_schema.end(), known),
            "a schema has no relation");
    require(known(layout.order) == known(layout.level), "depth nodes have only one of their two relations");
}

void check_query(const GraphLayout& layout, const GraphQuery& query) {
    const Task& task = *query.task->task;
    const std::size_t nodes = query.nodes();
    require(nodes > 0 && query.depth.size() == nodes && query.schema.size() == nodes, "tree arrays differ in length");
    require(layout.predicates() == index(task.predicates()) && layout.of_schema.size() == task.schemas.size() &&
                layout.of_type.size() + 1 == query.task->type_offset.size(),
            "task and vocabulary are of different domains");
    check_arities(layout, task);
    for (auto codes : {query.state, query.goal_positive, query.goal_negative}) check_codes(task, codes);
    if (layout.encoding == Encoding::aggregated_actions) {
        check_offsets(query.argument_offset, nodes, query.argument.size());
        for (std::size_t node = 1; node < nodes; ++node) {
            const std::int32_t schema = query.schema[node];
            require(schema >= 0 && index(schema) < task.schemas.size(), "tree has an unknown schema");
            require(index(query.argument_offset[node + 1] - query.argument_offset[node]) ==
                        task.schemas[index(schema)].pattern.domains.size(),
                    "tree has an action with a wrong number of arguments");
        }
        for (Object object : query.argument)
            require(object >= 0 && object < task.objects(), "tree has an unknown object");
        return;
    }
    check_offsets(query.added_offset, nodes, query.added.size());
    check_offsets(query.deleted_offset, nodes, query.deleted.size());
    for (std::size_t node = 1; node < nodes; ++node) {
        check_codes(task, part(query.added, query.added_offset, node));
        check_codes(task, part(query.deleted, query.deleted_offset, node));
        require(query.parent[node] >= 0 && index(query.parent[node]) < node, "tree has a node before its parent");
        require(query.depth[node] == query.depth[index(query.parent[node])] + 1, "tree has a wrong depth");
    }
    require(query.depth[0] == 0, "tree has a wrong depth");
}

// Goal atoms with a filter before the search: nearly all atoms asked for are no goals, and the filter says so at once.
class GoalSet {
public:
    explicit GoalSet(std::span<const Code> codes) : codes_(codes), maybe_(std::bit_ceil(16 * codes.size() + 1), 0) {
        for (Code code : codes) maybe_[slot(code)] = 1;
    }
    bool contains(Code code) const {
        return maybe_[slot(code)] != 0 && std::binary_search(codes_.begin(), codes_.end(), code);
    }

private:
    std::size_t slot(Code code) const { return index(code) & (maybe_.size() - 1); }

    std::span<const Code> codes_;
    std::vector<std::uint8_t> maybe_;
};

struct Goals {
    explicit Goals(const GraphQuery& query) : positive(query.goal_positive), negative(query.goal_negative) {}
    GoalSet positive;
    GoalSet negative;
};

// -- atoms: the same walk over a graph counts and writes them
// ----------------------------------------------------------

// Number of the graph's first state, action or depth node.
std::int32_t first_extra(const GraphLayout& layout, const Task& task) {
    return task.objects() + (layout.world ? 1 : 0);
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

// Writes the atoms of every relation to its place; `base` is the number of the graph's first node.
class Writer {
public:
    Writer(std::int32_t** places, std::int32_t base, std::int32_t objects)
        : places_(places), base_(base), objects_(objects) {}

    // Atom number `rest` of a predicate, after the anchor where there is one.
    void ground(std::int32_t relation, std::int32_t anchor, Code rest, std::int32_t arity) {
        std::int32_t* out = places_[relation];
        if (anchor >= 0) *out++ = base_ + anchor;
        if (arity == 0) *out++ = base_ + objects_;
        std::int32_t i = arity;
        for (; i > 0 && rest > std::numeric_limits<std::uint32_t>::max();
             rest /= objects_)  // then the division is cheaper
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

// The atoms of one graph, in the twin's order, given to a Counter or a Writer.
template <typename Sink>
class Walk {
public:
    Walk(const GraphLayout& layout, const GraphQuery& query, const Goals& goals, Sink sink)
        : layout_(layout), query_(query), goals_(goals), task_(*query.task->task), sink_(sink) {}

    // `node` is the candidate of a graph of its own; 0 for the root, or where all candidates share the graph.
    void run(std::size_t node) {
        statics();
        switch (layout_.encoding) {
            case Encoding::external: state(node == 0 ? query_.state : successor(node), kTrue); break;
            case Encoding::internal:
                state(query_.state, kTrue);
                state(successor(node), kNextTrue);
                break;
            case Encoding::internal_delta:
                state(query_.state, kTrue);
                delta(node, -1);
                break;
            case Encoding::aggregated_actions:
                state(query_.state, kTrue);
                actions();
                break;
            case Encoding::aggregated_delta:
                state(query_.state, kTrue);
                tree();
                break;
        }
    }

private:
    const std::int32_t* relations_of(std::size_t role) const {
        return layout_.relation.data() + role * layout_.predicates();
    }

    // Calls `use(predicate, number of the atom among the predicate's, code)` for ascending codes.
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
        const std::int32_t relation = relations_of(role)[predicate];
        if (relation >= 0) sink_.ground(relation, anchor, rest, task_.arity[predicate]);
    }

    void statics() {
        for (std::size_t predicate = 0; predicate < task_.statics.size(); ++predicate) {
            const Relation& atoms = task_.statics[predicate];
            const std::int32_t relation = relations_of(kTrue)[predicate];
            if (relation >= 0)
                sink_.rows(relation, atoms.rows.data(), static_cast<std::size_t>(atoms.size), atoms.arity);
        }
        const GraphTask& task = *query_.task;
        for (std::size_t type = 0; type < layout_.of_type.size(); ++type) {
            const std::span<const Object> members =
                part(std::span(task.type_object), std::span(task.type_offset), type);
            sink_.rows(layout_.of_type[type], members.data(), members.size(), 1);
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

    // State of a node: the root's without what is deleted, with what is added.
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
        const std::int32_t first = first_extra(layout_, task_) - 1;  // of tree node 0, which has none
        for (std::size_t node = 1; node < query_.nodes(); ++node)
            sink_.action(layout_.of_schema[index(query_.schema[node])], first + narrow(node),
                         part(query_.argument, query_.argument_offset, node));
    }

    void tree() {
        const std::int32_t first = first_extra(layout_, task_) - 1;  // of tree node 0, which has none
        const std::size_t nodes = query_.nodes();
        for (std::size_t node = 1; node < nodes; ++node) delta(node, first + narrow(node));
        if (layout_.edge >= 0)
            for (std::size_t node = 1; node < nodes; ++node)
                if (query_.parent[node] != 0)
                    sink_.pair(layout_.edge, first + query_.parent[node], first + narrow(node));
        if (layout_.order < 0) return;
        const std::int32_t first_depth = first + narrow(nodes);
        sink_.ordered_pairs(layout_.order, first_depth, *std::max_element(query_.depth.begin(), query_.depth.end()));
        for (std::size_t node = 1; node < nodes; ++node)
            sink_.pair(layout_.level, first + narrow(node), first_depth + query_.depth[node] - 1);
    }

    const GraphLayout& layout_;
    const GraphQuery& query_;
    const Goals& goals_;
    const Task& task_;
    Sink sink_;
    std::vector<Code> state_;
};

// -- the batch -------------------------------------------------------------------------------------------------------

// A graph to be: its query, the candidate it is made for (0: the root or all), and where it lies in the batch.
struct Place {
    std::size_t query = 0;
    std::size_t node = 0;
    std::int64_t first_node = 0;
    std::int64_t nodes = 0;
    std::int64_t slots = 0;
    std::int64_t first_slot = 0;
};

class Assembly {
public:
    Assembly(const GraphLayout& layout, std::span<const GraphQuery> queries, std::int32_t threads)
        : layout_(layout), queries_(queries), threads_(threads), relations_(layout.relations()) {}

    GraphBatch run() {
        std::int64_t work = 0;
        for (const GraphQuery& query : queries_) {
            const std::size_t codes = query.state.size() + query.goal_positive.size();
            work += static_cast<std::int64_t>(query.added.size() + query.deleted.size() +
                                              codes * (is_joint() ? 1 : query.nodes()));
        }
        in_parallel(queries_.size(), threads_, work, [&](std::size_t i) { check_query(layout_, queries_[i]); });
        for (const GraphQuery& query : queries_) goals_.emplace_back(query);
        place_graphs();
        start_.assign(places_.size() * relations_, 0);
        in_parallel(places_.size(), threads_, work,
                    [&](std::size_t i) { walk(i, Counter(start_.data() + i * relations_)); });
        lay_out();
        in_parallel(places_.size(), threads_, static_cast<std::int64_t>(batch_.arguments.size()),
                    [&](std::size_t i) { fill(i); });
        return std::move(batch_);
    }

private:
    bool is_joint() const {
        return layout_.encoding == Encoding::aggregated_delta || layout_.encoding == Encoding::aggregated_actions;
    }

    template <typename Sink>
    void walk(std::size_t i, Sink sink) {
        const std::size_t query = places_[i].query;
        Walk<Sink>(layout_, queries_[query], goals_[query], sink).run(places_[i].node);
    }

    // Graphs, their nodes, candidates and depth nodes.
    void place_graphs() {
        std::int64_t first_node = 0;
        batch_.candidate_offset.push_back(0);
        for (std::size_t i = 0; i < queries_.size(); ++i) {
            const GraphQuery& query = queries_[i];
            const std::int32_t objects = first_extra(layout_, *query.task->task);
            const std::int32_t candidates = narrow(query.nodes()) - 1;
            const std::int32_t source = narrow(places_.size());
            const bool depths = layout_.order >= 0 && layout_.encoding == Encoding::aggregated_delta;
            const std::int32_t deepest = depths ? *std::max_element(query.depth.begin(), query.depth.end()) : 0;
            auto add_graph = [&](std::size_t node, std::int64_t nodes) {
                places_.push_back({i, node, first_node, nodes, 0, 0});
                batch_.object_count.push_back(objects);
                first_node += nodes;
                if (first_node > kMaxIndex) throw std::overflow_error("nodes");
            };
            if (is_joint()) {
                const auto base = static_cast<std::int32_t>(first_node);
                add_graph(0, static_cast<std::int64_t>(objects) + candidates + deepest);
                for (std::int32_t k = 0; k < candidates; ++k) add_candidate(base + objects + k, source, source);
                for (std::int32_t depth = 1; depth <= deepest; ++depth) {
                    batch_.depth_node.push_back(base + objects + candidates + depth - 1);
                    batch_.depth_graph.push_back(source);
                    batch_.depth_value.push_back(depth);
                }
            } else {
                const bool external = layout_.encoding == Encoding::external;
                if (external) add_graph(0, objects);
                for (std::int32_t k = 1; k <= candidates; ++k) {
                    const std::int32_t own = narrow(places_.size());
                    add_graph(index(k), objects);
                    add_candidate(-1, own, external ? source : own);
                }
            }
            batch_.candidate_offset.push_back(static_cast<std::int64_t>(batch_.candidate_node.size()));
        }
        for (const Place& place : places_) batch_.graph_offset.push_back(static_cast<std::int32_t>(place.first_node));
        batch_.graph_offset.push_back(static_cast<std::int32_t>(first_node));
    }
    void add_candidate(std::int32_t node, std::int32_t graph, std::int32_t source) {
        batch_.candidate_node.push_back(node);
        batch_.candidate_graph.push_back(graph);
        batch_.source_graph.push_back(source);
    }

    // Turns the counts into the position of every graph's arguments in every relation, and makes room for all.
    void lay_out() {
        std::int64_t atoms = 0;
        std::int64_t slots = 0;
        batch_.relation_offset.push_back(0);
        batch_.argument_offset.push_back(0);
        for (std::size_t r = 0; r < relations_; ++r) {
            for (std::size_t i = 0; i < places_.size(); ++i) {
                std::int64_t& start = start_[i * relations_ + r];
                const std::int64_t size = start * layout_.arity[r];
                atoms += start;
                start = slots;
                slots += size;
                places_[i].slots += size;
            }
            batch_.relation_offset.push_back(atoms);
            batch_.argument_offset.push_back(slots);
        }
        if (slots > kMaxIndex) throw std::overflow_error("arguments");
        for (std::size_t i = 1; i < places_.size(); ++i)
            places_[i].first_slot = places_[i - 1].first_slot + places_[i - 1].slots;
        batch_.arguments.resize(index(slots));
        batch_.slot_order.resize(index(slots));
        batch_.slot_offset.resize(index(batch_.graph_offset.back()) + 1);
        batch_.slot_offset.back() = static_cast<std::int32_t>(slots);
    }

    // Writes a graph's atoms and sorts its slots by node: count, add up, place in ascending order.
    void fill(std::size_t i) {
        const Place& place = places_[i];
        const std::int64_t* start = start_.data() + i * relations_;
        const auto base = static_cast<std::int32_t>(place.first_node);
        std::vector<std::int32_t*> end(relations_);
        for (std::size_t r = 0; r < relations_; ++r) end[r] = batch_.arguments.data() + start[r];
        walk(i, Writer(end.data(), base, queries_[place.query].task->task->objects()));
        std::vector<std::int32_t> next(index(place.nodes), 0);
        const std::int32_t* arguments = batch_.arguments.data();
        for (std::size_t r = 0; r < relations_; ++r)
            for (const std::int32_t* at = arguments + start[r]; at != end[r]; ++at) ++next[index(*at - base)];
        auto slot = static_cast<std::int32_t>(place.first_slot);
        for (std::size_t node = 0; node < next.size(); ++node) {
            const std::int32_t count = next[node];
            batch_.slot_offset[index(place.first_node) + node] = slot;
            next[node] = slot;
            slot += count;
        }
        for (std::size_t r = 0; r < relations_; ++r)
            for (const std::int32_t* at = arguments + start[r]; at != end[r]; ++at)
                batch_.slot_order[index(next[index(*at - base)]++)] = static_cast<std::int32_t>(at - arguments);
    }

    const GraphLayout& layout_;
    std::span<const GraphQuery> queries_;
    std::int32_t threads_;
    std::size_t relations_;
    std::vector<Goals> goals_;  // [queries]
    std::vector<Place> places_;
    std::vector<std::int64_t> start_;  // [graphs, relations]: atoms, then the position of the first argument
    GraphBatch batch_;
};

}  // namespace

GraphBatch assemble_graphs(const GraphLayout& layout, std::span<const GraphQuery> queries, std::int32_t threads) {
    return Assembly(layout, queries, threads).run();
}

}  // namespace saltus
