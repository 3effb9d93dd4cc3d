// The most that one core does: prints floating-point operations per second (fused multiply-adds on registers, two each)
// and bytes read per second from memory. Best of several, in CPU time. Compiled by roofline.py for the machine at hand.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <ctime>
#include <vector>

#if defined(__AVX512F__)
constexpr int kBytes = 64;
constexpr int kSums = 24;
#elif defined(__AVX__)
constexpr int kBytes = 32;
constexpr int kSums = 12;
#else
constexpr int kBytes = 16;
constexpr int kSums = 12;
#endif
typedef float Vec __attribute__((vector_size(kBytes)));

static double now() {
    timespec time;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
    return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

static double operations_per_second() {
    constexpr std::int64_t kSteps = 2'000'000;
    Vec sums[kSums] = {};
    Vec factor = Vec{} + 0.999F;
    Vec term = Vec{} + 0.001F;
    __asm__ volatile("" : "+m"(factor), "+m"(term));  // not known at compile time
    const double start = now();
    for (std::int64_t step = 0; step < kSteps; ++step) {
#pragma GCC unroll 24
        for (int i = 0; i < kSums; ++i) sums[i] = sums[i] * factor + term;
    }
    const double seconds = now() - start;
    Vec total = {};
    for (const Vec& sum : sums) total += sum;
    volatile float used = total[0];
    static_cast<void>(used);
    return 2.0 * static_cast<double>(kSteps) * kSums * (kBytes / 4) / seconds;
}

static double bytes_per_second(const std::vector<float>& memory) {
    const double start = now();
    Vec sums[4] = {};
    for (std::size_t i = 0; i + kBytes <= memory.size(); i += kBytes)
        for (std::size_t k = 0; k < 4; ++k) {
            Vec value;
            __builtin_memcpy(&value, memory.data() + i + k * (kBytes / 4), sizeof value);
            sums[k] += value;
        }
    const double seconds = now() - start;
    volatile float used = (sums[0] + sums[1] + sums[2] + sums[3])[0];
    static_cast<void>(used);
    return 4.0 * static_cast<double>(memory.size()) / seconds;
}

int main() {
    double operations = 0;
    double bytes = 0;
    const std::vector<float> memory(std::size_t{1} << 27, 1.0F);  // 512 MiB, more than any cache
    for (int i = 0; i < 7; ++i) {
        operations = std::max(operations, operations_per_second());
        bytes = std::max(bytes, bytes_per_second(memory));
    }
    std::printf("%g %g\n", operations, bytes);
}
