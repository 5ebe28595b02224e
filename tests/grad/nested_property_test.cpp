// A gradient inside of a program is that of the whole program: random programs called inside of a trace, their gradients
// there, and the derivative of these in a direction. A rule that says what the derivative is changes nothing.
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "frontend/ir/eval.h"
#include "spirograd/derivatives.h"
#include "spirograd/grad.h"
#include "spirograd/ops.h"
#include "spirograd/trace.h"
#include "support/random_program.h"

namespace spirograd {
namespace nested_property_test {

using Inputs = std::vector<std::vector<double>>;

constexpr uint64_t kSeeds = 300;

Inputs run(const Program& p, const Inputs& inputs) {
  Inputs out;
  for (ir::Array& a : ir::evaluate(p, inputs)) out.push_back(std::move(a.data));
  return out;
}

// Where the whole program's derivative is NaN nothing is compared: indices that are operands of the function inside are
// known outside, and an element that is not read may count as 0 times its slope or as nothing.
bool alike(const Inputs& nested, const Inputs& whole) {
  if (nested.size() != whole.size()) return false;
  for (size_t j = 0; j < nested.size(); ++j) {
    if (nested[j].size() != whole[j].size()) return false;
    for (size_t k = 0; k < nested[j].size(); ++k) {
      const double x = nested[j][k], y = whole[j][k];
      if (!(std::abs(x - y) <= 1e-9 * std::max(1.0, std::abs(y))) && x != y && !std::isnan(y)) return false;
    }
  }
  return true;
}

/// The sum of sines of all float results.
Program scalarised(const Program& p) {
  return trace("total", p.params,
               [&](std::span<const Array> in) {
                 Array total = constant(f64(), {0});
                 for (Array r : call(p, std::vector<Array>(in.begin(), in.end())))
                   if (is_float(r.dtype())) total = total + cast(sum(sin(r)), DType::F64);
                 return total;
               })
      .value();
}

/// `make(f, floats)` in place of the call of `p`, where f is `p` as a function of its floats alone.
template <class Make>
Program with_function(const Program& p, Make&& make) {
  return trace("inner", p.params,
               [&](std::span<const Array> in) {
                 std::vector<Array> floats;
                 for (Array a : in)
                   if (is_float(a.dtype())) floats.push_back(a);
                 const auto f = [&](const std::vector<Array>& at) {
                   std::vector<Array> all;
                   size_t next = 0;
                   for (Array a : in) all.push_back(is_float(a.dtype()) ? at[next++] : a);
                   return call(p, all)[0];
                 };
                 return make(f, floats);
               })
      .value();
}

/// The gradients of `p` by its floats, taken inside.
Program nested_gradient(const Program& p) {
  return with_function(p, [](auto f, const std::vector<Array>& floats) { return grad(f)(floats); });
}

/// `p` with the tangents that it has, given as a rule; with the cotangents.
Program with_own_jvp(const Program& p) {
  return with_function(p, [](auto f, const std::vector<Array>& floats) {
    const auto rule = [f](const std::vector<Array>& at, const std::vector<Array>& d) {
      return jvp(f, std::tuple(at), std::tuple(d));
    };
    return custom_jvp(f, rule)(floats);
  });
}
Program with_own_vjp(const Program& p) {
  return with_function(p, [](auto f, const std::vector<Array>& floats) {
    const auto rule = [f](const std::vector<Array>& at, Array ct) { return vjp(f, at).second(ct); };
    return custom_vjp(f, rule)(floats);
  });
}

bool has_floats(const Program& p) {
  return std::any_of(p.params.begin(), p.params.end(), [](const Param& q) { return is_float(q.type.dtype); });
}

/// The inputs, and a direction for each that is a float.
Inputs with_direction(const Program& p, Inputs inputs, uint64_t seed) {
  std::mt19937 rng(static_cast<uint32_t>(seed));
  std::uniform_real_distribution<double> direction(-1, 1);
  for (const Param& q : p.params) {
    if (!is_float(q.type.dtype)) continue;
    inputs.emplace_back();
    for (int64_t k = 0; k < q.type.shape.count(); ++k) inputs.back().push_back(direction(rng));
  }
  return inputs;
}

TEST(NestedProperty, GradientsInsideAreThoseOfWholePrograms) {
  size_t compared = 0;
  for (uint64_t seed = 0; seed < kSeeds; ++seed) {
    const test::RandomProgram random = test::random_program(seed);
    if (!has_floats(random.program)) continue;
    const Program p = scalarised(random.program), whole = grad(p).value(), nested = nested_gradient(p);
    EXPECT_TRUE(alike(run(nested, random.inputs), run(whole, random.inputs))) << "seed " << seed;
    const Inputs inputs = with_direction(p, random.inputs, seed);
    EXPECT_TRUE(alike(run(jvp(nested).value(), inputs), run(jvp(whole).value(), inputs))) << "seed " << seed << ", twice";
    ++compared;
  }
  EXPECT_GT(compared, kSeeds / 2);
}

TEST(NestedProperty, RulesThatSayWhatIsTrueChangeNothing) {
  size_t compared = 0;
  for (uint64_t seed = 0; seed < kSeeds; ++seed) {
    const test::RandomProgram random = test::random_program(seed);
    if (!has_floats(random.program)) continue;
    const Program p = scalarised(random.program), whole = grad(p).value();
    const Inputs inputs = with_direction(p, random.inputs, seed);
    const Inputs slopes = run(whole, random.inputs), along = run(jvp(p).value(), inputs),
                 second = run(jvp(whole).value(), inputs);
    for (const Program& ruled : {with_own_jvp(p), with_own_vjp(p)}) {
      const auto g = grad(ruled), t = jvp(ruled);
      ASSERT_TRUE(g && t) << "seed " << seed << (g ? t.error().str() : g.error().str());
      EXPECT_TRUE(alike(run(*g, random.inputs), slopes)) << "seed " << seed << ", reverse";
      EXPECT_TRUE(alike(run(*t, inputs), along)) << "seed " << seed << ", forward";
      EXPECT_TRUE(alike(run(jvp(*g).value(), inputs), second)) << "seed " << seed << ", twice";
    }
    ++compared;
  }
  EXPECT_GT(compared, kSeeds / 2);
}

}  // namespace nested_property_test
}  // namespace spirograd
