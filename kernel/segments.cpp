#include "segments.hpp"

#include <algorithm>
#include <limits>

#include "parallel.hpp"

namespace saltus {

namespace {

constexpr std::int64_t kWorthAThread = 1 << 16;  // numbers to reduce

template <typename Real, bool Maximum>
void reduce_range(const Real* values, std::int64_t width, std::span<const std::int32_t> offset,
                  const std::int32_t* source, Real* result, std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
        Real* out = result + i * width;
        std::fill(out, out + width, Maximum ? -std::numeric_limits<Real>::infinity() : Real{0});
        for (std::int32_t j = offset[static_cast<std::size_t>(i)]; j < offset[static_cast<std::size_t>(i) + 1]; ++j) {
            const Real* row = values + static_cast<std::int64_t>(source != nullptr ? source[j] : j) * width;
            for (std::int64_t k = 0; k < width; ++k) {
                if constexpr (Maximum)
                    out[k] = row[k] > out[k] ? row[k] : out[k];
                else
                    out[k] += row[k];
            }
        }
    }
}

}  // namespace

template <typename Real>
void reduce_segments(const Real* values, std::int64_t width, std::span<const std::int32_t> offset,
                     const std::int32_t* source, Real* result, bool maximum, std::int32_t threads) {
    const auto segments = static_cast<std::int64_t>(offset.size()) - 1;
    const std::int64_t rows = offset.back();
    const auto run = [&](std::int64_t begin, std::int64_t end) {
        if (maximum)
            reduce_range<Real, true>(values, width, offset, source, result, begin, end);
        else
            reduce_range<Real, false>(values, width, offset, source, result, begin, end);
    };
    const auto most = static_cast<std::int64_t>(useful_threads(static_cast<std::size_t>(std::max(1, threads))));
    const std::int64_t parts = std::clamp<std::int64_t>(rows * width / kWorthAThread, 1, most);
    // Split the rows evenly, not the segments: their sizes differ by orders of magnitude.
    const auto cut = [&](std::int64_t part) -> std::int64_t {
        if (part == 0) return 0;
        if (part == parts) return segments;
        const auto wanted = static_cast<std::int32_t>(rows * part / parts);
        return std::upper_bound(offset.begin(), offset.end(), wanted) - offset.begin() - 1;
    };
    run_parallel(static_cast<std::size_t>(parts), static_cast<std::size_t>(parts), [&](std::size_t i) {
        const auto part = static_cast<std::int64_t>(i);
        run(cut(part), cut(part + 1));
    });
}

template void reduce_segments<float>(const float*, std::int64_t, std::span<const std::int32_t>, const std::int32_t*,
                                     float*, bool, std::int32_t);
template void reduce_segments<double>(const double*, std::int64_t, std::span<const std::int32_t>, const std::int32_t*,
                                      double*, bool, std::int32_t);

}  // namespace saltus
