// Bindings: the only file of the kernel that knows Python. Every function does a whole job on flat arrays with the
// interpreter lock released, and returns arrays without copying them.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/array.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <array>
#include <string>
#include <utility>
#include <vector>

#include "actions.hpp"
#include "axioms.hpp"
#include "colours.hpp"
#include "conjunction.hpp"
#include "free_moves.hpp"
#include "frozen.hpp"
#include "graph.hpp"
#include "ground.hpp"
#include "interrupt.hpp"
#include "layout.hpp"
#include "lookahead.hpp"
#include "network.hpp"
#include "places.hpp"
#include "reader.hpp"
#include "relaxation.hpp"
#include "relaxed_search.hpp"
#include "roles.hpp"
#include "tidy.hpp"
#include "training_pass.hpp"
#include "walks.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace saltus::bindings {

namespace {

template <typename T>
using Input = nb::ndarray<const T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

template <typename Real>
using Matrix = nb::ndarray<Real, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

template <typename T>
using Output = nb::ndarray<nb::numpy, T, nb::ndim<1>>;

template <typename T>
std::span<const T> view(const Input<T>& array) {
    return {array.data(), array.shape(0)};
}

template <typename T>
std::vector<T> copy(const Input<T>& array) {
    const auto values = view(array);
    return {values.begin(), values.end()};
}

// Hands the vector's memory to NumPy.
template <typename T>
Output<T> give(std::vector<T>&& values) {
    auto* owned = new std::vector<T>(std::move(values));
    nb::capsule owner(owned, [](void* p) noexcept { delete static_cast<std::vector<T>*>(p); });
    return Output<T>(owned->data(), {owned->size()}, owner);
}

// Result of work(), computed with the interpreter lock released. A signal that arrives meanwhile stops it as it would
// stop Python code; since Python handles signals on its main thread only, other threads are not interrupted. So does
// the Python function `check`, if there is one, by raising an exception.
template <typename Work>
auto interruptibly(Work&& work, nb::handle check = {}) {
    bool signalled = false;
    Interrupt interrupt([&] {
        nb::gil_scoped_acquire acquire;
        signalled = PyErr_CheckSignals() != 0;
        if (!signalled && check.is_valid()) {
            PyObject* result = PyObject_CallNoArgs(check.ptr());
            signalled = result == nullptr;
            Py_XDECREF(result);
        }
        return signalled;
    });
    const Interrupt::Scope scope(&interrupt);
    std::decay_t<decltype(work())> result{};
    try {
        nb::gil_scoped_release release;
        result = work();
    } catch (const Interrupted&) {
    }
    if (signalled) throw nb::python_error();
    return result;
}

nb::tuple scan(const nb::bytes& text, std::uint32_t max_nesting) {
    Tokens tokens;
    {
        std::string_view characters(text.c_str(), text.size());
        nb::gil_scoped_release release;
        tokens = saltus::scan(characters, max_nesting);
    }
    nb::list symbols;
    for (const std::string& symbol : tokens.symbols) symbols.append(nb::str(symbol.c_str(), symbol.size()));
    return nb::make_tuple(give(std::move(tokens.token)), give(std::move(tokens.offset)), symbols,
                          static_cast<int>(tokens.error), tokens.error_offset);
}

nb::tuple read_atoms(Input<std::int32_t> token, std::int32_t begin, std::int32_t end,
                     Input<std::int32_t> predicate_of_symbol, Input<std::int32_t> object_of_symbol,
                     Input<std::int32_t> arity, Input<std::int32_t> first_slot, Input<std::uint8_t> allowed,
                     Input<std::int32_t> object_type, std::int32_t types) {
    if (begin < 0 || end < begin || static_cast<std::size_t>(end) > token.shape(0))
        throw nb::value_error("read_atoms: token range out of bounds");
    const AtomTables tables{view(predicate_of_symbol),
                            view(object_of_symbol),
                            view(arity),
                            view(first_slot),
                            view(allowed),
                            view(object_type),
                            types};
    tables.check();
    Atoms atoms;
    {
        nb::gil_scoped_release release;
        atoms = saltus::read_atoms(view(token), begin, end, tables);
    }
    return nb::make_tuple(give(std::move(atoms.predicate)), give(std::move(atoms.argument)),
                          give(std::move(atoms.special)), give(std::move(atoms.duplicate)), atoms.refused);
}

void make_task(Task* self, Input<std::int32_t> program, Input<std::int32_t> object_type, Input<std::int32_t> arity,
               Input<std::uint8_t> fluent, Input<Code> code_offset, Input<std::int32_t> static_rows,
               Input<std::int64_t> static_start) {
    new (self) Task(view(program), view(object_type), view(arity), view(fluent), view(code_offset), view(static_rows),
                    view(static_start));
}

void make_spec(Spec* self, std::int32_t kind, std::int32_t width, std::int64_t capacity, std::int32_t goal_identity,
               bool derived_novelty, std::int32_t root, bool expand_root_successors, bool keep_root_successors,
               std::int64_t max_better, std::int64_t max_encoded, std::int64_t max_nodes, std::int64_t max_atoms,
               std::int64_t max_root_actions) {
    Spec spec;
    spec.kind = static_cast<Kind>(kind);
    spec.width = width;
    spec.capacity = capacity;
    spec.goal_identity = static_cast<GoalIdentity>(goal_identity);
    spec.derived_novelty = derived_novelty;
    spec.root = static_cast<RootMode>(root);
    spec.expand_root_successors = expand_root_successors;
    spec.keep_root_successors = keep_root_successors;
    spec.max_better = max_better;
    spec.max_encoded = max_encoded;
    spec.max_nodes = max_nodes;
    spec.max_atoms = max_atoms;
    spec.max_root_actions = max_root_actions;
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

Situation make_situation(const Task& task, const Input<Code>& state, const Input<Code>& positive,
                         const Input<Code>& negative) {
    const Situation situation{&task, view(state), view(positive), view(negative)};
    task.check_state(situation.state);
    task.check_codes(situation.goal_positive);
    task.check_codes(situation.goal_negative);
    return situation;
}

void make_free_moves(FreeMoves* self, const Task& task, Input<std::int32_t> program) {
    interruptibly([&] { return new (self) FreeMoves(task, view(program)); });
}

Output<std::uint8_t> reversible(const FreeMoves& moves) {
    std::vector<std::uint8_t> flags;
    for (const Group& group : moves.groups()) flags.push_back(group.reversible ? 1 : 0);
    return give(std::move(flags));
}

nb::tuple walks_before(const FreeMoves& moves, Input<Code> state, std::int32_t schema, Input<Object> arguments) {
    moves.task().check_state(view(state));
    moves.task().check_action(schema, view(arguments));
    Walks walks = interruptibly([&] { return saltus::walks_before(moves, view(state), schema, view(arguments)); });
    return nb::make_tuple(give(std::move(walks.schema)), give(std::move(walks.argument_offset)),
                          give(std::move(walks.argument)));
}

Output<Code> canonical_state(const FreeMoves& moves, Input<Code> state, Input<Code> positive, Input<Code> negative) {
    moves.task().check_state(view(state));
    moves.task().check_codes(view(positive));
    moves.task().check_codes(view(negative));
    return give(
        interruptibly([&] { return saltus::canonical_state(moves, view(state), view(positive), view(negative)); }));
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

void check_atoms(std::span<const std::int32_t> numbers, std::size_t atoms) {
    for (const std::int32_t number : numbers) {
        if (number < 0 || static_cast<std::size_t>(number) >= atoms) throw nb::value_error("no such atom");
    }
}

// Lists of atoms, one per action, whose numbers are checked.
AtomLists atom_lists(const Input<std::int32_t>& offset, const Input<std::int32_t>& atom, std::size_t actions,
                     std::size_t atoms) {
    const auto bounds = view(offset);
    const auto numbers = view(atom);
    if (bounds.size() != actions + 1 || bounds.front() != 0 ||
        bounds.back() != static_cast<std::int64_t>(numbers.size()) || !std::is_sorted(bounds.begin(), bounds.end())) {
        throw nb::value_error("offsets of atoms do not fit");
    }
    check_atoms(numbers, atoms);
    return {bounds, numbers};
}

// Ground actions as Python passes them: where the atoms of each action begin, and the atoms of all, four times.
using Listed = std::array<std::pair<Input<std::int32_t>, Input<std::int32_t>>, 4>;

ListedActions listed_actions(std::size_t atoms, const Listed& lists) {
    if (lists[0].first.shape(0) == 0) throw nb::value_error("no offsets");
    const std::size_t count = lists[0].first.shape(0) - 1;
    auto of = [&](std::size_t i) { return atom_lists(lists[i].first, lists[i].second, count, atoms); };
    return {atoms, of(0), of(1), of(2), of(3)};
}

nb::tuple relaxed_search(std::size_t atoms, const Listed& lists, Input<std::int32_t> initial, Input<std::int32_t> goal,
                         Input<std::int32_t> unwanted, std::int64_t most_work, std::int64_t goal_share,
                         const nb::callable& check) {
    if (goal_share < 1) throw nb::value_error("no share of the work");
    const ListedActions actions = listed_actions(atoms, lists);
    for (const auto& numbers : {view(initial), view(goal), view(unwanted)}) check_atoms(numbers, atoms);
    RelaxedFound found = interruptibly(
        [&] {
            return saltus::relaxed_search(actions, view(initial), {view(goal), view(unwanted)}, most_work, goal_share);
        },
        check);
    return nb::make_tuple(found.is_plan, give(std::move(found.actions)), found.work);
}

// Positions of the actions of a plan that stay, by `tidied`.
template <typename Tidied>
Output<std::int32_t> tidy(std::size_t atoms, const Listed& lists, const Input<std::int32_t>& plan,
                          const Input<std::int32_t>& initial, const Input<std::int32_t>& goal,
                          const Input<std::int32_t>& unwanted, Tidied&& tidied) {
    const ListedActions actions = listed_actions(atoms, lists);
    for (const auto& numbers : {view(initial), view(goal), view(unwanted)}) check_atoms(numbers, atoms);
    for (std::int32_t number : view(plan))
        if (number < 0 || static_cast<std::size_t>(number) >= actions.count())
            throw nb::value_error("an action of the plan is not listed");
    return give(interruptibly([&] { return tidied(actions, ListedGoal{view(goal), view(unwanted)}); }));
}

Output<std::int32_t> without_loops(std::size_t atoms, const Listed& lists, Input<std::int32_t> plan,
                                   Input<std::int32_t> initial, Input<std::int32_t> goal,
                                   Input<std::int32_t> unwanted) {
    return tidy(atoms, lists, plan, initial, goal, unwanted, [&](const ListedActions& actions, const ListedGoal& end) {
        return saltus::without_loops(actions, view(plan), view(initial), end);
    });
}

Output<std::int32_t> without_redundant(std::size_t atoms, const Listed& lists, Input<std::int32_t> plan,
                                       Input<std::int32_t> initial, Input<std::int32_t> goal,
                                       Input<std::int32_t> unwanted, std::int64_t most_work) {
    return tidy(atoms, lists, plan, initial, goal, unwanted, [&](const ListedActions& actions, const ListedGoal& end) {
        return saltus::without_redundant(actions, view(plan), view(initial), end, most_work);
    });
}

std::int64_t find_node(Input<Code> root, Input<std::int64_t> added_offset, Input<Code> added,
                       Input<std::int64_t> deleted_offset, Input<Code> deleted, Input<Code> state) {
    return saltus::find_node({view(root), view(added_offset), view(added), view(deleted_offset), view(deleted)},
                             view(state));
}

nb::tuple find_colours(const Task& task, Input<Code> state, Input<Code> positive, Input<Code> negative) {
    const Situation situation = make_situation(task, state, positive, negative);
    Symmetry symmetry = find_symmetry(task, situation.state, situation.goal_positive, situation.goal_negative);
    return nb::make_tuple(give(std::move(symmetry.colour)), give(std::move(symmetry.rank)));
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
    return nb::make_tuple(give(std::move(found.representatives)), give(std::move(found.code_offset)),
                          give(std::move(found.static_rows)), give(std::move(found.static_count)),
                          give(std::move(found.state)), give(std::move(found.goal_positive)),
                          give(std::move(found.goal_negative)), found.satisfied);
}

Output<Code> lift_codes(const Task& small, const Task& whole, Input<Object> representatives, Input<Code> codes) {
    return give(saltus::lift_codes(small, whole, view(representatives), view(codes)));
}

nb::tuple applicable(const Task& task, Input<Code> state, std::int64_t limit) {
    task.check_state(view(state));
    Actions actions = interruptibly([&] { return saltus::applicable(task, view(state), limit); });
    return nb::make_tuple(give(std::move(actions.schema)), give(std::move(actions.argument_offset)),
                          give(std::move(actions.argument)));
}

Output<std::int64_t> count_applicable(const Task& task, Input<Code> state) {
    task.check_state(view(state));
    return give(interruptibly([&] { return saltus::count_applicable(task, view(state)); }));
}

Output<Object> pick_action(const Task& task, Input<Code> state, std::int32_t schema, std::int64_t index) {
    task.check_state(view(state));
    task.check_schema(schema);
    return give(interruptibly([&] { return saltus::pick_action(task, view(state), schema, index); }));
}

Output<Code> derive(const Task& task, Input<Code> state) {
    task.check_state(view(state));
    return give(interruptibly([&] { return saltus::derive(task, view(state)); }));
}

Output<Code> successor(const Task& task, Input<Code> state, std::int32_t schema, Input<Object> arguments) {
    task.check_state(view(state));
    task.check_action(schema, view(arguments));
    return give(interruptibly([&] { return saltus::successor(task, view(state), schema, view(arguments)); }));
}

nb::tuple find_bindings(const Task& task, Input<Code> state, Input<std::int32_t> literals, Input<std::int32_t> domains,
                        std::int64_t limit, std::uint64_t seed, std::int64_t steps) {
    task.check_state(view(state));
    if (view(domains).size() > kMaxVariables) throw nb::value_error("find_bindings: number of variables out of range");
    Pattern pattern;
    pattern.domains.assign(view(domains).begin(), view(domains).end());
    const auto program = view(literals);
    for (std::size_t i = 0; i < program.size();) {
        if (program.size() - i < 3 || program[i + 2] < 0 ||
            static_cast<std::size_t>(program[i + 2]) > program.size() - i - 3)
            throw nb::value_error("find_bindings: program ends early");
        Literal literal;
        literal.predicate = program[i];
        literal.positive = program[i + 1] != 0;
        const auto terms = program.subspan(i + 3, static_cast<std::size_t>(program[i + 2]));
        literal.terms.assign(terms.begin(), terms.end());
        i += 3 + terms.size();
        pattern.literals.push_back(std::move(literal));
    }
    task.check_pattern(pattern);
    Bindings found =
        interruptibly([&] { return saltus::find_bindings(task, view(state), pattern, limit, seed, steps); });
    return nb::make_tuple(found.count, give(std::move(found.objects)));
}

using Quotas = std::vector<std::pair<Input<Code>, std::int64_t>>;

Target target_of(const Task& task, const Input<Code>& goal, const Quotas& quotas) {
    task.check_codes(view(goal));
    Target target{view(goal), {}};
    for (const auto& [atoms, least] : quotas) {
        task.check_codes(view(atoms));
        target.quotas.push_back({view(atoms), least});
    }
    return target;
}

std::optional<bool> relaxed_reaches(const Task& task, Input<Code> state, Input<Code> goal, std::int64_t work,
                                    const Quotas& quotas) {
    task.check_state(view(state));
    const Target target = target_of(task, goal, quotas);
    return interruptibly(
        [&] { return saltus::relaxed_reaches(task, saltus::relaxed_rules(task), view(state), target, work); });
}

std::optional<bool> proof_reaches(RelaxedProof& self, Input<Code> state, Input<Code> goal, std::int64_t work,
                                  const Quotas& quotas) {
    self.task().check_state(view(state));
    const Target target = target_of(self.task(), goal, quotas);
    return interruptibly([&] { return self.reaches(view(state), target, work); });
}

void make_relaxation(GroundRelaxation* self, const Task& task, std::int64_t limit, bool negation) {
    interruptibly([&] { return new (self) GroundRelaxation(task, limit, negation); });
}

bool reaches(const GroundRelaxation& self, const Task& task, Input<Code> state, Input<Code> goal,
             const Quotas& quotas) {
    task.check_state(view(state));
    const Target target = target_of(task, goal, quotas);
    return interruptibly([&] { return self.reaches(view(state), target); });
}

void make_ground_actions(GroundActions* self, const Task& task, std::int64_t limit) {
    interruptibly([&] { return new (self) GroundActions(task, limit); });
}

void make_frozen_test(FrozenTest* self, const Task& task, const GroundActions& actions, Input<Code> goal,
                      Input<std::int32_t> program) {
    task.check_codes(view(goal));
    interruptibly([&] { return new (self) FrozenTest(task, actions, view(goal), view(program)); });
}

std::int32_t keeps(const FrozenTest& self, Input<Code> state, bool strong, std::int64_t work) {
    self.task().check_state(view(state));
    return interruptibly([&] { return static_cast<std::int32_t>(self.keeps(view(state), strong, work)); });
}

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

void make_network(Network* self, Input<std::int32_t> arity, std::int64_t embedding, std::int64_t hidden_layers,
                  double sharpness, std::int32_t readout, bool object_network, Input<float> weights,
                  const std::string& instructions) {
    NetworkShape shape{embedding,      hidden_layers, static_cast<float>(sharpness), static_cast<Readout>(readout),
                       object_network, copy(arity)};
    nb::gil_scoped_release release;
    new (self) Network(std::move(shape), view(weights), instructions);
}

Output<float> q_values(const Network& network, Input<std::int32_t> graph_offset, Input<std::int32_t> object_count,
                       Input<std::int64_t> argument_offset, Input<std::int32_t> arguments,
                       Input<std::int32_t> candidate_node, Input<std::int32_t> candidate_graph,
                       Input<std::int32_t> source_graph, std::int64_t layers, std::int32_t threads,
                       const std::optional<nb::callable>& check) {
    const NetworkBatch batch{view(graph_offset),   view(object_count),    view(argument_offset), view(arguments),
                             view(candidate_node), view(candidate_graph), view(source_graph)};
    return give(interruptibly([&] { return network.q_values(batch, layers, threads); },
                              check ? nb::handle(*check) : nb::handle()));
}

// A pass of training and the arrays of its weights.
class BoundTraining {
public:
    explicit BoundTraining(const std::string& instructions) : pass_(instructions) {}

    // Groups are (arguments [atoms, arity], row_offset [relations + 1]); weights are four arrays per group, four of the
    // update, two of the norm.
    void begin(std::int64_t nodes, std::int64_t embedding, double sharpness, const nb::list& groups,
               const nb::list& weights, bool keep, std::int32_t threads) {
        ready_ = backward_ = false;
        std::vector<TrainingGroup> found;
        relations_.clear();
        arity_.clear();
        for (nb::handle entry : groups) {
            const auto pair = nb::cast<nb::tuple>(entry);
            const auto arguments = nb::cast<Matrix<const std::int32_t>>(pair[0], false);
            const auto offset = nb::cast<Input<std::int64_t>>(pair[1], false);
            if (!is_increasing(view(offset)) || offset.data()[offset.shape(0) - 1] != as_int(arguments.shape(0)))
                throw nb::value_error("training: offsets do not fit");
            relations_.push_back(as_int(offset.shape(0)) - 1);
            arity_.push_back(as_int(arguments.shape(1)));
            found.push_back({arity_.back(), {arguments.data(), arguments.size()}, view(offset)});
        }
        pass_.begin({nodes, embedding, static_cast<float>(sharpness)}, found, keep, threads);
        weights_ = arrays<const float>(weights);
        held_ = nb::tuple(weights);  // a copy: the caller's list may change
        ready_ = true;
    }

    void forward() {
        require(ready_ && !backward_, "begin has not been called");
        nb::gil_scoped_release release;
        pass_.forward(weights_);
    }

    // Embeddings; without gradients to come, the weights are let go.
    void read(Matrix<float> output) {
        const auto values = pass_.embeddings();
        require(ready_ && output.size() == values.size(), "sizes do not fit");
        std::copy(values.begin(), values.end(), output.data());
        if (pass_.keeps()) return;
        ready_ = false;
        held_ = nb::tuple();
    }

    std::int64_t bytes() const { return pass_.bytes(); }

    void begin_backward(Matrix<const float> gradient) {
        require(ready_ && pass_.keeps(), "nothing was kept");
        require(gradient.size() == pass_.embeddings().size(), "sizes do not fit");
        nb::gil_scoped_release release;
        pass_.begin_backward(weights_, {gradient.data(), gradient.size()});
        backward_ = true;
    }

    void backward() {
        require(ready_ && backward_ && pass_.layers() > 0, "there is no layer left");
        nb::gil_scoped_release release;
        pass_.backward(weights_);
    }

    void add_gradients(const nb::list& gradients) {
        require(ready_ && backward_, "begin_backward has not been called");
        const auto to = arrays<float>(gradients);
        {
            nb::gil_scoped_release release;
            pass_.add_gradients(to);
        }
        ready_ = backward_ = false;
        held_ = nb::tuple();
    }

private:
    static std::int64_t as_int(std::size_t value) { return static_cast<std::int64_t>(value); }

    static void require(bool holds, const char* what) {
        if (!holds) throw nb::value_error((std::string("training: ") + what).c_str());
    }

    static bool is_increasing(std::span<const std::int64_t> values) {
        return !values.empty() && values.front() == 0 && std::is_sorted(values.begin(), values.end());
    }

    template <typename Number>
    TrainingArrays<Number> arrays(const nb::list& given) const {
        const std::int64_t size = pass_.shape().embedding;
        require(given.size() == 4 * arity_.size() + 6, "another number of arrays is needed");
        std::size_t next = 0;
        auto take = [&](std::int64_t count) {
            const auto array =
                nb::cast<nb::ndarray<Number, nb::c_contig, nb::device::cpu>>(nb::handle(given[next++]), false);
            require(as_int(array.size()) == count, "sizes do not fit");
            return array.data();
        };
        TrainingArrays<Number> result;
        for (std::size_t i = 0; i < arity_.size(); ++i) {
            const std::int64_t width = arity_[i] * size;
            Number* weight1 = take(relations_[i] * width * width);
            Number* bias1 = take(relations_[i] * width);
            Number* weight2 = take(relations_[i] * width * width);
            result.groups.push_back({weight1, bias1, weight2, take(relations_[i] * width)});
        }
        result.update1 = take(4 * size * size);
        result.bias1 = take(2 * size);
        result.update2 = take(2 * size * size);
        result.bias2 = take(size);
        result.scale = take(size);
        result.shift = take(size);
        return result;
    }

    TrainingPass pass_;
    TrainingWeights weights_;
    nb::tuple held_;  // the arrays of weights_
    std::vector<std::int64_t> relations_;
    std::vector<std::int64_t> arity_;
    bool ready_ = false;
    bool backward_ = false;
};

// Queries and the arrays that they view. Every query is (task, state, positive goals, negative goals, the tree's ten
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

nb::tuple assemble_graphs(const RelationTables& tables, const nb::list& queries, std::int32_t threads) {
    const GraphQueries read(queries);
    GraphBatch batch;
    {
        nb::gil_scoped_release release;
        batch = saltus::assemble_graphs(tables, read.asked(), threads);
    }
    return arrays_of(std::move(batch));
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

Output<std::int64_t> group_sizes(Input<std::int64_t> relation_offset, Input<std::int32_t> arity, std::int64_t tile,
                                 std::int64_t piece) {
    return give(saltus::group_sizes(view(relation_offset), view(arity), tile, piece));
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

void define_reader(nb::module_& module) {
    module.def("scan", &scan, "text"_a, "max_nesting"_a);
    module.def("read_atoms", &read_atoms, "token"_a, "begin"_a, "end"_a, "predicate_of_symbol"_a, "object_of_symbol"_a,
               "arity"_a, "first_slot"_a, "allowed"_a, "object_type"_a, "types"_a);
}

void define_lookahead(nb::module_& module) {
    nb::class_<Task>(module, "Task")
        .def("__init__", &make_task, "program"_a, "object_type"_a, "arity"_a, "fluent"_a, "code_offset"_a,
             "static_rows"_a, "static_start"_a);
    nb::class_<Spec>(module, "Spec")
        .def("__init__", &make_spec, "kind"_a, "width"_a, "capacity"_a, "goal_identity"_a, "derived_novelty"_a,
             "root"_a, "expand_root_successors"_a, "keep_root_successors"_a, "max_better"_a, "max_encoded"_a,
             "max_nodes"_a, "max_atoms"_a, "max_root_actions"_a);
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
        .def("__init__", &make_free_moves, "task"_a, "program"_a, nb::keep_alive<1, 2>())
        .def_prop_ro("reversible", &reversible, nb::rv_policy::automatic)
        .def("walks_before", &walks_before, "state"_a, "schema"_a, "arguments"_a)
        .def("canonical_state", &canonical_state, "state"_a, "positive"_a, "negative"_a);
    module.def("lookahead_batch", &lookahead_batch, "tasks"_a, "states"_a, "positives"_a, "negatives"_a, "moves"_a,
               "spec"_a, "threads"_a);
    module.def("has_negation", &has_negation, "task"_a);
    module.def("relaxed_search", &relaxed_search, "atoms"_a, "lists"_a, "initial"_a, "goal"_a, "unwanted"_a,
               "most_work"_a, "goal_share"_a, "check"_a);
    module.def("without_loops", &without_loops, "atoms"_a, "lists"_a, "plan"_a, "initial"_a, "goal"_a, "unwanted"_a);
    module.def("without_redundant", &without_redundant, "atoms"_a, "lists"_a, "plan"_a, "initial"_a, "goal"_a,
               "unwanted"_a, "most_work"_a);
    module.def("find_node", &find_node, "root"_a, "added_offset"_a, "added"_a, "deleted_offset"_a, "deleted"_a,
               "state"_a);
    module.def("find_colours", &find_colours, "task"_a, "state"_a, "positive"_a, "negative"_a);
    nb::class_<Roles>(module, "Roles")
        .def("__init__", &make_roles, "task"_a, "positive"_a, "negative"_a, "fixed"_a, "most"_a, nb::keep_alive<1, 2>())
        .def("project", &project, "state"_a);
    module.def("lift_codes", &lift_codes, "small"_a, "whole"_a, "representatives"_a, "codes"_a);
}

void define_actions(nb::module_& module) {
    module.def("applicable", &applicable, "task"_a, "state"_a, "limit"_a);
    module.def("count_applicable", &count_applicable, "task"_a, "state"_a);
    module.def("pick_action", &pick_action, "task"_a, "state"_a, "schema"_a, "index"_a);
    module.def("successor", &successor, "task"_a, "state"_a, "schema"_a, "arguments"_a);
    module.def("derive", &derive, "task"_a, "state"_a);
    module.def("find_bindings", &find_bindings, "task"_a, "state"_a, "literals"_a, "domains"_a, "limit"_a, "seed"_a,
               "steps"_a);
}

void define_relaxation(nb::module_& module) {
    module.def("relaxed_reaches", &relaxed_reaches, "task"_a, "state"_a, "goal"_a, "work"_a, "quotas"_a);
    nb::class_<GroundRelaxation>(module, "GroundRelaxation")
        .def("__init__", &make_relaxation, "task"_a, "limit"_a, "negation"_a)
        .def_prop_ro("complete", &GroundRelaxation::complete)
        .def_prop_ro("rules", &GroundRelaxation::rules)
        .def("reaches", &reaches, "task"_a, "state"_a, "goal"_a, "quotas"_a);
    nb::class_<RelaxedProof>(module, "RelaxedProof")
        .def(nb::init<const Task&, std::int64_t>(), "task"_a, "limit"_a, nb::keep_alive<1, 2>())
        .def_prop_ro("rules", &RelaxedProof::rules)
        .def("reaches", &proof_reaches, "state"_a, "goal"_a, "work"_a, "quotas"_a);
    nb::class_<GroundActions>(module, "GroundActions")
        .def("__init__", &make_ground_actions, "task"_a, "limit"_a, nb::keep_alive<1, 2>())
        .def_prop_ro("complete", &GroundActions::complete)
        .def_prop_ro("rules", &GroundActions::rules);
    nb::class_<FrozenTest>(module, "FrozenTest")
        .def("__init__", &make_frozen_test, "task"_a, "actions"_a, "goal"_a, "program"_a, nb::keep_alive<1, 2>(),
             nb::keep_alive<1, 3>())
        .def("keeps", &keeps, "state"_a, "strong"_a, "work"_a);
}

void define_graphs(nb::module_& module) {
    nb::class_<RelationTables>(module, "RelationTables")
        .def("__init__", &make_tables, "is_joint"_a, "has_root_graph"_a, "delta"_a, "primed"_a, "actions"_a, "tree"_a,
             "world"_a, "arity"_a, "relation"_a, "of_type"_a, "of_schema"_a, "edge"_a, "order"_a, "level"_a);
    nb::class_<GraphTask>(module, "GraphTask")
        .def("__init__", &make_graph_task, "task"_a, "type_offset"_a, "type_object"_a, nb::keep_alive<1, 2>());
    nb::class_<GraphBatch>(module, "QueryGraphs").def_prop_ro("slots", [](const GraphBatch& batch) {
        return batch.arguments.size();
    });
    module.def("assemble_graphs", &assemble_graphs, "tables"_a, "queries"_a, "threads"_a);
    module.def("encode_queries", &encode_queries, "tables"_a, "queries"_a, "threads"_a);
    module.def("join_batches", &join_batches, "batches"_a);
    module.def("group_sizes", &group_sizes, "relation_offset"_a, "arity"_a, "tile"_a, "piece"_a);
    module.def("fill_layout", &fill_layout, "graph_offset"_a, "object_count"_a, "argument_offset"_a, "arguments"_a,
               "slot_position"_a, "slot_offset"_a, "candidate_node"_a, "candidate_graph"_a, "depth_node"_a, "arity"_a,
               "tile"_a, "piece"_a, "block"_a.noconvert(), "spans"_a);
}

void define_network(nb::module_& module) {
    nb::class_<Network>(module, "Network")
        .def("__init__", &make_network, "arity"_a, "embedding"_a, "hidden_layers"_a, "sharpness"_a, "readout"_a,
             "object_network"_a, "weights"_a, "instructions"_a)
        .def_prop_ro("instructions", [](const Network& network) { return std::string(network.instructions()); })
        .def("q_values", &q_values, "graph_offset"_a, "object_count"_a, "argument_offset"_a, "arguments"_a,
             "candidate_node"_a, "candidate_graph"_a, "source_graph"_a, "layers"_a, "threads"_a, "check"_a.none());
    nb::class_<BoundTraining>(module, "TrainingPass")
        .def(nb::init<const std::string&>(), "instructions"_a)
        .def("begin", &BoundTraining::begin, "nodes"_a, "embedding"_a, "sharpness"_a, "groups"_a, "weights"_a, "keep"_a,
             "threads"_a)
        .def("forward", &BoundTraining::forward)
        .def_prop_ro("bytes", &BoundTraining::bytes)
        .def("read", &BoundTraining::read, "output"_a.noconvert())
        .def("begin_backward", &BoundTraining::begin_backward, "gradient"_a.noconvert())
        .def("backward", &BoundTraining::backward)
        .def("add_gradients", &BoundTraining::add_gradients, "gradients"_a);
}

}  // namespace

}  // namespace saltus::bindings

NB_MODULE(_kernel, module) {
    using namespace saltus::bindings;
    module.doc() = "Saltus kernel: the hot loops, on flat arrays.";
    define_reader(module);
    define_lookahead(module);
    define_actions(module);
    define_relaxation(module);
    define_graphs(module);
    define_network(module);
}
