// Bindings: the only files of the kernel that know Python. Every function does a whole job on flat arrays with the
// interpreter lock released, and returns arrays without copying them.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/array.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <span>
#include <utility>
#include <vector>

#include "actions.hpp"
#include "interrupt.hpp"
#include "lookahead.hpp"

namespace saltus::bindings {

namespace nb = nanobind;
using namespace nb::literals;

void bind_task(nb::module_& module);
void bind_search(nb::module_& module);
void bind_relaxation(nb::module_& module);
void bind_graph(nb::module_& module);
void bind_network(nb::module_& module);

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

inline nb::tuple give(Actions&& actions) {
    return nb::make_tuple(give(std::move(actions.schema)), give(std::move(actions.argument_offset)),
                          give(std::move(actions.argument)));
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

inline Situation make_situation(const Task& task, const Input<Code>& state, const Input<Code>& positive,
                                const Input<Code>& negative) {
    const Situation situation{&task, view(state), view(positive), view(negative)};
    task.check_state(situation.state);
    task.check_codes(situation.goal_positive);
    task.check_codes(situation.goal_negative);
    return situation;
}

}  // namespace saltus::bindings
