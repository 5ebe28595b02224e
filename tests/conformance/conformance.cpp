// From the tables to programs that can be run, on either surface.
#include "tests/conformance/conformance.h"

#include <algorithm>
#include <cmath>
#include <fstream>
#include <iterator>
#include <sstream>

#include "frontend/ir/algebra.h"
#include "frontend/ir/own_graph.h"
#include "frontend/ir/traverse.h"
#include "spirograd/grad.h"
#include "spirograd/ops.h"
#include "spirograd/text.h"
#include "spirograd/trace.h"

namespace spirograd::conformance {
namespace {

/// The .sg files are written for f32.
std::string with_floats_of(DType dtype, std::string source) {
  for (size_t at = source.find("f32"); dtype == DType::F64 && at != std::string::npos; at = source.find("f32", at + 3))
    source.replace(at, 3, "f64");
  return source;
}

Program parsed(const std::string& source, const std::string& file, const std::string& function) {
  const text::Module module = text::parse(source, file).value();
  return text::instantiate(module, function).value();
}

Program text_program(const std::string& function, DType dtype) {
  for (const char* file : {"scalars.sg", "builds.sg", "loops.sg", "indexed.sg", "derived.sg", "nested.sg", "linear.sg"}) {
    std::ifstream in(std::string(SPIROGRAD_SOURCE_DIR) + "/tests/conformance/" + file);
    std::stringstream source;
    source << in.rdbuf();
    if (source.str().find("def " + function + "(") == std::string::npos) continue;
    return parsed(with_floats_of(dtype, source.str()), file, function);
  }
  throw Error("SG0402", "no conformance file defines " + function);
}

const Programs& cpp_programs() {
  static const Programs programs = [] {
    Programs p;
    add_suite_programs(p);
    add_derived_programs(p);
    add_nested_programs(p);
    add_linear_programs(p);
    return p;
  }();
  return programs;
}

/// Appends one array per type, filled from `values` in order.
void append_split(std::vector<Values>& arrays, const std::vector<Type>& types, const Values& values) {
  size_t at = 0;
  for (const Type& t : types) {
    const auto n = static_cast<size_t>(t.shape.count());
    if (at + n > values.size()) throw Error("SG0900", "a row of the conformance table is too short");
    const auto from = values.begin() + static_cast<std::ptrdiff_t>(at);
    arrays.emplace_back(from, from + static_cast<std::ptrdiff_t>(n));
    at += n;
  }
  if (at != values.size()) throw Error("SG0900", "a row of the conformance table is too long");
}

std::vector<Type> float_params(const Program& p) {
  std::vector<Type> types;
  for (const Param& q : p.params)
    if (is_float(q.type.dtype)) types.push_back(q.type);
  return types;
}

std::vector<Type> float_results(const Program& p) {
  std::vector<Type> types;
  for (const ProgramResult& r : p.results)
    if (is_float(r.type.dtype)) types.push_back(r.type);
  return types;
}

void add_checks(const Case& c, const Program& p, std::vector<Check>& out) {
  const size_t results = p.results.size();
  const auto add = [&](const char* what, Program derived, std::vector<Values> inputs, std::vector<Part> parts) {
    out.push_back(
        {c.line, c.program + " " + what, std::move(derived), std::move(inputs), std::move(parts), c.f32_tolerance});
  };
  if (!c.value.empty() || !c.gradient.empty()) {
    Program derived = vjp(p).value();
    int64_t n = 0;
    for (const Type& t : float_results(p)) n += t.shape.count();
    std::vector<Values> inputs = c.inputs;
    append_split(inputs, float_results(p), c.cotangent.empty() ? Values(static_cast<size_t>(n), 1.0) : c.cotangent);
    std::vector<Part> parts;
    if (!c.value.empty()) parts.push_back({"value", 0, results, c.value});
    if (!c.gradient.empty()) parts.push_back({"gradient", results, derived.results.size() - results, c.gradient});
    add("vjp", std::move(derived), std::move(inputs), std::move(parts));
  }
  for (const auto& [direction, expected] : c.jvp) {
    std::vector<Values> inputs = c.inputs;
    append_split(inputs, float_params(p), direction);
    add("jvp", jvp(p).value(), std::move(inputs),
        {{"derivative in a direction", results, float_results(p).size(), expected}});
  }
  for (const auto& [direction, expected] : c.hvp) {
    const Program gradient = grad(p).value();
    std::vector<Values> inputs = c.inputs;
    append_split(inputs, float_params(p), direction);
    const size_t n = gradient.results.size();
    add("jvp of grad", jvp(gradient).value(), std::move(inputs), {{"second derivative in a direction", n, n, expected}});
  }
}

/// Lines that are no rows: derivatives of derivatives, programs written by a program.
void add_nested(Surface s, DType dtype, std::vector<Check>& out) {
  const Program sine = program(s, "C53", dtype);
  const Program second = grad(grad(sine).value()).value();
  out.push_back({"C53", "grad of grad", second, {{1.1}}, {{"second derivative", 0, 1, {-0.8912073600614354}}}});
  out.push_back(
      {"C53", "grad of grad of grad", grad(second).value(), {{1.1}}, {{"third derivative", 0, 1, {-0.4535961214255773}}}});
  const Program slope = grad(sine).value();
  const Program along = jvp(slope).value();  // the outer of two forward derivatives is that of the slope
  out.push_back({"C53",
                 "jvp of jvp",
                 jvp(jvp(sine).value(), {slope.params[0].name}).value(),
                 {{1.1}, {1}, {1.1}},
                 {{"derivative of the tangent", 3, 1, {-0.9803280960675791}}}});
  out.push_back({"C53", "jvp of slope", along, {{1.1}, {1.1}}, {{"derivative of the slope", 1, 1, {-0.9803280960675791}}}});
  out.push_back({"C54",
                 "vjp of composed derivatives",
                 vjp(derivative_of_derivative(s, dtype)).value(),
                 {{1.1}, {1}},
                 {{"value", 0, 1, {0.8988770945225438}}, {"gradient", 1, 1, {0.39052780643689855}}}});
  out.push_back({"C46",
                 "generated chain",
                 grad(chain(s, 7, 0, dtype)).value(),
                 {{2}, {3}},
                 {{"gradient", 0, 2, {0.3333332633333395, -0.22222217555555968}}}});
  out.push_back({"C47",
                 "generated chain",
                 grad(chain(s, 200, 1, dtype)).value(),
                 {{2}, {3}},
                 {{"gradient", 0, 2, {0.33333133333930065, -0.2222208888928671}}}});
}

}  // namespace

const char* name(Surface s) { return s == Surface::Text ? ".sg" : "C++"; }

std::vector<Case> all_cases() {
  std::vector<Case> all = suite_cases();
  for (Case& c : derived_cases()) all.push_back(std::move(c));
  for (Case& c : nested_cases()) all.push_back(std::move(c));
  for (Case& c : linear_cases()) all.push_back(std::move(c));
  return all;
}

Program program(Surface surface, const std::string& function, DType dtype) {
  if (surface == Surface::Text) return text_program(function, dtype);
  const auto found = cpp_programs().find(function);
  if (found == cpp_programs().end()) throw Error("SG0402", "no C++ program is called " + function);
  return found->second(dtype).value();
}

Program chain(Surface surface, int steps, int shift, DType dtype) {
  if (surface == Surface::Cpp)
    return trace("chain", {{"a", {dtype, {}}}, {"b", {dtype, {}}}},
                 [&](Array a, Array b) {
                   Array y = a / b;
                   for (int k = 0; k < steps; ++k) y = 0.499999985 * ((y + y) - shift);
                   return y - shift;
                 })
        .value();
  std::string source = "def chain(a: f32, b: f32) = {\n  let y0 = a / b\n";
  const std::string less = " - " + std::to_string(shift);
  for (int k = 0; k < steps; ++k) {
    const std::string y = "y" + std::to_string(k);
    source += "  let y" + std::to_string(k + 1) + " = 0.499999985 * ((" + y + " + " + y + ")" + less + ")\n";
  }
  source += "  y" + std::to_string(steps) + less + "\n}\n";
  return parsed(with_floats_of(dtype, source), "chain.sg", "chain");
}

Program derivative_of_derivative(Surface surface, DType dtype) {
  Program slope = grad(program(surface, "C53", dtype)).value();
  slope.name = "slope";
  if (surface == Surface::Text) {
    const std::string source = text::print(slope) + "\ndef f(x: f32) = slope(slope(x))\n";
    return parsed(with_floats_of(dtype, source), "composed.sg", "f");
  }
  // The C++ surface has no calls of programs: put the result in the place of the parameter.
  ir::Graph& g = *ir::make_graph_private(slope);
  const ir::NodeId x = ir::param(g, 0, slope.params[0].type).id;
  const ir::NodeId once = {slope.results[0].node};
  slope.results[0].node = ir::substitute(g, once, {{x.v, once}}).v;
  return slope;
}

std::vector<Check> checks(Surface surface, DType dtype) {
  std::vector<Check> out;
  for (const Case& c : all_cases()) {
    try {
      add_checks(c, program(surface, c.program, dtype), out);
    } catch (const Error& e) {
      throw Error(e.code, c.line + " " + c.program + ": " + e.str());
    }
  }
  add_nested(surface, dtype, out);
  return out;
}

std::string disagreement(const Part& part, const std::vector<Values>& results, double tolerance, double* worst) {
  if (part.first + part.count > results.size()) return part.what + ": too few results";
  Values have;
  for (size_t j = part.first; j < part.first + part.count; ++j)
    have.insert(have.end(), results[j].begin(), results[j].end());
  if (have.size() != part.expected.size())
    return part.what + ": " + std::to_string(have.size()) + " numbers, " + std::to_string(part.expected.size()) +
           " expected";
  double largest = 0;
  for (double x : part.expected) largest = std::max(largest, std::abs(x));
  for (size_t j = 0; j < have.size(); ++j) {
    const double want = part.expected[j], scale = want != 0 ? std::abs(want) : largest > 0 ? largest : 1;
    const double error = std::abs(have[j] - want) / scale;
    *worst = std::max(*worst, error);
    if (error <= tolerance) continue;
    std::ostringstream text;
    text.precision(17);
    text << part.what << ", element " << j << ": " << have[j] << ", expected " << want;
    return text.str();
  }
  return {};
}

const std::vector<std::string>& all_lines() {
  static const std::vector<std::string> lines = [] {
    std::istringstream all(
        "C01 C02 C03 C04 C05 C06 C07 C08 C09 C10 C11 C12 C13 C14 C15 C16 C20 C21 C22 C23 "
        "C26 C27 C28 C29 C30 C31 C32 C33 C34 C36 C37 C39 C40 C41 C42 C43 C44 C45 C46 C47 "
        "C49 C53 C54 C55 C56 C57 C58 C61 C64 C70 C72 C73 C74 C76 D01 D02 D03 D04 D05 D06 "
        "D07 D08 D09 D10 D12 D13 D14 D15 D16 D18 D20 D21 D22 D23 D25 D27 D29 D30 D31 "
        "E01 E02 E03 E04 E05 E06 E07 E08 E09 E10 E11 E12 E13 E14 E15 E16 E17 E18 E19 E20 E21 E22 E23 E24 E25 E26 "
        "E27 E28 F01 F02 F03 F04 F05 F06 F07 F08 F09 F10 F11 F12 F13 F14 F15 F16 F17 F18");
    return std::vector<std::string>(std::istream_iterator<std::string>(all), {});
  }();
  return lines;
}

}  // namespace spirograd::conformance
