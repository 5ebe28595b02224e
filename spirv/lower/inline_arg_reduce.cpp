// Argmax and argmin inside kernels: where the element is that several invocations have found.

#include "spirv/lower/combine.h"
#include "spirv/lower/inline.h"

namespace spirograd::lower {

using ir::Node;
using ir::Op;
using kernel::Value;

std::vector<Value> Inliner::places(const Node& n, std::span<const Value> best, std::span<const Value> place_vars,
                                   int64_t sharers) {
  const int64_t extent = node(n.in[0]).type.shape[static_cast<int>(n.attr[0])];
  std::vector<Value> out;
  for (size_t u = 0; u < best.size(); ++u) {
    out.push_back(b_.get(place_vars[u]));
    if (sharers > 0) out.back() = joined_place(n.op, best[u], out.back(), sharers);
    b_.assume(out.back(), {0, extent - 1});
  }
  return out;
}

Value Inliner::joined_place(Op op, Value best, Value place, int64_t sharers) {
  const Join join{true, [&](const std::vector<Value>& x, const std::vector<Value>& y) {
                    const Found found = better(b_, op, {x[0], x[1]}, {y[0], y[1]});
                    return std::vector{found.value, found.place};
                  }};
  const int64_t size = target_.subgroup_size;
  const bool by_lanes = exchanges_lanes(target_) && sharers % size == 0;
  return joined(join, {best, place}, by_lanes ? static_cast<uint32_t>(size) : 1, static_cast<uint32_t>(sharers))[1];
}

}  // namespace spirograd::lower
