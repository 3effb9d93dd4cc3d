// The loops of the network with AVX2 and FMA.
#define SALTUS_SET avx2
#define SALTUS_NAME "avx2"

#include <immintrin.h>

#include <cstdint>

namespace saltus::avx2 {

namespace {

constexpr int kWidth = 8;
constexpr int kRows = 6;
constexpr int kColumns = 2;
typedef float Vec __attribute__((vector_size(4 * kWidth)));
typedef std::uint32_t Ints __attribute__((vector_size(4 * kWidth)));

inline Vec maximum(Vec a, Vec b) { return _mm256_max_ps(a, b); }
inline Vec minimum(Vec a, Vec b) { return _mm256_min_ps(a, b); }
inline Vec greater(Vec a, Vec b, Vec yes, Vec no) { return _mm256_blendv_ps(no, yes, _mm256_cmp_ps(a, b, _CMP_GT_OQ)); }
inline bool any_greater(Vec a, Vec b) { return _mm256_movemask_ps(_mm256_cmp_ps(a, b, _CMP_GT_OQ)) != 0; }
// 12 bits from the machine, doubled by a step of Newton's.
inline Vec reciprocal(Vec a) {
    const Vec guess = _mm256_rcp_ps(a);
    return guess * (2.0F - a * guess);
}

}  // namespace

}  // namespace saltus::avx2

#include "network_simd.hpp"
