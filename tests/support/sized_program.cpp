// The generator of programs by size class: a first array, then one step after the other, each of which takes what is there a
// bit further. A step that does not fit the array at hand does nothing.
#include "support/sized_program.h"

#include <algorithm>
#include <utility>

#include "frontend/ir/close_loop.h"
#include "frontend/ir/composite.h"
#include "support/choices.h"
#include "support/sized_shapes.h"

namespace spirograd::test {
namespace {

using ir::Expr;
using ir::Op;

constexpr size_t kFrame = 12;  // decisions of one step
// Elements of an array that is reduced at once.
constexpr int64_t most_work(SizeClass c) { return c == SizeClass::Wide ? 4'000'000 : 1'000'000; }

enum class Step : uint8_t {
  Unary,
  Number,
  Combine,
  Reduce,
  Beside,
  ArgReduce,
  Place,
  Transpose,
  Cut,
  Reshape,
  Gather,
  Scatter,
  Spread,
  Fold,
  Repeat,
  Mask,
  Contract,
  Build,
  Convert,
};

// What the classes are about stands several times.
std::span<const Step> steps_of(SizeClass c) {
  using enum Step;
  constexpr static std::array general = {Unary,     Number,  Combine,  Reduce,  Transpose, Cut,  Reshape,
                                         Gather,    Scatter, Spread,   Fold,    Combine,   Mask, Reduce,
                                         ArgReduce, Build,   Contract, Convert, Beside};
  constexpr static std::array axes = {Transpose, Reduce, Transpose, Beside, Reshape,  Unary,
                                      Combine,   Spread, Contract,  Cut,    ArgReduce};
  constexpr static std::array wide = {Unary,   Number, Combine, Reduce,  Beside, Transpose, Cut,
                                      Reshape, Gather, Scatter, Combine, Mask,   Reduce,    Contract};
  constexpr static std::array integers = {Number, Number,  Number, Combine, Combine,  Unary,
                                          Mask,   Convert, Reduce, Gather,  ArgReduce};
  constexpr static std::array extremes = {Reduce, ArgReduce, Reduce, ArgReduce, Place,
                                          Mask,   Transpose, Cut,    Reshape,   Gather};
  constexpr static std::array loops = {Fold, Repeat, Repeat, Fold, Unary, Number, Combine, Reduce};
  constexpr static std::array nested = {Reduce, Reduce, Unary, Combine, Contract, Build, ArgReduce, Spread, Reduce, Place};
  constexpr static std::array indexed = {Gather,  Scatter, Gather, Scatter, Place, Build,
                                         Combine, Unary,   Reduce, Cut,     Number};
  switch (c) {
    case SizeClass::Long:
    case SizeClass::Primes:
    case SizeClass::Thresholds:
    case SizeClass::Small: return general;
    case SizeClass::Wide: return wide;
    case SizeClass::Axes: return axes;
    case SizeClass::Integers: return integers;
    case SizeClass::Extremes: return extremes;
    case SizeClass::Loops: return loops;
    case SizeClass::Nested: return nested;
    case SizeClass::Indexed: return indexed;
  }
  return general;
}

class SizedGenerator {
 public:
  SizedGenerator(SizeClass c, const Decisions& decisions) : class_(c), decisions_(decisions) {
    out_.program.name = "sized";
    out_.program.graph = graph_ = std::make_shared<ir::Graph>();
  }

  SizedProgram run() {
    for (size_t at = 0; at == 0 || at < decisions_.size(); at += kFrame) {
      const size_t end = std::min(at + kFrame, decisions_.size());
      const Decisions frame(decisions_.begin() + static_cast<ptrdiff_t>(std::min(at, end)),
                            decisions_.begin() + static_cast<ptrdiff_t>(end));
      Choices choices(frame);
      choices_ = &choices;
      if (at == 0)
        start();
      else
        step();
    }
    add_result(pool_.back());
    if (two_results_ && pool_.size() > 2) add_result(pool_[pool_.size() / 2]);
    return std::move(out_);
  }

 private:
  ir::Graph& graph() { return *graph_; }
  int below(int n) { return choices_->below(n); }
  template <class T, size_t N>
  T one_of(const std::array<T, N>& table) {
    return choices_->one_of(table);
  }

