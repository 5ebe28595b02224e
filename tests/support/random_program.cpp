// The generator: goes from the wanted type down to leaves, see random_program.h.
#include "support/random_program.h"

#include <algorithm>
#include <array>
#include <string>

#include "frontend/ir/algebra.h"
#include "support/choices.h"

namespace spirograd::test {
namespace {

using ir::Expr;
using ir::Op;

constexpr int64_t kMaxElements = 256;
constexpr int kMaxInnerRank = 5;

class Generator : Choices {
 public:
  Generator(const Decisions& decisions, const RandomOptions& options)
      : Choices(decisions), options_(options), graph_(std::make_shared<ir::Graph>()) {
    scopes_.push_back({});
    size_ = options.max_size;
  }

  RandomProgram run() {
    RandomProgram out;
    const int n_results = 1 + below(options_.max_results);
    for (int j = 0; j < n_results; ++j) {
      const Type type = {options_.differentiable_only ? DType::F32 : some_dtype(), some_shape(3)};
      const Expr e = generate(type, options_.max_depth);
      results_.push_back({"r" + std::to_string(j), e.id.v, e.type()});
    }
    out.program = {"random", graph_, params_, results_};
    const bool hostile = options_.hostile_values && !options_.differentiable_only;
    for (size_t j = 0; j < params_.size(); ++j) out.inputs.push_back(input_values(params_[j].type, j, hostile));
    return out;
  }

 private:
  // What an expression may refer to: of the program itself its parameters, of a loop body its arguments.
  struct Scope {
    bool closed = false;           // a loop body: parameters of the program are out of reach
    std::vector<Expr> arguments;   // of the loop body
    std::vector<Expr> index_vars;  // of open builds, outermost first
    std::vector<Expr> pool;        // made so far and still valid here: for sharing
  };

  // ---- leaves -----------------------------------------------------------------------------------------------------------

  Scope& scope() { return scopes_.back(); }

  std::vector<Expr> candidates(const Type& t) {
    std::vector<Expr> out;
    for (Expr e : scope().arguments)
      if (e.type() == t) out.push_back(e);
    if (!scope().closed)
      for (size_t j = 0; j < params_.size(); ++j)
        if (params_[j].type == t) out.push_back(ir::param(*graph_, static_cast<int64_t>(j), t));
    if (t == i32())
      for (Expr e : scope().index_vars) out.push_back(e);
    return out;
  }

  Expr constant(const Type& t) {
    if (t.shape.rank() > 0 && chance(30)) return ir::full(*graph_, t, some_value(t.dtype));
    std::vector<double> data;
    for (int64_t i = 0; i < t.shape.count(); ++i) data.push_back(some_value(t.dtype));
    return ir::constant(*graph_, t, std::move(data));
  }

  bool may_add_param() const { return !scopes_.back().closed && static_cast<int>(params_.size()) < options_.max_params; }

  Expr add_param(const Type& t) {
    params_.push_back({"x" + std::to_string(params_.size()), t});
    return ir::param(*graph_, static_cast<int64_t>(params_.size()) - 1, t);
  }

  Expr leaf(const Type& t) {
    const std::vector<Expr> known = candidates(t);
    if (t.dtype == DType::I32 && t.shape.rank() > 0 && chance(40)) return ir::iota(*graph_, t.shape, below(t.shape.rank()));
    if (!scope().index_vars.empty() && t.dtype != DType::I32 && chance(50)) return element(t);
    if (may_add_param() && t.shape.rank() <= kMaxUserRank && (known.empty() || chance(20)) && !chance(5))
      return add_param(t);
    if (chance(options_.differentiable_only ? 2 : 8)) return constant(t);
    if (known.empty()) return adapted(t);
    return known[static_cast<size_t>(below(static_cast<int>(known.size())))];
  }

  // What may be read from: nonempty arguments or parameters of that dtype.
  std::vector<Expr> tables(DType dtype) {
    std::vector<Expr> out;
    const auto fit = [&](const Type& t) { return t.dtype == dtype && t.shape.count() > 0; };
    for (Expr e : scope().arguments)
      if (fit(e.type())) out.push_back(e);
    if (!scope().closed)
      for (size_t j = 0; j < params_.size(); ++j)
        if (fit(params_[j].type)) out.push_back(ir::param(*graph_, static_cast<int64_t>(j), params_[j].type));
    return out;
  }

