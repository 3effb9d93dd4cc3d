#include "keys.hpp"

#include <utility>

namespace saltus {

void KeyNumbers::grow() {
    std::vector<Slot> old(2 * slots_.size());
    old.swap(slots_);
    mask_ = slots_.size() - 1;
    for (const Slot& slot : old)
        if (slot.number >= 0) slots_[place(slot.key)] = slot;
}

void KeySet::reset(std::size_t expected) {
    const std::size_t slots = std::bit_ceil(std::max<std::size_t>(16, 2 * expected));
    keys_.assign(slots, 0);
    stamps_.assign(slots, 0);
    mask_ = slots - 1;
    size_ = 0;
    generation_ = 1;
}

void KeySet::grow() {
    std::vector<std::int64_t> kept;
    kept.reserve(size_);
    for (std::size_t i = 0; i < keys_.size(); ++i)
        if (stamps_[i] == generation_) kept.push_back(keys_[i]);
    reset(kept.size() * 2);
    for (std::int64_t key : kept) insert(key);
}

}  // namespace saltus
