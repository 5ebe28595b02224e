#include "spirv/lower/rfactor.h"

#include <algorithm>
#include <array>
#include <limits>
#include <set>

#include "frontend/ir/algebra.h"
#include "frontend/ir/composite.h"
#include "frontend/ir/eval_ops.h"
#include "spirv/lower/access.h"
#include "spirv/lower/extent.h"
#include "spirv/lower/shifted_sums.h"
#include "spirv/schedule/cost.h"
#include "spirv/schedule/legal.h"

namespace spirograd::lower {

using ir::Expr;
using ir::NodeId;
using ir::Op;
using schedule::Bind;

namespace {

// Elements beyond the end of the padded axis must not count: the window's zeros become the operation's neutral element.
// NaN loses against everything in extremes, and the first of equal extremes is taken: padding comes last.
Expr neutralise(Expr x, Op op, int axis, int64_t valid) {
  if (op == Op::Sum) return x;
  ir::Graph& g = *x.graph;
  const bool greatest = op == Op::ReduceMax || op == Op::ArgMax;
  double neutral = ir::reduction_of_nothing(op == Op::Prod ? op : greatest ? Op::ReduceMax : Op::ReduceMin, x.dtype());
  if (op != Op::Prod && is_float(x.dtype())) neutral = std::numeric_limits<double>::quiet_NaN();
  const Expr number = ir::iota(g, x.shape(), axis);
  const Expr inside = ir::binary(Op::Lt, number, ir::full(g, i32(x.shape()), static_cast<double>(valid)));
  return ir::select(inside, x, ir::full(g, x.type(), neutral));
}

// The operand with one axis cut into two parts.
Expr cut(Expr x, Op op, int axis, int64_t outer, int64_t inner) {
  const int64_t n = x.shape()[axis];
  if (outer * inner != n) x = neutralise(ir::window(x, axis, 0, outer * inner), op, axis, n);
  return ir::reshape(x, x.shape().erased(axis).inserted(axis, inner).inserted(axis, outer));
}

// Adjacent axes as one: what is stored is one axis to whoever shares its reduction, however many it was cut into.
Expr as_one_axis(Expr x, int first, int axes) {
  Shape shape = x.shape();
  const int64_t count = shape.slice(first, first + axes).count();
  for (int j = 0; j < axes; ++j) shape = shape.erased(first);
  return ir::reshape(x, shape.inserted(first, count));
}

// Whether they are more than one, and the last ones of so many.
bool are_last(const std::vector<int64_t>& axes, int rank) {
  return axes.size() > 1 && axes.back() + 1 == rank && axes.back() - axes.front() + 1 == static_cast<int64_t>(axes.size());
}

constexpr int64_t kMostCode = 1000;  // of an element that is counted

struct InMemory {
  NodeSet stored;
  std::vector<NodeId> stretched;  // of those
};

// Long reductions that x is computed from element by element, and what is stretched to it from few elements: another
// reduction finds them in memory.
InMemory stored_below(const ir::Graph& g, NodeId x, bool with_reductions, bool with_stretched) {
  constexpr int64_t kLongBelow = 16;
  InMemory out;
  std::vector<NodeId> open = {x};
  std::set<uint32_t> seen;
  while (!open.empty() && seen.size() < kLookedAt) {
    const NodeId id = open.back();
    open.pop_back();
    const ir::Node& n = g[id];
    if (!seen.insert(id.v).second) continue;
    const bool reduces = ir::kind(n.op) == ir::Kind::Reduce;
    if (with_reductions && reduces && g[n.in[0]].type.shape.count() >= kLongBelow * n.type.shape.count())
      out.stored.insert(id.v);
    const bool stretched =
        with_stretched && n.op == Op::Broadcast && n.type.shape.count() >= kLongBelow * g[n.in[0]].type.shape.count();
    if (stretched && ir::kind(g[n.in[0]].op) != ir::Kind::Leaf) {
      out.stored.insert(n.in[0].v);
      out.stretched.push_back(n.in[0]);
    }
    if (ir::is_pointwise(n.op) || ir::is_unary_layout(n.op)) open.insert(open.end(), n.in.begin(), n.in.end());
  }
  return out;
}

// Whether x is computed element by element from arrays that lie as it does, and from values that are the same along its last
// axis: then its rows are rows in memory, whatever of it is stored.
bool lies_in_rows(const ir::Graph& g, NodeId x, const NodeSet& stored) {
  const auto is_stored = [&](NodeId id) { return stored.contains(id.v); };
  return all_below(x, [&](NodeId id) -> Operands {
    const ir::Node& n = g[id];
    const int last = n.type.shape.rank() - 1;
    const Operands nothing(std::in_place), all(n.in);
    if (n.op == Op::Param || n.op == Op::Const || n.op == Op::Iota || is_stored(id)) return nothing;
    if (n.op == Op::Reshape && lies_flat(g, n.in[0], is_stored)) return nothing;
    if (n.op == Op::Broadcast) {
      const auto from = std::find(n.attr.begin(), n.attr.end(), last);
      const auto axis = static_cast<int>(from - n.attr.begin());
      return from == n.attr.end() || g[n.in[0]].type.shape[axis] != n.type.shape[last] ? nothing : all;
    }
    if (n.op == Op::Gather && g[n.in[1]].type.shape == n.type.shape)
      return all->subspan(1);  // whatever the table: elements of it are read
    return n.op == Op::Window || ir::is_pointwise(n.op) ? all : std::nullopt;
  });
}

class Factoring {
 public:
  Factoring(const Target& target, const schedule::Scheduler& scheduler, std::set<int64_t> elements_of_results,
            FactoredReductions& out)
      : target_(target),
        scheduler_(scheduler),
        elements_of_results_(std::move(elements_of_results)),
        partial_(out.partial),
        taken_(out.taken),
        stored_(out.stored) {}