  // Part of known data of another shape; a constant if there is none.
  Expr adapted(const Type& t) {
    const std::vector<Expr> from = tables(t.dtype);
    if (from.empty() || t.shape.count() == 0) return constant(t);
    const Expr a = from[static_cast<size_t>(below(static_cast<int>(from.size())))];
    const int64_t lo = below(static_cast<int>(a.shape().count()));
    return ir::reshape(ir::window(ir::reshape(a, {a.shape().count()}), 0, lo, t.shape.count()), t.shape);
  }

  // The typical read of a build: known data at positions made of its indices.
  Expr element(const Type& t) {
    std::vector<Expr> from;
    for (Expr e : tables(t.dtype))
      if (e.rank() > t.shape.rank() && e.shape().slice(e.rank() - t.shape.rank(), e.rank()) == t.shape) from.push_back(e);
    if (from.empty() && may_add_param() && t.shape.rank() < 3) from.push_back(add_param({t.dtype, t.shape.inserted(0, 3)}));
    if (from.empty()) return adapted(t);
    const Expr a = from[static_cast<size_t>(below(static_cast<int>(from.size())))];
    const std::vector<Expr> at = indices(a.shape().slice(0, a.rank() - t.shape.rank()), {}, 2);
    return ir::gather(a, at);
  }

  // ---- any expression ---------------------------------------------------------------------------------------------------

  Expr generate(const Type& t, int depth) {
    if (depth <= 0 || --size_ < 0) return leaf(t);
    if (below(8) == 7) {
      std::vector<Expr> same;
      for (Expr e : scope().pool)
        if (e.type() == t) same.push_back(e);
      if (!same.empty()) return same[static_cast<size_t>(below(static_cast<int>(same.size())))];
    }
    const Expr e = operation(t, depth - 1);
    if (e.type() != t) throw Error("SG0900", "generator: wanted " + to_string(t) + ", made " + to_string(e.type()));
    scope().pool.push_back(e);
    return e;
  }

  Expr operation(const Type& t, int depth) {
    const bool has_axes = t.shape.rank() > 0;
    switch (below(21)) {
      case 0: return leaf(t);
      case 1:
      case 2: return unary(t, depth);
      case 3:
      case 4:
      case 5: return binary(t, depth);
      case 6: {
        const Expr mask = generate({DType::Bool, t.shape}, depth), a = generate(t, depth), b = generate(t, depth);
        return ir::select(mask, a, b);
      }
      case 7: return convert(t, depth);
      case 8:
      case 9: return has_axes ? layout(t, depth) : reduction(t, depth);
      case 10: return has_axes ? join(t, depth) : unary(t, depth);
      case 11:
      case 12: return reduction(t, depth);
      case 13:
      case 14: return gather(t, depth);
      case 15: return has_axes ? scatter(t, depth) : gather(t, depth);
      case 16:
      case 17:
      case 18: return has_axes ? build(t, depth) : reduction(t, depth);
      default: return loop(t, depth);
    }
  }

  Op pick(std::span<const Op> ops) { return ops[static_cast<size_t>(below(static_cast<int>(ops.size())))]; }

  // Keeps values moderate where finite differences are taken.
  Expr bounded(Expr e) {
    constexpr std::array squash = {Op::Sin, Op::Tanh, Op::Logistic, Op::Atan, Op::Cos};
    const Op op = e.op();
    if (std::find(squash.begin(), squash.end(), op) != squash.end() || op == Op::Param || op == Op::Const) return e;
    return ir::unary(squash[static_cast<size_t>(below(5))], e);
  }

  Expr smooth_unary(const Type& t, int depth) {
    const Expr x = generate(t, depth);
    switch (below(9)) {
      case 0: return ir::unary(Op::Sin, x);
      case 1: return -x;
      case 2: return ir::unary(Op::Tanh, x);
      case 3: return ir::unary(Op::Cos, x);
      case 4: return ir::unary(Op::Logistic, x);
      case 5: return ir::unary(Op::Exp, bounded(x));
      case 6: return ir::unary(Op::Sqrt, x * x + ir::full(*graph_, t, 1));
      case 7: return ir::unary(Op::Atan, x);
      default: return ir::unary(Op::Log, x * x + ir::full(*graph_, t, 1));
    }
  }

