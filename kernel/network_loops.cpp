#include "network_loops.hpp"

#include <array>

namespace saltus {

namespace {

struct Choice {
    const Loops* loops;
    bool runs;
};

// All loops of this build, the fastest first, and whether this machine runs them.
const auto& choices() {
#if defined(SALTUS_X86_LOOPS)
    static const std::array<Choice, 3> kChoices{
        {{&avx512::kLoops, __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
                               __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512bw")},
         {&avx2::kLoops, __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")},
         {&portable::kLoops, true}}};
#elif defined(SALTUS_NEON_LOOPS)
    static const std::array<Choice, 2> kChoices{{{&neon::kLoops, true}, {&portable::kLoops, true}}};
#else
    static const std::array<Choice, 1> kChoices{{{&portable::kLoops, true}}};
#endif
    return kChoices;
}

}  // namespace

const Loops* find_loops(std::string_view name) {
    for (const Choice& choice : choices())
        if (choice.runs && (name.empty() || name == choice.loops->name)) return choice.loops;
    return nullptr;
}

}  // namespace saltus