  // Parts of rows on the way to the sum of exp(x - h), which has their maxima: one pass over x instead of two.
  struct Row {
    Expr parts;
    schedule::PartialSchedule schedule;
  };

  // The maximum of x along an axis, node `old`; notes the parts for the sum of exponentials that waits for it.
  Expr maximum(Expr x, int64_t axis, NodeId old) {
    const schedule::PartialSchedule s = choose(ir::unary(Op::Exp, x), Op::Sum, {axis}, false, true);
    const schedule::Split& split = s.axes[0];
    if (split.size() != 2 || split[0].bind != Bind::Grid || schedule::extent(split) != x.shape()[static_cast<int>(axis)])
      return reduced(x, Op::ReduceMax, {axis});
    const Expr parts = cut(x, Op::ReduceMax, static_cast<int>(axis), split[0].extent, split[1].extent);
    const Expr greatest = ir::reduce(Op::ReduceMax, parts, {axis + 1});
    partial_[greatest.id.v] = s;
    rows_.insert_or_assign(old.v, Row{parts, s});
    return reduced(greatest, Op::ReduceMax, {axis}, true);
  }

  const Row* row_of(NodeId maximum) const {
    const auto it = rows_.find(maximum.v);
    return it == rows_.end() ? nullptr : &it->second;
  }

  // sum exp(x - h) = sum over parts of exp(c - h) sum exp(x - c), with the maximum of the part as c, made finite.
  // A part whose sum is 0 adds none, however far from h it is, but h may be infinite.
  Expr sum_of_exponentials(Expr h, int64_t axis, const Row& row) {
    const Expr c = ir::finite_max(row.parts, std::array{axis + 1}), zero = ir::full_like(c, 0);
    const Expr exponents = row.parts - ir::restore_axes(c, row.parts.shape(), std::array{axis + 1});
    const Expr sums = ir::reduce(Op::Sum, ir::unary(Op::Exp, exponents), {axis + 1});
    partial_[sums.id.v] = row.schedule;
    const Expr all = ir::restore_axes(h, c.shape(), std::array{axis});
    const Expr weighted = sums * ir::unary(Op::Exp, c - all);
    return reduced(ir::select(ir::binary(Op::Eq, sums, zero), all - all, weighted), Op::Sum, {axis}, true);
  }

  Expr reduced(Expr x, Op op, const std::vector<int64_t>& axes, bool combines = false) {
    if (!combines && schedule::reads_rows(target_) && are_last(axes, x.rank()) &&
        lies_flat(*x.graph, x.id, [](NodeId) { return false; })) {
      const auto first = static_cast<int>(axes[0]);
      return reduced(as_one_axis(x, first, static_cast<int>(axes.size())), op, {first});
    }
    const schedule::PartialSchedule s = choose(x, op, axes, combines);
    if (schedule::partial_results(s) == 1) return ir::reduce(op, x, axes);
    const auto axis = static_cast<int>(axes.back());
    const int64_t whole = schedule::extent(s.axes.back()), left = x.shape()[axis] - whole;
    if (left > 0) {
      if (x.rank() == 1) taken_[x.shape()[0]] = whole;
      const Expr rest = reduced(ir::window(x, axis, whole, left), op, axes);
      const Expr parts[] = {reduced_by(s, ir::window(x, axis, 0, whole), op, axes), rest};
      return ir::reduce(op, ir::stack(parts, 0), {0});
    }
    return reduced_by(s, x, op, axes);
  }

