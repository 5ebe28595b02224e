// A reduction that a workgroup shares: when it may, and how the parts of its invocations become one.
#include "spirv/lower/combine.h"
#include "spirv/lower/inline.h"

namespace spirograd::lower {

using ir::Op;
using kernel::KOp;
using kernel::Scalar;
using kernel::Value;

// Whether the whole workgroup is here, at the same points.
bool Inliner::same_in_group(std::span<const Point> points) const {
  for (const Point& p : points)
    for (Value v : p)
      if (!b_.uniform(v)) return false;
  return b_.uniform_path();
}

// Combines the parts of so many neighbouring lanes; each of them gets the results, the same bits: the lower lane's part
// comes first.
void Inliner::exchange(Op op, std::vector<Value>& parts, uint32_t among) {
  const bool symmetric = op == Op::Sum || op == Op::Prod;
  for (uint32_t apart = among / 2; apart > 0; apart /= 2) {
    const Value lane = b_.lane_index(), bit = b_.constant(Scalar::U32, apart);
    const Value upper = b_.op(KOp::Ne, b_.op(KOp::And, lane, bit), b_.constant(Scalar::U32, 0));
    for (Value& part : parts) {
      const Value other = b_.shuffle(part, b_.op(KOp::Xor, lane, bit));
      part = symmetric ? combine(b_, op, part, other)
                       : combine(b_, op, b_.select(upper, other, part), b_.select(upper, part, other));
    }
  }
}

// Every invocation's part of a reduction, combined: among lanes first, if there are any, then in shared memory, by halves
// where a subgroup cannot hold what is left. All get the results.
std::vector<Value> Inliner::joined(Op op, std::vector<Value> parts, uint32_t lanes) {
  const Scalar t = b_.type(parts[0]);
  const auto width = static_cast<uint32_t>(parts.size());
  const uint32_t members = static_cast<uint32_t>(group_) / lanes;  // whose parts meet in memory
  const auto word = [&](uint32_t x) { return b_.constant(Scalar::U32, x); };
  if (lanes > 1) {
    b_.use_lanes(lanes);
    exchange(op, parts, lanes);
    if (members == 1) return parts;
  }
  const auto [it, fresh] = shared_.try_emplace({t, width * members}, 0);
  if (fresh) it->second = b_.shared("part" + std::to_string(shared_.size()), t, width * members);
  const uint32_t array = it->second;
  const Value own = b_.local_index();
  const auto slot = [&](uint32_t u, Value member) { return b_.add(member, word(u * members)); };
  if (lanes > 1) b_.begin_if(b_.op(KOp::Eq, b_.lane_index(), word(0)));
  for (uint32_t u = 0; u < width; ++u)
    b_.shared_store(array, slot(u, lanes > 1 ? b_.op(KOp::Quot, own, word(lanes)) : own), parts[u]);
  if (lanes > 1) b_.end_if();
  std::vector<Value> out;
  if (members <= lanes) {
    b_.barrier();
    for (uint32_t u = 0; u < width; ++u)
      out.push_back(b_.shared_load(array, slot(u, b_.op(KOp::Rem, b_.lane_index(), word(members)))));
    exchange(op, out, members);
  } else {
    for (uint32_t half = members / 2; half > 0; half /= 2) {
      b_.barrier();
      b_.begin_if(b_.op(KOp::Lt, own, word(half)));
      for (uint32_t u = 0; u < width; ++u) {
        const Value mine = b_.shared_load(array, slot(u, own)),
                    other = b_.shared_load(array, slot(u, b_.add(own, word(half))));
        b_.shared_store(array, slot(u, own), combine(b_, op, mine, other));
      }
      b_.end_if();
    }
    b_.barrier();
    for (uint32_t u = 0; u < width; ++u) out.push_back(b_.shared_load(array, slot(u, word(0))));
  }
  b_.barrier();  // the array may be used again
  return out;
}

}  // namespace spirograd::lower
