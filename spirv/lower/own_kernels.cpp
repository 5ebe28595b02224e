#include "spirv/lower/own_kernels.h"

#include <algorithm>

#include "frontend/ir/algebra.h"
#include "frontend/ir/by_kernel.h"
#include "frontend/ir/layout.h"
#include "frontend/ir/own_graph.h"
#include "frontend/ir/traverse.h"
#include "spirv/executable/module_facts.h"
#include "spirv/schedule/cost.h"

namespace spirograd::lower {

using ir::Graph;
using ir::Node;
using ir::NodeId;
using ir::Op;

namespace {

// Numbers of kernels that are given begin here, until it is known how many others there are.
constexpr uint32_t kNumbersOfGiven = 0x80000000u;

const char* form_text(BindingForm form) { return form == BindingForm::Address ? "addresses" : "descriptors"; }

GivenKernel given_kernel(const Graph& g, NodeId id, const Target& target) {
  const Node& n = g[id];
  OwnKernel own = ir::own_kernel(n);
  const BindingForm wanted = target.device_address ? BindingForm::Address : BindingForm::Descriptors;
  for (OwnKernel::Module& m : own.modules) {
    const ModuleFacts facts = module_facts(m.name, m.words);
    if (facts.form != wanted) continue;
    const auto arrays = static_cast<uint32_t>(n.in.size());  // the result in place of the value
    if (facts.bindings > arrays)
      throw Error("SG0308", "the kernel '" + m.name + "' has binding " + std::to_string(facts.bindings - 1) + ", but " +
                                std::to_string(arrays - 1) + " arguments and a result are bindings 0 to " +
                                std::to_string(arrays - 1));
    GivenKernel out{m.name, std::move(m.words), facts.workgroup, arrays, facts.needs};
    out.needs.buffers = wanted == BindingForm::Descriptors ? arrays : 0;
    out.needs.push_bytes = arrays * push_bytes(wanted);
    out.needs.groups = static_cast<uint32_t>(schedule::divided_up(own.invocations, facts.workgroup));
    return out;
  }
  throw Error("SG0303", std::string("kernels of the program reach arrays by ") + form_text(wanted) + ", and '" +
                            own.modules[0].name + "' is not made for that")
      .hint("give by_kernel a module for each binding form, or compile for the one that the kernel has");
}

}  // namespace

Program without_references(const Program& p) {
  return ir::with_replaced(p, {Op::ByKernel}, [](Graph& g, const Node& n) {
    Node bare = n;
    bare.in[0] = ir::zeros(g, n.type).id;
    return g.intern(std::move(bare));
  });
}

Program without_own_kernels(const Program& p) {
  return ir::with_replaced(p, {Op::ByKernel}, [](Graph&, const Node& n) { return n.in[0]; });
}

bool calls_kernels(const Graph& g, int64_t function) {
  if (!g.has(Op::ByKernel)) return false;
  const std::vector<NodeId> order = ir::postorder(g, g.function(function).results);
  return std::ranges::any_of(order, [&](NodeId id) {
    const Node& n = g[id];
    return n.op == Op::ByKernel || (n.op == Op::MapAccum && calls_kernels(g, n.attr[0]));
  });
}

void add_own_dispatch(const Region& r, NodeId id, Plan& plan) {
  const Node& n = r.graph[id];
  if (n.type.shape.count() == 0) return;
  GivenKernel kernel = given_kernel(r.graph, id, r.target);
  Step s;
  s.groups = kernel.needs.groups;
  s.label = kernel.name + " " + to_string(n.type);
  const auto use = [&](NodeId array, bool written) {
    const BufferRef at = source_of(r, array);
    s.uses.push_back({at.buffer, at.offset, device_bytes(r.graph[array].type), !written, written});
  };
  for (size_t j = 1; j < n.in.size(); ++j) use(n.in[j], false);
  use(id, true);
  const auto same = std::ranges::find(plan.given, kernel);
  s.kernel = kNumbersOfGiven + static_cast<uint32_t>(same - plan.given.begin());
  if (same == plan.given.end()) plan.given.push_back(std::move(kernel));
  plan.steps.push_back(std::move(s));
}

void number_given_kernels(Plan& plan) {
  for (Step& s : plan.steps)
    if (s.kernel >= kNumbersOfGiven) s.kernel = s.kernel - kNumbersOfGiven + static_cast<uint32_t>(plan.kernels.size());
}

}  // namespace spirograd::lower