  Expr unary(const Type& t, int depth) {
    constexpr std::array floats = {Op::Neg,   Op::Sin,   Op::Cos,      Op::Exp,         Op::Tanh, Op::Abs,
                                   Op::Sign,  Op::Floor, Op::Sqrt,     Op::Log,         Op::Tan,  Op::Asin,
                                   Op::Acos,  Op::Atan,  Op::Sinh,     Op::Cosh,        Op::Erf,  Op::Asinh,
                                   Op::Acosh, Op::Atanh, Op::Logistic, Op::StopGradient};
    constexpr std::array integers = {Op::Neg, Op::Abs, Op::Sign, Op::StopGradient};
    if (t.dtype == DType::Bool) return ir::unary(Op::Not, generate(t, depth));
    if (is_float(t.dtype) && options_.differentiable_only) return smooth_unary(t, depth);
    Op op = is_integer(t.dtype) ? pick(integers) : pick(floats);
    // Some operations share the slot of another, so that seeds keep their programs.
    if (op == Op::Atanh && depth % 2 != 0) op = Op::Log1p;
    if (op == Op::StopGradient && depth % 4 != 0) op = depth % 2 != 0 ? Op::PreferStore : Op::PreferRecompute;
    if (op == Op::Erf && depth % 2 != 0) op = Op::Expm1;
    if (op == Op::Acosh && depth % 2 != 0) op = Op::Erfc;
    if (op == Op::Cosh && depth % 2 != 0) op = Op::Lgamma;
    if (op == Op::Asinh && depth % 2 != 0) op = Op::Digamma;
    return ir::unary(op, generate(t, depth));
  }

  Expr binary(const Type& t, int depth) {
    constexpr std::array integers = {Op::Add, Op::Sub,    Op::Mul,   Op::Quot,   Op::Rem,       Op::Min,
                                     Op::Max, Op::BitAnd, Op::BitOr, Op::BitXor, Op::ShiftLeft, Op::ShiftRight};
    constexpr std::array floats = {Op::Add, Op::Mul,   Op::Sub, Op::Add, Op::Mul,       Op::Div,       Op::Min,
                                   Op::Max, Op::Atan2, Op::Pow, Op::Rem, Op::MaskedMul, Op::MaskedDiv, Op::StrongMul};
    constexpr std::array smooth = {Op::Add, Op::Mul, Op::Sub, Op::Mul};
    constexpr std::array logical = {Op::And, Op::Or, Op::Eq, Op::Ne};
    constexpr std::array tests = {Op::Lt, Op::Le, Op::Gt, Op::Ge, Op::Eq, Op::Ne};
    if (t.dtype == DType::Bool) {
      const bool of_bools = chance(25);
      const Type u = {of_bools                                     ? DType::Bool
                      : options_.differentiable_only || chance(50) ? DType::I32
                                                                   : DType::F32,
                      t.shape};
      const Op op = of_bools ? pick(logical) : pick(tests);
      const Expr a = generate(u, depth), b = generate(u, depth);
      return ir::binary(op, a, b);
    }
    const Op op = is_integer(t.dtype) ? pick(integers) : options_.differentiable_only ? pick(smooth) : pick(floats);
    const Expr a = generate(t, depth), b = generate(t, depth);
    return ir::binary(op, a, op == Op::Mul && options_.differentiable_only && is_float(t.dtype) ? bounded(b) : b);
  }

  // From another dtype. Never from floats where derivatives are wanted: such casts jump.
  Expr convert(const Type& t, int depth) {
    Type from = {DType::I32, t.shape};
    if (!options_.differentiable_only && !is_float(t.dtype) && chance(50))
      from.dtype = DType::F32;
    else if (t.dtype == DType::I32)
      from.dtype = chance(50) ? DType::U32 : DType::Bool;
    else if (chance(30))
      from.dtype = t.dtype == DType::Bool ? DType::U32 : DType::Bool;
    Expr x = generate(from, depth);
    if (is_float(from.dtype) && t.dtype == DType::I32) x = ir::unary(Op::Floor, x);
    if (is_float(t.dtype) && options_.differentiable_only && from.dtype != DType::Bool)
      x = ir::binary(Op::Rem, x, ir::full(*graph_, from, 5));  // keeps values moderate
    return ir::cast(x, t.dtype);
  }

