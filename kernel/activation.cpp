// Compiled with relaxed floating point, so that exp is vectorised; inputs are bounded before it, so that neither infinity
// nor NaN comes up. One clone for every instruction set, chosen when the program starts.
#include "activation.hpp"

#include <algorithm>
#include <cmath>
#include <thread>
#include <vector>

#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && !defined(__SANITIZE_ADDRESS__)
#define SALTUS_CLONES __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#else
#define SALTUS_CLONES
#endif

namespace saltus {

namespace {

constexpr std::int64_t kWorthAThread = 1 << 16;

// With e = exp(x) and n = e (e + 2): tanh(log(1 + e)) = n / (n + 2). Above 20 Mish is x to the last digit of float and,
// with the bound at 40, of double.
#define SALTUS_MISH(NAME, REAL, BOUND)                                                                     \
    SALTUS_CLONES void NAME(const REAL* x, REAL* output, std::int64_t count) {                             \
        for (std::int64_t i = 0; i < count; ++i) {                                                         \
            const REAL e = std::exp(std::min(x[i], REAL{BOUND}));                                          \
            const REAL n = e * (e + 2);                                                                    \
            output[i] = x[i] * (n / (n + 2));                                                              \
        }                                                                                                  \
    }                                                                                                      \
    SALTUS_CLONES void NAME##_backward(const REAL* x, const REAL* g, REAL* output, std::int64_t count) {    \
        for (std::int64_t i = 0; i < count; ++i) {                                                         \
            const REAL e = std::exp(std::min(x[i], REAL{BOUND}));                                          \
            const REAL n = e * (e + 2);                                                                    \
            const REAL inverse = 1 / (n + 2);                                                              \
            /* 1 - t^2 = 4 (n + 1) / (n + 2)^2 and n + 1 = (1 + e)^2, so nothing cancels */                 \
            output[i] = g[i] * (n * inverse + x[i] * 4 * e * (1 + e) * inverse * inverse);                 \
        }                                                                                                  \
    }

SALTUS_MISH(mish_float, float, 20)
SALTUS_MISH(mish_double, double, 40)

template <typename Work>
void in_parts(std::int64_t count, std::int32_t threads, Work&& work) {
    const std::int64_t parts = std::clamp<std::int64_t>(count / kWorthAThread, 1, std::max(1, threads));
    std::vector<std::jthread> team;
    std::int64_t begin = 0;
    for (std::int64_t part = 1; part < parts; ++part) {
        const std::int64_t end = count * part / parts;
        try {
            team.emplace_back(work, begin, end);
        } catch (const std::system_error&) {  // no thread to be had: this one goes on
            work(begin, end);
        }
        begin = end;
    }
    work(begin, count);
}

}  // namespace

template <>
void mish<float>(const float* x, float* output, std::int64_t count, std::int32_t threads) {
    in_parts(count, threads, [=](std::int64_t begin, std::int64_t end) { mish_float(x + begin, output + begin, end - begin); });
}

template <>
void mish<double>(const double* x, double* output, std::int64_t count, std::int32_t threads) {
    in_parts(count, threads, [=](std::int64_t begin, std::int64_t end) { mish_double(x + begin, output + begin, end - begin); });
}

template <>
void mish_backward<float>(const float* x, const float* g, float* output, std::int64_t count, std::int32_t threads) {
    in_parts(count, threads, [=](std::int64_t begin, std::int64_t end) { mish_float_backward(x + begin, g + begin, output + begin, end - begin); });
}

template <>
void mish_backward<double>(const double* x, const double* g, double* output, std::int64_t count, std::int32_t threads) {
    in_parts(count, threads, [=](std::int64_t begin, std::int64_t end) { mish_double_backward(x + begin, g + begin, output + begin, end - begin); });
}

}  // namespace saltus