  Expr reduced_by(const schedule::PartialSchedule& s, Expr x, Op op, const std::vector<int64_t>& axes) {
    std::vector<int64_t> first, second;  // axes that are reduced at once, and those of the partial results
    int64_t added = 0;                   // axes, so far
    for (size_t j = 0; j < axes.size(); ++j) {
      const schedule::Split& split = s.axes[j];
      const int64_t axis = axes[j] + added;
      if (split.size() == 2) x = cut(x, op, static_cast<int>(axis), split[0].extent, split[1].extent);
      added += static_cast<int64_t>(split.size()) - 1;
      for (size_t p = 0; p < split.size(); ++p) {
        const int64_t part = axis + static_cast<int64_t>(p);
        if (split[p].bind == Bind::Grid) {
          second.push_back(part - static_cast<int64_t>(first.size()));
        } else {
          first.push_back(part);
        }
      }
    }
    const Expr parts = ir::reduce(op, x, first);
    partial_[parts.id.v] = s;
    const auto own = static_cast<int64_t>(second.size());
    if (second.back() - second.front() + 1 != own) return reduced(parts, op, second, true);
    return reduced(as_one_axis(parts, static_cast<int>(second[0]), static_cast<int>(own)), op, {second[0]}, true);
  }

  // The first extreme of the whole is that of the first range with the extreme value.
  Expr position(Expr x, Op op, int axis, bool combines = false) {
    const schedule::PartialSchedule s = choose(x, op, {axis}, combines);
    if (schedule::partial_results(s) == 1) return ir::arg_reduce(op, x, axis);
    ir::Graph& g = *x.graph;
    const int64_t length = s.axes[0][1].extent;
    const Expr parts = cut(x, op, axis, s.axes[0][0].extent, length);
    const Expr local = ir::arg_reduce(op, parts, axis + 1);
    std::vector<Expr> at;
    for (int a = 0; a < parts.rank(); ++a)
      at.push_back(a == axis + 1 ? local : ir::iota(g, local.shape(), a > axis ? a - 1 : a));
    const Expr extreme = ir::gather(parts, at);
    partial_[local.id.v] = s;
    partial_[extreme.id.v] = s;
    const Expr chunk = position(extreme, op, axis, true);
    std::vector<Expr> place;
    for (int a = 0; a < local.rank(); ++a)
      place.push_back(a == axis ? chunk : ir::iota(g, chunk.shape(), a > axis ? a - 1 : a));
    return chunk * ir::full(g, chunk.type(), static_cast<double>(length)) + ir::gather(local, place);
  }

 private:
  // Of all arrays that are reduced.
  static int64_t elements_read(const ir::Graph& g, const Accesses& found) {
    int64_t elements = 0;
    std::set<uint32_t> arrays;
    for (const Access& a : found.reads)
      if (a.reduced && arrays.insert(a.leaf.v).second) elements += g[a.leaf].type.shape.count();
    return elements;
  }

  // Returns what is stretched to x and was taken for stored: whoever relies on that sees to it.
  std::vector<NodeId> describe_reads(schedule::PartialFacts& f, Expr x, Op op, const std::vector<int64_t>& axes) const {
    const bool trailing = axes.back() + 1 == x.rank(), row = trailing && (axes.size() == 1 || schedule::reads_rows(target_));
    if (trailing && !schedule::shares_rows(target_) && !schedule::reads_rows(target_)) return {};
    f.rows = row && f.combines;  // what is stored lies so
    if (f.combines || (f.position && !trailing)) return {};
    const Expr sum = f.position ? ir::arg_reduce(op, x, static_cast<int>(axes[0])) : ir::reduce(op, x, axes);
    const auto [stored, stretched] = stored_below(*x.graph, x.id, trailing, schedule::reads_rows(target_));
    const Accesses found = accesses(*x.graph, sum.id, stored, kLookedAt);
    const uint32_t all = (1u << sum.rank()) - 1;
    f.contiguous = found.reductions.empty() || found.reductions[0].contiguous;
    f.streams =
        std::any_of(found.reads.begin(), found.reads.end(), [&](const Access& a) { return a.reduced && a.axes == all; });
    if (trailing) {
      f.rows = row && f.contiguous && f.streams && lies_in_rows(*x.graph, x.id, stored);
    } else {
      f.columns = sum.shape()[sum.rank() - 1];
      f.row = x.shape().slice(static_cast<int>(axes.back()) + 1, x.rank()).count();
    }
    if (!target_.price.coalesces && !f.streams && !f.position) f.read = elements_read(*x.graph, found);
    if (!schedule::reads_rows(target_) || !(trailing ? f.rows : f.streams)) return {};
    f.code = ExtentWalk(*x.graph, stored)(sum.id, kMostCode).written_out;
    f.beside = f.rows && elements_of_results_.contains(x.shape().count());
    return stretched;
  }

