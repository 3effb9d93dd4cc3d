// Keys: hash tables of 64-bit keys, by open addressing with linear probing.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <vector>

namespace saltus {

// Hash of a key, the same on every machine.
inline std::uint64_t mix(std::uint64_t x) {
    x ^= x >> 30;
    x *= 0xBF58476D1CE4E5B9ULL;
    x ^= x >> 27;
    x *= 0x94D049BB133111EBULL;
    return x ^ (x >> 31);
}

// Hash of two values, whose order matters.
inline std::uint64_t join(std::uint64_t a, std::uint64_t b) { return mix(a * 0x9E3779B97F4A7C15ULL + b + 1); }

template <typename Value>
void sort_unique(std::vector<Value>& values) {
    std::sort(values.begin(), values.end());
    values.erase(std::unique(values.begin(), values.end()), values.end());
}

// Numbers keys in the order in which they come.
class KeyNumbers {
public:
    explicit KeyNumbers(std::size_t expected = 0)
        : slots_(std::bit_ceil(2 * expected + 16)), mask_(slots_.size() - 1) {}

    std::int32_t size() const { return size_; }
    // Number of a key, or -1.
    std::int32_t find(std::int64_t key) const {
        for (std::size_t i = mix(static_cast<std::uint64_t>(key)) & mask_; slots_[i].number >= 0; i = (i + 1) & mask_)
            if (slots_[i].key == key) return slots_[i].number;
        return -1;
    }
    // Number of a key, which is added if it is new.
    std::int32_t number(std::int64_t key) {
        if (2 * (static_cast<std::size_t>(size_) + 1) > slots_.size()) grow();
        Slot& slot = slots_[place(key)];
        if (slot.number < 0) slot = {key, size_++};
        return slot.number;
    }
    // Calls visit(key, number) for every key, in no particular order.
    template <typename Visit>
    void visit(Visit&& visit) const {
        for (const Slot& slot : slots_)
            if (slot.number >= 0) visit(slot.key, slot.number);
    }

private:
    struct Slot {
        std::int64_t key = 0;
        std::int32_t number = -1;
    };

    // Slot of a key, or the empty one where it belongs.
    std::size_t place(std::int64_t key) const {
        std::size_t i = mix(static_cast<std::uint64_t>(key)) & mask_;
        while (slots_[i].number >= 0 && slots_[i].key != key) i = (i + 1) & mask_;
        return i;
    }
    void grow();

    std::vector<Slot> slots_;
    std::size_t mask_;
    std::int32_t size_ = 0;
};

// A set of keys that is emptied in constant time.
class KeySet {
public:
    explicit KeySet(std::size_t expected = 16) { reset(expected); }

    void clear() {
        size_ = 0;
        if (++generation_ == 0) {
            std::fill(stamps_.begin(), stamps_.end(), 0U);
            generation_ = 1;
        }
    }
    bool contains(std::int64_t key) const {
        for (std::size_t i = slot(key);; i = (i + 1) & mask_) {
            if (stamps_[i] != generation_) return false;
            if (keys_[i] == key) return true;
        }
    }
    // Whether the key is new.
    bool insert(std::int64_t key) {
        for (std::size_t i = slot(key);; i = (i + 1) & mask_) {
            if (stamps_[i] != generation_) {
                stamps_[i] = generation_;
                keys_[i] = key;
                if (++size_ * 2 > keys_.size()) grow();
                return true;
            }
            if (keys_[i] == key) return false;
        }
    }
    std::size_t size() const { return size_; }
    std::int64_t bytes() const {
        return static_cast<std::int64_t>(keys_.size() * (sizeof(std::int64_t) + sizeof(std::uint32_t)));
    }

private:
    std::size_t slot(std::int64_t key) const { return mix(static_cast<std::uint64_t>(key)) & mask_; }
    void reset(std::size_t expected);
    void grow();

    std::vector<std::int64_t> keys_;
    std::vector<std::uint32_t> stamps_;
    std::size_t mask_ = 0;
    std::size_t size_ = 0;
    std::uint32_t generation_ = 1;
};

}  // namespace saltus
