#include "spirv/lower/inline.h"

#include <algorithm>
#include <limits>

#include "spirv/lower/extent.h"
#include "spirv/lower/loops.h"
#include "spirv/lower/scalar_ops.h"
#include "spirv/schedule/cost.h"

namespace spirograd::lower {

using ir::Kind;
using ir::Node;
using ir::NodeId;
using ir::Op;
using kernel::KOp;
using kernel::Value;

Inliner::Inliner(const ir::Graph& graph, const Materialised& materialised, std::set<uint32_t> computed,
                 std::vector<ParamSource> params, kernel::Builder& builder, const schedule::Scheduler& scheduler,
                 const Target& target, int64_t group)
    : graph_(graph),
      materialised_(materialised),
      computed_(std::move(computed)),
      b_(builder),
      scheduler_(scheduler),
      target_(target),
      group_(group) {
  Scope top;
  top.varying.assign(params.size(), false);
  top.params = std::move(params);
  scopes_.push_back(std::move(top));
  push_block();
}

Value Inliner::eval(int scope, NodeId id, const Point& point) { return eval(scope, id, std::span(&point, 1))[0]; }

std::vector<Value> Inliner::eval(int scope, NodeId id, std::span<const Point> points) {
  std::vector<Value> out(points.size(), kUnknown);
  std::vector<Point> missing;                         // each once
  std::vector<std::pair<size_t, ptrdiff_t>> waiting;  // places in `points`, and which of them that is
  for (size_t u = 0; u < points.size(); ++u) {
    const Key key{scope, id.v, points[u]};
    for (auto block = memo_.rbegin(); block != memo_.rend() && out[u] == kUnknown; ++block) {
      auto it = block->find(key);
      if (it != block->end()) out[u] = it->second;
    }
    if (out[u] != kUnknown) continue;
    const auto same = std::find(missing.begin(), missing.end(), points[u]);
    waiting.emplace_back(u, same - missing.begin());
    if (same == missing.end()) missing.push_back(points[u]);
  }
  if (missing.empty()) return out;
  const std::vector<Value> made = compute(scope, id, missing);
  if (b_.size() - unused_ > schedule::kMostCode) throw CodeTooLarge{};
  for (size_t j = 0; j < missing.size(); ++j) memo_.back()[Key{scope, id.v, missing[j]}] = made[j];
  for (const auto& [place, number] : waiting) out[place] = made[static_cast<size_t>(number)];
  return out;
}

std::vector<Value> Inliner::compute(int scope, NodeId id, std::span<const Point> points) {
  const Node& n = node(id);
  if (const BufferRef* buffer = memory_of(scope, id)) {
    if (n.op == Op::Const || scope > 0) return load(*buffer, n.type, points);
    std::vector<Value> out;
    for (const Point& p : points) out.push_back(load_element(id, *buffer, p));
    return out;
  }
  const Scope& own = scopes_[static_cast<size_t>(scope)];
  if (const auto shared = own.shared.find(id.v); shared != own.shared.end() && n.op != Op::Param) {
    std::vector<Value> out;
    for (const Point& p : points) out.push_back(b_.shared_load(shared->second, linear(p, n.type.shape)));
    return out;
  }
  if (scope == 0) evaluations_[id.v] += points.size();
  const auto each = [&](auto&& f) {
    std::vector<Value> out;
    for (const Point& p : points) out.push_back(f(p));
    return out;
  };
  switch (ir::kind(n.op)) {
    case Kind::Leaf:
      if (n.op == Op::Param) return param(scope, id, points);
      if (n.op == Op::Const) return each([&](const Point&) { return constant(n); });
      if (n.op == Op::Iota) return each([&](const Point& p) { return p[static_cast<size_t>(n.attr[0])]; });
      break;
    case Kind::Pointwise: return pointwise(scope, n, points);
    case Kind::Layout:
      if (ir::is_unary_layout(n.op)) return moved(scope, n, points);
      return each([&](const Point& p) { return piecewise(scope, n, p); });
    case Kind::Reduce: return reduce(scope, id, points);
    case Kind::Indexed:
      if (n.op == Op::Gather) return gather(scope, n, points);
      if (ir::is_scatter(n.op)) return each([&](const Point& p) { return single_update(scope, n, p); });
      break;
    case Kind::Loop:
      if (n.op == Op::Proj) return projection(scope, n, points);
      break;
    case Kind::Rule:
    case Kind::Binder: break;
  }
  throw Error("SG0900", "internal: " + std::string(ir::name(n.op)) + " of type " + to_string(n.type) + " cannot be inlined");
}

// Of a scatter of one element or row, the only ones that loops inside of kernels have (loops.cpp).
Value Inliner::single_update(int scope, const Node& n, const Point& point) {
  const auto axes = static_cast<std::ptrdiff_t>(n.attr.size());
  std::optional<Value> here;
  for (std::ptrdiff_t a = 0; a < axes; ++a) {
    const Value equal =
        b_.op(KOp::Eq, point[static_cast<size_t>(a)], eval(scope, n.in[static_cast<size_t>(a) + 1], Point{}));
    here = here ? b_.op(KOp::And, *here, equal) : equal;
  }
  const Value there = eval(scope, n.in[0], Point(point.begin() + axes, point.end()));
  return b_.select(*here, there, zero(b_, scalar_of(n.type.dtype)));
}

// Constant arrays are the same in every scope, and rows that a loop in one keeps are in memory by now. A number is never
// loaded: where it is a result of the program, the kernel that writes it may run later than a loop body that uses it.
const BufferRef* Inliner::memory_of(int scope, NodeId id) const {
  const Node& n = node(id);
  if (n.op == Op::Const && n.type.shape.rank() == 0) return nullptr;
  return scope == 0 || n.op == Op::Const || is_stack(graph_, n) ? buffer_of(id) : nullptr;
}

const BufferRef* Inliner::buffer_of(NodeId id) const {
  const auto it = materialised_.find(id.v);
  return it == materialised_.end() || computed_.contains(id.v) ? nullptr : &it->second;
}

std::vector<Value> Inliner::param(int scope, NodeId id, std::span<const Point> points) {
  const Node& n = node(id);
  const ParamSource& source = scopes_[static_cast<size_t>(scope)].params[static_cast<size_t>(n.attr[0])];
  switch (source.kind) {
    case ParamSource::Kind::Buffer: return load(source.buffer, n.type, points);
    case ParamSource::Kind::Register: {
      std::vector<Value> out;
      for (const Point& p : points) out.push_back(state_element(scope, id, source, p));
      return out;
    }
    case ParamSource::Kind::Outer: {
      std::vector<Point> outer;
      for (const Point& p : points) outer.push_back(outer_point(source, p));
      return eval(source.scope, source.node, outer);
    }
  }
  return {};
}

// Where the scope around has the element.
Point Inliner::outer_point(const ParamSource& source, Point at) {
  if (source.rows) at = among_all_rows(b_, std::move(at), source.rows->first, source.rows->second);
  if (source.stacked) at.insert(at.begin(), source.step);
  return at;
}

Inliner::Element Inliner::element(BufferRef array, const Type& type, kernel::Access access, const Point& point) {
  return element(array, type, access, linear(point, type.shape));
}

Inliner::Element Inliner::element(BufferRef array, const Type& type, kernel::Access access, Value number_in_array) {
  const uint64_t size = device_bytes(type.dtype);
  const Value index = b_.add(number_in_array, b_.i32(static_cast<int64_t>(array.offset / size)));
  const auto same = std::find_if(bound_.begin(), bound_.end(), [&](const Bound& b) { return b.buffer == array.buffer; });
  const auto number = static_cast<uint32_t>(same - bound_.begin());
  if (same == bound_.end()) {
    bound_.push_back({array.buffer, access, 0});
    b_.bind("b" + std::to_string(number), stored_scalar_of(type.dtype), access);
  } else if (same->access != access) {  // a part of a whole that reads another one
    same->access = kernel::Access::ReadWrite;
    b_.read_and_write(number);
  }
  bound_[number].bytes = std::max(bound_[number].bytes, array.offset + static_cast<uint64_t>(type.shape.count()) * size);
  return {number, index};
}

std::vector<Value> Inliner::load(BufferRef ref, const Type& type, std::span<const Point> points) {
  std::vector<Value> out;
  for (const Point& p : points) {
    const auto [binding, index] = element(ref, type, kernel::Access::Read, p);
    out.push_back(b_.load(binding, index));
  }
  return out;
}

Value Inliner::constant(const Node& n) {
  if (n.type.shape.rank() > 0) throw Error("SG0900", "internal: constant array " + to_string(n.type) + " without a buffer");
  return b_.constant(scalar_of(n.type.dtype), n.data[0]);
}

std::vector<Value> Inliner::pointwise(int scope, const Node& n, std::span<const Point> points) {
  std::vector<std::vector<Value>> operands;
  for (NodeId in : n.in) operands.push_back(eval(scope, in, points));
  const ir::Sign sign = n.op == Op::Exp ? ir::sign_of(graph_, n.in[0]) : ir::Sign::Any;
  std::vector<Value> out;
  for (size_t u = 0; u < points.size(); ++u) {
    std::vector<Value> args;
    for (const std::vector<Value>& o : operands) args.push_back(o[u]);
    out.push_back(sign == ir::Sign::Any ? lower::pointwise(b_, n.op, n.type.dtype, args) : exponential(b_, args[0], sign));
  }
  return out;
}

// Layout operations of one operand.
std::vector<Value> Inliner::moved(int scope, const Node& n, std::span<const Point> points) {
  if (node(n.in[0]).type.shape.count() == 0) return std::vector<Value>(points.size(), zero(b_, scalar_of(n.type.dtype)));
  // What lies in memory is counted as it is read, not through the axes that it was written along.
  const BufferRef* array = n.op == Op::Reshape ? memory_of(scope, n.in[0]) : nullptr;
  if (array) return load(*array, n.type, points);
  std::vector<Point> inner;
  std::vector<std::optional<Value>> inside;
  for (const Point& p : points) {
    Guarded at = operand_point(n, p);
    inner.push_back(std::move(at.point));
    inside.push_back(at.inside);
  }
  std::vector<Value> out = eval(scope, n.in[0], inner);
  for (size_t u = 0; u < out.size(); ++u)
    if (inside[u]) out[u] = b_.select(*inside[u], out[u], zero(b_, b_.type(out[u])));
  return out;
}

// Clamps an index list into `dims` and says when it was inside; nothing is emitted for what intervals prove.
std::vector<Value> Inliner::in_range(std::span<const Value> index, const Shape& dims, std::optional<Value>& inside) {
  std::vector<Value> out;
  std::optional<Value> ok = inside;
  for (size_t j = 0; j < index.size(); ++j) {
    const int64_t extent = dims[static_cast<int>(j)];
    if (index[j] == kUnknown) {
      out.push_back(kUnknown);
      continue;
    }
    const kernel::Interval i = b_.interval(index[j]);
    if (i.lo >= 0 && i.hi < extent) {
      out.push_back(index[j]);
      continue;
    }
    // One unsigned comparison covers both ends.
    const Value small = b_.op(KOp::Lt, b_.bitcast(kernel::Scalar::U32, index[j]),
                              b_.constant(kernel::Scalar::U32, static_cast<double>(extent)));
    ok = ok ? b_.logical_and(*ok, small) : small;
    const Value safe = b_.select(small, index[j], b_.i32(0));
    if (!b_.constant_bits(safe)) b_.assume(safe, {0, extent - 1});
    out.push_back(safe);
  }
  inside = ok;
  return out;
}

Inliner::Guarded Inliner::table_point(const Node& n, const Point& point, std::span<const Value> index) {
  Guarded out;
  out.point = in_range(index, node(n.in[0]).type.shape, out.inside);
  out.point.insert(out.point.end(), point.begin() + node(n.in[1]).type.shape.rank(), point.end());
  return out;
}

std::vector<Value> Inliner::gather(int scope, const Node& n, std::span<const Point> points) {
  const Type& table = node(n.in[0]).type;
  const kernel::Scalar t = scalar_of(n.type.dtype);
  if (table.shape.count() == 0) return std::vector<Value>(points.size(), zero(b_, t));
  const size_t m = static_cast<size_t>(node(n.in[1]).type.shape.rank());
  std::vector<Point> outer;
  for (const Point& p : points) outer.emplace_back(p.begin(), p.begin() + static_cast<ptrdiff_t>(m));
  std::vector<std::vector<Value>> index;
  for (size_t j = 1; j < n.in.size(); ++j) index.push_back(eval(scope, n.in[j], outer));
  std::vector<Point> inner;
  std::vector<std::optional<Value>> inside(points.size());
  for (size_t u = 0; u < points.size(); ++u) {
    std::vector<Value> at;
    for (const std::vector<Value>& i : index) at.push_back(i[u]);
    Guarded read = table_point(n, points[u], at);
    inner.push_back(std::move(read.point));
    inside[u] = read.inside;
  }
  std::vector<Value> out = eval(scope, n.in[0], inner);
  for (size_t u = 0; u < out.size(); ++u)
    if (inside[u]) out[u] = b_.select(*inside[u], out[u], zero(b_, t));
  return out;
}

// Concat and Stack: the part that the coordinate along the axis falls into. Cheap parts are all evaluated and selected from;
// otherwise a chain of branches runs one of them.
Value Inliner::piecewise(int scope, const Node& n, const Point& point) {
  const size_t axis = static_cast<size_t>(n.attr[0]);
  const bool stacked = n.op == Op::Stack;
  struct Piece {
    NodeId node;
    int64_t start, extent;
  };
  const kernel::Interval where = b_.interval(point[axis]);
  std::vector<Piece> pieces;
  int64_t start = 0;
  for (NodeId in : n.in) {
    const int64_t extent = stacked ? 1 : node(in).type.shape[static_cast<int>(axis)];
    if (extent > 0 && start <= where.hi && start + extent > where.lo) pieces.push_back({in, start, extent});
    start += extent;
  }
  if (pieces.empty()) return zero(b_, scalar_of(n.type.dtype));
  const auto value_in = [&](const Piece& piece) {
    Point p = point;
    if (stacked) {
      p.erase(p.begin() + static_cast<ptrdiff_t>(axis));
    } else {
      Value local = b_.sub(point[axis], b_.i32(piece.start));
      const kernel::Interval i = b_.interval(local);
      if (i.lo < 0) local = b_.op(KOp::Max, local, b_.i32(0));
      if (i.hi >= piece.extent) local = b_.op(KOp::Min, local, b_.i32(piece.extent - 1));
      p[axis] = local;
    }
    return eval(scope, piece.node, p);
  };
  if (pieces.size() == 1) return value_in(pieces[0]);
  if (selects_parts(graph_, n, [&](NodeId part) { return buffer_of(part) != nullptr; })) {
    Value out = value_in(pieces.back());
    for (size_t j = pieces.size() - 1; j-- > 0;)
      out = b_.select({b_.op(KOp::Lt, point[axis], b_.i32(pieces[j].start + pieces[j].extent)), value_in(pieces[j]), out});
    return out;
  }
  const Value out = b_.var(zero(b_, scalar_of(n.type.dtype)));
  for (size_t j = 0; j + 1 < pieces.size(); ++j) {
    b_.begin_if(b_.op(KOp::Lt, point[axis], b_.i32(pieces[j].start + pieces[j].extent)));
    push_block();
    b_.set(out, value_in(pieces[j]));
    pop_block();
    b_.begin_else();
    push_block();
  }
  b_.set(out, value_in(pieces.back()));
  for (size_t j = 0; j + 1 < pieces.size(); ++j) {
    pop_block();
    b_.end_if();
  }
  return b_.get(out);
}

int64_t Inliner::repeat(int64_t times) {
  constexpr int64_t kMost = std::numeric_limits<int32_t>::max();
  return std::exchange(points_, std::min(kMost, points_ * times));
}

}  // namespace spirograd::lower
