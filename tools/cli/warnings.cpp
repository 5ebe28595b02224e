#include "tools/cli/warnings.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "frontend/base/bytes_text.h"
#include "frontend/ir/own_graph.h"
#include "tools/cli/speed.h"

namespace spirograd::cli {
namespace {

using ir::NodeId;
using ir::Op;

// The first element of a constant array, as written in a program, that is no index of `extent` elements.
std::optional<int64_t> outside(const ir::Graph& g, NodeId index, int64_t extent) {
  double sign = 1;
  while (g[index].op == Op::Neg || g[index].op == Op::Broadcast || g[index].op == Op::Reshape) {
    if (g[index].op == Op::Neg) sign = -sign;
    index = g[index].in[0];
  }
  const ir::Node& n = g[index];
  if (n.op == Op::Stack || n.op == Op::Concat) {
    for (const NodeId part : n.in)
      if (const auto found = outside(g, part, extent)) return static_cast<int64_t>(sign) * *found;
    return std::nullopt;
  }
  for (const double x : n.data)
    if (sign * x < 0 || sign * x >= static_cast<double>(extent)) return static_cast<int64_t>(sign * x);
  return std::nullopt;
}

}  // namespace

std::vector<std::string> constant_indices_out_of_range(const Program& program) {
  Program own = program;  // its graph holds what is reached and nothing else
  const ir::Graph& g = *ir::make_graph_private(own);
  std::vector<std::string> out;
  for (uint32_t id = 1; id < g.size(); ++id) {
    const ir::Node& n = g[{id}];
    if (n.op != Op::Gather && !ir::is_scatter(n.op)) continue;
    const Type& array = n.op == Op::Gather ? g[n.in[0]].type : n.type;
    for (size_t j = 1; j < n.in.size(); ++j) {
      const int axis = static_cast<int>(j) - 1;
      const auto at = outside(g, n.in[j], array.shape[axis]);
      if (!at) continue;
      std::string line = g.loc({id}).str() + ": index " + std::to_string(*at) + " lies outside of " + to_string(array) +
                         (array.shape.rank() > 1 ? ", axis " + std::to_string(axis) : "") +
                         (n.op == Op::Gather ? ": the read gives 0" : ": what is scattered there is dropped") +
                         (*at < 0 ? " (negative indices do not count from the end)" : "");
      if (std::find(out.begin(), out.end(), line) == out.end()) out.push_back(std::move(line));
    }
  }
  return out;
}

std::string much_memory(const Executable& executable) {
  constexpr uint64_t kMuch = uint64_t{256} << 20, kTimes = 16;
  const uint64_t given = least_bytes(executable);
  if (executable.scratch_bytes < kMuch || executable.scratch_bytes / kTimes < given) return "";
  std::string out = bytes_text(executable.scratch_bytes) +
                    " are kept for intermediate values, where inputs and outputs are " + bytes_text(given) +
                    "; the largest:";
  for (const std::string& array : largest_scratch(executable)) out += "\n  " + array;
  return out;
}

}  // namespace spirograd::cli
