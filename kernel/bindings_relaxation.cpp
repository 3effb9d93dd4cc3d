// Dead ends and searches among ground actions for Python.
#include <algorithm>
#include <array>
#include <string>
#include <utility>
#include <vector>

#include "bindings.hpp"
#include "ground.hpp"
#include "relaxation.hpp"
#include "relaxed_search.hpp"
#include "tidy.hpp"

namespace saltus::bindings {

namespace {

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

std::optional<bool> proof_reaches(RelaxedProof& self, Input<Code> state, Input<Code> goal, std::int64_t work,
                                  const Quotas& quotas) {
    self.task().check_state(view(state));
    const Target target = target_of(self.task(), goal, quotas);
    return interruptibly([&] { return self.reaches(view(state), target, work); });
}

void make_ground_actions(GroundActions* self, const Task& task, std::int64_t limit, const std::string& form) {
    using Form = GroundActions::Form;
    static constexpr std::array<std::pair<const char*, Form>, 3> kForms{
        {{"effects", Form::effects}, {"negation", Form::negation}, {"actions", Form::actions}}};
    const auto found =
        std::find_if(kForms.begin(), kForms.end(), [&](const auto& entry) { return entry.first == form; });
    if (found == kForms.end()) throw nb::value_error("ground actions: unknown form");
    interruptibly([&] { return new (self) GroundActions(task, limit, found->second); });
}

bool reaches(const GroundActions& self, Input<Code> state, Input<Code> goal, const Quotas& quotas, bool keeping) {
    self.task().check_state(view(state));
    if (keeping && !self.has_deletes()) throw nb::value_error("ground actions: deleted atoms are not known");
    const Target target = target_of(self.task(), goal, quotas);
    return interruptibly([&] { return saltus::reaches(self, view(state), target, keeping); });
}

std::optional<nb::tuple> reachable_actions(const Task& task, Input<Code> state, std::int64_t most,
                                           const nb::callable& check) {
    task.check_state(view(state));
    auto found = interruptibly([&] { return saltus::reachable_actions(task, view(state), most); }, check);
    if (!found) return std::nullopt;
    auto lists = [](GrowingLists& own) {
        return nb::make_tuple(give(std::move(own.offset)), give(std::move(own.atom)));
    };
    return nb::make_tuple(
        give(std::move(found->codes)), give(std::move(found->schema)), give(std::move(found->argument)),
        nb::make_tuple(lists(found->needs), lists(found->forbids), lists(found->adds), lists(found->deletes)));
}

}  // namespace

void bind_relaxation(nb::module_& module) {
    nb::class_<RelaxedProof>(module, "RelaxedProof")
        .def(nb::init<const Task&, std::int64_t>(), "task"_a, "limit"_a, nb::keep_alive<1, 2>())
        .def_prop_ro("rules", &RelaxedProof::rules)
        .def("reaches", &proof_reaches, "state"_a, "goal"_a, "work"_a, "quotas"_a);
    nb::class_<GroundActions>(module, "GroundActions")
        .def("__init__", &make_ground_actions, "task"_a, "limit"_a, "form"_a, nb::keep_alive<1, 2>())
        .def_prop_ro("complete", &GroundActions::complete)
        .def_prop_ro("rules", &GroundActions::rules)
        .def("reaches", &reaches, "state"_a, "goal"_a, "quotas"_a, "keeping"_a);
    module.def("reachable_actions", &reachable_actions, "task"_a, "state"_a, "most"_a, "check"_a);
    module.def("has_negation", &has_negation, "task"_a);
    module.def("relaxed_search", &relaxed_search, "atoms"_a, "lists"_a, "initial"_a, "goal"_a, "unwanted"_a,
               "most_work"_a, "goal_share"_a, "check"_a);
    module.def("without_loops", &without_loops, "atoms"_a, "lists"_a, "plan"_a, "initial"_a, "goal"_a, "unwanted"_a);
    module.def("without_redundant", &without_redundant, "atoms"_a, "lists"_a, "plan"_a, "initial"_a, "goal"_a,
               "unwanted"_a, "most_work"_a);
}

}  // namespace saltus::bindings
