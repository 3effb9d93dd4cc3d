// PDDL, tasks, states and actions for Python.
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "axioms.hpp"
#include "bindings.hpp"
#include "colours.hpp"
#include "reader.hpp"
#include "task.hpp"

namespace saltus::bindings {

namespace {

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

// Conditions and effects as Python passes them: src/saltus/task/kernel_task.py describes the tuples.
using Numbers = std::vector<std::int32_t>;
using Literals = std::vector<std::tuple<std::int32_t, bool, Numbers>>;
using Effects = std::vector<std::tuple<Numbers, Literals, Literals, Literals>>;
using Schemas = std::vector<std::tuple<Numbers, Literals, Effects>>;
using Conditions = std::vector<std::tuple<bool, std::size_t, Numbers, Literals>>;
using Axioms = std::vector<std::tuple<std::int32_t, std::int32_t, Numbers, Literals>>;

std::vector<Literal> literals_of(const Literals& given) {
    std::vector<Literal> literals;
    for (const auto& [predicate, positive, terms] : given) literals.push_back({predicate, positive, terms});
    return literals;
}

void make_task(Task* self, std::int32_t types, std::vector<std::vector<Object>> domains, const Conditions& nested,
               const Schemas& schemas, const Axioms& axioms, Input<std::int32_t> object_type, Input<std::int32_t> arity,
               Input<std::uint8_t> fluent, Input<Code> code_offset, Input<std::int32_t> static_rows,
               Input<std::int64_t> static_start) {
    Lifted lifted{types, std::move(domains), {}, {}, {}};
    for (const auto& [positive, shared, variables, condition] : nested)
        lifted.nested.push_back({positive, shared, {variables, literals_of(condition)}});
    for (const auto& [parameters, precondition, effects] : schemas) {
        Schema& schema = lifted.schemas.emplace_back();
        schema.pattern = {parameters, literals_of(precondition)};
        for (const auto& [variables, condition, adds, deletes] : effects) {
            Effect effect{{parameters, literals_of(condition)}, literals_of(adds), literals_of(deletes)};
            effect.when.domains.insert(effect.when.domains.end(), variables.begin(), variables.end());
            schema.effects.push_back(std::move(effect));
        }
    }
    for (const auto& [stratum, predicate, variables, condition] : axioms) {
        Axiom& axiom = lifted.axioms.emplace_back();
        axiom.stratum = stratum;
        axiom.head.push_back({predicate, true, {}});
        axiom.body = {variables, literals_of(condition)};
    }
    new (self) Task(std::move(lifted), view(object_type), view(arity), view(fluent), view(code_offset),
                    view(static_rows), view(static_start));
}

nb::tuple find_colours(const Task& task, Input<Code> state, Input<Code> positive, Input<Code> negative) {
    const Situation situation = make_situation(task, state, positive, negative);
    Symmetry symmetry = find_symmetry(task, situation.state, situation.goal_positive, situation.goal_negative);
    return nb::make_tuple(give(std::move(symmetry.colour)), give(std::move(symmetry.rank)));
}

nb::tuple applicable(const Task& task, Input<Code> state, std::int64_t limit) {
    task.check_state(view(state));
    return give(interruptibly([&] { return saltus::applicable(task, view(state), limit); }));
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

nb::tuple find_bindings(const Task& task, Input<Code> state, const Literals& literals, Numbers domains,
                        std::int64_t limit, std::uint64_t seed, std::int64_t steps) {
    task.check_state(view(state));
    if (domains.size() > kMaxVariables) throw nb::value_error("find_bindings: number of variables out of range");
    const Pattern pattern{std::move(domains), literals_of(literals)};
    task.check_pattern(pattern);
    Bindings found =
        interruptibly([&] { return saltus::find_bindings(task, view(state), pattern, limit, seed, steps); });
    return nb::make_tuple(found.count, give(std::move(found.objects)));
}

}  // namespace

void bind_task(nb::module_& module) {
    module.def("scan", &scan, "text"_a, "max_nesting"_a);
    module.def("read_atoms", &read_atoms, "token"_a, "begin"_a, "end"_a, "predicate_of_symbol"_a, "object_of_symbol"_a,
               "arity"_a, "first_slot"_a, "allowed"_a, "object_type"_a, "types"_a);
    nb::class_<Task>(module, "Task")
        .def("__init__", &make_task, "types"_a, "domains"_a, "nested"_a, "schemas"_a, "axioms"_a, "object_type"_a,
             "arity"_a, "fluent"_a, "code_offset"_a, "static_rows"_a, "static_start"_a);
    module.def("applicable", &applicable, "task"_a, "state"_a, "limit"_a);
    module.def("count_applicable", &count_applicable, "task"_a, "state"_a);
    module.def("pick_action", &pick_action, "task"_a, "state"_a, "schema"_a, "index"_a);
    module.def("successor", &successor, "task"_a, "state"_a, "schema"_a, "arguments"_a);
    module.def("derive", &derive, "task"_a, "state"_a);
    module.def("find_bindings", &find_bindings, "task"_a, "state"_a, "literals"_a, "domains"_a, "limit"_a, "seed"_a,
               "steps"_a);
    module.def("find_colours", &find_colours, "task"_a, "state"_a, "positive"_a, "negative"_a);
}

}  // namespace saltus::bindings
