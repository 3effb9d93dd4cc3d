// GCC compiles this with relaxed floating point, so that exp is vectorised; its inputs are bounded, so neither infinity
// nor NaN occurs. One clone per instruction set, chosen when the program starts. The clones are macros because
// templates inlined into them made results depend on the arrays' addresses. Other compilers keep to strict arithmetic,
// without which theirs do, too.
#include "activation.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
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

// With e = exp(x) and n = e (e + 2): tanh(log(1 + e)) = n / (n + 2). Above 20, Mish equals x to
// the last digit of a float; above 40, of a double.
#define SALTUS_MISH(REAL, BOUND)                                                                            \
    SALTUS_CLONES void mish_loop(const REAL* x, REAL* output, std::int64_t count) {                         \
        for (std::int64_t i = 0; i < count; ++i) {                                                          \
            const REAL e = std::exp(std::min(x[i], REAL{BOUND}));                                           \
            const REAL n = e * (e + 2);                                                                     \
            output[i] = x[i] * (n / (n + 2));                                                               \
        }                                                                                                   \
    }                                                                                                       \
    SALTUS_CLONES void mish_backward_loop(const REAL* x, const REAL* g, REAL* output, std::int64_t count) { \
        for (std::int64_t i = 0; i < count; ++i) {                                                          \
            const REAL e = std::exp(std::min(x[i], REAL{BOUND}));                                           \
            const REAL n = e * (e + 2);                                                                     \
            const REAL inverse = 1 / (n + 2);                                                               \
            /* 1 - t^2 = 4 (n + 1) / (n + 2)^2 and n + 1 = (1 + e)^2, so nothing cancels */                 \
            output[i] = g[i] * (n * inverse + x[i] * 4 * e * (1 + e) * inverse * inverse);                  \
        }                                                                                                   \
    }

SALTUS_MISH(float, 20)
SALTUS_MISH(double, 40)

// A share below exp(LEAST) counts as 0: products with it would be denormal, which is a hundred times as slow.
#define SALTUS_SMOOTH(REAL, LEAST)                                                                        \
    SALTUS_CLONES void smooth_loop(const REAL* values, std::int64_t width, const std::int32_t* offset,    \
                                   const std::int32_t* source, REAL sharpness, REAL* joined, REAL* share, \
                                   std::int64_t begin, std::int64_t end) {                                \
        std::vector<REAL> total(static_cast<std::size_t>(width));                                         \
        for (std::int64_t i = begin; i < end; ++i) {                                                      \
            REAL* top = joined + i * width;                                                               \
            const std::int32_t low = offset[i];                                                           \
            const std::int32_t high = offset[i + 1];                                                      \
            if (low == high) {                                                                            \
                std::fill(top, top + width, REAL{0});                                                     \
                continue;                                                                                 \
            }                                                                                             \
            const REAL* first = values + source[low] * width;                                             \
            for (std::int64_t k = 0; k < width; ++k) top[k] = first[k];                                   \
            for (std::int32_t j = low + 1; j < high; ++j) {                                               \
                const REAL* row = values + source[j] * width;                                             \
                for (std::int64_t k = 0; k < width; ++k) top[k] = row[k] > top[k] ? row[k] : top[k];      \
            }                                                                                             \
            REAL* sum = total.data();                                                                     \
            std::fill(sum, sum + width, REAL{0});                                                         \
            for (std::int32_t j = low; j < high; ++j) {                                                   \
                const REAL* row = values + source[j] * width;                                             \
                REAL* part = share != nullptr ? share + source[j] * width : nullptr;                      \
                for (std::int64_t k = 0; k < width; ++k) {                                                \
                    const REAL z = sharpness * (row[k] - top[k]);                                         \
                    const REAL e = z < REAL{LEAST} ? REAL{0} : std::exp(z);                               \
                    sum[k] += e;                                                                          \
                    if (part != nullptr) part[k] = e;                                                     \
                }                                                                                         \
            }                                                                                             \
            if (share != nullptr)                                                                         \
                for (std::int32_t j = low; j < high; ++j) {                                               \
                    REAL* part = share + source[j] * width;                                               \
                    for (std::int64_t k = 0; k < width; ++k) part[k] /= sum[k];                           \
                }                                                                                         \
            for (std::int64_t k = 0; k < width; ++k) top[k] += std::log(sum[k]) / sharpness;              \
        }                                                                                                 \
    }

