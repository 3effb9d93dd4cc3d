// Numbers: reads a flat program of integers, in which a list is its length followed by its entries.
#pragma once

#include <cstdint>
#include <span>
#include <stdexcept>
#include <string>

namespace saltus {

class Numbers {
public:
    // `owner` is what the program is for; errors begin with it.
    Numbers(const char* owner, std::span<const std::int32_t> values) : owner_(owner), values_(values) {}

    // The next number, which must be at least 0 and below `below`; `what` it is.
    std::int32_t next(std::int32_t below, const char* what) {
        if (at_ >= values_.size()) fail("the program ends early");
        const std::int32_t value = values_[at_++];
        if (value < 0 || value >= below) fail(std::string(what) + " out of range");
        return value;
    }
    std::int32_t count() { return next(static_cast<std::int32_t>(values_.size()) + 1, "length of a list"); }
    bool done() const { return at_ == values_.size(); }

    [[noreturn]] void fail(const std::string& why) const {
        throw std::invalid_argument(std::string(owner_) + ": " + why);
    }

private:
    const char* owner_;
    std::span<const std::int32_t> values_;
    std::size_t at_ = 0;
};

}  // namespace saltus
