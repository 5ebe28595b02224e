#include "frontend/ir/by_kernel.h"

#include "frontend/ir/make_node.h"

namespace spirograd::ir {

// attr: the invocations, then of each module the length of its name and of its words. data: names and words, one by one.
Expr by_kernel(Expr value, const OwnKernel& kernel, std::span<const Expr> arguments) {
  if (kernel.modules.empty() || kernel.modules.size() > 2)
    throw Error("SG0308", "by_kernel: a kernel has one module, or two for different binding forms, not " +
                              std::to_string(kernel.modules.size()));
  if (kernel.invocations < 1 || kernel.invocations > int64_t{1} << 30)
    throw Error("SG0308", "by_kernel: invocations must be from 1 to 2^30, not " + std::to_string(kernel.invocations));
  Node n;
  n.op = Op::ByKernel;
  n.type = value.type();
  n.in.push_back(value.id);
  for (Expr e : arguments) n.in.push_back(e.id);
  n.attr.push_back(kernel.invocations);
  for (const OwnKernel::Module& m : kernel.modules) {
    n.attr.push_back(static_cast<int64_t>(m.name.size()));
    n.attr.push_back(static_cast<int64_t>(m.words.size()));
    for (const char c : m.name) n.data.push_back(static_cast<unsigned char>(c));
    for (const uint32_t w : m.words) n.data.push_back(w);
  }
  return make(*value.graph, std::move(n));
}

bool is_own_kernel(const Node& n) {
  if (n.attr.size() != 3 && n.attr.size() != 5) return false;
  int64_t numbers = 0;
  for (size_t j = 1; j < n.attr.size(); ++j) numbers += n.attr[j];
  return n.attr[0] >= 1 && static_cast<size_t>(numbers) == n.data.size();
}

OwnKernel own_kernel(const Node& n) {
  OwnKernel out;
  out.invocations = n.attr[0];
  size_t at = 0;
  for (size_t j = 1; j + 1 < n.attr.size(); j += 2) {
    OwnKernel::Module& m = out.modules.emplace_back();
    for (int64_t k = 0; k < n.attr[j]; ++k) m.name += static_cast<char>(static_cast<unsigned char>(n.data[at++]));
    for (int64_t k = 0; k < n.attr[j + 1]; ++k) m.words.push_back(static_cast<uint32_t>(n.data[at++]));
  }
  return out;
}

}  // namespace spirograd::ir