  Expr param(const Type& t) {
    auto& params = out_.program.params;
    params.push_back({"x" + std::to_string(params.size()), t});
    return ir::param(graph(), static_cast<int64_t>(params.size()) - 1, t);
  }
  void add_result(Expr e) {
    auto& results = out_.program.results;
    results.push_back({"r" + std::to_string(results.size()), e.id.v, e.type()});
  }
  Expr full_like(Expr e, double v) { return ir::full(graph(), e.type(), v); }

  // ---- the beginning --------------------------------------------------------------------------------------------------

  void start() {
    out_.recipe.turn = below(256);
    const Shape shape = first_shape(class_, *choices_);
    DType dtype = DType::F32;
    if (class_ == SizeClass::Integers) {
      dtype = below(3) == 2 ? DType::U32 : DType::I32;
      out_.recipe.kind = Recipe::Kind::Integers;
    } else if (class_ == SizeClass::Extremes) {
      out_.recipe.kind = Recipe::Kind::Extremes;
      out_.smooth = false;
    } else if (below(8) == 7) {
      dtype = DType::I32;
    }
    two_results_ = below(4) == 3;
    pool_.push_back(param({dtype, shape}));
  }

  // ---- steps ------------------------------------------------------------------------------------------------------------

  void step() {
    const std::span<const Step> steps = steps_of(class_);
    for (int tries = 0; tries < 3; ++tries) {  // a step may not fit the array
      const int which = below(static_cast<int>(steps.size()) + 1);
      if (which == 0) return;
      const Expr e = below(6) == 5 ? pool_[static_cast<size_t>(below(static_cast<int>(pool_.size())))] : pool_.back();
      const Expr made = apply(steps[static_cast<size_t>(which) - 1], e);
      if (!made || made.shape().count() > most_elements(class_) || made.rank() > kMaxUserRank) continue;
      pool_.push_back(made);
      return;
    }
  }

  Expr apply(Step s, Expr e) {
    switch (s) {
      case Step::Unary: return unary(e);
      case Step::Number: return with_number(e);
      case Step::Combine: return combine(e, partner(e));
      case Step::Reduce: return reduce(e);
      case Step::Beside: return beside(e);
      case Step::ArgReduce: return arg_reduce(e);
      case Step::Place: return at_extreme(e);
      case Step::Transpose: return transpose(e);
      case Step::Cut: return cut(e);
      case Step::Reshape: return reshape(e);
      case Step::Gather: return gather(e);
      case Step::Scatter: return scatter(e);
      case Step::Spread: return spread(e);
      case Step::Fold: return fold(e);
      case Step::Repeat: return repeat(e);
      case Step::Mask: return masked(e);
      case Step::Contract: return contract(e);
      case Step::Build: return build(e);
      case Step::Convert: return convert(e);
    }
    return {};
  }

  bool is_wild() const { return out_.recipe.kind == Recipe::Kind::Extremes; }
  Expr not_smooth(Expr e) {
    out_.smooth = false;
    return e;
  }
  Expr squashed(Expr e) { return ir::unary(Op::Tanh, e); }

  Expr unary(Expr e) {
    if (!is_float(e.dtype())) return ir::unary(one_of(std::array{Op::Neg, Op::Abs, Op::Sign}), e);
    if (is_wild()) return ir::unary(one_of(std::array{Op::Neg, Op::Abs}), e);
    switch (below(10)) {
      case 0: return -e;
      case 1: return ir::unary(Op::Tanh, e);
      case 2: return ir::unary(Op::Logistic, e);
      case 3: return ir::unary(Op::Sin, squashed(e) * full_like(e, 3));
      case 4: return ir::unary(Op::Exp, squashed(e));
      case 5: return ir::unary(Op::Sqrt, squashed(e) + full_like(e, 2));
      case 6: return ir::unary(Op::Log, squashed(e) + full_like(e, 2));
      case 7: return ir::unary(Op::Atan, e);
      case 8: return not_smooth(ir::unary(Op::Abs, e));
      default: return ir::square(squashed(e));
    }
  }

