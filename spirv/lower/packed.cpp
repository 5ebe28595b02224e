#include "spirv/lower/packed.h"

#include <algorithm>
#include <map>
#include <set>

namespace spirograd::lower {

using ir::Graph;
using ir::NodeId;

namespace {

constexpr int64_t kDirectResults = 8;               // of a region, that a loop of it writes to their own buffers
constexpr uint64_t kPackBytes = uint64_t{1} << 30;  // of a buffer, at most: indices are 32 bits wide

}  // namespace

PackedResults packed_results(const Graph& g, std::span<const NodeId> order, std::span<const NodeId> results,
                             const Target& target) {
  std::set<uint32_t> wanted;  // parts of a result are written where they belong
  for (NodeId r : results) {
    wanted.insert(r.v);
    if (const ir::Node& n = g[r]; n.op == ir::Op::Concat && n.attr[0] == 0)
      for (NodeId part : n.in) wanted.insert(part.v);
  }
  std::map<uint32_t, std::vector<NodeId>> by_loop;
  for (NodeId id : order)
    if (g[id].op == ir::Op::Proj) by_loop[g[id].in[0].v].push_back(id);
  PackedResults packed;
  for (const auto& [loop, all] : by_loop) {
    const auto direct = std::count_if(all.begin(), all.end(), [&](NodeId id) { return wanted.contains(id.v); });
    struct Open {
      int number = -1;
      uint64_t elements = 0;
    };
    std::map<DType, Open> open;  // the buffer that is being filled
    int packs = 0;
    for (NodeId id : all) {
      if (direct <= kDirectResults && wanted.contains(id.v)) continue;
      const Type& t = g[id].type;
      const auto elements = static_cast<uint64_t>(t.shape.count());
      Open& o = open[t.dtype];
      const uint64_t bytes = (o.elements + elements) * device_bytes(t.dtype);
      if (o.number < 0 || bytes > std::min(kPackBytes, target.max_range)) o = {packs++, 0};
      packed[id.v] = {loop, o.number, o.elements};
      o.elements += elements;
    }
  }
  return packed;
}

std::vector<PackBuffer> pack_buffers(const Graph& g, std::span<const NodeId> order, const PackedResults& packed,
                                     const std::function<bool(uint32_t)>& in_kernel) {
  std::map<std::pair<uint32_t, int>, size_t> numbers;
  std::vector<PackBuffer> out;
  for (NodeId id : order) {
    const auto it = packed.find(id.v);
    if (it == packed.end() || !in_kernel(it->second.loop)) continue;
    const Type& t = g[id].type;
    const auto [at, fresh] = numbers.try_emplace({it->second.loop, it->second.number}, out.size());
    if (fresh) out.emplace_back();
    PackBuffer& b = out[at->second];
    b.type = {t.dtype, Shape{static_cast<int64_t>(it->second.first) + t.shape.count()}};
    b.arrays.emplace_back(id, it->second.first * device_bytes(t.dtype));
  }
  return out;
}

}  // namespace spirograd::lower