  // ---- layout -----------------------------------------------------------------------------------------------------------

  Expr layout(const Type& t, int depth) {
    const int rank = t.shape.rank(), axis = below(rank);
    switch (below(5)) {
      case 0: {  // broadcast along some axes, axis among them
        std::vector<int64_t> kept;
        Type u = {t.dtype, {}};
        for (int j = 0; j < rank; ++j) {
          if (j == axis || below(3) == 2) continue;
          kept.push_back(j);
          u.shape.push_back(t.shape[j]);
        }
        return ir::broadcast(generate(u, depth), t.shape, kept);
      }
      case 1: {  // transpose
        std::vector<int64_t> perm;
        for (int j = 0; j < rank; ++j) perm.insert(perm.begin() + below(j + 1), j);
        Type u = t;
        for (int j = 0; j < rank; ++j) u.shape[static_cast<int>(perm[static_cast<size_t>(j)])] = t.shape[j];
        return ir::transpose(generate(u, depth), perm);
      }
      case 2: {
        const Type u = {t.dtype, same_count(t.shape)};
        return ir::reshape(generate(u, depth), t.shape);
      }
      case 3: {  // window
        Type u = t;
        u.shape[axis] = some_extent();
        constexpr std::array<int64_t, 8> shifts = {0, 1, -1, 0, 2, -2, 3, -3};
        const int64_t lo = shifts[static_cast<size_t>(below(8))];
        return ir::window(generate(u, depth), axis, lo, t.shape[axis]);
      }
      default: return ir::reverse(generate(t, depth), axis);
    }
  }

  // A shape with as many elements: flat, with an axis of extent 1, reversed, or two axes merged.
  Shape same_count(const Shape& s) {
    const int axis = below(s.rank());
    switch (below(4)) {
      case 0: return Shape{s.count()};
      case 1: return s.rank() < kMaxInnerRank ? s.inserted(axis, 1) : s;
      case 2: {
        Shape r;
        for (int j = s.rank() - 1; j >= 0; --j) r.push_back(s[j]);
        return r;
      }
      default: {
        if (s.rank() < 2) return s;
        const int a = std::min(axis, s.rank() - 2);
        Shape r = s.erased(a + 1);
        r[a] = s[a] * s[a + 1];
        return r;
      }
    }
  }

  Expr join(const Type& t, int depth) {
    const int axis = below(t.shape.rank());
    std::vector<Expr> parts;
    if (t.shape[axis] > 0 && below(2) == 0) {
      const Type u = {t.dtype, t.shape.erased(axis)};
      for (int64_t j = 0; j < t.shape[axis]; ++j) parts.push_back(generate(u, depth));
      return ir::stack(parts, axis);
    }
    for (int64_t left = t.shape[axis]; left > 0 || parts.empty();) {
      Type u = t;
      u.shape[axis] = std::min<int64_t>(below(3) + (parts.empty() ? 0 : 1), left);
      left -= u.shape[axis];
      parts.push_back(generate(u, depth));
    }
    return ir::concat(parts, axis);
  }

  // ---- reductions -------------------------------------------------------------------------------------------------------