  // With one number: at the edges for integers.
  Expr with_number(Expr e) {
    if (is_float(e.dtype())) {
      const Expr c = full_like(e, one_of(std::array{1.0, 0.5, -0.75, 3.0, 0.125, -2.0}));
      const Op op = one_of(std::array{Op::Add, Op::Mul, Op::Sub, Op::Div, Op::Max, Op::Min});
      if (op == Op::Max || op == Op::Min || is_wild()) out_.smooth = false;
      return is_wild() ? ir::binary(op == Op::Div || op == Op::Mul ? Op::Max : op, e, c) : ir::binary(op, e, c);
    }
    constexpr std::array<double, 20> edges = {1,
                                              -1,
                                              0,
                                              2,
                                              -2,
                                              3,
                                              7,
                                              -7,
                                              10,
                                              64,
                                              1000,
                                              65535,
                                              65536,
                                              1073741824.0,
                                              -1073741824.0,
                                              2147483647.0,
                                              -2147483648.0,
                                              -2147483647.0,
                                              641,
                                              5};
    double v = one_of(edges);
    if (e.dtype() == DType::U32 && v < 0) v += 4294967296.0;
    const Op op = one_of(std::array{Op::Quot, Op::Rem, Op::Add, Op::Sub, Op::Mul, Op::Max, Op::Min, Op::Rem, Op::Quot});
    const Expr c = full_like(e, v);
    return below(5) == 4 ? ir::binary(op, c, e) : ir::binary(op, e, c);
  }

  // Something of the same type: made before, an input, a row or a column of one, positions, or the reverse.
  Expr partner(Expr e) {
    switch (below(6)) {
      case 0:
        for (size_t j = pool_.size(); j-- > 0;)
          if (pool_[j].type() == e.type() && pool_[j] != e) return pool_[j];
        return param(e.type());
      case 1: return param(e.type());
      case 2:
        if (e.rank() == 0) return param(e.type());
        return ir::broadcast(param({e.dtype(), {e.shape()[e.rank() - 1]}}), e.shape(), {e.rank() - 1});
      case 3:
        if (e.rank() == 0) return param(e.type());
        return ir::broadcast(param({e.dtype(), {e.shape()[0]}}), e.shape(), {0});
      case 4: {
        if (e.rank() == 0) return e;
        const Expr at = ir::iota(graph(), e.shape(), below(e.rank()));
        if (!is_float(e.dtype())) return ir::cast(at, e.dtype());
        return ir::cast(ir::binary(Op::Rem, at, ir::full(graph(), at.type(), 1 + below(9))), e.dtype());
      }
      default: return e.rank() == 0 ? e : ir::reverse(e, below(e.rank()));
    }
  }

  Expr combine(Expr a, Expr b) {
    if (!is_float(a.dtype()))
      return ir::binary(one_of(std::array{Op::Add, Op::Sub, Op::Mul, Op::Rem, Op::Quot, Op::Max, Op::Min}), a, b);
    const Op op = one_of(std::array{Op::Add, Op::Mul, Op::Sub, Op::Div, Op::Max, Op::Min});
    if (op == Op::Max || op == Op::Min || is_wild()) return not_smooth(ir::binary(op == Op::Min ? Op::Min : Op::Max, a, b));
    if (op == Op::Mul) return a * squashed(b);
    if (op == Op::Div) return a / (ir::square(squashed(b)) + full_like(b, 0.5));
    return ir::binary(op, a, b);
  }

  std::vector<int64_t> some_axes(Expr e) {
    std::vector<int64_t> axes;
    const int first = below(e.rank()), others = below(4);
    for (int a = 0; a < e.rank(); ++a)
      if (a == first || (others == 3 ? true : (others >> (a % 2) & 1) != 0)) axes.push_back(a);
    return axes;
  }

  Expr reduce(Expr e) { return e.rank() == 0 ? Expr{} : reduced(e, some_axes(e)); }

  // Two reductions over the same axes, of which the second reads more: they share a loop where one may.
  Expr beside(Expr e) {
    if (e.rank() == 0) return {};
    const std::vector<int64_t> axes = some_axes(e);
    const Expr first = reduced(e, axes), second = reduced(combine(e, partner(e)), axes);
    return combine(first, second);
  }

