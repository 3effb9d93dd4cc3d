// Activation: Mish and its slope, and the smooth maximum over segments, vectorised. On a CPU, PyTorch's Mish takes six
// times as long, and its exp forty times if results are denormal, as most shares of a smooth maximum are.
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

// joined[i] = log(sum of exp(sharpness * row)) / sharpness over the rows source[j], offset[i] <= j < offset[i + 1]; 0
// if there are none. `share`, if given, receives every row's share of its sum at the row's place, and may be `values`.
template <typename Real>
void smooth_maximum(const Real* values, std::int64_t width, std::span<const std::int32_t> offset,
                    const std::int32_t* source, Real sharpness, Real* joined, Real* share, std::int32_t threads);

// The same without shares and threads; row i belongs to segment owner[i], and `joined` has `segments` rows. Reads the
// rows in order, twice, where the other function jumps between them.
template <typename Real>
void smooth_maximum_streamed(const Real* values, std::int64_t width, const std::int32_t* owner, std::int64_t rows,
                             std::int64_t segments, Real sharpness, Real* joined);

// For every row of nodes index[row, arity], with width = arity * size: residual[row] is the nodes' rows of x [nodes,
// size], concatenated, plus bias2; active[row] is Mish of (bias1 plus the sum over positions p of table[node at p, p]),
// where `table` is [nodes, arity, width]. If table[node, p] is x[node] times the rows of position p of a matrix, this
// is the first layer of a perceptron over the nodes' rows, at the cost of a sum.
template <typename Real>
void gather_active(const Real* x, std::int64_t size, const Real* table, const std::int32_t* index, std::int64_t rows,
                   std::int64_t arity, const Real* bias1, const Real* bias2, Real* residual, Real* active,
                   std::int32_t threads);

}  // namespace saltus
