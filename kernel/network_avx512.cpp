// The loops of the network with AVX-512.
#define SALTUS_SET avx512
#define SALTUS_NAME "avx512"
#define SALTUS_OWN_POWER

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
inline bool any_greater(Vec a, Vec b) { return _mm512_cmp_ps_mask(a, b, _CMP_GT_OQ) != 0; }
// 2^t, with a relative error of about 1e-7: 2^floor(t) times a polynomial on [0, 1]. Below -126, 2^-126: subnormal
// numbers are slow.
inline Vec power_of_two(Vec t) {
    t = _mm512_max_ps(t, _mm512_set1_ps(-126.0F));
    const Vec r = _mm512_reduce_ps(t, _MM_FROUND_TO_NEG_INF | _MM_FROUND_NO_EXC);
    Vec p = r * 0.0018671302F + 0.0090170298F;
    p = p * r + 0.0557999127F;
    p = p * r + 0.2401644439F;
    p = p * r + 0.6931512952F;
    p = p * r + 1.0F;
    return _mm512_scalef_ps(p, t);
}
// 14 bits from the machine, doubled by a step of Newton's.
inline Vec reciprocal(Vec a) {
    const Vec guess = _mm512_rcp14_ps(a);
    return guess * (2.0F - a * guess);
}

}  // namespace

}  // namespace saltus::avx512

#include "network_simd.hpp"
