// Kernels out of groups of computes.
#include "spirv/lower/compute.h"

#include <algorithm>
#include <set>

#include "spirv/kernel/invariant.h"
#include "spirv/kernel/rebase.h"
#include "spirv/lower/gates.h"
#include "spirv/schedule/cost.h"

namespace spirograd::lower {

using kernel::Builder;
using kernel::KOp;
using kernel::Value;

namespace {

Value element_index(Builder& b) { return b.bitcast(kernel::Scalar::I32, b.index()); }

// Elements that the invocations compute: of a loop, of its largest result, in each step.
int64_t points_of(const ir::Graph& g, const Compute& s) {
  if (s.kind != Compute::Kind::Loop) return s.domain.count();
  const ir::Function& body = g.function(parts_of(g, g[s.node], s.loop).function);
  return largest_result(g, body) * (s.loop.blocks ? s.loop.blocks->count() : 1);
}

void emit_computes(Inliner& inliner, Builder& b, const ir::Graph& g, std::span<const Compute> group,
                   std::span<const int64_t> starts) {
  const Value index = element_index(b);
  for (size_t j = 0; j < group.size(); ++j) {
    const Compute& s = group[j];
    Value local = index;
    if (group.size() > 1) {
      const int64_t n = invocations(s);
      local = b.sub(index, b.i32(starts[j]));
      const Value ours =
          b.op(KOp::Lt, b.bitcast(kernel::Scalar::U32, local), b.constant(kernel::Scalar::U32, static_cast<double>(n)));
      b.begin_if(ours);
      inliner.push_block();
      local = b.add(local, b.i32(0));
      if (!b.constant_bits(local)) b.assume(local, {0, n - 1});
    }
    inliner.set_points(points_of(g, s));
    switch (s.kind) {
      case Compute::Kind::Map: emit_map(inliner, b, s, local); break;
      case Compute::Kind::Scatter: emit_scatter(inliner, b, g, s, local); break;
      case Compute::Kind::Loop: emit_loop(inliner, b, g, s, local); break;
      case Compute::Kind::Scan: emit_scan(inliner, b, g, s, local); break;
    }
    if (group.size() > 1) {
      inliner.pop_block();
      b.end_if();
    }
  }
}

// Nodes computed at kManyPoints times as many points as one invocation was asked for, at least: wherever code grows from one
// operation to the next, some node is. Only those whose users are not among them: what is below shrinks with them.
std::vector<ir::NodeId> repeated_nodes(const ir::Graph& g, const std::unordered_map<uint32_t, size_t>& evaluations) {
  constexpr size_t kManyPoints = 16;
  size_t least = 64;
  for (const auto& [id, points] : evaluations) least = std::min(least, points);
  std::vector<ir::NodeId> many;
  std::set<uint32_t> below;
  for (const auto& [id, points] : evaluations) {
    const ir::Node& n = g[{id}];
    if (points < kManyPoints * least) continue;
    below.insert(id);
    if (ir::is_pointwise(n.op) || ir::info(n.op).kind == ir::Kind::Reduce || n.op == ir::Op::Gather ||
        n.op == ir::Op::Concat || n.op == ir::Op::Stack)
      many.push_back({id});
  }
  std::set<uint32_t> used;  // by a node that is computed at many points, through any chain of such nodes
  for (uint32_t id : below)
    for (ir::NodeId in : g[{id}].in) used.insert(in.v);
  std::erase_if(many, [&](ir::NodeId id) { return used.contains(id.v); });
  std::sort(many.begin(), many.end());
  return many;
}

}  // namespace

int64_t invocations(const Compute& s) {
  if (s.kind == Compute::Kind::Map) return schedule::invocations(s.schedule);
  if (s.kind == Compute::Kind::Loop) return invocations(s.loop);
  return s.domain.count() * std::max<int64_t>(1, group_of(s));
}

int64_t group_of(const Compute& s) {
  if (s.kind == Compute::Kind::Map) return s.schedule.group;
  if (s.kind == Compute::Kind::Loop) return s.loop.members > 1 ? s.loop.members : 0;
  if (s.kind == Compute::Kind::Scatter) return schedule::team(s.scatter);
  return s.kind == Compute::Kind::Scan ? schedule::group(s.scan) : 0;
}

std::string schedule_of(const Compute& s) {
  if (s.kind == Compute::Kind::Map) return schedule::to_string(s.schedule);
  if (s.kind == Compute::Kind::Scan) return schedule::to_string(s.scan);
  if (s.kind == Compute::Kind::Scatter) return schedule::to_string(s.scatter);
  return std::to_string(invocations(s)) + " invocations";
}

namespace {

// Lanes of a subgroup that compute neighbouring points of a map, or run a loop together, and may read each other's values;
// 0: there are none.
int64_t lanes_of(std::span<const Compute> group, uint32_t workgroup, const Target& target) {
  const schedule::MapSchedule& m = group[0].schedule;
  const int64_t size = target.subgroup_size;
  if (group.size() > 1) return 0;
  if (group[0].kind == Compute::Kind::Loop) return is_subgroup(group[0].loop, target) ? size : 0;
  if (group[0].kind == Compute::Kind::Scatter) return schedule::team(group[0].scatter);
  if (group[0].kind != Compute::Kind::Map) return 0;
  if (m.flat || m.group > 0) return m.team;
  const bool lanes = std::any_of(m.axes.begin(), m.axes.end(), [&](const schedule::Split& axis) {
    return schedule::extent(axis, schedule::Bind::Lane) == size;
  });
  return lanes && schedule::broadcasts_lanes(target) && workgroup % size == 0 && invocations(group[0]) % size == 0 ? size
                                                                                                                   : 0;
}

}  // namespace

MadeKernel make_kernel(const ir::Graph& g, std::span<const Compute> group, const Materialised& materialised,
                       std::set<uint32_t> computed, const std::vector<ParamSource>& params, const Arms& arms,
                       const Target& target, const schedule::Scheduler& scheduler, const std::string& name, bool keeps) {
  const int64_t width = target.price.lanes;
  int64_t total = 0;
  std::vector<int64_t> starts;
  for (const Compute& s : group) {
    starts.push_back(total);
    // Computes begin at multiples of the width, so that neighbours take the same branch.
    total += group.size() == 1 ? invocations(s) : (invocations(s) + width - 1) / width * width;
  }
  const uint32_t most = std::min(target.price.workgroup, target.max_invocations);
  const int64_t together = group_of(group[0]);
  const auto workgroup = static_cast<uint32_t>(together > 0                   ? together
                                               : total <= int64_t{64} * width ? std::min<int64_t>(most, width)
                                                                              : most);
  const int64_t lanes = lanes_of(group, workgroup, target);
  Builder b(name, workgroup, static_cast<uint64_t>(total), static_cast<uint32_t>(lanes));
  const bool surplus = total % workgroup != 0 || total / workgroup > target.max_groups;  // long grids are folded
  if (surplus && together > 0) b.begin_group_guard();
  if (surplus && together == 0) b.begin_guard();
  // Reductions; a scan has the shared memory for itself, and where barriers are dear members of a loop reduce alone.
  const bool loop = group[0].kind == Compute::Kind::Loop;
  const bool shares = group[0].kind == Compute::Kind::Map || (loop && target.price.cooperates);
  Inliner inliner(g, materialised, computed, params, b, scheduler, target, shares ? together : 0);
  if (together == 0 || loop) inliner.set_lanes(lanes);
  if (!keeps) inliner.keep_nothing();
  inliner.set_arms(arms, flags_read(g, arms, group, materialised, params));
  const bool gated = open_gates(inliner, b, group, together > 0);
  try {
    emit_computes(inliner, b, g, group, starts);
  } catch (const CodeTooLarge&) {
    if (loop && lanes > 0 && keeps)
      return make_kernel(g, group, materialised, std::move(computed), params, arms, target, scheduler, name, false);
    MadeKernel none;
    none.too_large = true;
    none.repeated = repeated_nodes(g, inliner.evaluations());
    return none;
  }
  if (gated) b.end_if();
  if (surplus) b.end_if();
  MadeKernel made{std::move(b).finish(), inliner.bound(), false, {}, inliner.reductions()};
  if (!target.price.coalesces) kernel::move_loads_out_of_loops(made.kernel);
  const std::vector<kernel::Reach> reached = kernel::rebase(made.kernel);
  for (size_t j = 0; j < reached.size(); ++j) {
    Inliner::Bound& bound = made.bound[j];
    const uint64_t element = kernel::bytes_of(made.kernel.bindings[j].type);
    bound.offset = reached[j].first * element;
    bound.bytes -= bound.offset;
    bound.exact = reached[j].count > 0;
    if (bound.exact) bound.bytes = std::min(bound.bytes, reached[j].count * element);
  }
  return made;
}

std::vector<ScheduleLine> schedule_lines(std::span<const Compute> group, const MadeKernel& made, const Partials& partial) {
  std::vector<ScheduleLine> lines;
  for (const Compute& s : group) {
    lines.push_back({s.label, schedule_of(s)});
    for (const Store& store : s.stores)
      if (const auto it = partial.find(store.value.v); it != partial.end())
        lines.push_back({"  partial results", schedule::to_string(it->second)});
  }
  for (const ScheduledReduction& r : made.reductions) lines.push_back({"  " + r.what, r.how()});
  return lines;
}

}  // namespace spirograd::lower
