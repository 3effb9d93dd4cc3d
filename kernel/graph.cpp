#include "graph.hpp"

#include <algorithm>
#include <limits>
#include <stdexcept>

#include "graph_walk.hpp"
#include "parallel.hpp"

namespace saltus {

namespace {

constexpr std::int64_t kMaxIndex = std::numeric_limits<std::int32_t>::max();
constexpr std::int64_t kWorthAThread = 1 << 16;  // atoms; starting a thread for fewer costs more than it saves

// -- checks ----------------------------------------------------------------------------------------------------------

void require(bool condition, const char* message) {
    if (!condition) throw std::invalid_argument(message);
}

void check_codes(const Task& task, std::span<const Code> codes) {
    for (std::size_t i = 1; i < codes.size(); ++i) require(codes[i - 1] < codes[i], "codes are not ascending");
    require(codes.empty() || (codes.front() >= 0 && codes.back() < task.code_offset.back()),
            "codes do not belong to this task");
}

void check_offsets(std::span<const std::int64_t> offset, std::size_t parts, std::size_t size) {
    require(offset.size() == parts + 1 && offset.front() == 0 && offset.back() == static_cast<std::int64_t>(size) &&
                std::is_sorted(offset.begin(), offset.end()),
            "offsets do not fit their array");
}

// Without these, a walk would write atoms about nodes that its graph does not have.
void check_parts(const EncodingParts& parts) {
    require(parts.is_joint || !(parts.actions || parts.tree), "actions and edges need candidates that are nodes");
    require(!parts.is_joint || !(parts.has_root_graph || parts.primed), "candidates that are nodes share one state");
    require(!parts.has_root_graph || !(parts.delta || parts.primed), "the root's graph has no successor");
}

// Every relation must be as wide as the atoms that are written to it.
void check_arities(const RelationTables& tables, const Task& task) {
    auto check = [&](std::int32_t relation, std::int32_t width) {
        require(relation < narrow(tables.relations()) && (relation < 0 || tables.arity[index(relation)] == width),
                "relation has a wrong arity");
    };
    for (std::size_t role = 0; role < kRoles; ++role) {
        const std::int32_t anchor = role >= kAdded && tables.parts.is_joint ? 1 : 0;
        for (std::size_t predicate = 0; predicate < tables.predicates(); ++predicate) {
            const std::int32_t relation = tables.relation[role * tables.predicates() + predicate];
            check(relation, anchor + std::max(1, task.arity[predicate]));
            require(relation < 0 || task.arity[predicate] > 0 || tables.world,
                    "an atom without arguments needs the world node");
        }
    }
    for (std::size_t schema = 0; schema < tables.of_schema.size(); ++schema)
        check(tables.of_schema[schema], 1 + narrow(task.schemas[schema].pattern.domains.size()));
    for (std::int32_t relation : tables.of_type) check(relation, 1);
    for (std::int32_t relation : {tables.edge, tables.order, tables.level}) check(relation, 2);
    auto known = [](std::int32_t relation) { return relation >= 0; };
    require(std::all_of(tables.of_type.begin(), tables.of_type.end(), known), "a type has no relation");
    require(!tables.parts.actions || std::all_of(tables.of_schema.begin(), tables.of_schema.end(), known),
            "a schema has no relation");
    require(known(tables.order) == known(tables.level), "depth nodes have only one of their two relations");
}

void check_query(const RelationTables& tables, const GraphQuery& query) {
    const Task& task = *query.task->task;
    const std::size_t nodes = query.nodes();
    require(nodes > 0 && query.depth.size() == nodes && query.schema.size() == nodes, "tree arrays differ in length");
    require(tables.predicates() <= index(task.predicates()) && tables.of_schema.size() == task.schemas.size() &&
                tables.of_type.size() + 1 == query.task->type_offset.size(),
            "task and vocabulary are of different domains");
    check_arities(tables, task);
    for (auto codes : {query.state, query.goal_positive, query.goal_negative}) check_codes(task, codes);
    if (tables.parts.actions) {
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
    }
    const EncodingParts& parts = tables.parts;
    if (!parts.has_root_graph && !parts.delta && !parts.primed && !parts.tree) return;
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

// -- the batch -------------------------------------------------------------------------------------------------------

// About the number of atoms that a query's graphs have, without static ones.
std::int64_t work_of(const RelationTables& tables, const GraphQuery& query) {
    const std::size_t codes = query.state.size() + query.goal_positive.size();
    return static_cast<std::int64_t>(query.added.size() + query.deleted.size() +
                                     codes * (tables.parts.is_joint ? 1 : query.nodes()));
}

std::size_t worthwhile_threads(std::int64_t work, std::int32_t threads) {
    return index(std::max<std::int64_t>(1, std::min<std::int64_t>(threads, 1 + work / kWorthAThread)));
}

// A graph's candidate (0: the root or all candidates), and its place in the batch.
struct Place {
    std::size_t node = 0;
    std::int64_t first_node = 0;
    std::int64_t nodes = 0;
    std::int64_t slots = 0;
    std::int64_t first_slot = 0;
};

// Graphs of a query.
class Assembly {
public:
    Assembly(const RelationTables& tables, const GraphQuery& query, std::size_t threads)
        : tables_(tables), query_(query), threads_(threads), relations_(tables.relations()) {
        check_query(tables, query);
    }

    GraphBatch run() {
        const Goals goals(query_);
        const std::vector<std::int32_t> levels = levels_of(tables_, query_);
        auto walk = [&](std::size_t i, auto sink) {
            Walk<decltype(sink)>(tables_, query_, goals, levels, sink).run(places_[i].node);
        };
        if (tables_.parts.is_joint)
            place_joint_graph(levels);
        else
            place_separate_graphs();
        for (const Place& place : places_) batch_.graph_offset.push_back(static_cast<std::int32_t>(place.first_node));
        batch_.graph_offset.push_back(static_cast<std::int32_t>(nodes_));
        batch_.candidate_offset = {0, static_cast<std::int64_t>(batch_.candidate_node.size())};
        start_.assign(places_.size() * relations_, 0);
        run_parallel(places_.size(), threads_,
                     [&](std::size_t i) { walk(i, Counter(start_.data() + i * relations_)); });
        place_arguments();
        run_parallel(places_.size(), threads_, [&](std::size_t i) {
            const std::int64_t* start = start_.data() + i * relations_;
            std::vector<std::int32_t*> end(relations_);
            for (std::size_t r = 0; r < relations_; ++r) end[r] = batch_.arguments.data() + start[r];
            const auto base = static_cast<std::int32_t>(places_[i].first_node);
            walk(i, Writer(end.data(), base, query_.task->task->objects()));
            sort_slots(places_[i], start, end);
        });
        return std::move(batch_);
    }

private:
    // One graph for all candidates, each a node after the objects.
    void place_joint_graph(const std::vector<std::int32_t>& levels) {
        const std::int32_t objects = first_extra(tables_, *query_.task->task);
        const std::int32_t candidates = narrow(query_.nodes()) - 1;
        const std::int32_t depths = narrow(levels.size());
        add_graph(0, objects, static_cast<std::int64_t>(objects) + candidates + depths);
        for (std::int32_t k = 0; k < candidates; ++k) add_candidate(objects + k, 0, 0);
        for (std::int32_t k = 0; k < depths; ++k) {
            batch_.depth_node.push_back(objects + candidates + k);
            batch_.depth_graph.push_back(0);
            batch_.depth_value.push_back(levels[index(k)]);
        }
    }

    // One graph per candidate; where the root has a graph, it is the first.
    void place_separate_graphs() {
        const std::int32_t objects = first_extra(tables_, *query_.task->task);
        const std::int32_t root = tables_.parts.has_root_graph ? add_graph(0, objects, objects) : -1;
        for (std::size_t node = 1; node < query_.nodes(); ++node) {
            const std::int32_t own = add_graph(node, objects, objects);
            add_candidate(-1, own, root >= 0 ? root : own);
        }
    }

    // Number of the new graph.
    std::int32_t add_graph(std::size_t node, std::int32_t objects, std::int64_t nodes) {
        const std::int32_t number = narrow(places_.size());
        places_.push_back({node, nodes_, nodes, 0, 0});
        batch_.object_count.push_back(objects);
        nodes_ += nodes;
        if (nodes_ > kMaxIndex) throw std::overflow_error("nodes");
        return number;
    }
    void add_candidate(std::int32_t node, std::int32_t graph, std::int32_t source) {
        batch_.candidate_node.push_back(node);
        batch_.candidate_graph.push_back(graph);
        batch_.source_graph.push_back(source);
    }

    // Turns counts into positions of every graph's arguments in every relation, and allocates the arrays.
    void place_arguments() {
        std::int64_t atoms = 0;
        std::int64_t slots = 0;
        batch_.relation_offset.push_back(0);
        batch_.argument_offset.push_back(0);
        for (std::size_t r = 0; r < relations_; ++r) {
            for (std::size_t i = 0; i < places_.size(); ++i) {
                std::int64_t& start = start_[i * relations_ + r];
                const std::int64_t size = start * tables_.arity[r];
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
        batch_.slot_position.resize(index(slots));
        batch_.slot_offset.resize(index(batch_.graph_offset.back()) + 1);
        batch_.slot_offset.back() = static_cast<std::int32_t>(slots);
    }

    // Sorts a graph's slots by node, by counting; they are between `start` and `end` in every relation.
    void sort_slots(const Place& place, const std::int64_t* start, const std::vector<std::int32_t*>& end) {
        const auto base = static_cast<std::int32_t>(place.first_node);
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
                batch_.slot_position[index(at - arguments)] = next[index(*at - base)]++;
    }

    const RelationTables& tables_;
    const GraphQuery& query_;
    std::size_t threads_;
    std::size_t relations_;
    std::int64_t nodes_ = 0;  // of all graphs so far
    std::vector<Place> places_;
    std::vector<std::int64_t> start_;  // [graphs, relations]: first atoms, then positions of the first argument
    GraphBatch batch_;
};

}  // namespace

std::vector<GraphBatch> encode_queries(const RelationTables& tables, std::span<const GraphQuery> queries,
                                       std::int32_t threads) {
    check_parts(tables.parts);
    std::vector<GraphBatch> encoded(queries.size());
    std::int64_t work = 0;
    for (const GraphQuery& query : queries) work += work_of(tables, query);
    const std::size_t most = worthwhile_threads(work, threads);
    run_parallel(queries.size(), most, [&](std::size_t i) {
        encoded[i] = Assembly(tables, queries[i], queries.size() == 1 ? most : 1).run();
    });
    return encoded;
}

GraphBatch join_batches(std::span<const GraphBatch* const> batches) {
    require(!batches.empty(), "no batch to join");
    if (batches.size() == 1) return *batches.front();
    const std::size_t relations = batches.front()->argument_offset.size() - 1;
    std::int64_t nodes = 0;
    std::int64_t slots = 0;
    for (const GraphBatch* part : batches) {
        require(part->argument_offset.size() == relations + 1, "graphs of different domains cannot share a batch");
        nodes += part->graph_offset.back();
        slots += part->argument_offset.back();
    }
    if (nodes > kMaxIndex) throw std::overflow_error("nodes");
    if (slots > kMaxIndex) throw std::overflow_error("arguments");

    GraphBatch joined;
    joined.arguments.resize(index(slots));
    joined.slot_position.resize(index(slots));
    joined.relation_offset.resize(relations + 1, 0);
    joined.argument_offset.resize(relations + 1, 0);
    joined.slot_offset.reserve(index(nodes) + 1);

    std::int64_t at = 0;
    auto copy_shifted = [](const std::int32_t* from, std::int64_t count, std::int32_t shift, std::int32_t* to) {
        for (std::int64_t i = 0; i < count; ++i) to[i] = from[i] + shift;
    };
    for (std::size_t r = 0; r < relations; ++r) {
        std::int32_t node = 0;
        std::int32_t slot = 0;
        std::int64_t atoms = 0;
        for (const GraphBatch* part : batches) {
            const std::int64_t first = part->argument_offset[r];
            const std::int64_t count = part->argument_offset[r + 1] - first;
            copy_shifted(part->arguments.data() + first, count, node, joined.arguments.data() + at);
            copy_shifted(part->slot_position.data() + first, count, slot, joined.slot_position.data() + at);
            at += count;
            atoms += part->relation_offset[r + 1] - part->relation_offset[r];
            node += part->graph_offset.back();
            slot += static_cast<std::int32_t>(part->argument_offset.back());
        }
        joined.relation_offset[r + 1] = joined.relation_offset[r] + atoms;
        joined.argument_offset[r + 1] = at;
    }

    std::int32_t node = 0;
    std::int32_t slot = 0;
    joined.candidate_offset.push_back(0);
    // All but the last entry of an array of offsets, which is the first one of the next batch.
    auto append_offsets = [](auto& to, const auto& from, auto shift) {
        std::transform(from.begin(), from.end() - 1, std::back_inserter(to), [=](auto value) { return value + shift; });
    };
    auto append = [](auto& to, const auto& from, std::int32_t shift) {
        std::transform(from.begin(), from.end(), std::back_inserter(to), [=](auto value) { return value + shift; });
    };
    for (const GraphBatch* part : batches) {
        const std::int32_t graph = narrow(joined.object_count.size());
        const auto candidate = static_cast<std::int64_t>(joined.candidate_node.size());
        append_offsets(joined.graph_offset, part->graph_offset, node);
        append_offsets(joined.slot_offset, part->slot_offset, slot);
        append(joined.object_count, part->object_count, 0);
        for (std::size_t i = 1; i < part->candidate_offset.size(); ++i)
            joined.candidate_offset.push_back(candidate + part->candidate_offset[i]);
        for (std::int32_t own : part->candidate_node) joined.candidate_node.push_back(own < 0 ? own : own + node);
        append(joined.candidate_graph, part->candidate_graph, graph);
        append(joined.source_graph, part->source_graph, graph);
        append(joined.depth_node, part->depth_node, node);
        append(joined.depth_graph, part->depth_graph, graph);
        append(joined.depth_value, part->depth_value, 0);
        node += part->graph_offset.back();
        slot += static_cast<std::int32_t>(part->argument_offset.back());
    }
    joined.graph_offset.push_back(node);
    joined.slot_offset.push_back(slot);
    return joined;
}

}  // namespace saltus
