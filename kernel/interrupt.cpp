#include "interrupt.hpp"

namespace saltus {

namespace {
thread_local Interrupt* listening = nullptr;
}

Interrupt::Scope::Scope(Interrupt* interrupt) : before_(listening) { listening = interrupt; }
Interrupt::Scope::~Scope() { listening = before_; }
Interrupt* Interrupt::current() { return listening; }

void Interrupt::check() {
    if (stopped_) throw Interrupted();
    if (std::this_thread::get_id() != owner_) return;
    if (std::chrono::steady_clock::now() - last_ < kEvery) return;
    stopped_ = asked_();
    last_ = std::chrono::steady_clock::now();
    if (stopped_) throw Interrupted();
}

void Ticker::check() {
    count_ = 0;
    if (listening != nullptr) listening->check();
}

}  // namespace saltus
