#include "tests/property/pipeline.h"

#include <algorithm>
#include <random>

#include "frontend/ir/algebra.h"
#include "frontend/ir/own_graph.h"
#include "frontend/ir/verify.h"
#include "frontend/rewrite/exchange_sums.h"
#include "frontend/rewrite/factor_sums.h"
#include "frontend/rewrite/passes.h"
#include "frontend/rewrite/read_chosen.h"
#include "frontend/rewrite/simplify.h"
#include "frontend/rewrite/split_loops.h"
#include "frontend/rewrite/spread_updates.h"
#include "frontend/rewrite/vectorise.h"
#include "spirograd/grad.h"
#include "spirv/kernel/verify.h"
#include "spirv/lower/evaluate.h"

namespace spirograd::property {
namespace {

constexpr double kDouble = 1e-8;  // kernels of f64 against double
constexpr double kHuge = 1e37;    // where f32 overflows, double does not

Target target(uint64_t number) {
  Target t;
  t.float64 = true;
  t.subgroup_size = 8;
  t.max_buffers = 30;
  if (number % 2 == 0)
    t.price = software_prices(t.subgroup_size, 2);
  else
    t.max_invocations = 1024;
  if (number % 5 < 2) t.price.dispatch = 0;  // what only one arm of an `if` uses is asked for, however little it is
  return t;
}

// "" if the program prints as text that gives the same nodes in its graph and the same text in a new one.
std::string round_trip(Program p, const char* stage) {
  const auto graph = ir::make_graph_private(p);
  const std::string printed = text::print(p);
  const text::Module module = text::parse(printed, std::string(stage) + ".sg").value();
  const Program same = text::instantiate(module, "", text::ShapeVariables{}, graph).value();
  for (size_t j = 0; j < p.results.size(); ++j)
    if (same.results[j].node != p.results[j].node)
      return std::string("text of stage ") + stage + " gives other nodes:\n" + printed;
  if (text::print(text::instantiate(module).value()) != printed)
    return std::string("text of stage ") + stage + " prints differently in a new graph:\n" + printed;
  return {};
}

std::string first_of(std::initializer_list<std::string> messages) {
  for (const std::string& m : messages)
    if (!m.empty()) return m;
  return {};
}

bool uses_angles(const Program& p) {
  bool found = false;
  mapped(p, [&](ir::Graph& g, ir::Node n) {
    found |= n.op == ir::Op::Sin || n.op == ir::Op::Cos || n.op == ir::Op::Tan;
    return g.intern(std::move(n));
  });
  return found;
}

// f64 sines of angles beyond 1e9 are NaN in kernels.
std::vector<Values> without_nan(std::vector<Values> want, const std::vector<Values>& have) {
  for (size_t j = 0; j < want.size(); ++j)
    for (size_t i = 0; i < want[j].size(); ++i)
      if (std::isnan(have[j][i])) want[j][i] = have[j][i];
  return want;
}

// The kernels of a simplified program against the interpreter. Where f32 rounding decides a comparison, an index or a
// difference of large numbers, the same program in f64 must agree.
std::string kernels_agree(const Program& simplified, const std::vector<Values>& inputs, std::vector<Values> want,
                          uint64_t number, Counts& counts) {
  const rewrite::Pass& drop_rules = rewrite::lowering_passes().front();
  const Program factored = rewrite::factor_sums(rewrite::split_loops(drop_rules.run(simplified, nullptr)));
  const Program simple = rewrite::spread_updates(rewrite::read_chosen(rewrite::exchange_sums(factored)));
  if (const auto defect = ir::check_well_formed(simple)) return "contracted: " + defect->str();
  const std::vector<Values> contracted = run(simple, inputs);
  const std::string changed = difference(want, contracted, kExact);
  if (!changed.empty()) {  // allowed only where infinities and NaN meet
    if (changed.find("nan") == std::string::npos && changed.find("inf") == std::string::npos)
      return "contracted: " + changed;
    ++counts.contracted;
    want = contracted;
  }
  const auto kernels = [&](const Program& p) {
    const lower::Plan plan = lower::lower(p, target(number));
    for (const kernel::Kernel& k : plan.kernels)
      if (const auto defect = kernel::verify(k)) throw *defect;
    return values_of(lower::evaluate(plan, host_arrays(p, inputs)));
  };
  ++counts.kernels;
  if (difference(want, kernels(simple), kSingle, kHuge).empty()) return {};
  ++counts.rounded;
  const std::vector<Values> have = kernels(in_f64(simple));
  const std::string wrong = difference(want, have, kDouble);
  if (wrong.empty() || !uses_angles(simple) || !difference(without_nan(want, have), have, kDouble).empty()) return wrong;
  ++counts.huge_angles;
  return {};
}

}  // namespace

std::string stages_agree(const RandomProgram& r, uint64_t number, Counts& counts) {
  const Program& traced = r.program;
  if (const auto defect = ir::check_well_formed(traced)) return defect->str();
  const std::vector<Values> want = run(traced, r.inputs);
  std::string wrong = round_trip(traced, "traced");
  if (!wrong.empty()) return wrong;

  Program bulk;
  try {
    bulk = rewrite::vectorise(traced);
  } catch (const Error& e) {
    if (e.code != "SG0101") throw;
    ++counts.too_many_axes;
    return {};
  }
  if (const auto defect = ir::check_bulk(bulk)) return defect->str();
  const Program simple = rewrite::simplify(bulk);
  if (const auto defect = ir::check_well_formed(simple)) return "simple: " + defect->str();
  for (ir::NodeId id : ir::postorder(*simple.graph, roots_of(simple)))
    if ((*simple.graph)[id].op == ir::Op::Build) return "simple: a build came back";
  wrong = first_of({round_trip(bulk, "bulk"), round_trip(simple, "simple"),
                    named("bulk", difference(want, run(bulk, r.inputs), kExact)),
                    named("simple", difference(want, run(simple, r.inputs), kExact))});
  if (!wrong.empty()) return wrong;
  return named("kernels", kernels_agree(simple, r.inputs, want, number, counts));
}

namespace {

// ---- derivatives

Values random_values(std::mt19937& rng, int64_t n) {
  Values v(static_cast<size_t>(n));
  for (double& x : v) x = static_cast<double>(static_cast<int>(rng() % 2001) - 1000) / 1000;
  return v;
}
double largest(const std::vector<Values>& arrays) {
  double m = 1;
  for (const Values& v : arrays)
    for (double x : v) m = std::max(m, std::isfinite(x) ? std::abs(x) : HUGE_VAL);
  return m;
}
double largest_gap(const std::vector<Values>& a, const std::vector<Values>& b) {
  double m = 0;
  for (size_t j = 0; j < a.size(); ++j)
    for (size_t i = 0; i < a[j].size(); ++i) m = std::max(m, std::abs(a[j][i] - b[j][i]));
  return m;
}
double dot(const std::vector<Values>& a, const std::vector<Values>& b) {
  double total = 0;
  for (size_t j = 0; j < a.size(); ++j)
    for (size_t i = 0; i < a[j].size(); ++i) total += a[j][i] * b[j][i];
  return total;
}
std::vector<Values> joined(std::vector<Values> a, const std::vector<Values>& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}
std::vector<Values> from(const std::vector<Values>& a, size_t first) {
  return {a.begin() + static_cast<std::ptrdiff_t>(first), a.end()};
}

// Change of the results of `p` in a direction, by central differences.
std::vector<Values> differences(const Program& p, const std::vector<Values>& inputs, const std::vector<Values>& dots,
                                double h) {
  std::vector<Values> plus = inputs, minus = inputs;
  for (size_t j = 0, d = 0; j < inputs.size(); ++j) {
    if (!is_float(p.params[j].type.dtype)) continue;
    for (size_t i = 0; i < inputs[j].size(); ++i) plus[j][i] += h * dots[d][i], minus[j][i] -= h * dots[d][i];
    ++d;
  }
  const std::vector<Values> a = run(p, plus), b = run(p, minus);
  std::vector<Values> out = a;
  for (size_t j = 0; j < a.size(); ++j)
    for (size_t i = 0; i < a[j].size(); ++i) out[j][i] = (a[j][i] - b[j][i]) / (2 * h);
  return out;
}
// How far `tangents` are from differences. A wrong derivative is far for every step.
double gap_to_differences(const Program& p, const std::vector<Values>& inputs, const std::vector<Values>& dots,
                          const std::vector<Values>& tangents) {
  return std::min(largest_gap(tangents, differences(p, inputs, dots, 1e-5)),
                  largest_gap(tangents, differences(p, inputs, dots, 1e-7)));
}

}  // namespace

std::string derivatives_agree(const RandomProgram& r, uint64_t number, Counts& counts) {
  const Program& p = r.program;
  std::mt19937 rng(static_cast<uint32_t>(number));
  std::vector<Values> dots, cts;
  for (const Param& q : p.params)
    if (is_float(q.type.dtype)) dots.push_back(random_values(rng, q.type.shape.count()));
  for (const ProgramResult& q : p.results) cts.push_back(random_values(rng, q.type.shape.count()));  // all float here
  if (dots.empty()) return {};
  ++counts.differentiated;
  const Program forward = jvp(p).value(), backward = vjp(p).value();
  for (const Program& q : {forward, backward})
    if (const auto defect = ir::check_well_formed(q)) return defect->str();
  const std::vector<Values> ct_inputs = joined(r.inputs, cts);
  const std::vector<Values> value = run(p, r.inputs), f = run(forward, joined(r.inputs, dots)), b = run(backward, ct_inputs);
  const size_t n = value.size();
  const Program simple = rewrite::simplify(rewrite::vectorise(backward));
  std::string wrong =
      first_of({named("value of jvp", difference(value, {f.begin(), f.begin() + static_cast<std::ptrdiff_t>(n)}, kExact)),
                named("value of vjp", difference(value, {b.begin(), b.begin() + static_cast<std::ptrdiff_t>(n)}, kExact)),
                round_trip(backward, "gradient"), round_trip(simple, "simplified gradient"),
                named("simplified gradient", difference(b, run(simple, ct_inputs), kExact))});
  if (!wrong.empty()) return wrong;

  const std::vector<Values> tangents = from(f, n), gradients = from(b, n);
  const double scale = std::max({largest(value), largest(tangents), largest(gradients)});
  if (!(scale < 1e6)) return {};  // differences have no correct digits
  double terms = 1;
  for (const Values& v : gradients) terms += static_cast<double>(v.size());
  if (std::abs(dot(cts, tangents) - dot(gradients, dots)) > kExact * scale * terms) return "<ct, jvp> and <vjp, dx> differ";
  if (gap_to_differences(p, r.inputs, dots, tangents) > 1e-4 * scale) return "jvp is far from differences";
  ++counts.differences;
  wrong = named("gradient kernels", kernels_agree(simple, ct_inputs, b, number, counts));
  if (!wrong.empty() || number % 3 != 0) return wrong;

  // Second order: the direction through the gradient, against reverse over reverse and differences of the gradient.
  std::vector<std::string> names;
  for (const Param& q : p.params)
    if (is_float(q.type.dtype)) names.push_back(q.name);
  Program gradient = backward;
  gradient.results.erase(gradient.results.begin(), gradient.results.begin() + static_cast<std::ptrdiff_t>(n));
  const std::vector<Values> hvp = from(run(jvp(gradient, names).value(), joined(ct_inputs, dots)), gradients.size());
  const std::vector<Values> gvp = from(run(vjp(gradient, names).value(), joined(ct_inputs, dots)), gradients.size());
  const double scale2 = std::max({scale, largest(hvp), largest(gvp)});
  if (!(scale2 < 1e6)) return {};
  if (largest_gap(hvp, gvp) > 1e-8 * scale2) return "forward over reverse and reverse over reverse differ";
  std::vector<Values> padded = dots;  // cotangents stay where they are
  for (const Values& ct : cts) padded.emplace_back(ct.size(), 0.0);
  if (gap_to_differences(gradient, ct_inputs, padded, hvp) > 1e-3 * scale2)
    return "second derivative is far from differences";
  ++counts.second;
  return {};
}

}  // namespace spirograd::property
