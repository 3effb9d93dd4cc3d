// Team: threads that share one job.
#pragma once

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <new>
#include <system_error>
#include <thread>
#include <vector>

namespace saltus {

// Number of threads worth starting: no more than the machine runs at once.
inline std::size_t useful_threads(std::size_t wanted) {
    const std::size_t most = std::max(1U, std::thread::hardware_concurrency());
    return std::clamp<std::size_t>(wanted, 1, most);
}

// Calls work() on the calling thread and on up to `threads` - 1 others, and waits for all of them, calling wait() from
// time to time. `work` takes its share from what is left, so that the job is done even if no thread can be started;
// neither may throw.
template <typename Work, typename Wait>
void run_team(Work& work, std::size_t threads, Wait&& wait) {
    std::vector<std::thread> team;
    std::mutex mutex;
    std::condition_variable change;
    std::size_t done = 0;
    try {
        team.reserve(useful_threads(threads));
        while (team.size() + 1 < useful_threads(threads))
            team.emplace_back([&] {
                work();
                const std::lock_guard lock(mutex);
                ++done;
                change.notify_one();
            });
    } catch (const std::system_error&) {  // no more threads: go on with those there are
    } catch (const std::bad_alloc&) {
    }
    work();
    for (std::unique_lock lock(mutex); done < team.size();) {
        if (change.wait_for(lock, std::chrono::milliseconds(20)) == std::cv_status::no_timeout) continue;
        lock.unlock();
        wait();
        lock.lock();
    }
    for (std::thread& thread : team) thread.join();
}

template <typename Work>
void run_team(Work& work, std::size_t threads) {
    run_team(work, threads, [] {});
}

}  // namespace saltus
