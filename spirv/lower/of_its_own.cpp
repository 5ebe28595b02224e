#include "spirv/lower/of_its_own.h"

#include <algorithm>

#include "spirv/lower/extent.h"
#include "spirv/schedule/compute.h"
#include "spirv/schedule/cost.h"
#include "spirv/schedule/row_rules.h"

namespace spirograd::lower {

using ir::Node;
using ir::NodeId;
using ir::Op;

namespace {

constexpr double kLeastElements = 1e6;  // that are summed, for tiles

}  // namespace

bool OfItsOwn::is_contraction(NodeId id, double least) const {
  const Node& n = g_[id];
  const int rank = n.type.shape.rank();
  const double length = count(g_[n.in[0]].type.shape) / std::max(1.0, count(n.type.shape));
  if (rank == 0 || length < least) return false;
  const std::vector<Access> reads = accesses(g_, id, stored_, kLookedAt).reads;
  return std::any_of(reads.begin(), reads.end(),
                     [&](const Access& a) { return g_[a.leaf].type.shape.count() > 1 && a.axes != (1u << rank) - 1; });
}

bool OfItsOwn::is_short_sums(NodeId id) const {
  constexpr double kShortest = 32;
  const Node& n = g_[id];
  if (!schedule::stores_rows(target_) || n.op != Op::Sum || n.type.dtype != DType::F32 || n.attr.size() < 2) return false;
  return count(g_[n.in[0]].type.shape) >= kLeastElements && is_contraction(id, kShortest);
}

bool OfItsOwn::is_product(NodeId id) const {
  const Node& n = g_[id];
  if (!schedule::stores_rows(target_) || n.op != Op::Sum || n.type.dtype != DType::F32) return false;
  const double elements = count(g_[n.in[0]].type.shape);
  return elements >= kLeastElements && elements <= schedule::kPlainSum * count(n.type.shape) && is_contraction(id);
}

bool OfItsOwn::is_row_of_windows(NodeId id) const {
  constexpr double kLeastResults = 1 << 17;
  const Node& n = g_[id];
  if (!schedule::stores_rows(target_) || count(n.type.shape) < kLeastResults || !is_window(g_, n)) return false;
  const Accesses found = accesses(g_, id, stored_, kLookedAt);
  const uint32_t last = 1u << (n.type.shape.rank() - 1);
  return found.reductions.size() == 1 && !found.reductions[0].loops &&
         std::ranges::all_of(found.reads, [&](const Access& a) { return !(a.axes & last) || (a.last & last) != 0; });
}

bool OfItsOwn::is_row(NodeId id) const {
  constexpr double kLeastLength = 16, kLeastOfRows = 1 << 17;
  if (!schedule::reads_rows(target_)) return false;
  const Node& n = g_[id];
  const double results = count(n.type.shape), elements = count(g_[n.in[0]].type.shape);
  if (elements < kLeastOfRows || elements < kLeastLength * results || finds_place(n.op)) return false;
  const Accesses found = accesses(g_, id, stored_, kLookedAt);
  const uint32_t all = schedule::long_axes(n.type.shape);
  return found.reductions.size() == 1 && found.reductions[0].contiguous && !found.reductions[0].loops &&
         std::any_of(found.reads.begin(), found.reads.end(),
                     [&](const Access& a) { return a.reduced && a.last != 0 && (a.axes & all) == all; });
}

}  // namespace spirograd::lower
