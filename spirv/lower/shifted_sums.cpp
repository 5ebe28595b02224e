#include "spirv/lower/shifted_sums.h"

#include <algorithm>
#include <optional>
#include <vector>

#include "frontend/ir/traverse.h"

namespace spirograd::lower {

using ir::NodeId;
using ir::Op;

namespace {

// Where h comes from.
std::optional<NodeId> maximum_in(const ir::Graph& g, NodeId shift, NodeId x, const std::vector<int64_t>& axes) {
  constexpr size_t kMost = 16;
  std::vector<NodeId> open = {shift};
  for (size_t j = 0; j < open.size() && j < kMost; ++j) {
    const ir::Node& n = g[open[j]];
    if (n.op == Op::ReduceMax && n.in[0] == x && n.attr == axes) return open[j];
    if (ir::is_pointwise(n.op)) open.insert(open.end(), n.in.begin(), n.in.end());
  }
  return std::nullopt;
}

std::optional<ShiftedSum> shifted_sum(const ir::Graph& g, NodeId id) {
  const ir::Node& sum = g[id];
  const bool of_rows = sum.attr.size() == 1 && sum.attr[0] == sum.type.shape.rank();
  if (sum.op != Op::Sum || !of_rows || g[sum.in[0]].op != Op::Exp) return std::nullopt;
  const ir::Node& difference = g[g[sum.in[0]].in[0]];
  if (difference.op != Op::Sub || g[difference.in[1]].op != Op::Broadcast) return std::nullopt;
  const ir::Node& shift = g[difference.in[1]];
  const bool same_along = std::ranges::find(shift.attr, sum.attr[0]) == shift.attr.end();
  if (!same_along || !std::ranges::is_sorted(shift.attr) || g[shift.in[0]].type.shape != sum.type.shape) return std::nullopt;
  const auto maximum = maximum_in(g, shift.in[0], difference.in[0], {sum.attr.begin(), sum.attr.end()});
  return maximum ? std::optional(ShiftedSum{*maximum, shift.in[0]}) : std::nullopt;
}

}  // namespace

std::map<uint32_t, ShiftedSum> find_shifted_sums(const ir::Graph& g, std::span<const NodeId> roots) {
  std::map<uint32_t, ShiftedSum> out;
  for (NodeId id : ir::postorder(g, roots))
    if (const auto s = shifted_sum(g, id)) out.emplace(id.v, *s);
  return out;
}

}  // namespace spirograd::lower
