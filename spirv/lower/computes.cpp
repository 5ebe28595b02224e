#include "spirv/lower/computes.h"

#include <algorithm>

#include "frontend/ir/symmetric.h"
#include "frontend/ir/traverse.h"
#include "spirv/lower/access.h"
#include "spirv/lower/gates.h"
#include "spirv/lower/known_zeros.h"
#include "spirv/schedule/cost.h"

namespace spirograd::lower {

using ir::Expr;
using ir::Graph;
using ir::Node;
using ir::NodeId;
using ir::Op;

namespace {

int64_t body_code(const Graph& g, int64_t function) {
  int64_t code = 0;
  for (NodeId id : ir::postorder(g, g.function(function).results)) code += op_cost(g[id]);
  return code;
}

// Fills in what scheduling needs to know of the compute that computes `walk` for node `id`.
Compute described(const Region& r, Compute s, NodeId id, NodeId walk, std::vector<uint32_t> writes) {
  const Graph& g = r.graph;
  // A part with a buffer of its own is only read; everything else is computed here.
  const bool stored = walk != id && (r.partition.roots.contains(walk.v) || g[walk].op == Op::Proj);
  Extent e;
  Accesses found;
  if (stored) {
    e.code = 4;
    found.reads = {{walk, ~0u, false}};
  } else {
    e = r.extent(walk);
    found = accesses(g, walk, r.partition.roots);
    count_terms_left(g, found);
  }
  s.reductions = std::move(found.reductions);
  s.operations = std::move(found.operations);
  for (const Access& a : found.reads) {
    if (g[a.leaf].type.shape.count() == 0) continue;
    s.reads.push_back(read_of(a, source_of(r, a.leaf).buffer));
    s.reads.back().own = a.own && s.kind == Compute::Kind::Map;
    if (schedule::reads_rows(r.target)) s.reads.back().sums = a.sums && !a.own;
  }
  s.writes = std::move(writes);
  s.code = e.code;
  s.reduces = e.reduces;
  s.alone = r.alone.contains(walk.v);
  s.single = r.single.contains(walk.v);
  s.work = static_cast<double>(s.domain.count()) * static_cast<double>(e.code) * e.longest;
  if (s.label.empty()) s.label = std::string(ir::name(g[id].op)) + " " + to_string(g[id].type);
  close_where_unwanted(r, {&walk, 1}, s);
  return s;
}

// The buffers of those results of a loop or scan that anybody reads; notes them as written.
void place_results(const Region& r, Compute& s, std::vector<uint32_t>& writes) {
  for (Expr e : ir::projections(r.graph, s.node)) {
    const auto turned = r.turned.find(e.id.v);
    const auto it = r.places.find(e.id.v);
    s.turned.push_back(turned == r.turned.end() ? Shape{} : Shape(r.graph[turned->second].attr));
    s.results.push_back(it == r.places.end() ? std::nullopt : std::optional(it->second));
    if (s.results.back()) writes.push_back(s.results.back()->buffer);
  }
}

Compute scan_compute(const Region& r, NodeId id, const schedule::ScanSchedule& schedule) {
  const Node& n = r.graph[id];
  Compute s;
  s.kind = Compute::Kind::Scan;
  s.node = id;
  s.scan = schedule;
  s.domain = n.type.shape.inserted(0, schedule::chunks(schedule));
  std::vector<uint32_t> writes;
  place_results(r, s, writes);
  const ir::LoopParts parts = ir::loop_parts(r.graph, n);
  s.label = "scan of " + std::to_string(parts.length) + " steps over " + to_string(n.type.shape);
  s = described(r, std::move(s), id, id, writes);
  s.code += body_code(r.graph, parts.function);
  s.work *= static_cast<double>(schedule::chunk_length(schedule));
  s.alone = s.alone || schedule::group(schedule) > 0;
  return s;
}

Compute loop_compute(const Region& r, NodeId id) {
  Graph& g = r.graph;
  Compute s;
  s.kind = Compute::Kind::Loop;
  s.node = id;
  s.loop = r.partition.loops_in_kernel.at(id.v);
  s.domain = s.loop.state;
  std::vector<uint32_t> writes;
  const ir::LoopParts parts = ir::loop_parts(g, g[id]);
  place_results(r, s, writes);
  Shape largest;
  for (NodeId result : g.function(parts.function).results)
    if (g[result].type.shape.count() > largest.count()) largest = g[result].type.shape;
  s.label = "loop of " + std::to_string(parts.length) + " steps over " + to_string(largest);
  s = described(r, std::move(s), id, id, writes);
  for (NodeId array : arrays_inside(g, id)) {
    if (g[array].op == Op::Const)
      s.reads.push_back({r.constant(array).buffer, ~0u, false});
    else
      s.alone = true;  // another loop may have the same body, which keeps its rows in the same place
  }
  s.code += body_code(g, parts.function);
  s.alone = s.alone || s.loop.members > 1;
  return s;
}

Compute row_compute(const Region& r, const RowKernel& k) {
  const Graph& g = r.graph;
  Compute s;
  const bool map = !k.maps.empty();  // else values of rows only
  s.domain = g[map ? k.maps[0] : k.rows[0]].type.shape;
  s.code = k.code;
  s.alone = s.reduces = s.of_rows = true;
  s.single = r.single.contains((map ? k.maps : k.rows)[0].v);
  const uint32_t row = map ? ~(1u << (s.domain.rank() - 1)) : ~0u;
  const auto add = [&](NodeId id, std::vector<Store>& stores) {
    const BufferRef to = r.places.at(id.v);
    stores.push_back({id, to, g[id].type});
    s.writes.push_back(to.buffer);
    s.label += (s.label.empty() ? "" : "; ") + std::string(ir::name(g[id].op)) + " " + to_string(g[id].type);
    Accesses found = accesses(g, id, r.partition.roots);
    for (schedule::Reduction& reduction : found.reductions) reduction.axes &= row;
    s.reductions.insert(s.reductions.end(), found.reductions.begin(), found.reductions.end());
    s.operations.insert(s.operations.end(), found.operations.begin(), found.operations.end());
    for (const Access& a : found.reads)
      if (std::ranges::find(k.maps, a.leaf) == k.maps.end() && std::ranges::find(k.rows, a.leaf) == k.rows.end())
        s.reads.push_back(read_of(a, source_of(r, a.leaf).buffer));
  };
  for (NodeId id : k.maps) add(id, s.stores);
  for (NodeId id : k.rows) add(id, map ? s.rows : s.stores);
  s.work = static_cast<double>(s.domain.count()) * static_cast<double>(s.code);
  std::vector<NodeId> all = k.maps;
  all.insert(all.end(), k.rows.begin(), k.rows.end());
  close_where_unwanted(r, all, s);
  return s;
}

// Updates that invocations add in order; more than the device's loops allow are left to further dispatches.
std::vector<Compute> scatter_computes(const Region& r, NodeId id, BufferRef to) {
  const schedule::ScatterFacts facts = scatter_facts(r.graph, id, r.extent, r.target);
  const auto known = r.scatters.find(id.v);
  const schedule::ScatterSchedule scatter = known == r.scatters.end() ? schedule::plain_scatter(facts) : known->second;
  const int64_t parts = schedule::extent(scatter.updates, schedule::Bind::Grid);
  const bool cut = parts == 1 && !scatter.atomic;
  const auto most = static_cast<int64_t>(std::clamp<uint64_t>(r.loop_limit / 2, 1, 0x7fffffff));
  std::vector<Compute> out;
  for (int64_t first = 0; first < facts.updates; first += cut ? most : facts.updates) {
    Compute s;
    s.kind = Compute::Kind::Scatter;
    s.node = id;
    s.to = to;
    s.scatter = scatter;
    s.first = first;
    s.count = cut ? std::min(most, facts.updates - first) : 0;
    s.domain = {parts, schedule::invocations(scatter) / parts, schedule::apart(scatter, facts.row)};
    out.push_back(described(r, std::move(s), id, id, {to.buffer}));
    const bool team = schedule::team(scatter) > 0;                     // goes through the elements of all rows
    out.back().alone = out.back().alone || team || scatter.lanes > 1;  // so that no lane is missing
    const int64_t updates = cut ? s.count : facts.updates * (team ? facts.row : 1) / parts;
    out.back().work *=
        static_cast<double>(std::max<int64_t>(1, updates * schedule::extent(scatter.row, schedule::Bind::Register)));
  }
  return out;
}

}  // namespace

BufferRef part_of(BufferRef whole, const Type& type, int64_t start) {
  const int64_t row = type.shape.count() / std::max<int64_t>(1, type.shape[0]);
  return {whole.buffer, whole.offset + static_cast<uint64_t>(start * row) * device_bytes(type.dtype)};
}

void place_parts(const Graph& g, const Partition& partition, const std::function<BufferRef(NodeId)>& scratch,
                 Materialised& places) {
  std::vector<NodeId> scatters;
  for (auto id = partition.order.rbegin(); id != partition.order.rend(); ++id) {
    const Node& n = g[*id];
    if (n.op != Op::Concat || n.attr[0] != 0 || n.in.size() < 2 || !partition.roots.contains(id->v)) continue;
    if (!places.contains(id->v)) places[id->v] = scratch(*id);
    int64_t start = 0;
    for (NodeId part : n.in) {
      const Node& p = g[part];
      const bool has_buffer = p.op == Op::Proj || (partition.roots.contains(part.v) && p.op != Op::MapAccum);
      if (has_buffer && p.type.shape.count() > 0) {
        const bool fresh = places.try_emplace(part.v, part_of(places.at(id->v), n.type, start)).second;
        if (fresh && ir::is_scatter(p.op)) scatters.push_back(part);
      }
      start += p.type.shape[0];
    }
  }
  // What is added to atomically is not read by plain loads in the same kernel.
  for (NodeId id : scatters) {
    const std::vector<Access> reads = accesses(g, id, partition.roots).reads;
    if (std::any_of(reads.begin(), reads.end(), [&](const Access& a) {
          const auto from = places.find(a.leaf.v);
          return from != places.end() && from->second.buffer == places.at(id.v).buffer;
        }))
      places.erase(id.v);
  }
}

BufferRef source_of(const Region& r, NodeId id) {
  const Node& n = r.graph[id];
  if (n.op == Op::Param) return r.params[static_cast<size_t>(n.attr[0])].buffer;
  return r.places.at(id.v);
}

std::vector<Compute> computes_of(const Region& r, NodeId id) {
  const Graph& g = r.graph;
  const Node& n = g[id];
  if (const auto scan = r.scans.find(id.v); scan != r.scans.end()) return {scan_compute(r, id, scan->second)};
  if (n.op == Op::MapAccum) return {loop_compute(r, id)};
  if (const auto rows = r.rows.kernels.find(id.v); rows != r.rows.kernels.end()) return {row_compute(r, rows->second)};
  std::vector<Compute> out;
  if (n.type.shape.count() == 0) return out;
  const BufferRef to = r.places.at(id.v);
  if (ir::is_scatter(n.op)) {
    if (g[n.in[0]].type.shape.count() == 0) return out;
    return scatter_computes(r, id, to);
  }
  if (has_parts(n) && n.in.size() > 1) {
    const int axis = static_cast<int>(n.attr[0]);
    int64_t start = 0;
    for (NodeId part : n.in) {
      const Type& t = g[part].type;
      Compute s;
      s.domain = t.shape;
      s.stores = {{part, to, n.type, axis, start, n.op == Op::Stack}};
      const auto place = r.places.find(part.v);
      const bool there =
          n.op == Op::Concat && axis == 0 && place != r.places.end() && place->second == part_of(to, n.type, start);
      start += n.op == Op::Stack ? 1 : t.shape[axis];
      if (there) continue;
      if (t.shape.count() > 0) out.push_back(described(r, std::move(s), id, part, {to.buffer}));
    }
    return out;
  }
  Compute s;
  s.domain = n.type.shape;
  s.stores = {{id, to, n.type}};
  if (const auto it = r.partition.beside.find(id.v); it != r.partition.beside.end()) s.within = NodeId{it->second};
  out.push_back(described(r, std::move(s), id, id, {to.buffer}));
  if (out.back().reduces) out.back().symmetric = ir::symmetric_axes(g, id);
  return out;
}

std::set<uint32_t> computed_roots(const Region& r, std::span<const Compute> group) {
  std::set<uint32_t> out;
  for (const Compute& s : group) {
    for (const Store& store : s.stores) {
      const auto it = r.places.find(store.value.v);
      if (it != r.places.end() && it->second == store.to) out.insert(store.value.v);
    }
    for (const Store& store : s.rows) out.insert(store.value.v);
    for (const auto& [reduction, store] : s.beside) out.insert(store.value.v);
  }
  return out;
}

std::set<uint32_t> computed_roots_and_views(const Region& r, std::span<const Compute> group) {
  std::set<uint32_t> out = computed_roots(r, group);
  for (NodeId id : r.partition.order)
    if (r.partition.roots.contains(id.v) && ir::is_unary_layout(r.graph[id].op)) out.insert(id.v);
  return out;
}

}  // namespace spirograd::lower
