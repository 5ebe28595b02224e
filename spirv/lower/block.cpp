#include "spirv/lower/block.h"

#include <algorithm>

namespace spirograd::lower {
namespace {

// Accumulators. More than a CPU has registers, but a spill costs less than a load through its driver.
constexpr int64_t kBlockElements = 32;
constexpr int64_t kBlockCode = 1200;    // instructions
constexpr double kLoadCost = 8;         // of a load in arithmetic operations, on a CPU driver

Block no_block(const Section& s) {
  Block b;
  for (int a = 0; a < s.domain.rank(); ++a) b.extents.push_back(1);
  return b;
}

// Cost of one element in a block of `extents`: loads are shared by the elements that agree on the axes they depend on.
double cost_per_element(const Section& s, const Shape& extents) {
  double loads = 0;
  for (const Section::Read& r : s.reads) {
    double different = 1;
    for (int a = 0; a < extents.rank(); ++a)
      if (r.axes >> a & 1) different *= static_cast<double>(extents[a]);
    loads += different;
  }
  constexpr double kLoopOverhead = 30;
  return (kLoadCost * loads + kLoopOverhead) / static_cast<double>(extents.count());
}

// The best block over at most two axes.
Block reduction_block(const Section& s, const Target& t) {
  Block best = no_block(s);
  // Enough blocks must be left to keep all lanes of all processors busy.
  const int64_t spare = s.domain.count() / (t.cpu ? 8 * lanes(t) * static_cast<int64_t>(t.cores) : 65536);
  const int64_t most = std::min({spare, t.cpu ? kBlockElements : 8, kBlockCode / std::max<int64_t>(1, s.code)});
  // On a GPU neighbours along the last axis should read side by side, so blocks only extend over the axes before it.
  const int rank = s.domain.rank() - (t.cpu ? 0 : 1);
  double least = cost_per_element(s, best.extents);
  for (int a = 0; a < rank; ++a) {
    for (int b = a; b < rank; ++b) {
      for (int64_t m = 1; m <= std::min<int64_t>(most, 8); ++m) {
        for (int64_t n = 1; m * n <= most && n <= (a == b ? 1 : 8); ++n) {
          if (s.domain[a] % m != 0 || s.domain[b] % n != 0) continue;
          Shape extents = no_block(s).extents;
          extents[a] = m;
          if (a != b) extents[b] = n;
          const double cost = cost_per_element(s, extents);
          if (cost < 0.99 * least) {
            least = cost;
            best.extents = extents;
          }
        }
      }
    }
  }
  return best;
}

}  // namespace

int64_t lanes(const Target& t) { return t.cpu ? std::max<uint32_t>(4, t.subgroup_size) : 64; }

// Blocks of elementwise work pay for starting an invocation, as long as all processors still have something to do.
Block block_of(const Section& s, const Target& t) {
  Block block = no_block(s);
  if (s.kind != Section::Kind::Map) return block;
  if (s.reduces) return reduction_block(s, t);
  if (!t.cpu || s.code > 60) return block;
  for (int64_t e : {16, 8, 4, 2}) {
    if (s.domain.count() < e * 64 * lanes(t) * static_cast<int64_t>(t.cores) || e * s.code > 400) continue;
    block.side_by_side = e;
    return block;
  }
  return block;
}

int64_t invocations(const Section& s, const Target& t) {
  const Block block = block_of(s, t);
  if (block.side_by_side == 1) return s.domain.count() / block.extents.count();
  const int64_t per = block.side_by_side * lanes(t);
  return (s.domain.count() + per - 1) / per * lanes(t);
}

}  // namespace spirograd::lower