  Expr reduction(const Type& t, int depth) {
    const bool integer_index = t.dtype == DType::I32 && chance(30);
    if (t.dtype == DType::Bool || t.shape.rank() >= kMaxInnerRank) return binary(t, depth);
    Type u = t;
    const int axis = below(t.shape.rank() + 1);
    u.shape = t.shape.inserted(axis, some_extent());
    if (u.shape.count() > kMaxElements) return unary(t, depth);
    if (integer_index) {
      if (u.shape[axis] == 0) u.shape[axis] = 2;
      if (!options_.differentiable_only) u.dtype = chance(50) ? DType::F32 : DType::I32;
      const Op op = below(2) == 0 ? Op::ArgMax : Op::ArgMin;
      return ir::arg_reduce(op, generate(u, depth), axis);
    }
    std::vector<int64_t> axes = {axis};
    if (u.shape.rank() < kMaxInnerRank && chance(30)) {  // a second axis, behind the first
      axes.push_back(u.shape.rank());
      u.shape.push_back(1 + below(3));
    }
    constexpr std::array all = {Op::Sum, Op::Sum, Op::Sum, Op::Prod, Op::ReduceMax, Op::ReduceMin};
    const Op op = options_.differentiable_only && is_float(t.dtype) ? all[static_cast<size_t>(below(4))] : pick(all);
    if (op == Op::Sum && below(3) == 2) {  // a contraction
      const Expr a = generate(u, depth), b = generate(u, depth);
      return ir::reduce(op, a * (options_.differentiable_only && is_float(t.dtype) ? bounded(b) : b), axes);
    }
    const Expr a = generate(u, depth);
    return ir::reduce(op, op == Op::Prod && options_.differentiable_only && is_float(t.dtype) ? bounded(a) : a, axes);
  }

  // ---- indices ----------------------------------------------------------------------------------------------------------

  // Often near the range of a small axis, often outside of it, often duplicated.
  Expr index(const Shape& m, int depth) {
    const Type t = i32(m);
    const auto small = [&] { return ir::full(*graph_, t, below(6) - 2); };
    if (depth <= 0 || --size_ < 0) return leaf(t);
    switch (below(10)) {
      case 0: return index_leaf(m);
      case 1:
      case 2:
      case 3:
      case 4:
      case 5: {  // with a small number
        constexpr std::array ops = {Op::Add, Op::Sub, Op::Mul, Op::Quot, Op::Rem};
        const Op op = pick(ops);
        const Expr a = index(m, depth - 1);
        return ir::binary(op, a, small());
      }
      case 6: {
        const Op test = below(2) == 0 ? Op::Lt : Op::Eq;
        const Expr u = index(m, depth - 1), bound = small(), a = index(m, depth - 1), b = index(m, depth - 1);
        return ir::select(ir::binary(test, u, bound), a, b);
      }
      case 7: {
        constexpr std::array ops = {Op::Add, Op::Sub, Op::Quot, Op::Rem};
        const Op op = pick(ops);
        const Expr a = index(m, depth - 1), b = index(m, depth - 1);
        return ir::binary(op, a, b);
      }
      case 8: {  // an element of integer data
        const Expr table = leaf(i32({some_extent()}));
        const Expr at[] = {index(m, depth - 1)};
        return ir::gather(table, at);
      }
      default:
        if (options_.differentiable_only) return index_leaf(m);
        return ir::cast(ir::unary(Op::Floor, generate(f32(m), depth - 1)), DType::I32);
    }
  }

  Expr index_leaf(const Shape& m) {
    const auto& vars = scope().index_vars;
    if (!vars.empty() && below(4) != 3) {
      const Expr v = vars[vars.size() - 1 - static_cast<size_t>(below(static_cast<int>(vars.size())))];
      return m.rank() == 0 ? v : ir::broadcast(v, m, {});
    }
    if (m.rank() > 0 && below(2) == 0) return ir::iota(*graph_, m, below(m.rank()));
    return leaf(i32(m));
  }

  // One index array per addressed extent; some are brought into range, since all components have to be.
  std::vector<Expr> indices(const Shape& addressed, const Shape& m, int depth) {
    std::vector<Expr> out;
    for (int64_t extent : addressed) {
      Expr e = index(m, std::min(depth, 3));
      if (extent > 0 && chance(60)) {
        const Expr low = ir::full(*graph_, i32(m), 0), high = ir::full(*graph_, i32(m), static_cast<double>(extent - 1));
        e = ir::binary(Op::Max, ir::binary(Op::Min, e, high), low);
      }
      out.push_back(e);
    }
    return out;
  }

  Expr gather(const Type& t, int depth) {
    const int split = below(t.shape.rank() + 1);
    Shape table;
    for (int p = 1 + below(2); p > 0; --p) table.push_back(some_extent());
    const Type u = {t.dtype, table + t.shape.slice(split, t.shape.rank())};
    if (u.shape.rank() > kMaxInnerRank || u.shape.count() > kMaxElements) return unary(t, depth);
    const Expr a = generate(u, depth);
    return ir::gather(a, indices(table, t.shape.slice(0, split), depth));
  }

