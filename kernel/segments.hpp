// Segments: sums and maxima over groups of rows; one thread reduces a whole segment.
#pragma once

#include <cstdint>
#include <span>

namespace saltus {

// result[i] = reduction of values[source[j]] (values[j] if there is no source) for offset[i] <= j < offset[i + 1].
template <typename Real>
void reduce_segments(const Real* values, std::int64_t width, std::span<const std::int32_t> offset,
                     const std::int32_t* source, Real* result, bool maximum, std::int32_t threads);

}  // namespace saltus