  Expr reduced(Expr e, const std::vector<int64_t>& axes) {
    const Op op = one_of(std::array{Op::Sum, Op::ReduceMax, Op::Sum, Op::ReduceMin, Op::Prod, Op::Sum});
    if (op == Op::ReduceMax || op == Op::ReduceMin || is_wild())
      return not_smooth(ir::reduce(op == Op::Sum || op == Op::Prod ? Op::ReduceMax : op, e, axes));
    if (!is_float(e.dtype())) return ir::reduce(op, e, axes);
    if (op == Op::Prod) {  // of factors near 1
      const int64_t length = e.shape().count() / std::max<int64_t>(1, ir::reduce(op, e, axes).shape().count());
      if (length <= 300) return ir::reduce(op, full_like(e, 1) + squashed(e) * full_like(e, 1.0 / 512), axes);
      // The gradient of a product takes kernels that grow faster than its length: longer ones hang on integers only.
      const Expr digits = ir::cast(squashed(e) * full_like(e, 4), DType::I32);
      return not_smooth(ir::reduce(op, full_like(e, 1) + ir::cast(digits, e.dtype()) * full_like(e, 0x1p-17), axes));
    }
    switch (below(5)) {
      case 1: return ir::mean(e, axes);
      case 2: return ir::log_sum_exp(squashed(e), axes);
      default: return ir::reduce(op, e, axes);
    }
  }

  Expr arg_reduce(Expr e) {
    if (e.rank() == 0) return {};
    const int axis = below(e.rank());
    if (e.shape()[axis] == 0) return {};
    return not_smooth(ir::arg_reduce(one_of(std::array{Op::ArgMax, Op::ArgMin}), e, axis));
  }

  // The elements at the extremes, fetched through their places.
  Expr at_extreme(Expr e) {
    const Expr place = arg_reduce(e);
    if (!place || place.rank() + 1 != e.rank() || e.rank() != 1) return place;
    const Expr at[] = {place};
    return ir::gather(e, at);
  }

  Expr transpose(Expr e) {
    if (e.rank() < 2) return {};
    std::vector<int64_t> perm;
    for (int j = 0; j < e.rank(); ++j) perm.insert(perm.begin() + below(j + 1), j);
    return ir::transpose(e, perm);
  }

  Expr cut(Expr e) {
    if (e.rank() == 0) return {};
    const int axis = below(e.rank());
    const int64_t n = e.shape()[axis];
    switch (below(4)) {
      case 0: return ir::reverse(e, axis);
      case 1: return ir::window(e, axis, below(5) - 2, n);
      case 2: return ir::window(e, axis, n > 2 ? 1 : 0, std::max<int64_t>(0, n - below(3)));
      default: {
        const Expr parts[] = {e, ir::reverse(e, axis)};
        return ir::concat(parts, axis);
      }
    }
  }

  Expr reshape(Expr e) {
    if (e.rank() == 0) return ir::reshape(e, {1});
    const int axis = below(e.rank());
    switch (below(4)) {
      case 0: return ir::reshape(e, {e.shape().count()});
      case 1: {  // one axis into two
        const int64_t n = e.shape()[axis];
        for (int64_t d : {2, 3, 5, 7, 16, 4})
          if (n > 0 && n % d == 0) {
            Shape s = e.shape().erased(axis).inserted(axis, d).inserted(axis, n / d);
            return ir::reshape(e, s);
          }
        return {};
      }
      case 2: {
        Shape s;
        for (int j = e.rank() - 1; j >= 0; --j) s.push_back(e.shape()[j]);
        return ir::reshape(e, s);
      }
      default: {  // two axes into one
        if (axis + 1 >= e.rank()) return {};
        Shape s = e.shape().erased(axis + 1);
        s[axis] *= e.shape()[axis + 1];
        return ir::reshape(e, s);
      }
    }
  }

  // Positions in [0, n) for the most part: computed, given, or made of data.
  Expr positions(int64_t length, int64_t n) {
    const Type t = i32({length});
    const auto number = [&](int64_t v) { return ir::full(graph(), t, static_cast<double>(v)); };
    const Expr at = ir::iota(graph(), t.shape, 0);
    const Expr modulus = number(std::max<int64_t>(1, n));
    switch (below(6)) {
      case 0: {
        const Expr first = number(below(4));
        return ir::binary(Op::Rem, at * number(1 + below(40)) + first, modulus);
      }
      case 1: return ir::binary(Op::Quot, at, number(1 + below(9)));
      case 2: return at + number(below(5) - 2);
      case 3: return ir::binary(Op::Rem, param(t), modulus);
      case 4: return number(n - 1) - at;
      default: {
        const Expr negative = -param(t);
        return ir::binary(Op::Rem, ir::binary(Op::Max, param(t), negative), modulus);
      }
    }
  }

