// Numbers by the hash of what they stand for: which of them, if any, stands for something equal? Interning is mostly asking
// this. One flat table of hashes and numbers; what they stand for is looked at only where hashes agree.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace spirograd {

class FlatIndex {
 public:
  /// The first number inserted with `hash` for which `is_equal(number)` holds; 0 if there is none.
  template <class Equal>
  uint32_t find(uint64_t hash, Equal&& is_equal) const {
    const uint32_t tag = tag_of(hash);
    for (size_t slot = tag & mask(); slots_[slot].number != 0; slot = (slot + 1) & mask())
      if (slots_[slot].tag == tag && is_equal(slots_[slot].number)) return slots_[slot].number;
    return 0;
  }

  /// Room for so many numbers; saves time only.
  void reserve(size_t numbers) {
    while (slots_.size() < 2 * numbers) grow();
  }

  /// Pre: number is not 0.
  void insert(uint64_t hash, uint32_t number) {
    if (2 * used_ >= slots_.size()) grow();
    put({tag_of(hash), number});
    ++used_;
  }

  /// Takes back the last insertion that has not been taken back. Emptying slots in the reverse order of insertion leaves the
  /// runs of all others as they were; growing keeps that order, for it inserts anew in the order of numbers.
  /// Pre: numbers were inserted in ascending order.
  void take_back(uint64_t hash, uint32_t number) {
    size_t slot = tag_of(hash) & mask();
    while (slots_[slot].number != number) slot = (slot + 1) & mask();
    slots_[slot] = {};
    --used_;
  }

 private:
  struct Slot {
    uint32_t tag = 0, number = 0;
  };
  static uint32_t tag_of(uint64_t hash) { return static_cast<uint32_t>(hash ^ hash >> 32); }
  size_t mask() const { return slots_.size() - 1; }
  void put(Slot s) {
    size_t slot = s.tag & mask();
    while (slots_[slot].number != 0) slot = (slot + 1) & mask();
    slots_[slot] = s;
  }
  void grow();

  std::vector<Slot> slots_ = std::vector<Slot>(256);  // a power of two of them, at most half of them in use
  size_t used_ = 0;
};

}  // namespace spirograd
