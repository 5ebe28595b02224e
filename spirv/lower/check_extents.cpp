#include "spirv/lower/check_extents.h"

#include <algorithm>

#include "frontend/ir/algebra.h"
#include "frontend/ir/reshape_groups.h"
#include "frontend/ir/traverse.h"

namespace spirograd::lower {

using ir::Node;
using ir::NodeId;
using ir::Op;

void check_extents(const ir::Graph& g, std::span<const NodeId> roots) {
  for (NodeId id : ir::postorder(g, roots)) {
    const Node& n = g[id];
    bool fits = std::all_of(n.type.shape.begin(), n.type.shape.end(), [](int64_t d) { return d <= kArrayLimit; });
    if (n.op == Op::Reshape && n.type.shape.count() > kArrayLimit)  // elements are counted through groups of axes
      for (const ir::ReshapeGroup& group : ir::reshape_groups(g[n.in[0]].type.shape, n.type.shape))
        fits = fits && n.type.shape.slice(group.to.first, group.to.end).count() <= kArrayLimit;
    if (!fits)
      throw Error("SG0303", std::string(ir::name(n.op)) + ": an index into " + to_string(n.type) +
                                " does not fit into 32 bits; at most " + std::to_string(kArrayLimit) +
                                " elements can be counted along an axis")
          .at(g.loc(id));
    if (ir::is_scatter(n.op) && g[n.in[0]].type.shape.count() > kArrayLimit)
      throw Error("SG0303", "scatter: " + std::to_string(g[n.in[0]].type.shape.count()) + " updates, of type " +
                                to_string(g[n.in[0]].type) + ", are more than the " + std::to_string(kArrayLimit) +
                                " that can be counted")
          .at(g.loc(id));
    if (n.op == Op::MapAccum) check_extents(g, g.function(ir::loop_parts(g, n).function).results);
  }
}

void check_buffer(const Type& type, const Target& target, const Loc& at) {
  if (type.shape.count() > kArrayLimit)
    throw Error("SG0303", "an array of type " + to_string(type) + " has " + std::to_string(type.shape.count()) +
                              " elements; at most " + std::to_string(kArrayLimit) + " can have a buffer")
        .at(at);
  const auto offered = [&](DType t, bool has, const std::string& feature) {
    if (type.dtype != t || has) return;
    const std::string element(name(t));
    throw Error("SG0303", "the program uses " + element + " (" + to_string(type) + "), which the device does not offer (" +
                              feature + ")")
        .at(at)
        .hint("use f32, or choose a device with " + element + ": spirograd devices");
  };
  offered(DType::F64, target.float64, "shaderFloat64");
  offered(DType::F16, target.float16_storage, "storageBuffer16BitAccess");
}

}  // namespace spirograd::lower
