// What a select does not take adds nothing, whatever stands there: in random programs, hostile numbers in lanes that are
// thrown away give the same derivatives as ordinary numbers in the same places. Forward, reverse, and second order.
#include <random>

#include "property/property.h"
#include "spirograd/grad.h"

namespace spirograd::property {
namespace masks_property_test {

using ir::Expr;
using ir::Op;

constexpr double kTooLarge = 1e6;  // derivatives beyond this are not compared: nothing is exact any more

class Case {
 public:
  Case(const RandomProgram& r) : p_(r.program), inputs_(r.inputs), rng_(static_cast<unsigned>(p_.graph->size())) {}

  std::string defect() {
    for (size_t j = 0; j < p_.params.size(); ++j)
      if (is_float(p_.params[j].type.dtype)) floats_.push_back(j);
    std::erase_if(p_.results, [](const ProgramResult& result) { return !is_float(result.type.dtype); });
    if (floats_.empty() || p_.results.empty()) return {};
    put_hazards_on_inputs();
    const std::vector<Values> ordinary = filled(inputs_, 0), other = filled(ordinary, 1), hostile = filled(ordinary, 2);
    const std::vector<Values> masks = clean_lanes({ordinary, other, hostile});
    const Program masked = with_masks();
    const auto differs = [&](const char* what, const Program& derivative, const std::vector<Values>& directions) {
      const auto values = [&](std::vector<Values> in) {
        in.insert(in.end(), masks.begin(), masks.end());
        in.insert(in.end(), directions.begin(), directions.end());
        return run(derivative, in);
      };
      const std::vector<Values> want = values(ordinary);
      for (const Values& v : want)
        for (double x : v)
          if (!(std::abs(x) < kTooLarge)) return std::string();
      ++compared;
      return named(what, difference(want, values(hostile), 1e-9));
    };
    std::vector<Values> directions;
    for (size_t j : floats_) directions.push_back(random_direction(p_.params[j].type.shape.count()));
    const Program gradient = grad(masked).value();
    std::string what = differs("reverse", gradient, {});
    if (what.empty()) what = differs("forward", jvp(masked).value(), directions);
    if (what.empty()) what = differs("forward over reverse", jvp(gradient).value(), directions);
    if (what.empty()) what = differs("reverse over reverse", vjp(gradient).value(), directions);
    if (what.empty()) what = differs("reverse over forward", grad(jvp(masked).value(), {}, "dot_loss").value(), directions);
    return what;
  }

  static inline int compared = 0;       // comparisons made, over all programs
  static inline int lanes[2] = {0, 0};  // thrown away, taken

 private:
  double uniform(double lo, double hi) { return lo + (hi - lo) * static_cast<double>(rng_() >> 8) / 16777216.0; }
  size_t below(size_t n) { return rng_() % n; }
  Values random_direction(int64_t n) {
    Values v;
    for (int64_t k = 0; k < n; ++k) v.push_back(uniform(-1, 1));
    return v;
  }

  // Each float parameter passes through an operation with an infinite or undefined slope somewhere.
  void put_hazards_on_inputs() {
    ir::Graph& g = *ir::make_graph_private(p_);
    ir::Memo memo;
    for (size_t j : floats_) {
      const Expr x = ir::param(g, static_cast<int64_t>(j), p_.params[j].type), one = ir::full(g, x.type(), 1);
      constexpr Op kUnary[] = {Op::Log, Op::Sqrt, Op::Asin, Op::Acos, Op::Atanh,
                               Op::Tan, Op::Exp,  Op::Sinh, Op::Cosh, Op::Erf};
      const size_t pick = below(17);
      Expr y = x;
      if (pick < 10) y = ir::unary(kUnary[pick], x);
      if (pick == 10) y = one / x;
      if (pick == 11) y = ir::binary(Op::Pow, x, ir::full(g, x.type(), 1.5));
      if (pick == 12) y = ir::binary(Op::Pow, x, x);
      if (pick == 13) y = ir::binary(Op::Atan2, x, one - x);
      if (pick == 14) y = ir::unary(Op::Acosh, x + one);
      if (pick == 15) y = ir::binary(Op::Rem, one, x);
      memo[x.id.v] = y.id;
    }
    const std::vector<ir::NodeId> roots = ir::rebuild(g, roots_of(p_), memo);
    for (size_t j = 0; j < roots.size(); ++j) p_.results[j].node = roots[j].v;
  }

  // Kind 0: ordinary numbers everywhere, and a choice of elements; then those elements get others (1) or hostile ones (2).
  std::vector<Values> filled(std::vector<Values> values, int kind) {
    constexpr double kInfinity = std::numeric_limits<double>::infinity();
    constexpr double kHostile[] = {std::numeric_limits<double>::quiet_NaN(), kInfinity, -kInfinity, 0, -0.0, -1, 1, 1e200};
    if (kind == 0) chosen_.clear();
    for (size_t j : floats_)
      for (size_t k = 0; k < values[j].size(); ++k) {
        if (kind == 0 && below(4) == 0) chosen_.emplace_back(j, k);
        if (kind == 0) values[j][k] = uniform(0.3, 0.8);
      }
    if (kind > 0)
      for (auto [j, k] : chosen_) values[j][k] = kind == 1 ? uniform(0.3, 0.8) : kHostile[below(std::size(kHostile))];
    return values;
  }

