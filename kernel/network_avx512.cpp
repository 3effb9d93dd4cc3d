// The loops of the network with AVX-512.
#define SALTUS_SET avx512
#define SALTUS_NAME "avx512"

#include <immintrin.h>

#include <cstdint>

namespace saltus::avx512 {

namespace {

constexpr int kWidth = 16;
constexpr int kRows = 6;
constexpr int kColumns = 4;
typedef float Vec __attribute__((vector_size(4 * kWidth)));
typedef std::uint32_t Ints __attribute__((vector_size(4 * kWidth)));

inline Vec maximum(Vec a, Vec b) { return _mm512_max_ps(a, b); }
inline Vec minimum(Vec a, Vec b) { return _mm512_min_ps(a, b); }
inline Vec greater(Vec a, Vec b, Vec yes, Vec no) {
    return _mm512_mask_blend_ps(_mm512_cmp_ps_mask(a, b, _CMP_GT_OQ), no, yes);
}
// 14 bits from the machine, doubled by a step of Newton's.
inline Vec reciprocal(Vec a) {
    const Vec guess = _mm512_rcp14_ps(a);
    return guess * (2.0F - a * guess);
}

}  // namespace

}  // namespace saltus::avx512

#include "network_simd.hpp"
