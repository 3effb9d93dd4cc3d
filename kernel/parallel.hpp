// Parallel: threads that share one job.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <new>
#include <system_error>
#include <thread>
#include <vector>

#include "interrupt.hpp"

namespace saltus {

// Number of threads worth starting: no more than the machine runs at once.
inline std::size_t useful_threads(std::size_t wanted) {
    if (wanted <= 1) return 1;  // asking the system takes microseconds, which small jobs would notice
    return std::min<std::size_t>(wanted, std::max(1U, std::thread::hardware_concurrency()));
}

// Calls body(i) for every i below `count`, on the calling thread and up to `threads` - 1 others. All of them listen to
// the calling thread's interrupt; only that thread may ask for signals, so it does while it waits for the others. The
// first exception ends the job and is rethrown here. If no thread can be started, the calling thread does all the work.
template <typename Body>
void run_parallel(std::size_t count, std::size_t threads, Body&& body) {
    Interrupt* const interrupt = Interrupt::current();
    std::atomic<std::size_t> next{0};
    std::atomic<bool> failed{false};
    std::exception_ptr failure;
    auto guarded = [&](auto&& call) {
        try {
            call();
        } catch (...) {
            if (!failed.exchange(true)) failure = std::current_exception();
        }
    };
    auto work = [&] {
        guarded([&] {
            for (std::size_t i = next++; i < count && !failed; i = next++) body(i);
        });
    };
    std::vector<std::thread> others;
    std::mutex mutex;
    std::condition_variable change;
    std::size_t done = 0;
    const std::size_t most = useful_threads(std::min(count, threads));
    try {
        others.reserve(most);
        while (others.size() + 1 < most)
            others.emplace_back([&] {
                {
                    const Interrupt::Scope scope(interrupt);
                    work();
                }
                const std::lock_guard lock(mutex);
                ++done;
                change.notify_one();
            });
    } catch (const std::system_error&) {  // no more threads: carry on with those that started
    } catch (const std::bad_alloc&) {
    }
    work();
    for (std::unique_lock lock(mutex); done < others.size();) {
        if (change.wait_for(lock, std::chrono::milliseconds(20)) == std::cv_status::no_timeout) continue;
        lock.unlock();
        guarded([&] {
            if (interrupt != nullptr) interrupt->check();
        });
        lock.lock();
    }
    for (std::thread& thread : others) thread.join();
    if (failure) std::rethrow_exception(failure);
}

}  // namespace saltus