  Expr scatter(const Type& t, int depth) {
    if (t.dtype == DType::Bool) return binary(t, depth);
    const int p = 1 + below(t.shape.rank());
    const Shape m = some_shape(2);
    const Type u = {t.dtype, m + t.shape.slice(p, t.shape.rank())};
    if (u.shape.rank() > kMaxInnerRank || u.shape.count() > kMaxElements) return unary(t, depth);
    const Expr updates = generate(u, depth);
    if (t.dtype == DType::U32 && depth % 2 != 0)
      return ir::scatter_max(updates, indices(t.shape.slice(0, p), m, depth), t.shape.slice(0, p));
    return ir::scatter(updates, indices(t.shape.slice(0, p), m, depth), t.shape.slice(0, p));
  }

  // ---- binders ----------------------------------------------------------------------------------------------------------

  Expr build(const Type& t, int depth) {
    if (!options_.allow_builds || static_cast<int>(scope().index_vars.size()) >= options_.max_builds)
      return layout(t, depth);
    const Expr var = ir::fresh_var(*graph_, i32());
    const size_t valid = scope().pool.size();
    scope().index_vars.push_back(var);
    const Expr body = generate({t.dtype, t.shape.erased(0)}, depth);
    scope().index_vars.pop_back();
    scope().pool.resize(valid);
    return ir::build(t.shape[0], var, body);
  }

  Expr loop(const Type& t, int depth) {
    if (!options_.allow_loops || loops_ >= 2) return unary(t, depth);
    const bool want_stack = t.shape.rank() > 0 && below(2) == 1;
    ir::Loop l;
    l.reverse = below(2) == 1;
    l.length = want_stack ? t.shape[0] : below(5);
    std::vector<Type> acc, bs, es, consts;
    if (want_stack)
      bs.push_back({t.dtype, t.shape.erased(0)});
    else
      acc.push_back(t);
    for (int j = below(3); j > 0 && acc.size() < 2; --j) acc.push_back(some_small(t));
    for (int j = below(3); j > 0; --j) es.push_back(some_small(t));
    for (int j = below(2); j > 0; --j) consts.push_back(some_small(t));
    for (int j = below(2); j > 0 && bs.empty(); --j) bs.push_back(some_small(t));

    for (const Type& u : acc) l.acc.push_back(generate(u, depth - 1));
    for (const Type& u : es) l.es.push_back(generate({u.dtype, u.shape.inserted(0, l.length)}, depth - 1));
    for (const Type& u : consts) l.consts.push_back(generate(u, depth - 1));

    std::vector<Expr> vars, results;
    for (const auto* part : {&acc, &es, &consts})
      for (const Type& u : *part) vars.push_back(ir::fresh_var(*graph_, u));
    scopes_.push_back({true, vars, {}, {}});
    ++loops_;
    for (const auto* part : {&acc, &bs})
      for (const Type& u : *part) {
        const Expr e = generate(u, depth - 1);
        results.push_back(options_.differentiable_only && is_float(u.dtype) ? bounded(e) : e);
      }
    --loops_;
    scopes_.pop_back();
    l.function = ir::close_function(*graph_, vars, results);
    const std::vector<Expr> out = ir::map_accum(*graph_, l);
    for (Expr e : out) scope().pool.push_back(e);
    return out[want_stack ? acc.size() : 0];
  }

  // For the other parts of a loop: often the type of the loop's main value, so that parts can be combined.
  Type some_small(const Type& like) {
    if (below(2) == 0 && like.shape.rank() < 4) return like;
    return {options_.differentiable_only ? DType::F32 : some_dtype(), some_shape(1)};
  }

  const RandomOptions options_;
  int size_ = 0;
  int loops_ = 0;  // nested bodies that are open
  std::shared_ptr<ir::Graph> graph_;
  std::vector<Scope> scopes_;
  std::vector<Param> params_;
  std::vector<ProgramResult> results_;
};

}  // namespace

RandomProgram random_program(const Decisions& decisions, const RandomOptions& options) {
  return Generator(decisions, options).run();
}

}  // namespace spirograd::test
