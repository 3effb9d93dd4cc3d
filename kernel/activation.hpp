// Activation: Mish and its slope, and the smooth maximum of segments, vectorised. PyTorch's Mish takes six times as long on
// a CPU, and its exp forty times where results are denormal, which most shares of a smooth maximum are.
#pragma once

#include <cstdint>
#include <span>

namespace saltus {

// output = x * tanh(log(1 + exp(x))); output may be x.
template <typename Real>
void mish(const Real* x, Real* output, std::int64_t count, std::int32_t threads);

// output = gradient * slope of Mish at x; output may be gradient.
template <typename Real>
void mish_backward(const Real* x, const Real* gradient, Real* output, std::int64_t count, std::int32_t threads);

// joined[i] = log(sum of exp(sharpness * row)) / sharpness over the rows source[j], offset[i] <= j < offset[i + 1]; 0 without
// rows. `share`, if given, gets every row's share of its sum, in the place of the row, and may be `values`.
template <typename Real>
void smooth_maximum(const Real* values, std::int64_t width, std::span<const std::int32_t> offset, const std::int32_t* source,
                    Real sharpness, Real* joined, Real* share, std::int32_t threads);

}  // namespace saltus
