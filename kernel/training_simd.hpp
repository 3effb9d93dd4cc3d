// Training SIMD: the loops of training_loops.hpp, with the vectors of network_simd.hpp, which includes this file. The
// same rules apply.
#pragma once

#include "training_loops.hpp"

namespace saltus::SALTUS_SET {

namespace {

constexpr float kLeastPower = -57.0F;  // binary digits: a smaller share counts as 0, since products with it are slow

// `Inputs` inputs times `Columns` vectors of outputs: all sums stay in registers.
template <int Inputs, int Columns>
SALTUS_INLINE void add_products_block(const float* const* input, std::int64_t first, std::int64_t rows,
                                      const float* change, std::int64_t outputs, float* gradient) {
    Vec sum[Inputs][Columns];
    for (int i = 0; i < Inputs; ++i)
        for (int j = 0; j < Columns; ++j) sum[i][j] = load(gradient + i * outputs + j * kWidth);
    std::int64_t row = 0;
    do {  // there is a row
        Vec value[Columns];
        for (int j = 0; j < Columns; ++j) value[j] = load(change + row * outputs + j * kWidth);
        const float* from = input[row] + first;
        for (int i = 0; i < Inputs; ++i) {
            const Vec factor = all(from[i]);
            for (int j = 0; j < Columns; ++j) sum[i][j] += factor * value[j];
        }
    } while (++row < rows);
    for (int i = 0; i < Inputs; ++i)
        for (int j = 0; j < Columns; ++j) store(gradient + i * outputs + j * kWidth, sum[i][j]);
}

void add_products(Rows input, std::int64_t rows, std::int64_t inputs, const float* change, std::int64_t outputs,
                  float* gradient) {
    static_assert(kLanes % 8 == 0);
    const float* row_start[kTileRows];
    for (std::int64_t row = 0; row < rows; ++row) row_start[row] = row_of(input, row);
    std::int64_t column = 0;
    auto pass = [&]<int Inputs, int Columns>() __attribute__((always_inline)) {
        for (; column + Columns * kWidth <= outputs; column += Columns * kWidth)
            for (std::int64_t first = 0; first < inputs; first += Inputs)
                add_products_block<Inputs, Columns>(row_start, first, rows, change + column, outputs,
                                                    gradient + first * outputs + column);
    };
    if constexpr (kColumns > 2) pass.template operator()<4, kColumns>();
    pass.template operator()<4, 2>();
    pass.template operator()<8, 1>();
}

// With e = exp(x), n = e (e + 2) and t = n / (n + 2): 1 - t^2 = 4 (n + 1) / (n + 2)^2 and n + 1 = (1 + e)^2, so nothing
// cancels.
void mish_parts(const float* inner, std::int64_t count, float* active, float* slope) {
    for (std::int64_t i = 0; i < count; i += kWidth) {
        const Vec x = load(inner + i);
        const Vec e = power_of_two(minimum(x, all(20.0F)) * kLog2E);
        const Vec n = e * (e + 2.0F);
        const Vec inverse = reciprocal(n + 2.0F);
        const Vec t = n * inverse;
        store(active + i, x * t);
        store(slope + i, t + x * 4.0F * e * (1.0F + e) * inverse * inverse);
    }
}

void scale(const float* factor, std::int64_t count, float* values) {
    for (std::int64_t i = 0; i < count; i += kWidth) store(values + i, load(values + i) * load(factor + i));
}

void add_columns(const float* values, std::int64_t rows, std::int64_t width, float* sums) {
    for (std::int64_t k = 0; k < width; k += kWidth) {
        Vec sum = load(sums + k);
        for (std::int64_t row = 0; row < rows; ++row) sum += load(values + row * width + k);
        store(sums + k, sum);
    }
}

void raise(const float* messages, const std::int32_t* nodes, std::int64_t slots, std::int64_t width, std::int32_t first,
           std::int32_t end, float* highest) {
    for (std::int64_t slot = 0; slot < slots; ++slot) {
        if (nodes[slot] < first || nodes[slot] >= end) continue;
        const float* message = messages + slot * width;
        float* top = highest + nodes[slot] * width;
        for (std::int64_t k = 0; k < width; k += kWidth) store(top + k, maximum(load(message + k), load(top + k)));
    }
}

void weigh(const std::int32_t* nodes, std::int64_t slots, std::int64_t width, float sharpness, std::int32_t first,
           std::int32_t end, const float* highest, float* messages, float* sums) {
    const float digits = sharpness * kLog2E;
    for (std::int64_t slot = 0; slot < slots; ++slot) {
        if (nodes[slot] < first || nodes[slot] >= end) continue;
        float* message = messages + slot * width;
        const float* top = highest + nodes[slot] * width;
        float* sum = sums + nodes[slot] * width;
        for (std::int64_t k = 0; k < width; k += kWidth) {
            const Vec t = (load(message + k) - load(top + k)) * digits;
            const Vec power = greater(t, all(kLeastPower), power_of_two(t), Vec{});
            store(message + k, power);
            store(sum + k, load(sum + k) + power);
        }
    }
}

void join_parts(const float* highest, const float* sums, const float* x, const std::int32_t* degree, std::int64_t rows,
                std::int64_t width, float sharpness, float* joined, float* inverse) {
    const float blunt = 1.0F / sharpness;
    for (std::int64_t row = 0; row < rows; ++row)
        for (std::int64_t k = row * width; k < (row + 1) * width; k += kWidth) {
            if (degree[row] == 0) {
                store(joined + k, Vec{});
                store(inverse + k, Vec{});
                continue;
            }
            const Vec sum = load(sums + k);
            store(joined + k, load(x + k) + load(highest + k) + logarithm(sum) * blunt);
            store(inverse + k, 1.0F / sum);
        }
}

void gather_products(const float* x, const std::int32_t* nodes, std::int64_t slots, std::int64_t width,
                     const float* factor, float* output) {
    for (std::int64_t slot = 0; slot < slots; ++slot) {
        const float* from = x + nodes[slot] * width;
        for (std::int64_t k = 0; k < width; k += kWidth)
            store(output + slot * width + k, load(from + k) * load(factor + slot * width + k));
    }
}

void scatter(const float* values, const std::int32_t* nodes, std::int64_t slots, std::int64_t width, std::int32_t first,
             std::int32_t end, float* sums) {
    for (std::int64_t slot = 0; slot < slots; ++slot) {
        if (nodes[slot] < first || nodes[slot] >= end) continue;
        float* sum = sums + nodes[slot] * width;
        for (std::int64_t k = 0; k < width; k += kWidth)
            store(sum + k, load(sum + k) + load(values + slot * width + k));
    }
}

void norm_backward(const float* change, const float* gradient, const float* scales, std::int64_t rows,
                   std::int64_t width, float* output, float* scale_gradient, float* shift_gradient) {
    const float share = 1.0F / static_cast<float>(width);
    for (std::int64_t row = 0; row < rows; ++row) {
        const float* from = change + row * width;
        const float* g = gradient + row * width;
        float* to = output + row * width;
        const auto [mean, factor] = moments_of(from, width, width);
        Vec plain = Vec{};
        Vec product = Vec{};
        for (std::int64_t k = 0; k < width; k += kWidth) {
            const Vec normed = (load(from + k) - mean) * factor;
            const Vec scaled = load(g + k) * load(scales + k);
            plain += scaled;
            product += scaled * normed;
            store(scale_gradient + k, load(scale_gradient + k) + load(g + k) * normed);
            store(shift_gradient + k, load(shift_gradient + k) + load(g + k));
        }
        const float mean_plain = total_of(plain) * share;
        const float mean_product = total_of(product) * share;
        for (std::int64_t k = 0; k < width; k += kWidth) {
            const Vec normed = (load(from + k) - mean) * factor;
            store(to + k, (load(g + k) * load(scales + k) - mean_plain - normed * mean_product) * factor);
        }
    }
}

constexpr TrainingLoops kTrainingLoops{add_products, mish_parts, scale,           add_columns, raise,
                                       weigh,        join_parts, gather_products, scatter,     norm_backward};

}  // namespace

}  // namespace saltus::SALTUS_SET