SALTUS_SMOOTH(float, -40)
SALTUS_SMOOTH(double, -80)

#define SALTUS_STREAM(REAL, LEAST)                                                                         \
    SALTUS_CLONES void stream_loop(const REAL* values, std::int64_t width, const std::int32_t* owner,      \
                                   std::int64_t rows, std::int64_t segments, REAL sharpness, REAL* joined, \
                                   REAL* total) {                                                          \
        const REAL none = std::numeric_limits<REAL>::lowest();                                             \
        std::fill(joined, joined + segments * width, none);                                                \
        std::fill(total, total + segments * width, REAL{0});                                               \
        for (std::int64_t i = 0; i < rows; ++i) {                                                          \
            const REAL* __restrict__ row = values + i * width;                                             \
            REAL* __restrict__ top = joined + owner[i] * width;                                            \
            for (std::int64_t k = 0; k < width; ++k) top[k] = row[k] > top[k] ? row[k] : top[k];           \
        }                                                                                                  \
        for (std::int64_t i = 0; i < rows; ++i) {                                                          \
            const REAL* __restrict__ row = values + i * width;                                             \
            const REAL* __restrict__ top = joined + owner[i] * width;                                      \
            REAL* __restrict__ sum = total + owner[i] * width;                                             \
            for (std::int64_t k = 0; k < width; ++k) {                                                     \
                const REAL z = sharpness * (row[k] - top[k]);                                              \
                sum[k] += z < REAL{LEAST} ? REAL{0} : std::exp(z);                                         \
            }                                                                                              \
        }                                                                                                  \
        for (std::int64_t i = 0; i < segments * width; ++i)                                                \
            joined[i] = total[i] > 0 ? joined[i] + std::log(total[i]) / sharpness : REAL{0};               \
    }

SALTUS_STREAM(float, -40)
SALTUS_STREAM(double, -80)

#define SALTUS_GATHER(REAL)                                                                                        \
    SALTUS_CLONES void gather_loop(const REAL* x, std::int64_t size, const REAL* table, const std::int32_t* index, \
                                   std::int64_t arity, const REAL* bias1, const REAL* bias2, REAL* residual,       \
                                   REAL* active, std::int64_t begin, std::int64_t end) {                           \
        const std::int64_t width = arity * size;                                                                   \
        for (std::int64_t row = begin; row < end; ++row) {                                                         \
            REAL* __restrict__ inner = active + row * width;                                                       \
            for (std::int64_t k = 0; k < width; ++k) inner[k] = bias1[k];                                          \
            for (std::int64_t p = 0; p < arity; ++p) {                                                             \
                const std::int64_t node = index[row * arity + p];                                                  \
                const REAL* __restrict__ part = table + (node * arity + p) * width;                                \
                for (std::int64_t k = 0; k < width; ++k) inner[k] += part[k];                                      \
                const REAL* __restrict__ own = x + node * size;                                                    \
                const REAL* __restrict__ shift = bias2 + p * size;                                                 \
                REAL* __restrict__ kept = residual + row * width + p * size;                                       \
                for (std::int64_t k = 0; k < size; ++k) kept[k] = own[k] + shift[k];                               \
            }                                                                                                      \
        }                                                                                                          \
        mish_loop(active + begin * width, active + begin * width, (end - begin) * width);                          \
    }

SALTUS_GATHER(float)
SALTUS_GATHER(double)

// Threads that are joined at the end of the block; not every standard library has `std::jthread`.
struct JoinedThreads {
    std::vector<std::thread> threads;

    ~JoinedThreads() {
        for (std::thread& thread : threads) thread.join();
    }
};

