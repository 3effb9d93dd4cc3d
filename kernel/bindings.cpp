// The only file of the kernel that knows Python. Every function does a whole job on flat arrays with the interpreter
// lock released; arrays come back without a copy.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "reader.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace {

template <typename T>
using Input = nb::ndarray<const T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

template <typename T>
using Output = nb::ndarray<nb::numpy, T, nb::ndim<1>>;

template <typename T>
std::span<const T> view(const Input<T>& array) {
    return {array.data(), array.shape(0)};
}

// Hands the vector's memory to NumPy.
template <typename T>
Output<T> give(std::vector<T>&& values) {
    auto* owned = new std::vector<T>(std::move(values));
    nb::capsule owner(owned, [](void* p) noexcept { delete static_cast<std::vector<T>*>(p); });
    return Output<T>(owned->data(), {owned->size()}, owner);
}

nb::tuple scan(const nb::bytes& text, std::uint32_t max_nesting) {
    saltus::Tokens tokens;
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
    saltus::Atoms atoms;
    {
        saltus::AtomTables tables{view(predicate_of_symbol), view(object_of_symbol), view(arity), view(first_slot),
                                  view(allowed), view(object_type), types};
        nb::gil_scoped_release release;
        atoms = saltus::read_atoms(view(token), begin, end, tables);
    }
    return nb::make_tuple(give(std::move(atoms.predicate)), give(std::move(atoms.argument)),
                          give(std::move(atoms.special)), give(std::move(atoms.duplicate)), atoms.refused);
}

}  // namespace

NB_MODULE(_kernel, module) {
    module.doc() = "Saltus kernel: the hot loops, on flat arrays.";
    module.def("scan", &scan, "text"_a, "max_nesting"_a);
    module.def("read_atoms", &read_atoms, "token"_a, "begin"_a, "end"_a, "predicate_of_symbol"_a,
               "object_of_symbol"_a, "arity"_a, "first_slot"_a, "allowed"_a, "object_type"_a, "types"_a);
}