  Expr gather(Expr e) {
    if (e.rank() == 0) return {};
    const int64_t length = below(2) == 0 ? e.shape()[0] : some_sized_extent(class_, *choices_);
    if (length * e.shape().count() / std::max<int64_t>(1, e.shape()[0]) > most_elements(class_)) return {};
    const Expr at[] = {positions(length, e.shape()[0])};
    return ir::gather(e, at);
  }

  Expr scatter(Expr e) {
    if (e.rank() == 0) return {};
    const int64_t n = some_sized_extent(class_, *choices_);
    if (n * e.shape().count() / std::max<int64_t>(1, e.shape()[0]) > most_elements(class_)) return {};
    const Expr at[] = {positions(e.shape()[0], n)};
    return ir::scatter(e, at, {n});
  }

  Expr spread(Expr e) {
    const int axis = below(e.rank() + 1);
    const int64_t n = some_sized_extent(class_, *choices_);
    if (e.rank() >= kMaxUserRank || n * e.shape().count() > most_elements(class_)) return {};
    return ir::replicate(e, axis, n);
  }

  Expr masked(Expr e) {
    Expr test = e.rank() == 0 ? e : ir::iota(graph(), e.shape(), below(e.rank()));
    if (below(2) == 1 || e.rank() == 0) {
      out_.smooth = false;
      test = e;
    }
    const Expr bound = full_like(test, below(7) - (test.dtype() == DType::U32 ? 0 : 1));
    const Expr mask = ir::binary(one_of(std::array{Op::Lt, Op::Ge, Op::Ne, Op::Eq, Op::Le, Op::Gt}), test, bound);
    return ir::select(mask, e, below(2) == 0 ? full_like(e, 0) : partner(e));
  }

  // Products of the last axis with a matrix.
  Expr contract(Expr e) {
    if (e.rank() == 0 || e.rank() >= kMaxUserRank || !is_float(e.dtype()) || is_wild()) return {};
    const int64_t k = e.shape()[e.rank() - 1], n = some_small_axis(*choices_);
    if (e.shape().count() * n > most_work(class_)) return {};
    return ir::matmul(e, param({e.dtype(), {k, n}}));
  }

  Expr build(Expr e) {
    if (e.rank() == 0 || is_wild()) return {};
    const int64_t n = e.shape()[0];
    const Expr var = ir::fresh_var(graph(), i32());
    const auto number = [&](int64_t v) { return ir::scalar(graph(), DType::I32, static_cast<double>(v)); };
    const auto row = [&](Expr at) {
      const Expr index[] = {at};
      return ir::gather(e, index);
    };
    const Expr here = row(var);
    switch (below(4)) {
      case 0: return ir::build(n, var, here + row(var + number(1 + below(3))));
      case 1:
        return not_smooth(
            ir::build(n, var, ir::binary(Op::Max, row(ir::binary(Op::Rem, var * number(1 + below(30)), number(n))), here)));
      case 2: return here.rank() == 0 ? Expr{} : ir::build(n, var, ir::sum(here, below(here.rank())));
      default:  // every pair
        if (n * e.shape().count() > most_work(class_)) return {};
        return ir::build(n, var, ir::sum(combine(e, ir::replicate(here, 0, n)), 0));
    }
  }

  Expr convert(Expr e) {
    if (is_float(e.dtype())) {
      if (is_wild()) return {};
      return not_smooth(ir::cast(e * full_like(e, 4), DType::I32));
    }
    if (below(2) == 1) return ir::cast(e, e.dtype() == DType::I32 ? DType::U32 : DType::I32);
    return ir::cast(ir::binary(Op::Rem, e, full_like(e, 1 + below(50))), DType::F32);
  }

  // ---- loops ------------------------------------------------------------------------------------------------------------

