// Lookaheads for Python: trees, free moves, roles.
#include <array>
#include <tuple>
#include <utility>
#include <vector>

#include "bindings.hpp"
#include "free_moves.hpp"
#include "lookahead.hpp"
#include "roles.hpp"
#include "walks.hpp"

namespace saltus::bindings {

namespace {

void make_spec(Spec* self, std::int32_t kind, std::int32_t width, std::int64_t capacity, std::int32_t goal_identity,
               std::int32_t root, bool expand_root_successors, bool keep_root_successors, std::int64_t max_better,
               std::int64_t max_encoded, std::int64_t max_nodes, std::int64_t max_atoms,
               std::int64_t max_root_actions) {
    const Spec spec{static_cast<Kind>(kind),
                    width,
                    capacity,
                    static_cast<GoalIdentity>(goal_identity),
                    static_cast<RootMode>(root),
                    expand_root_successors,
                    keep_root_successors,
                    max_better,
                    max_encoded,
                    max_nodes,
                    max_atoms,
                    max_root_actions};
    spec.check();
    new (self) Spec(spec);
}

// A view of a tree's array; NumPy keeps the tree alive.
template <auto Member>
auto array_of(const Tree& tree) {
    const auto& values = tree.*Member;
    using Value = typename std::decay_t<decltype(values)>::value_type;
    return nb::ndarray<nb::numpy, const Value, nb::ndim<1>>(values.data(), {values.size()}, nb::handle());
}

// Groups as Python passes them: predicate, place, blocked by others, objects, moves.
using Groups = std::vector<std::tuple<std::int32_t, std::int32_t, bool, std::vector<std::vector<Object>>,
                                      std::vector<std::array<std::int32_t, 4>>>>;

void make_free_moves(FreeMoves* self, const Task& task, const Groups& groups) {
    std::vector<FreeMoves::Description> given;
    for (const auto& [predicate, place, blocked, objects, moves] : groups)
        given.push_back({predicate, place, blocked, objects, moves});
    interruptibly([&] { return new (self) FreeMoves(task, given); });
}

Output<std::uint8_t> reversible(const FreeMoves& moves) {
    std::vector<std::uint8_t> flags;
    for (const Group& group : moves.groups()) flags.push_back(group.reversible ? 1 : 0);
    return give(std::move(flags));
}

nb::tuple walks_before(const FreeMoves& moves, Input<Code> state, std::int32_t schema, Input<Object> arguments) {
    moves.task().check_state(view(state));
    moves.task().check_action(schema, view(arguments));
    return give(interruptibly([&] { return saltus::walks_before(moves, view(state), schema, view(arguments)); }));
}

Output<Code> canonical_state(const FreeMoves& moves, Input<Code> state, Input<Code> positive, Input<Code> negative) {
    const Situation start = make_situation(moves.task(), state, positive, negative);
    return give(interruptibly(
        [&] { return saltus::canonical_state(moves, start.state, start.goal_positive, start.goal_negative); }));
}

nb::list lookahead_batch(const nb::list& tasks, const nb::list& states, const nb::list& positives,
                         const nb::list& negatives, const nb::list& moves, const Spec& spec, std::int32_t threads) {
    for (const nb::list& codes : {states, positives, negatives, moves})
        if (codes.size() != tasks.size()) throw nb::value_error("lookahead_batch: lists of different lengths");
    std::vector<Input<Code>> alive;
    std::vector<Situation> situations;
    alive.reserve(3 * tasks.size());
    for (std::size_t i = 0; i < tasks.size(); ++i) {
        for (const nb::list& codes : {states, positives, negatives}) alive.push_back(nb::cast<Input<Code>>(codes[i]));
        const std::size_t first = alive.size() - 3;
        situations.push_back(
            make_situation(nb::cast<const Task&>(tasks[i]), alive[first], alive[first + 1], alive[first + 2]));
        if (moves[i].is_none()) continue;
        situations.back().moves = &nb::cast<const FreeMoves&>(moves[i]);
        if (&situations.back().moves->task() != situations.back().task)
            throw nb::value_error("lookahead_batch: free moves of another task");
        if (spec.width != 1) throw nb::value_error("lookahead_batch: free moves need width 1");
    }
    std::vector<Tree> trees = interruptibly([&] { return saltus::lookahead_batch(situations, spec, threads); });
    nb::list result;
    for (Tree& tree : trees) result.append(nb::cast(std::move(tree)));
    return result;
}

std::int64_t find_node(Input<Code> root, Input<std::int64_t> added_offset, Input<Code> added,
                       Input<std::int64_t> deleted_offset, Input<Code> deleted, Input<Code> state) {
    return saltus::find_node({view(root), view(added_offset), view(added), view(deleted_offset), view(deleted)},
                             view(state));
}

void make_roles(Roles* self, const Task& task, Input<Code> positive, Input<Code> negative, std::int32_t fixed,
                std::int32_t most) {
    task.check_codes(view(positive));
    task.check_codes(view(negative));
    new (self) Roles(task, view(positive), view(negative), fixed, most);
}

std::optional<nb::tuple> project(Roles& roles, Input<Code> state) {
    roles.task().check_state(view(state));
    Projection found = interruptibly([&] { return roles.project(view(state)); });
    if (found.representatives.empty()) return std::nullopt;
    return nb::make_tuple(give(std::move(found.representatives)), give(std::move(found.static_rows)),
                          give(std::move(found.static_count)), give(std::move(found.state)),
                          give(std::move(found.goal_positive)), give(std::move(found.goal_negative)), found.satisfied);
}

Output<Code> lift_codes(const Task& small, const Task& whole, Input<Object> representatives, Input<Code> codes) {
    return give(saltus::lift_codes(small, whole, view(representatives), view(codes)));
}

}  // namespace

void bind_search(nb::module_& module) {
    nb::class_<Spec>(module, "Spec")
        .def("__init__", &make_spec, "kind"_a, "width"_a, "capacity"_a, "goal_identity"_a, "root"_a,
             "expand_root_successors"_a, "keep_root_successors"_a, "max_better"_a, "max_encoded"_a, "max_nodes"_a,
             "max_atoms"_a, "max_root_actions"_a);
    constexpr auto inside = nb::rv_policy::reference_internal;
    nb::class_<Tree>(module, "Tree")
        .def_prop_ro("parent", &array_of<&Tree::parent>, inside)
        .def_prop_ro("depth", &array_of<&Tree::depth>, inside)
        .def_prop_ro("length", &array_of<&Tree::length>, inside)
        .def_prop_ro("schema", &array_of<&Tree::schema>, inside)
        .def_prop_ro("argument_offset", &array_of<&Tree::argument_offset>, inside)
        .def_prop_ro("argument", &array_of<&Tree::argument>, inside)
        .def_prop_ro("novel", &array_of<&Tree::novel>, inside)
        .def_prop_ro("goals", &array_of<&Tree::goals>, inside)
        .def_prop_ro("added_offset", &array_of<&Tree::added_offset>, inside)
        .def_prop_ro("added", &array_of<&Tree::added>, inside)
        .def_prop_ro("deleted_offset", &array_of<&Tree::deleted_offset>, inside)
        .def_prop_ro("deleted", &array_of<&Tree::deleted>, inside)
        .def_ro("generated", &Tree::generated)
        .def_ro("root_actions", &Tree::root_actions)
        .def_ro("truncated", &Tree::truncated)
        .def_ro("stopped", &Tree::stopped)
        .def_ro("left_out", &Tree::left_out)
        .def_prop_ro("root", [](const Tree& tree) { return static_cast<std::int32_t>(tree.root); });
    nb::class_<FreeMoves>(module, "FreeMoves")
        .def("__init__", &make_free_moves, "task"_a, "groups"_a, nb::keep_alive<1, 2>())
        .def_prop_ro("reversible", &reversible, nb::rv_policy::automatic)
        .def("walks_before", &walks_before, "state"_a, "schema"_a, "arguments"_a)
        .def("canonical_state", &canonical_state, "state"_a, "positive"_a, "negative"_a);
    module.def("lookahead_batch", &lookahead_batch, "tasks"_a, "states"_a, "positives"_a, "negatives"_a, "moves"_a,
               "spec"_a, "threads"_a);
    module.def("find_node", &find_node, "root"_a, "added_offset"_a, "added"_a, "deleted_offset"_a, "deleted"_a,
               "state"_a);
    nb::class_<Roles>(module, "Roles")
        .def("__init__", &make_roles, "task"_a, "positive"_a, "negative"_a, "fixed"_a, "most"_a, nb::keep_alive<1, 2>())
        .def("project", &project, "state"_a);
    module.def("lift_codes", &lift_codes, "small"_a, "whole"_a, "representatives"_a, "codes"_a);
}

}  // namespace saltus::bindings
