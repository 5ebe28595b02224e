#include "spirv/lower/memory.h"

#include <algorithm>
#include <functional>
#include <map>
#include <queue>
#include <span>
#include <utility>
#include <vector>

namespace spirograd::lower {
namespace {

constexpr uint64_t kAlignment = 256;  // the coarsest storage-buffer offset alignment that is known of

struct Life {
  uint64_t bytes;
  uint32_t buffer, first, last;
  uint64_t offset = 0;  // once it is placed
};

// What any step of a Repeat uses lives in all of it: the next iteration uses it again.
std::vector<Life> lifetimes(const Plan& plan) {
  std::map<uint32_t, Life> lives;
  size_t repeat = 0, end = 0;  // the outermost Repeat, if s < end
  for (size_t s = 0; s < plan.steps.size(); ++s) {
    if (s >= end && plan.steps[s].kind == Step::Kind::Repeat) repeat = s, end = s + 1 + plan.steps[s].body;
    const size_t first = s < end ? repeat : s, last = s < end ? end - 1 : s;
    for (const BufferUse& u : plan.steps[s].uses) {
      const BufferDesc& d = plan.buffers[u.buffer];
      if (d.role != Role::Scratch) continue;
      const uint64_t bytes = std::max<uint64_t>(kAlignment, (d.bytes + kAlignment - 1) / kAlignment * kAlignment);
      auto [it, fresh] =
          lives.try_emplace(u.buffer, Life{bytes, u.buffer, static_cast<uint32_t>(first), static_cast<uint32_t>(last)});
      it->second.last = static_cast<uint32_t>(last);
    }
  }
  std::vector<Life> out;
  for (const auto& [id, life] : lives) out.push_back(life);
  return out;
}

void place(Plan& plan, const Life& life) {
  plan.buffers[life.buffer].scratch_offset = life.offset;
  plan.scratch_bytes = std::max(plan.scratch_bytes, life.offset + life.bytes);
}

// The largest first, each at the lowest offset where it meets no other.
void place_by_size(Plan& plan, std::span<Life> lives) {
  std::vector<Life> placed;  // by offset
  for (Life& life : lives) {
    for (const Life& other : placed) {
      if (other.first > life.last || life.first > other.last) continue;
      if (life.offset + life.bytes <= other.offset) break;
      life.offset = std::max(life.offset, other.offset + other.bytes);
    }
    place(plan, life);
    const auto behind = [](const Life& a, const Life& b) { return a.offset < b.offset; };
    placed.insert(std::upper_bound(placed.begin(), placed.end(), life, behind), life);
  }
}

// Lives of one size, behind all others, in the order in which they begin: as many places as are alive at once.
void place_in_turn(Plan& plan, std::span<Life> lives) {
  using Place = std::pair<uint32_t, uint64_t>;  // last step of its life, offset
  std::priority_queue<Place, std::vector<Place>, std::greater<>> taken;
  std::sort(lives.begin(), lives.end(),
            [](const Life& a, const Life& b) { return std::pair(a.first, a.buffer) < std::pair(b.first, b.buffer); });
  for (Life& life : lives) {
    life.offset = plan.scratch_bytes;
    if (!taken.empty() && taken.top().first < life.first) {
      life.offset = taken.top().second;
      taken.pop();
    }
    place(plan, life);
    taken.emplace(life.last, life.offset);
  }
}

}  // namespace

void place_scratch(Plan& plan) {
  constexpr std::ptrdiff_t kMany = 512;
  std::vector<Life> lives = lifetimes(plan);
  std::stable_sort(lives.begin(), lives.end(), [](const Life& a, const Life& b) { return a.bytes > b.bytes; });
  plan.scratch_bytes = 0;
  // Programs of thousands of scalars would take quadratic time. What is lost by their places of their own is little.
  auto small = std::find_if(lives.begin(), lives.end(), [](const Life& l) { return l.bytes == kAlignment; });
  if (lives.end() - small <= kMany) small = lives.end();
  place_by_size(plan, {lives.begin(), small});
  place_in_turn(plan, {small, lives.end()});
}

uint64_t scratch_lower_bound(const Plan& plan) {
  const std::vector<Life> lives = lifetimes(plan);
  std::vector<int64_t> change(plan.steps.size() + 1, 0);
  for (const Life& l : lives) {
    change[l.first] += static_cast<int64_t>(l.bytes);
    change[l.last + 1] -= static_cast<int64_t>(l.bytes);
  }
  int64_t alive = 0, most = 0;
  for (int64_t c : change) {
    alive += c;
    most = std::max(most, alive);
  }
  return static_cast<uint64_t>(most);
}

}  // namespace spirograd::lower
