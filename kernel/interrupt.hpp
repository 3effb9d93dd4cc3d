// Interrupt: stops long searches on request.
//
// The core knows nothing of signals. It calls a function given by its caller, rarely and only on the caller's thread;
// other threads that work for the same call see a flag.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <exception>
#include <functional>
#include <thread>

namespace saltus {

struct Interrupted : std::exception {
    const char* what() const noexcept override { return "interrupted"; }
};

class Interrupt {
public:
    static constexpr std::chrono::milliseconds kEvery{50};

    explicit Interrupt(std::function<bool()> asked) : asked_(std::move(asked)) {}

    // Searches on this thread listen to the interrupt while the scope lives.
    class Scope {
    public:
        explicit Scope(Interrupt* interrupt);
        ~Scope();
        Scope(const Scope&) = delete;
        Scope& operator=(const Scope&) = delete;

    private:
        Interrupt* before_;
    };

    // The interrupt that this thread listens to; null if none.
    static Interrupt* current();

    // Throws Interrupted if a stop was requested; asks for it only on the caller's thread and when it is time to.
    void check();

private:
    std::function<bool()> asked_;
    std::thread::id owner_ = std::this_thread::get_id();
    std::chrono::steady_clock::time_point last_ = std::chrono::steady_clock::now();
    std::atomic<bool> stopped_{false};
};

// Counts the steps of a search and checks this thread's interrupt every few thousand of them.
class Ticker {
public:
    void tick(std::uint32_t steps = 1) {
        count_ += steps;
        if (count_ >= kSteps) check();
    }

private:
    static constexpr std::uint32_t kSteps = 4096;
    void check();

    std::uint32_t count_ = 0;
};

}  // namespace saltus
