// Interrupt: long searches that somebody may want to stop.
//
// The core knows nothing of signals: it asks a function that its caller gives it, seldom and only on the caller's
// thread; other threads that work for the same call see a flag.
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

    // Makes searches on this thread listen to an interrupt for as long as the scope lives.
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

    // Asks, if it is time to and this is the caller's thread; throws Interrupted once the answer was yes.
    void check();

private:
    std::function<bool()> asked_;
    std::thread::id owner_ = std::this_thread::get_id();
    std::chrono::steady_clock::time_point last_ = std::chrono::steady_clock::now();
    std::atomic<bool> stopped_{false};
};

// Counts steps of a search; every few thousand of them it checks the interrupt of this thread.
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
