#include "spirv/lower/gates.h"

#include <algorithm>

#include "spirv/lower/partition.h"
#include "spirv/schedule/cost.h"

namespace spirograd::lower {

using ir::Node;
using ir::NodeId;
using ir::Op;
using kernel::Builder;
using kernel::KOp;
using kernel::Value;

std::vector<Gate> gates_of(const Region& r, std::span<const NodeId> ids) {
  ir::Conditions all = r.arms.of(ids[0]);
  for (NodeId id : ids) all = ir::common(all, r.arms.of(id));
  std::vector<Gate> out = r.gates;
  for (const ir::Condition& c : all) {
    const Node& flag = r.graph[c.flag];
    const bool there = flag.op == Op::Param || r.made.contains(flag.op == Op::Proj ? flag.in[0].v : c.flag.v);
    if (there) out.push_back({source_of(r, c.flag), c.value});
  }
  return out;
}

void close_where_unwanted(const Region& r, std::span<const NodeId> ids, Compute& s) {
  const bool loop = s.kind == Compute::Kind::Loop || s.kind == Compute::Kind::Scan;
  const double own = s.work * schedule::idle(static_cast<double>(s.domain.count()), r.target);
  if ((loop ? work_of(r.graph, r.graph[s.node], r.target) : own) < r.target.price.dispatch) return;
  std::set<uint32_t> buffers(s.writes.begin(), s.writes.end());
  const std::set<uint32_t> written = buffers;
  for (const schedule::Read& read : s.reads) buffers.insert(read.buffer);
  for (const Gate& gate : gates_of(r, ids)) {
    const uint32_t flag = gate.flag.buffer;
    const bool one_more = !buffers.contains(flag);
    if (written.contains(flag) || (one_more && buffers.size() >= kernel_buffers(r.target))) continue;
    buffers.insert(flag);
    s.reads.push_back({.buffer = flag});
    s.gates.push_back(gate);
  }
}

bool open_gates(Inliner& inliner, Builder& b, std::span<const Compute> group, bool together) {
  const Type flag{DType::Bool, {}};
  std::optional<Value> open;
  for (const Gate& gate : group[0].gates) {
    const auto writes = [&](const Compute& s) { return std::ranges::find(s.writes, gate.flag.buffer) != s.writes.end(); };
    if (together && std::ranges::any_of(group, writes)) continue;
    const auto [binding, index] = inliner.element(gate.flag, flag, kernel::Access::Read, Point{});
    Value v = b.load(binding, index);
    if (!gate.open) v = b.op(KOp::Not, v);
    open = open ? b.logical_and(*open, v) : v;
  }
  if (open) b.begin_if(*open);
  return open.has_value();
}

std::set<uint32_t> flags_read(const ir::Graph& g, const Arms& arms, std::span<const Compute> group,
                              const Materialised& materialised, const std::vector<ParamSource>& params) {
  std::set<uint32_t> buffers, out;
  for (const Compute& s : group)
    for (const schedule::Read& r : s.reads) buffers.insert(r.buffer);
  for (const Gate& gate : group[0].gates) buffers.erase(gate.flag.buffer);
  for (const Compute& s : group)
    for (const uint32_t written : s.writes) buffers.erase(written);
  for (const uint32_t flag : arms.flags()) {
    const ir::Node& n = g[{flag}];
    const auto it = materialised.find(flag);
    if (n.op == ir::Op::Param ? buffers.contains(params[static_cast<size_t>(n.attr[0])].buffer.buffer)
                              : it != materialised.end() && buffers.contains(it->second.buffer))
      out.insert(flag);
  }
  return out;
}

}  // namespace spirograd::lower