  Expr next_state(Expr s, Expr x) {
    if (!is_float(s.dtype()))
      return below(2) == 0 ? s * full_like(s, 31) + x : ir::binary(one_of(std::array{Op::Max, Op::Min, Op::Sub}), s, x);
    switch (below(4)) {
      case 0: return s * full_like(s, 0.5) + x;
      case 1: return ir::unary(Op::Sin, s) * full_like(s, 0.75) + x;
      case 2: return squashed(s + x);
      default: return not_smooth(ir::binary(Op::Max, s * full_like(s, 0.875), x));
    }
  }

  // Over the first axis, with 1 to 9 states; the last state or all of them.
  Expr fold(Expr e) {
    if (e.rank() == 0 || is_wild()) return {};
    const Type row = {e.dtype(), e.shape().erased(0)};
    const int64_t length = e.shape()[0];
    // Steps that are dispatched one by one are dear, and the states of all steps are kept for the gradient.
    if (length > 4096 && row.shape.rank() > 0) return {};
    const int states = length > 300 ? 1 + below(2) : 1 + below(9);
    return loop(states, row, length, {&e, 1},
                [&](std::span<const Expr> s, std::span<const Expr> x) { return next_state(s[0], x[0]); });
  }

  // So many steps over the state alone; position and step number come in. Integers tell for certain when a loop has ended.
  Expr repeat(Expr e) {
    if (is_wild() || e.shape().count() > 64) return {};
    const int64_t length = one_of(std::array<int64_t, 10>{1, 2, 3, 33, 100, 1000, 65535, 65536, 70000, 100000});
    const Expr counts = ir::iota(graph(), {length}, 0);
    const Type state = e.type();
    ends_ = !is_float(e.dtype()) && below(2) == 1;
    return loop(
        1 + below(length > 300 ? 2 : 9), state, length, {&counts, 1}, [&](std::span<const Expr> s, std::span<const Expr> i) {
          const Expr step = ir::cast(ir::binary(Op::Rem, i[0], full_like(i[0], 7)), state.dtype);
          return next_state(
              s[0], is_float(state.dtype) ? ir::broadcast(step, state.shape, {}) * e : ir::broadcast(step, state.shape, {}));
        });
  }

  template <class F>
  Expr loop(int states, const Type& state, int64_t length, std::span<const Expr> es, F&& first) {
    std::vector<Expr> acc, vars, results;
    for (int j = 0; j < states; ++j) acc.push_back(ir::full(graph(), state, j == 0 ? 0 : 1));
    for (const Expr& a : acc) vars.push_back(ir::fresh_var(graph(), a.type()));
    for (const Expr& x : es) vars.push_back(ir::fresh_var(graph(), {x.dtype(), x.shape().erased(0)}));
    const std::span<const Expr> all(vars), s = all.first(static_cast<size_t>(states));
    results.push_back(first(s, all.subspan(static_cast<size_t>(states))));
    for (size_t j = 1; j < s.size(); ++j) results.push_back(next_state(s[j], s[j - 1]));
    if (std::exchange(ends_, false)) {
      const Expr go = ir::binary(Op::Lt, s[0], full_like(s[0], 1000));
      for (size_t j = 0; j < s.size(); ++j) results[j] = ir::select(go, results[j], s[j]);
    }
    const bool reverse = below(3) == 2, stacked = below(3) == 2 && length * state.shape.count() <= most_elements(class_);
    if (stacked) results.push_back(results[0]);
    const std::vector<Expr> out = ir::close_loop(graph(), acc, es, vars, results, reverse, length);
    return stacked ? out.back() : out[static_cast<size_t>(below(states))];
  }

  const SizeClass class_;
  const Decisions& decisions_;
  Choices* choices_ = nullptr;
  std::shared_ptr<ir::Graph> graph_;
  SizedProgram out_;
  std::vector<Expr> pool_;  // what was made, the latest last
  bool two_results_ = false;
  bool ends_ = false;  // the next loop: it keeps its states from where the first one is large
};

}  // namespace

Decisions sized_decisions(uint64_t seed) {
  const Decisions length = random_decisions(seed ^ 0x517cc1b727220a95ull, 1);
  return random_decisions(seed, kFrame * (2u + length[0] % 5u));
}

SizedProgram sized_program(SizeClass c, const Decisions& decisions) { return SizedGenerator(c, decisions).run(); }

}  // namespace spirograd::test
