// Team: threads that share one job.
#pragma once

#include <algorithm>
#include <system_error>
#include <thread>
#include <vector>

namespace saltus {

// Number of threads worth starting: no more than the machine runs at once.
inline std::size_t useful_threads(std::size_t wanted) {
    const std::size_t most = std::max(1U, std::thread::hardware_concurrency());
    return std::clamp<std::size_t>(wanted, 1, most);
}

// Calls work() on the calling thread and on up to `threads` - 1 others, and waits for all of them. `work` takes its share
// from what is left, so that the job is done even if no thread can be started; it must not throw.
template <typename Work>
void run_team(Work& work, std::size_t threads) {
    std::vector<std::thread> team;
    try {
        team.reserve(useful_threads(threads));
        while (team.size() + 1 < useful_threads(threads)) team.emplace_back([&work] { work(); });
    } catch (const std::system_error&) {  // no more threads: go on with those there are
    } catch (const std::bad_alloc&) {
    }
    work();
    for (std::thread& thread : team) thread.join();
}

}  // namespace saltus
