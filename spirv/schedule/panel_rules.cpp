// Which operands of contractions are copied into panels: a pass over the array, weighed with what its readers save.
#include "spirv/schedule/cost.h"
#include "spirv/schedule/rules.h"

namespace spirograd::schedule {
namespace {

constexpr int64_t kPage = 1024;  // bytes: rows so long, or multiples of it, fall into few sets of a cache

constexpr int64_t kNear = 1 << 20;  // bytes of an array that caches hold beside what else is read

// Operations that each load from a panel saves.
double saved(const PackFacts& f, const Target& t) {
  constexpr double kStrided = 1, kMissed = 0.5, kApart = 0.1;  // of a load
  if (!f.neighbours) return kStrided * t.price.load;
  const bool missed = f.row * f.bytes % kPage == 0 || f.elements * f.bytes > kNear;
  return (missed ? kMissed : kApart) * t.price.load;
}

}  // namespace

PackSchedule Scheduler::pack(const PackFacts& f, const Target& t) const {
  if (f.neighbours && f.row <= f.width) return {};
  if (!f.neighbours && f.rows) return {f.width};
  const auto elements = static_cast<double>(f.elements), readers = static_cast<double>(f.readers);
  const double copy = elements * (2 * t.price.load + t.price.store + 8) + t.price.dispatch;
  return {elements * readers * saved(f, t) > 1.5 * copy ? f.width : 0};
}

}  // namespace spirograd::schedule
