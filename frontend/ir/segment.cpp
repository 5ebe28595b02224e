#include "frontend/ir/segment.h"

#include <functional>
#include <limits>

#include "frontend/ir/close_rule.h"
#include "frontend/ir/composite.h"
#include "frontend/ir/make_node.h"
#include "frontend/ir/order.h"

namespace spirograd::ir {
namespace {

using Rows = std::vector<Expr>;

void check(std::string_view what, Expr x, Expr segment) {
  if (segment.rank() != 1 || x.rank() < 1 || segment.dtype() != DType::I32 || segment.shape()[0] != x.shape()[0])
    throw Error("SG0101", std::string(what) + ": needs one i32 for each row, not " + to_string(segment.type()) + " for " +
                              to_string(x.type()));
  require_numbers(x, what);
}

Expr for_rows(Expr mask, const Shape& shape) { return shape.rank() == 1 ? mask : broadcast(mask, shape, {0}); }

// The rows in the order of their segments, those of one as they were; dropped ones come last.
struct Ordered {
  Expr order, segment;
};
Ordered ordered(Expr segment, int64_t n) {
  const Expr zero = full_like(segment, 0), end = whole_like(segment, n);
  const Expr known = both(binary(Op::Ge, segment, zero), binary(Op::Lt, segment, end));
  const Expr key = select(known, segment, end), order = argsort(key, 0, false);
  return {order, gather(key, {&order, 1})};
}

// The last row of each segment becomes all of its rows joined: after log2 steps each row knows of those before it.
Rows joined(Rows rows, Expr segment, const std::function<Rows(const Rows& before, const Rows& after)>& join) {
  const int64_t count = segment.shape()[0];
  const Expr at = iota(*segment.graph, {count}, 0);
  for (int64_t reach = 1; reach < count; reach *= 2) {
    const Expr inside = binary(Op::Ge, at, whole_like(at, reach));
    const Expr same = both(inside, binary(Op::Eq, window(segment, 0, -reach, count), segment));
    Rows before;
    for (Expr e : rows) before.push_back(window(e, 0, -reach, count));
    const Rows next = join(before, rows);
    for (size_t j = 0; j < rows.size(); ++j) rows[j] = select(for_rows(same, rows[j].shape()), next[j], rows[j]);
  }
  return rows;
}

// Where the last row of each segment is, and whether there is one.
struct Last {
  Expr place, found;
};
Last last_rows(Expr segment, int64_t n) {
  const Expr k = iota(*segment.graph, {n}, 0), place = searchsorted(segment, k, true) - full_like(k, 1);
  const Expr there = gather(segment, {&place, 1});
  return {place, both(binary(Op::Ge, place, full_like(place, 0)), binary(Op::Eq, there, k))};
}

Expr inverted(Expr word) { return binary(Op::BitXor, word, full_like(word, 4294967295.0)); }
Expr top_turned(Expr word) { return binary(Op::BitXor, word, full_like(word, 2147483648.0)); }
Expr has_top(Expr word) { return binary(Op::Ge, word, full_like(word, 2147483648.0)); }

// Numbers of 32 bits as u32 in their order, or in the other one: 1 for NaN, floats all above that.
Expr key_of(Expr x, bool greatest) {
  const auto turned = [&](Expr word) { return greatest ? word : inverted(word); };
  if (x.dtype() == DType::U32) return turned(x);
  if (x.dtype() == DType::I32) return turned(top_turned(cast(x, DType::U32)));
  const Expr zero = full_like(x, 0), word = bits(select(binary(Op::Eq, x, zero), zero, x));  // -0 is 0
  const Expr number = turned(select(has_top(word), inverted(word), top_turned(word)));
  return select(binary(Op::Ne, x, x), full_like(word, 1), number);
}
Expr number_of(Expr key, DType t, bool greatest) {
  const Expr word = greatest ? key : inverted(key);
  if (t == DType::U32) return word;
  if (t == DType::I32) return cast(top_turned(word), t);
  const Expr number = from_bits(select(has_top(word), top_turned(word), inverted(word)));
  const Expr nan = full_like(number, std::numeric_limits<double>::quiet_NaN());
  return select(binary(Op::Eq, key, full_like(key, 1)), nan, number);
}

// By the greatest key of each segment: 0 where there is no row. The derivative goes to the first row that has it.
Expr extreme_by_keys(bool greatest, Expr x, Expr segment, int64_t n) {
  const auto best_of = [&](Expr keys) { return scatter_max(keys, {&segment, 1}, {n}); };
  const Expr best = best_of(key_of(x, greatest)), none = binary(Op::Eq, best, full_like(best, 0));
  const Expr value = number_of(best, x.dtype(), greatest);
  const Expr out = select(none, full_like(value, extreme_of(x.dtype(), !greatest)), value);
  if (!is_float(x.dtype())) return out;
  return with_tangent(out, {x}, [&](std::span<const Expr> at, std::span<const Expr> directions) {
    const Expr keys = key_of(at[0], greatest), has_best = binary(Op::Eq, keys, gather(best_of(keys), {&segment, 1}));
    const Expr place = position(at[0], 0), rows = whole_like(place, place.shape()[0]), left = cast(rows - place, DType::U32);
    const Expr first = best_of(select(has_best, left, full_like(left, 0)));
    return take_along_axis(directions[0], cast(whole_like(first, place.shape()[0]) - first, DType::I32), 0);
  });
}

Expr extreme(Op op, std::string_view what, Expr x, Expr segment, int64_t n) {
  check(what, x, segment);
  if (x.dtype() != DType::F64) return extreme_by_keys(op == Op::Max, x, segment, n);
  const Ordered o = ordered(segment, n);
  const Expr value = gather(x, {&o.order, 1});
  const Expr from = x.rank() == 1 ? o.order : broadcast(o.order, x.shape(), {0});
  const Op beyond = op == Op::Max ? Op::Gt : Op::Lt;
  const Rows best = joined({value, from}, o.segment, [&](const Rows& before, const Rows& after) {
    Expr better = binary(beyond, after[0], before[0]);
    if (is_float(x.dtype())) {
      const Expr before_nan = binary(Op::Ne, before[0], before[0]), after_number = binary(Op::Eq, after[0], after[0]);
      better = either(better, both(before_nan, after_number));
    }
    return Rows{select(better, after[0], before[0]), select(better, after[1], before[1])};
  });
  const Last last = last_rows(o.segment, n);
  const Expr taken = take_along_axis(x, gather(best[1], {&last.place, 1}), 0);
  return select(for_rows(last.found, taken.shape()), taken, full_like(taken, extreme_of(x.dtype(), op == Op::Min)));
}

}  // namespace

Expr segment_sum(Expr x, Expr segment, int64_t n) {
  check("segment_sum", x, segment);
  return scatter(x, {&segment, 1}, {n});
}

Expr segment_prod(Expr x, Expr segment, int64_t n) {
  check("segment_prod", x, segment);
  const Ordered o = ordered(segment, n);
  const Rows product = joined({gather(x, {&o.order, 1})}, o.segment,
                              [](const Rows& before, const Rows& after) { return Rows{before[0] * after[0]}; });
  const Last last = last_rows(o.segment, n);
  const Expr taken = gather(product[0], {&last.place, 1});
  return select(for_rows(last.found, taken.shape()), taken, full_like(taken, 1));
}

Expr segment_max(Expr x, Expr segment, int64_t n) { return extreme(Op::Max, "segment_max", x, segment, n); }
Expr segment_min(Expr x, Expr segment, int64_t n) { return extreme(Op::Min, "segment_min", x, segment, n); }

}  // namespace spirograd::ir
