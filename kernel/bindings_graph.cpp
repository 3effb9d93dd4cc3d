// Graphs and their layout for Python.
#include <utility>
#include <vector>

#include "bindings.hpp"
#include "graph.hpp"
#include "layout.hpp"

namespace saltus::bindings {

namespace {

void make_tables(RelationTables* self, bool is_joint, bool has_root_graph, bool delta, bool primed, bool actions,
                 bool tree, bool world, Input<std::int32_t> arity, Input<std::int32_t> relation,
                 Input<std::int32_t> of_type, Input<std::int32_t> of_schema, std::int32_t edge, std::int32_t order,
                 std::int32_t level) {
    new (self) RelationTables{{is_joint, has_root_graph, delta, primed, actions, tree},
                              world,
                              copy(arity),
                              copy(relation),
                              copy(of_type),
                              copy(of_schema),
                              edge,
                              order,
                              level};
}

void make_graph_task(GraphTask* self, const Task& task, Input<std::int64_t> type_offset,
                     Input<std::int32_t> type_object) {
    new (self) GraphTask{&task, copy(type_offset), copy(type_object)};
}

// Queries and the arrays that they view. Every query is (task, state, positive goals, negative goals, the tree's nine
// arrays in the order of GraphQuery).
class GraphQueries {
public:
    explicit GraphQueries(const nb::list& queries) {
        wide_.reserve(8 * queries.size());
        narrow_.reserve(4 * queries.size());
        for (nb::handle entry : queries) {
            const auto query = nb::cast<nb::tuple>(entry);
            if (query.size() != 13) throw nb::value_error("a query has thirteen parts");
            asked_.push_back({&nb::cast<const GraphTask&>(query[0]), wide(query[1]), wide(query[2]), wide(query[3]),
                              narrow(query[4]), narrow(query[5]), narrow(query[6]), wide(query[7]), narrow(query[8]),
                              wide(query[9]), wide(query[10]), wide(query[11]), wide(query[12])});
        }
    }
    std::span<const GraphQuery> asked() const { return asked_; }

private:
    std::span<const std::int64_t> wide(nb::handle array) {
        return view(wide_.emplace_back(nb::cast<Input<std::int64_t>>(array)));
    }
    std::span<const std::int32_t> narrow(nb::handle array) {
        return view(narrow_.emplace_back(nb::cast<Input<std::int32_t>>(array)));
    }

    std::vector<Input<std::int64_t>> wide_;
    std::vector<Input<std::int32_t>> narrow_;
    std::vector<GraphQuery> asked_;
};

nb::tuple arrays_of(GraphBatch&& batch) {
    return nb::make_tuple(give(std::move(batch.graph_offset)), give(std::move(batch.object_count)),
                          give(std::move(batch.relation_offset)), give(std::move(batch.argument_offset)),
                          give(std::move(batch.arguments)), give(std::move(batch.slot_position)),
                          give(std::move(batch.slot_offset)), give(std::move(batch.candidate_offset)),
                          give(std::move(batch.candidate_node)), give(std::move(batch.candidate_graph)),
                          give(std::move(batch.source_graph)), give(std::move(batch.depth_node)),
                          give(std::move(batch.depth_graph)), give(std::move(batch.depth_value)));
}

nb::list encode_queries(const RelationTables& tables, const nb::list& queries, std::int32_t threads) {
    const GraphQueries read(queries);
    std::vector<GraphBatch> encoded;
    {
        nb::gil_scoped_release release;
        encoded = saltus::encode_queries(tables, read.asked(), threads);
    }
    nb::list result;
    for (GraphBatch& batch : encoded) result.append(nb::cast(std::move(batch)));
    return result;
}

nb::tuple join_batches(const nb::list& batches) {
    std::vector<const GraphBatch*> parts;
    for (nb::handle entry : batches) parts.push_back(&nb::cast<const GraphBatch&>(entry));
    GraphBatch batch;
    {
        nb::gil_scoped_release release;
        batch = saltus::join_batches(parts);
    }
    return arrays_of(std::move(batch));
}

// `spans` has a row (first byte, number of entries) per array in the block.
void fill_layout(Input<std::int32_t> graph_offset, Input<std::int32_t> object_count,
                 Input<std::int64_t> argument_offset, Input<std::int32_t> arguments, Input<std::int32_t> slot_position,
                 Input<std::int32_t> slot_offset, Input<std::int32_t> candidate_node,
                 Input<std::int32_t> candidate_graph, Input<std::int32_t> depth_node, Input<std::int32_t> arity,
                 std::int64_t tile, std::int64_t piece,
                 nb::ndarray<std::uint8_t, nb::ndim<1>, nb::c_contig, nb::device::cpu> block,
                 Matrix<const std::int64_t> spans) {
    const LayoutBatch batch{view(graph_offset),   view(object_count),    view(argument_offset),
                            view(arguments),      view(slot_position),   view(slot_offset),
                            view(candidate_node), view(candidate_graph), view(depth_node)};
    if (spans.shape(1) != 2) throw nb::value_error("fill_layout: a span has two parts");
    nb::gil_scoped_release release;
    std::vector<BlockSpan> places;
    for (std::size_t i = 0; i < spans.shape(0); ++i) places.push_back({spans.data()[2 * i], spans.data()[2 * i + 1]});
    saltus::fill_layout(batch, view(arity), tile, piece,
                        std::as_writable_bytes(std::span(block.data(), block.shape(0))), places);
}

}  // namespace

void bind_graph(nb::module_& module) {
    nb::class_<RelationTables>(module, "RelationTables")
        .def("__init__", &make_tables, "is_joint"_a, "has_root_graph"_a, "delta"_a, "primed"_a, "actions"_a, "tree"_a,
             "world"_a, "arity"_a, "relation"_a, "of_type"_a, "of_schema"_a, "edge"_a, "order"_a, "level"_a);
    nb::class_<GraphTask>(module, "GraphTask")
        .def("__init__", &make_graph_task, "task"_a, "type_offset"_a, "type_object"_a, nb::keep_alive<1, 2>());
    nb::class_<GraphBatch>(module, "QueryGraphs").def_prop_ro("slots", [](const GraphBatch& batch) {
        return batch.arguments.size();
    });
    module.def("encode_queries", &encode_queries, "tables"_a, "queries"_a, "threads"_a);
    module.def("join_batches", &join_batches, "batches"_a);
    module.def("fill_layout", &fill_layout, "graph_offset"_a, "object_count"_a, "argument_offset"_a, "arguments"_a,
               "slot_position"_a, "slot_offset"_a, "candidate_node"_a, "candidate_graph"_a, "depth_node"_a, "arity"_a,
               "tile"_a, "piece"_a, "block"_a.noconvert(), "spans"_a);
}

}  // namespace saltus::bindings
