// The loops of the network with NEON, which every 64-bit ARM machine has.
#define SALTUS_SET neon
#define SALTUS_NAME "neon"

#include <arm_neon.h>

#include <cstdint>

namespace saltus::neon {

namespace {

constexpr int kWidth = 4;
constexpr int kRows = 6;
constexpr int kColumns = 4;
typedef float Vec __attribute__((vector_size(4 * kWidth)));
typedef std::uint32_t Ints __attribute__((vector_size(4 * kWidth)));

inline Vec maximum(Vec a, Vec b) { return vmaxq_f32(a, b); }
inline Vec minimum(Vec a, Vec b) { return vminq_f32(a, b); }
inline Vec greater(Vec a, Vec b, Vec yes, Vec no) { return vbslq_f32(vcgtq_f32(a, b), yes, no); }
inline bool any_greater(Vec a, Vec b) { return vmaxvq_u32(vcgtq_f32(a, b)) != 0; }
// 8 bits from the machine, doubled by each of two steps of Newton's.
inline Vec reciprocal(Vec a) {
    Vec guess = vrecpeq_f32(a);
    guess = guess * vrecpsq_f32(a, guess);
    return guess * vrecpsq_f32(a, guess);
}

}  // namespace

}  // namespace saltus::neon

#include "network_simd.hpp"
