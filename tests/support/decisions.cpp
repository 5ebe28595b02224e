// Decision lists: making them and making them smaller.
#include <algorithm>

#include "support/random_program.h"

namespace spirograd::test {

Decisions random_decisions(uint64_t seed, size_t count) {
  Decisions out(count);
  uint64_t state = seed * 0x9e3779b97f4a7c15ull + 0x2545f4914f6cdd1dull;
  for (uint8_t& byte : out) {  // splitmix64
    state += 0x9e3779b97f4a7c15ull;
    uint64_t x = state;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
    byte = static_cast<uint8_t>((x ^ (x >> 31)) >> 24);
  }
  return out;
}

Decisions shrink(Decisions best, const std::function<bool(const Decisions&)>& fails, int max_tries) {
  int tries = 0;
  const auto accept = [&](Decisions candidate) {
    if (candidate == best || tries >= max_tries) return false;
    ++tries;
    if (!fails(candidate)) return false;
    best = std::move(candidate);
    return true;
  };
  for (bool progress = true; progress && tries < max_tries;) {
    progress = false;
    for (size_t run = std::max<size_t>(best.size() / 2, 1); run > 0; run /= 2) {
      for (size_t from = 0; from < best.size();) {  // delete, else zero
        const size_t to = std::min(from + run, best.size());
        Decisions less = best;
        less.erase(less.begin() + static_cast<ptrdiff_t>(from), less.begin() + static_cast<ptrdiff_t>(to));
        if (accept(std::move(less))) {
          progress = true;
          continue;
        }
        Decisions zeroed = best;
        std::fill(zeroed.begin() + static_cast<ptrdiff_t>(from), zeroed.begin() + static_cast<ptrdiff_t>(to), uint8_t{0});
        progress |= accept(std::move(zeroed));
        from = to;
      }
    }
    for (size_t i = 0; i < best.size(); ++i) {
      for (int step = best[i]; step > 0; step /= 2) {
        if (best[i] < step) continue;
        Decisions lower = best;
        lower[i] = static_cast<uint8_t>(lower[i] - step);
        progress |= accept(lower);
        // A simpler choice often needs fewer decisions after it.
        for (size_t run : {1, 2, 3, 4, 6, 8, 12}) {
          Decisions less = lower;
          if (i + 1 + run > less.size()) break;
          less.erase(less.begin() + static_cast<ptrdiff_t>(i) + 1, less.begin() + static_cast<ptrdiff_t>(i + 1 + run));
          if (accept(std::move(less))) {
            progress = true;
            break;
          }
        }
        if (i >= best.size()) break;
      }
    }
  }
  return best;
}

}  // namespace spirograd::test
