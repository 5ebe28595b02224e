// Hashes of several numbers.
#pragma once

#include <cstdint>

namespace spirograd {

/// `h` with one more number. Our own mixing (splitmix64's finaliser), so that hashes are equal on every platform.
constexpr uint64_t hash_with(uint64_t h, uint64_t v) {
  h ^= v + 0x9e3779b97f4a7c15ull + (h << 6) + (h >> 2);
  h = (h ^ (h >> 30)) * 0xbf58476d1ce4e5b9ull;
  h = (h ^ (h >> 27)) * 0x94d049bb133111ebull;
  return h ^ (h >> 31);
}

}  // namespace spirograd
