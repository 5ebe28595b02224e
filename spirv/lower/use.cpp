#include "spirv/lower/use.h"

#include <algorithm>
#include <bit>

#include "spirv/schedule/cost.h"

namespace spirograd::lower {
namespace {

constexpr size_t kMostLoops = 31;  // deeper ones count as one with the innermost

uint32_t loops_below(const Place& p) {
  uint32_t loops = 0;
  for (const Coordinate& c : p) loops |= c.axes;
  return loops;
}

}  // namespace

double evaluations(const Use& u) {
  double e = u.invocations;
  const auto around = static_cast<size_t>(std::bit_width(loops_below(u.place)));
  for (size_t j = 0; j < around; ++j) e *= u.loops[j];
  return e;
}

double at_work(const Use& u, const Target& target) {
  constexpr double kMost = 256;
  const double loop = evaluations(u) / u.invocations;
  if (schedule::shares_rows(target)) return u.invocations * std::clamp(loop, 1.0, kMost);
  return schedule::lanes_share(u.invocations, loop, target) ? u.invocations * target.subgroup_size : u.invocations;
}

double in_loop(double cost, bool reduces, const Target& target) {
  constexpr double kAlone = 8;
  return reduces && schedule::shares_rows(target) ? kAlone * cost : cost;
}

Use operand_use(const ir::Graph& g, const ir::Node& n, size_t j, const Use& u) {
  Use v{u.kernel, u.invocations, u.loops, {}, {}};
  Coordinate reduced;
  if (ir::info(n.op).kind == ir::Kind::Reduce) {
    double iterations = 1;
    for (int64_t a : n.attr)
      iterations *= static_cast<double>(std::max<int64_t>(1, g[n.in[0]].type.shape[static_cast<int>(a)]));
    if (v.loops.size() == kMostLoops) {
      v.loops.back() *= iterations;
    } else {
      v.loops.push_back(iterations);
    }
    reduced.axes = 1u << (v.loops.size() - 1);
  }
  v.place = operand_place(g, n, j, u.place, reduced);
  if (u.point.size() == u.place.size()) v.point = operand_place(g, n, j, u.point);
  return v;
}

}  // namespace spirograd::lower
