// Training loops: the arithmetic of training that the network's forward pass does not have, compiled once per
// instruction set.
//
// As in network_loops.hpp, widths are multiples of kLanes, every sum runs in the order of its terms, and up to
// kTileRows rows are processed at a time where rows are atoms or nodes. A slot is an argument of an atom: slots are
// atoms times arity, and each has a message to its node. Those with a range of nodes [first, end) see the slots of
// these alone.
#pragma once

#include <cstdint>

#include "network_loops.hpp"

namespace saltus {

struct TrainingLoops {
    // gradient [inputs, outputs] += the sum over rows of input row times change row
    void (*add_products)(Rows input, std::int64_t rows, std::int64_t inputs, const float* change, std::int64_t outputs,
                         float* gradient);

    // active = Mish(inner), slope = the derivative of Mish at inner
    void (*mish_parts)(const float* inner, std::int64_t count, float* active, float* slope);

    // values *= factor, one by one
    void (*scale)(const float* factor, std::int64_t count, float* values);

    // sums [width] += the sum of the rows of values
    void (*add_columns)(const float* values, std::int64_t rows, std::int64_t width, float* sums);

    // highest[node] = the maximum of itself and the messages to the node
    void (*raise)(const float* messages, const std::int32_t* nodes, std::int64_t slots, std::int64_t width,
                  std::int32_t first, std::int32_t end, float* highest);

    // message = exp(sharpness * (message - highest[node])), and sums[node] += that
    void (*weigh)(const std::int32_t* nodes, std::int64_t slots, std::int64_t width, float sharpness,
                  std::int32_t first, std::int32_t end, const float* highest, float* messages, float* sums);

    // joined = x + the smooth maximum, inverse = 1 / sum; both are 0 for nodes without messages
    void (*join_parts)(const float* highest, const float* sums, const float* x, const std::int32_t* degree,
                       std::int64_t rows, std::int64_t width, float sharpness, float* joined, float* inverse);

    // output[slot] = x[node] * factor[slot]
    void (*gather_products)(const float* x, const std::int32_t* nodes, std::int64_t slots, std::int64_t width,
                            const float* factor, float* output);

    // sums[node] += values[slot]
    void (*scatter)(const float* values, const std::int32_t* nodes, std::int64_t slots, std::int64_t width,
                    std::int32_t first, std::int32_t end, float* sums);

    // output = gradient with respect to `change`, of which the layer norm was taken; gradients of scale and shift are
    // added up
    void (*norm_backward)(const float* change, const float* gradient, const float* scales, std::int64_t rows,
                          std::int64_t width, float* output, float* scale_gradient, float* shift_gradient);
};

}  // namespace saltus
