// A reduction that a workgroup shares: when it may, and how the parts of its invocations become one.
#include <algorithm>
#include <map>

#include "spirv/lower/combine.h"
#include "spirv/lower/inline.h"
#include "spirv/schedule/cost.h"

namespace spirograd::lower {

using ir::Op;
using kernel::KOp;
using kernel::Scalar;
using kernel::Value;

int64_t Inliner::together(std::span<const Point> points) const {
  const auto all = [&](auto&& same) {
    return std::ranges::all_of(points, [&](const Point& p) { return std::ranges::all_of(p, same); });
  };
  if (group_ > 0 && b_.uniform_path() && all([&](Value v) { return b_.uniform(v); })) return group_;
  if (team_ > 0 && b_.uniform_path_in_subgroup() && all([&](Value v) { return b_.uniform_in_subgroup(v); })) return team_;
  return 0;
}

void Inliner::describe_sharers(schedule::ReduceFacts& facts, int scope, std::span<const Point> points) const {
  facts.group = together(points);
  facts.team = facts.group > 0 && facts.group == team_;
  facts.rows = facts.group == 0 && team_ > 0 && scope == 0 && open_ == 0 && schedule::reads_rows(target_);
}

// Combines the parts of so many neighbouring lanes; each of them gets the results, the same bits: the lower lane's parts
// come first.
void Inliner::exchange(const Join& join, std::vector<Value>& parts, uint32_t among) {
  for (uint32_t apart = among / 2; apart > 0; apart /= 2) {
    const Value lane = b_.lane_index(), bit = b_.constant(Scalar::U32, apart);
    const Value upper = b_.op(KOp::Ne, b_.op(KOp::And, lane, bit), b_.constant(Scalar::U32, 0));
    std::vector<Value> first = parts, second;
    for (Value part : parts) second.push_back(b_.shuffle(part, b_.op(KOp::Xor, lane, bit)));
    for (size_t u = 0; u < parts.size() && !join.symmetric; ++u) {
      const Value mine = first[u], other = second[u];
      first[u] = b_.select(upper, other, mine);
      second[u] = b_.select(upper, mine, other);
    }
    parts = join.combine(first, second);
  }
}

// Of as many parts as there are lanes, each lane gets all of its own, with the bits that exchange gives: half of the parts
// are left each time, the lower lanes' or the upper ones'.
Value Inliner::joined_by_lane(const Join& join, std::vector<Value> parts) {
  b_.use_lanes(static_cast<uint32_t>(parts.size()));
  for (size_t apart = parts.size() / 2; apart > 0; apart /= 2) {
    const Value lane = b_.lane_index(), bit = b_.constant(Scalar::U32, static_cast<double>(apart));
    const Value upper = b_.op(KOp::Ne, b_.op(KOp::And, lane, bit), b_.constant(Scalar::U32, 0));
    const Value neighbour = b_.op(KOp::Xor, lane, bit);
    std::vector<Value> first, second;
    for (size_t u = 0; u < apart; ++u) {
      const Value low = parts[u], high = parts[u + apart];
      const Value mine = b_.select(upper, high, low), theirs = b_.select(upper, low, high);
      const Value other = b_.shuffle(theirs, neighbour);
      first.push_back(join.symmetric ? mine : b_.select(upper, other, mine));
      second.push_back(join.symmetric ? other : b_.select(upper, mine, other));
    }
    parts = join.combine(first, second);
  }
  return parts[0];
}

// That of each lane, of as many as there are lanes.
Value Inliner::of_lane(std::span<const Value> values) {
  Value own = values[0];
  for (size_t u = 1; u < values.size(); ++u)
    own = b_.select(b_.op(KOp::Eq, b_.lane_index(), b_.constant(Scalar::U32, static_cast<double>(u))), values[u], own);
  return own;
}

// What each of the sharers has found, combined: among lanes first, if there are any, then in shared memory, by halves where
// a subgroup cannot hold what is left. All get the results.
std::vector<Value> Inliner::joined(const Join& join, std::vector<Value> parts, uint32_t lanes, uint32_t sharers) {
  const uint32_t members = sharers / lanes;  // whose parts meet in memory
  const auto word = [&](uint32_t x) { return b_.constant(Scalar::U32, x); };
  if (lanes > 1) {
    b_.use_lanes(lanes);
    exchange(join, parts, lanes);
    if (members == 1) return parts;
  }
  std::map<Scalar, uint32_t> width, array;  // by type
  std::vector<uint32_t> row;                // of each part, in the array of its type
  for (Value part : parts) row.push_back(width[b_.type(part)]++);
  for (const auto& [t, n] : width) {
    const auto [it, fresh] = shared_.try_emplace({t, n * members}, 0);
    if (fresh) it->second = b_.shared("part" + std::to_string(shared_.size()), t, n * members);
    array[t] = it->second;
  }
  const auto put = [&](Value member) {
    for (size_t u = 0; u < parts.size(); ++u)
      b_.shared_store(array[b_.type(parts[u])], b_.add(member, word(row[u] * members)), parts[u]);
  };
  const auto of = [&](Value member) {
    std::vector<Value> out;
    for (size_t u = 0; u < parts.size(); ++u)
      out.push_back(b_.shared_load(array[b_.type(parts[u])], b_.add(member, word(row[u] * members))));
    return out;
  };
  const Value own = b_.local_index();
  if (lanes > 1) b_.begin_if(b_.op(KOp::Eq, b_.lane_index(), word(0)));
  put(lanes > 1 ? b_.op(KOp::Quot, own, word(lanes)) : own);
  if (lanes > 1) b_.end_if();
  if (members <= lanes) {
    b_.barrier();
    parts = of(b_.op(KOp::Rem, b_.lane_index(), word(members)));
    exchange(join, parts, members);
  } else {
    for (uint32_t half = members / 2; half > 0; half /= 2) {
      b_.barrier();
      b_.begin_if(b_.op(KOp::Lt, own, word(half)));
      const std::vector<Value> own_parts = of(own);
      parts = join.combine(own_parts, of(b_.add(own, word(half))));
      put(own);
      b_.end_if();
    }
    b_.barrier();
    parts = of(word(0));
  }
  b_.barrier();  // the array may be used again
  return parts;
}

Inliner::Join Inliner::join_of(Op op) {
  return {op == Op::Sum || op == Op::Prod, [this, op](const std::vector<Value>& first, const std::vector<Value>& second) {
            std::vector<Value> out;
            for (size_t u = 0; u < first.size(); ++u) out.push_back(combine(b_, op, first[u], second[u]));
            return out;
          }};
}

}  // namespace spirograd::lower