  // Whether a reduction runs for each element, of what is in memory by then.
  bool reduces(const ir::Graph& g, NodeId id) const {
    return !all_below(id, [&](NodeId at) -> Operands {
      const ir::Node& n = g[at];
      if (ir::kind(n.op) == ir::Kind::Reduce && !partial_.contains(at.v)) return std::nullopt;
      const bool goes_on = !partial_.contains(at.v) && (ir::is_pointwise(n.op) || ir::kind(n.op) == ir::Kind::Layout);
      return goes_on ? Operands(n.in) : Operands(std::in_place);
    });
  }

  schedule::PartialSchedule choose(Expr x, Op op, const std::vector<int64_t>& axes, bool combines, bool even = false) {
    schedule::PartialFacts f;
    int64_t length = 1;
    for (int64_t a : axes) f.extents.push_back(x.shape()[static_cast<int>(a)]), length *= f.extents.back();
    if (x.shape().count() == 0) return schedule::whole(f);
    f.results = x.shape().count() / length;
    f.combines = combines;
    f.position = finds_place(op);
    f.axes_left = kMaxRank - x.rank();
    const std::vector<NodeId> stretched = describe_reads(f, x, op, axes);
    f.even = f.beside || even;
    schedule::PartialSchedule s = schedule::legal(f, scheduler_.partial(f, target_), target_);
    for (NodeId id : stretched)
      if (schedule::partial_results(s) > 1 && reduces(*x.graph, id)) stored_.insert(id.v);
    return s;
  }

  const Target& target_;
  const schedule::Scheduler& scheduler_;
  const std::set<int64_t> elements_of_results_;
  std::map<uint32_t, Row> rows_;  // by the node of the maximum
  Partials& partial_;
  std::map<int64_t, int64_t>& taken_;
  std::set<uint32_t>& stored_;
};

}  // namespace

FactoredReductions factor_reductions(ir::Graph& g, std::span<const NodeId> roots, const Target& target,
                                     const schedule::Scheduler& scheduler) {
  FactoredReductions out;
  std::set<int64_t> elements;  // of results
  for (NodeId root : roots)
    if (ir::is_pointwise(g[root].op)) elements.insert(g[root].type.shape.count());
  Factoring factoring(target, scheduler, std::move(elements), out);
  std::map<uint32_t, ShiftedSum> shifted;
  if (schedule::reads_rows(target)) shifted = find_shifted_sums(g, roots);
  std::set<uint32_t> maxima;
  for (const auto& [sum, s] : shifted) maxima.insert(s.maximum.v);
  out.roots = ir::rebuild(g, roots, out.moved, [&](NodeId old, NodeId built) -> NodeId {
    const ir::Node& n = g[built];
    if (ir::info(n.op).kind != ir::Kind::Reduce) return built;
    const Expr x{&g, n.in[0]};
    if (maxima.contains(old.v)) return factoring.maximum(x, n.attr[0], old).id;
    if (const auto s = shifted.find(old.v); s != shifted.end()) {
      const auto& [maximum, shift] = s->second;
      const auto moved = out.moved.find(shift.v);
      const Expr h{&g, moved == out.moved.end() ? shift : moved->second};
      if (const auto* row = factoring.row_of(maximum)) return factoring.sum_of_exponentials(h, n.attr[0], *row).id;
    }
    if (finds_place(n.op)) return factoring.position(x, n.op, static_cast<int>(n.attr[0])).id;
    return factoring.reduced(x, n.op, {n.attr.begin(), n.attr.end()}).id;
  });
  return out;
}

}  // namespace spirograd::lower
