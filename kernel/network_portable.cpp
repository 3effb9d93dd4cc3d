// The loops of the network with what every machine has: vectors of four floats, which the compiler splits where there
// are none.
#define SALTUS_SET portable
#define SALTUS_NAME "portable"

#include <cstdint>

namespace saltus::portable {

namespace {

constexpr int kWidth = 4;
constexpr int kRows = 4;
constexpr int kColumns = 2;
typedef float Vec __attribute__((vector_size(4 * kWidth)));
typedef std::uint32_t Ints __attribute__((vector_size(4 * kWidth)));

inline Vec maximum(Vec a, Vec b) { return a > b ? a : b; }
inline Vec minimum(Vec a, Vec b) { return a < b ? a : b; }
inline Vec greater(Vec a, Vec b, Vec yes, Vec no) { return a > b ? yes : no; }
inline bool any_greater(Vec a, Vec b) {
    typedef std::uint64_t Halves __attribute__((vector_size(4 * kWidth)));
    const Halves is_greater = (Halves)(a > b);
    return (is_greater[0] | is_greater[1]) != 0;
}
inline Vec reciprocal(Vec a) { return 1.0F / a; }

}  // namespace

}  // namespace saltus::portable

#include "network_simd.hpp"
