#include "order.hpp"

#include <numeric>

namespace saltus {

void sort_bindings(std::vector<Object>& flat, std::size_t width) {
    if (width == 0) return;
    const std::size_t count = flat.size() / width;
    auto row = [&](std::size_t i) { return flat.data() + i * width; };
    auto less = [&](std::size_t a, std::size_t b) {
        return std::lexicographical_compare(row(a), row(a) + width, row(b), row(b) + width);
    };
    // Joins often yield them in order already.
    bool sorted = true;
    for (std::size_t i = 1; i < count && sorted; ++i) sorted = less(i - 1, i);
    if (sorted) return;
    std::vector<std::uint32_t> order(count);
    std::iota(order.begin(), order.end(), 0U);
    std::sort(order.begin(), order.end(), less);
    std::vector<Object> result;
    result.reserve(flat.size());
    for (std::size_t i = 0; i < count; ++i)
        if (i == 0 || !std::equal(row(order[i]), row(order[i]) + width, row(order[i - 1])))
            result.insert(result.end(), row(order[i]), row(order[i]) + width);
    flat = std::move(result);
}

}  // namespace saltus