  // Per result, the elements that no chosen element reaches: value, slope and second slope are the same for all inputs.
  std::vector<Values> clean_lanes(const std::vector<std::vector<Values>>& inputs) {
    const Program slopes = jvp(jvp(p_).value()).value();
    std::vector<std::vector<Values>> runs = inputs;
    for (size_t j = inputs[0].size(); j < slopes.params.size(); ++j) {
      const Values direction = random_direction(slopes.params[j].type.shape.count());
      for (std::vector<Values>& in : runs) in.push_back(direction);
    }
    for (std::vector<Values>& in : runs) in = run(slopes, in);
    std::vector<Values> masks;
    const size_t n = p_.results.size();
    for (size_t j = 0; j < n; ++j) masks.emplace_back(runs[0][j].size(), 1.0);
    for (size_t j = 0; j < runs[0].size(); ++j)
      for (size_t k = 0; k < runs[0][j].size(); ++k)
        if (runs[0][j][k] != runs[1][j][k] || runs[0][j][k] != runs[2][j][k]) masks[j % n][k] = 0;
    for (const Values& mask : masks)
      for (double taken : mask) ++lanes[taken != 0];
    return masks;
  }

  // The program of one loss: all results under masks, which are parameters.
  Program with_masks() {
    Program out = p_;
    ir::Graph& g = *ir::make_graph_private(out);
    const std::vector<ProgramResult> results = out.results;
    Expr loss;
    for (const ProgramResult& result : results) {
      const Expr y = {&g, {result.node}}, none = ir::zeros(g, y.type());
      const Expr mask = ir::param(g, static_cast<int64_t>(out.params.size()), boolean(y.shape()));
      out.params.push_back({"mask" + std::to_string(out.params.size()), mask.type()});
      Expr z = ir::cast(chosen(mask, y, none), DType::F64);
      z = ir::sum_all(ir::unary(Op::Sin, z) + z * ir::full(g, z.type(), 0.3));
      loss = loss ? loss + z : z;
    }
    out.results = {{"loss", loss.id.v, loss.type()}};
    return out;
  }

  Expr chosen(Expr mask, Expr y, Expr none) {
    ir::Graph& g = *y.graph;
    switch (below(7)) {
      case 0: return ir::select(ir::unary(Op::Not, mask), none, y);
      case 1: return ir::select(ir::binary(Op::And, mask, ir::binary(Op::Eq, y, y)), y, none);  // depends on the value
      case 2: {  // a zero that meets infinite slopes above the mask
        const Expr inner = ir::select(mask, y * y + ir::full(g, y.type(), 1), none);
        return ir::select(mask, ir::unary(Op::Log, inner) * ir::unary(Op::Sqrt, inner), none);
      }
      case 3: {  // in a loop: the state is masked at every step, under an infinite slope
        const Expr s = ir::fresh_var(g, y.type()), m = ir::fresh_var(g, mask.type()), two = ir::full(g, y.type(), 2);
        const Expr vars[] = {s, m}, results[] = {ir::unary(Op::Sqrt, ir::select(m, ir::unary(Op::Cos, s) * s + two, none))};
        return ir::map_accum(
            g, {.function = ir::close_function(g, vars, results), .length = 2, .acc = {y}, .es = {}, .consts = {mask}})[0];
      }
      case 4: {  // a loop inside of the mask
        const Expr s = ir::fresh_var(g, y.type());
        const Expr vars[] = {s}, results[] = {ir::unary(Op::Sin, s) * s + s};
        const Expr last = ir::map_accum(
            g, {.function = ir::close_function(g, vars, results), .length = 2, .acc = {y}, .es = {}, .consts = {}})[0];
        return ir::select(mask, last, none);
      }
      case 5:  // an infinite slope above the mask
        return ir::unary(Op::Sqrt, ir::select(mask, y * y + ir::full(g, y.type(), 1), none));
      default: return ir::select(mask, y, none);
    }
  }

  Program p_;
  std::vector<Values> inputs_;
  std::mt19937 rng_;
  std::vector<size_t> floats_;  // slots of the float parameters
  std::vector<std::pair<size_t, size_t>> chosen_;
};

void check_masks(uint64_t first, uint64_t count, const RandomOptions& options) {
  Case::compared = Case::lanes[0] = Case::lanes[1] = 0;
  check_programs(first, count, options, [](const RandomProgram& r) { return Case(r).defect(); });
  EXPECT_GT(Case::compared, static_cast<int>(count)) << "too few derivatives were moderate";
  EXPECT_GT(Case::lanes[0], static_cast<int>(count) / 2) << "too little was thrown away";
  EXPECT_GT(Case::lanes[1], static_cast<int>(count) / 2) << "too little was taken";
}

TEST(Masks, HostileNumbersInLanesThrownAwayChangeNoDerivative) {
  check_masks(1, 400, {.allow_builds = false, .differentiable_only = true, .max_size = 40});
}

TEST(Masks, HostileNumbersInComprehensionsAndLoopsChangeNoDerivative) {
  check_masks(10001, 300, {.differentiable_only = true, .max_size = 30});
}

}  // namespace masks_property_test
}  // namespace spirograd::property