template <typename Work>
void in_parts(std::int64_t count, std::int32_t threads, Work&& work, std::int64_t weight = 1) {
    const std::int64_t parts = std::clamp<std::int64_t>(count * weight / kWorthAThread, 1, std::max(1, threads));
    JoinedThreads team;
    std::int64_t begin = 0;
    for (std::int64_t part = 1; part < parts; ++part) {
        const std::int64_t end = count * part / parts;
        try {
            team.threads.emplace_back(work, begin, end);
        } catch (const std::system_error&) {  // no thread available: this one does the work
            work(begin, end);
        }
        begin = end;
    }
    work(begin, count);
}

}  // namespace

template <typename Real>
void mish(const Real* x, Real* output, std::int64_t count, std::int32_t threads) {
    in_parts(count, threads,
             [=](std::int64_t begin, std::int64_t end) { mish_loop(x + begin, output + begin, end - begin); });
}

template <typename Real>
void mish_backward(const Real* x, const Real* g, Real* output, std::int64_t count, std::int32_t threads) {
    in_parts(count, threads, [=](std::int64_t begin, std::int64_t end) {
        mish_backward_loop(x + begin, g + begin, output + begin, end - begin);
    });
}

template <typename Real>
void gather_active(const Real* x, std::int64_t size, const Real* table, const std::int32_t* index, std::int64_t rows,
                   std::int64_t arity, const Real* bias1, const Real* bias2, Real* residual, Real* active,
                   std::int32_t threads) {
    in_parts(
        rows, threads,
        [=](std::int64_t begin, std::int64_t end) {
            gather_loop(x, size, table, index, arity, bias1, bias2, residual, active, begin, end);
        },
        arity * size);
}

template <typename Real>
void smooth_maximum_streamed(const Real* values, std::int64_t width, const std::int32_t* owner, std::int64_t rows,
                             std::int64_t segments, Real sharpness, Real* joined) {
    std::vector<Real> total(static_cast<std::size_t>(segments * width));
    stream_loop(values, width, owner, rows, segments, sharpness, joined, total.data());
}

template <typename Real>
void smooth_maximum(const Real* values, std::int64_t width, std::span<const std::int32_t> offset,
                    const std::int32_t* source, Real sharpness, Real* joined, Real* share, std::int32_t threads) {
    // Split the rows evenly, not the segments: their sizes differ by orders of magnitude.
    const std::int64_t rows = offset.back();
    const auto segments = static_cast<std::int64_t>(offset.size()) - 1;
    in_parts(rows * width, threads, [=](std::int64_t begin, std::int64_t end) {
        auto segment_at = [&](std::int64_t number) {
            const auto found =
                std::lower_bound(offset.begin(), offset.end(), static_cast<std::int32_t>(number / width));
            return static_cast<std::int64_t>(found - offset.begin());
        };
        const std::int64_t first = begin == 0 ? 0 : segment_at(begin);
        const std::int64_t last = end == rows * width ? segments : segment_at(end);
        smooth_loop(values, width, offset.data(), source, sharpness, joined, share, first, last);
    });
}

#define SALTUS_INSTANTIATE(REAL)                                                                                      \
    template void mish(const REAL*, REAL*, std::int64_t, std::int32_t);                                               \
    template void mish_backward(const REAL*, const REAL*, REAL*, std::int64_t, std::int32_t);                         \
    template void gather_active(const REAL*, std::int64_t, const REAL*, const std::int32_t*, std::int64_t,            \
                                std::int64_t, const REAL*, const REAL*, REAL*, REAL*, std::int32_t);                  \
    template void smooth_maximum_streamed(const REAL*, std::int64_t, const std::int32_t*, std::int64_t, std::int64_t, \
                                          REAL, REAL*);                                                               \
    template void smooth_maximum(const REAL*, std::int64_t, std::span<const std::int32_t>, const std::int32_t*, REAL, \
                                 REAL*, REAL*, std::int32_t);

SALTUS_INSTANTIATE(float)
SALTUS_INSTANTIATE(double)

}  // namespace saltus
