// Network SIMD: the loops of network_loops.hpp, written with a vector type `Vec` of kWidth floats.
//
// Included by one source file per instruction set, which is compiled with that set's flags. In the namespace SALTUS_SET
// it defines Vec, Ints (unsigned), kWidth; kRows and kColumns (vectors), the size of a block of a product that stays in
// registers; maximum, minimum, greater (which selects), any_greater and reciprocal; power_of_two too if
// SALTUS_OWN_POWER is defined. Nothing here may call an inline function of the standard library: the linker could use
// its copy, compiled for newer machines, everywhere.
#pragma once

#include "network_loops.hpp"

namespace saltus::SALTUS_SET {

namespace {

#define SALTUS_INLINE inline __attribute__((always_inline))

static_assert(kLanes % (2 * kWidth) == 0 || kLanes == kWidth);
static_assert(kTileRows % kRows == 0);

constexpr std::int64_t kUsualWidth = 32;
constexpr float kLog2E = 1.44269504F;
constexpr float kMostExcess = 64.0F;  // binary digits by which a message may exceed the one that its sum is relative to

SALTUS_INLINE Vec load(const float* from) {
    Vec result;
    __builtin_memcpy(&result, from, sizeof result);
    return result;
}

SALTUS_INLINE void store(float* to, Vec value) { __builtin_memcpy(to, &value, sizeof value); }

SALTUS_INLINE Vec all(float value) { return value - Vec{}; }

#if !defined(SALTUS_OWN_POWER)
// 2^t for t < 127, with a relative error of about 2e-7: 2^n times a polynomial on [-1/2, 1/2]. Below -126, 2^-126.
SALTUS_INLINE Vec power_of_two(Vec t) {
    t = maximum(t, all(-126.0F));
    const Vec shifted = t + 12582912.0F;  // 1.5 * 2^23: the sum's last bits are the rounded exponent
    const Vec r = t - (shifted - 12582912.0F);
    Vec p = r * 0.0013264727F + 0.0096715130F;
    p = p * r + 0.0555073358F;
    p = p * r + 0.2402224243F;
    p = p * r + 0.6931470037F;
    p = p * r + 1.0F;
    return (Vec)((Ints)p + ((Ints)shifted << 23));
}
#endif

// log(x) for x >= 1
SALTUS_INLINE Vec logarithm(Vec x) {
    const Ints bits = (Ints)x + (0x3f800000U - 0x3f3504f3U);
    const Vec e = __builtin_convertvector((bits >> 23) - 127U, Vec);
    const Vec f = (Vec)((bits & 0x007fffffU) + 0x3f3504f3U) - 1.0F;
    Vec p = all(7.0376836292e-2F);
    p = p * f - 1.1514610310e-1F;
    p = p * f + 1.1676998740e-1F;
    p = p * f - 1.2420140846e-1F;
    p = p * f + 1.4249322787e-1F;
    p = p * f - 1.6668057665e-1F;
    p = p * f + 2.0000714765e-1F;
    p = p * f - 2.4999993993e-1F;
    p = p * f + 3.3333331174e-1F;
    const Vec square = f * f;
    const Vec y = p * f * square - e * 2.12194440e-4F - square * 0.5F;
    return f + y + e * 0.693359375F;
}

// With e = exp(x) and n = e (e + 2): tanh(log(1 + e)) = n / (n + 2). Above 20, Mish equals x to the last digit.
SALTUS_INLINE Vec mish_of(Vec x) {
    const Vec e = power_of_two(minimum(x, all(20.0F)) * kLog2E);
    const Vec n = e * (e + 2.0F);
    return x * (n * reciprocal(n + 2.0F));
}

SALTUS_INLINE const float* row_of(const Rows& rows, std::int64_t number) {
    return rows.base + (rows.index != nullptr ? rows.index[number * rows.step] : number) * rows.stride;
}

// kRows rows times `Columns` vectors of outputs: all accumulators stay in registers. They start from `start`, whose
// rows are `step` floats apart: 0 if it is the bias.
template <int Columns>
SALTUS_INLINE void multiply_block(const float* const* input, std::int64_t inputs, const float* weights,
                                  std::int64_t outputs, const float* start, std::int64_t step, float* output) {
    Vec sum[kRows][Columns];
    for (int i = 0; i < kRows; ++i)
        for (int j = 0; j < Columns; ++j) sum[i][j] = load(start + i * step + j * kWidth);
    std::int64_t k = 0;
    do {  // there is an input; a test before the first would make the compiler spill the accumulators
        Vec weight[Columns];
        for (int j = 0; j < Columns; ++j) weight[j] = load(weights + k * outputs + j * kWidth);
        for (int i = 0; i < kRows; ++i) {
            const Vec value = all(input[i][k]);
            for (int j = 0; j < Columns; ++j) sum[i][j] += value * weight[j];
        }
    } while (++k < inputs);
    for (int i = 0; i < kRows; ++i)
        for (int j = 0; j < Columns; ++j) store(output + i * outputs + j * kWidth, sum[i][j]);
}

void multiply(Rows input, std::int64_t rows, std::int64_t inputs, const float* weights, std::int64_t outputs,
              const float* bias, float* output) {
    const float* row_start[kTileRows];
    std::int64_t padded = 0;
    for (; padded < rows || padded % kRows != 0; ++padded)
        row_start[padded] = row_of(input, padded < rows ? padded : rows - 1);
    const float* const start = bias != nullptr ? bias : output;
    const std::int64_t step = bias != nullptr ? 0 : outputs;
    std::int64_t column = 0;
    auto pass = [&]<int Columns>() __attribute__((always_inline)) {
        for (; column + Columns * kWidth <= outputs; column += Columns * kWidth)
            for (std::int64_t row = 0; row < padded; row += kRows)
                multiply_block<Columns>(row_start + row, inputs, weights + column, outputs, start + row * step + column,
                                        step, output + row * outputs + column);
    };
    if constexpr (kColumns > 2) pass.template operator()<kColumns>();
    pass.template operator()<2>();
    pass.template operator()<1>();
}

void mish(float* values, std::int64_t count) {
    for (std::int64_t i = 0; i < count; i += kWidth) store(values + i, mish_of(load(values + i)));
}

template <int Parts>
SALTUS_INLINE void add_some(const Rows* parts, std::int64_t rows, std::int64_t width, bool activate, float* output) {
    for (std::int64_t row = 0; row < rows; ++row) {
        const float* start[Parts];
        for (int part = 0; part < Parts; ++part) start[part] = row_of(parts[part], row);
        auto add = [&](std::int64_t k) __attribute__((always_inline)) {
            Vec sum = load(start[0] + k);
            for (int part = 1; part < Parts; ++part) sum += load(start[part] + k);
            return sum;
        };
        float* to = output + row * width;
        std::int64_t k = 0;
        for (; activate && k + 2 * kWidth <= width; k += 2 * kWidth) {  // two at a time, of which neither waits
            const Vec one = add(k);
            const Vec two = add(k + kWidth);
            store(to + k, mish_of(one));
            store(to + k + kWidth, mish_of(two));
        }
        for (; k < width; k += kWidth) store(to + k, activate ? mish_of(add(k)) : add(k));
    }
}

void add_rows(const Rows* parts, std::int64_t part_count, std::int64_t rows, std::int64_t width, bool activate,
              float* output) {
    if (part_count == 1) return add_some<1>(parts, rows, width, activate, output);
    if (part_count == 2) return add_some<2>(parts, rows, width, activate, output);
    if (part_count == 3) return add_some<3>(parts, rows, width, activate, output);
    for (std::int64_t row = 0; row < rows; ++row)
        for (std::int64_t k = 0; k < width; k += kWidth) {
            Vec sum = load(row_of(parts[0], row) + k);
            for (std::int64_t part = 1; part < part_count; ++part) sum += load(row_of(parts[part], row) + k);
            store(output + row * width + k, activate ? mish_of(sum) : sum);
        }
}

// Sums exponentials relative to the node's first message, or to a later one that exceeds it by so much that the sum
// could overflow. `scale` is the sharpness for powers of two.
SALTUS_INLINE void collect_smooth(const float* message, std::int64_t width, float scale, float* state) {
    if (state[0] == kNoMessage) {
        for (std::int64_t k = 0; k < width; k += kWidth) {
            store(state + k, load(message + k));
            store(state + width + k, all(1.0F));
        }
        return;
    }
    const Vec limit = all(kMostExcess);
    if (width == kUsualWidth) {  // one test for all of a usual message
        constexpr int kVectors = kUsualWidth / kWidth;
        Vec excess[kVectors];
        Vec most = limit;
        for (int i = 0; i < kVectors; ++i) {
            excess[i] = (load(message + i * kWidth) - load(state + i * kWidth)) * scale;
            most = i == 0 ? excess[i] : maximum(most, excess[i]);
        }
        if (!any_greater(most, limit)) [[likely]] {
            for (int i = 0; i < kVectors; ++i) {
                float* sum = state + width + i * kWidth;
                store(sum, load(sum) + power_of_two(excess[i]));
            }
            return;
        }
    }
    for (std::int64_t k = 0; k < width; k += kWidth) {
        const Vec value = load(message + k);
        const Vec reference = load(state + k);
        const Vec sum = load(state + width + k);
        const Vec excess = (value - reference) * scale;
        if (any_greater(excess, limit)) [[unlikely]] {
            const Vec shrunk = sum * power_of_two(-excess) + 1.0F;
            store(state + k, greater(excess, limit, value, reference));
            store(state + width + k, greater(excess, limit, shrunk, sum + power_of_two(minimum(excess, limit))));
        } else {
            store(state + width + k, sum + power_of_two(excess));
        }
    }
}

SALTUS_INLINE void collect_wide(const Messages& messages, float sharpness, std::int32_t first, std::int32_t end,
                                std::int64_t width, float* states) {
    const float scale = sharpness * kLog2E;
    const float* values = messages.values;
    const std::int32_t* nodes = messages.node;
    const std::int64_t arity = messages.arity;
    for (std::int64_t atom = 0; atom < messages.atoms; ++atom) {
        const float* message = values + (messages.number != nullptr ? messages.number[atom] : atom) * messages.stride;
        for (std::int64_t p = 0; p < arity; ++p, message += width) {
            const std::int32_t node = *nodes++;
            if (node < first || node >= end) continue;
            collect_smooth(message, width, scale, states + std::int64_t{node} * 2 * width);
        }
    }
}

void collect(const Messages& messages, float sharpness, std::int32_t first, std::int32_t end, float* states) {
    if (messages.width == kUsualWidth)  // so that the compiler unrolls the loops
        collect_wide(messages, sharpness, first, end, kUsualWidth, states);
    else
        collect_wide(messages, sharpness, first, end, messages.width, states);
}

void join(float* states, const float* x, const std::int32_t* degree, std::int64_t rows, std::int64_t width,
          float sharpness, float* joined) {
    const float inverse = 1.0F / sharpness;
    for (std::int64_t row = 0; row < rows; ++row) {
        float* state = states + row * 2 * width;
        for (std::int64_t k = 0; k < width; k += kWidth) {
            const Vec top = load(state + k);
            const Vec sum = load(state + width + k);
            Vec result = Vec{};
            if (degree[row] != 0) result = top + logarithm(sum) * inverse + load(x + row * width + k);
            store(joined + row * width + k, result);
            store(state + k, all(kNoMessage));
            store(state + width + k, Vec{});
        }
    }
}

SALTUS_INLINE float total_of(Vec values) {
    float result = 0;
    for (int i = 0; i < kWidth; ++i) result += values[i];
    return result;
}

// Of the first `size` entries of a row, whose padding is 0: the mean, and one over the standard deviation.
struct Moments {
    float mean;
    float factor;
};

SALTUS_INLINE Moments moments_of(const float* row, std::int64_t width, std::int64_t size) {
    const float inverse = 1.0F / static_cast<float>(size);
    Vec sum = Vec{};
    for (std::int64_t k = 0; k < width; k += kWidth) sum += load(row + k);
    const float mean = total_of(sum) * inverse;
    Vec squares = Vec{};
    const std::int64_t whole = size / kWidth * kWidth;
    for (std::int64_t k = 0; k < whole; k += kWidth) {
        const Vec distance = load(row + k) - mean;
        squares += distance * distance;
    }
    float variance = total_of(squares);
    for (std::int64_t k = whole; k < size; ++k) variance += (row[k] - mean) * (row[k] - mean);
    return {mean, 1.0F / __builtin_sqrtf(variance * inverse + 1e-5F)};
}

void add_normed(const float* change, const float* scale, const float* shift, std::int64_t rows, std::int64_t width,
                std::int64_t size, float* x) {
    for (std::int64_t row = 0; row < rows; ++row) {
        const float* from = change + row * width;
        float* to = x + row * width;
        const auto [mean, factor] = moments_of(from, width, size);
        for (std::int64_t k = 0; k < width; k += kWidth) {
            const Vec normed = (load(from + k) - mean) * factor;
            store(to + k, load(to + k) + (normed * load(scale + k) + load(shift + k)));
        }
    }
}

}  // namespace

}  // namespace saltus::SALTUS_SET

#include "training_simd.hpp"

namespace saltus::SALTUS_SET {

extern const Loops kLoops{SALTUS_NAME, &kTrainingLoops, multiply, mish, add_rows, collect, join, add_normed};

}  // namespace saltus::SALTUS_SET
