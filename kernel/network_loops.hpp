// Network loops: the arithmetic of the network's forward pass, compiled once per instruction set.
//
// All widths are multiples of kLanes; matrices of weights are [inputs, outputs]. Every sum runs in the order of its
// terms, so that a row's result depends neither on the rows around it nor on the number of threads.
#pragma once

#include <cstdint>
#include <string_view>

namespace saltus {

inline constexpr std::int64_t kLanes = 16;     // floats to whose multiple every width is padded
inline constexpr std::int64_t kTileRows = 96;  // rows computed at a time: a multiple of the rows of every product loop

// Rows of a matrix: row i is at base + (index ? index[i * step] : i) * stride.
struct Rows {
    const float* base;
    std::int64_t stride;
    const std::int32_t* index;
    std::int64_t step;
};

// Messages of consecutive atoms, and the nodes that they go to.
struct Messages {
    const float* values;         // the message to argument p of atom i is at values + number[i] * stride + p * width
    std::int64_t stride;         // 0 if all atoms send the same
    const std::int32_t* number;  // [atoms]; null stands for 0, 1, 2, …
    const std::int32_t* node;    // [atoms, arity]
    std::int64_t atoms;
    std::int64_t arity;
    std::int64_t width;
};

struct TrainingLoops;

struct Loops {
    const char* name;
    const TrainingLoops* training;

    // output [rows, outputs] = bias + input [rows, inputs] * weights [inputs, outputs]; without bias, the product is
    // added to the output. For 1 to kTileRows rows; the output has room for kTileRows of them, and those beyond `rows`
    // are undefined afterwards.
    void (*multiply)(Rows input, std::int64_t rows, std::int64_t inputs, const float* weights, std::int64_t outputs,
                     const float* bias, float* output);

    // values = Mish(values)
    void (*mish)(float* values, std::int64_t count);

    // output[row] = the sum over `parts`, of which there is one at least, of their rows, then Mish if `activate`. The
    // output may be a part, if that has no index.
    void (*add_rows)(const Rows* parts, std::int64_t part_count, std::int64_t rows, std::int64_t width, bool activate,
                     float* output);

    // Adds messages to the states [nodes, 2 * width] of the nodes in [first, end): for each node a message
    // relative to which it sums exponentials, then the sum.
    void (*collect)(const Messages& messages, float sharpness, std::int32_t first, std::int32_t end, float* states);

    // joined [rows, width] = smooth maxima of the states of consecutive nodes, with `degree` messages each, to all of
    // which the node's own row of x is added: the residual of a message is its target's embedding, so it can be added
    // once, after the aggregation. The states are reset.
    void (*join)(float* states, const float* x, const std::int32_t* degree, std::int64_t rows, std::int64_t width,
                 float sharpness, float* joined);

    // x [rows, width] += layer norm of change, over the first `size` columns
    void (*add_normed)(const float* change, const float* scale, const float* shift, std::int64_t rows,
                       std::int64_t width, std::int64_t size, float* x);
};

// State of a node without messages.
inline constexpr float kNoMessage = -3.0e38F;

// Loops for an instruction set: portable, neon, avx2 or avx512; null if this machine or build has none of that name.
// The empty name stands for the fastest.
const Loops* find_loops(std::string_view name);

namespace portable {
extern const Loops kLoops;
}
#if defined(SALTUS_NEON_LOOPS)
namespace neon {
extern const Loops kLoops;
}
#endif
#if defined(SALTUS_X86_LOOPS)
namespace avx2 {
extern const Loops kLoops;
}
namespace avx512 {
extern const Loops kLoops;
}
#endif

}  // namespace saltus
