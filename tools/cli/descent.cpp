#include "tools/cli/descent.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "frontend/base/near_name.h"
#include "spirograd/derivatives.h"
#include "spirograd/grad.h"
#include "spirograd/ops.h"
#include "spirograd/text.h"
#include "spirograd/trace.h"
#include "tools/cli/options.h"
#include "tools/io/arguments.h"
#include "tools/io/table.h"

namespace spirograd::cli {
namespace {

struct GradientStep {
  Program gradient;
  std::vector<size_t> weights;  // parameters of the function
  size_t loss = 0, values = 0;  // the result, and how many the function has
};

GradientStep step_of(const Program& p, const DescentOptions& how) {
  GradientStep step{value_and_grad(p, how.by, how.of).value(), differentiated(p, how.by).value(),
                    differentiated_result(p, how.of).value(), p.results.size()};
  for (size_t slot : step.weights)
    if (const Param& w = p.params[slot]; w.type.dtype == DType::F16)
      throw Error("SG0501", "fit: '" + w.name + "' is " + to_string(w.type) + ", where small steps would be lost")
          .hint("declare it f32, and round it where it is used: f16(" + w.name + ")");
  return step;
}

// Parameters and what is written to them, in step.
struct Layout {
  Descent out;
  Descent::Fed add(const HostArray& start) {
    const std::string n = std::to_string(out.inputs.size());
    Descent::Fed f{"out" + n, "in" + n, start.type};
    out.inputs.push_back(start);
    out.fed.push_back(f);
    return f;
  }
};

struct Method {
  const char* name;
  int states;        // arrays of one length with the weights, of zeros at first: s0, s1
  const char* step;  // the next weights, then the next states. t: steps before this one
};

const Method kMethods[] = {
    {"adam", 2, "{ let (next, s) = adam(w, g, AdamState(s0, s1, t), rate)\n  (next, s.m, s.v) }"},
    {"adamw", 2, "{ let (next, s) = adamw(w, g, AdamState(s0, s1, t), rate, 0.01)\n  (next, s.m, s.v) }"},
    {"sgd", 0, "sgd(w, g, rate)"},
    {"momentum", 1, "momentum(w, g, s0, rate, 0.9)"},
    {"nesterov", 1, "nesterov(w, g, s0, rate, 0.9)"},
    {"rmsprop", 1, "rmsprop(w, g, s0, rate, 0.9)"},
    {"adagrad", 1, "adagrad(w, g, s0, rate)"},
};

const Method& method_of(const std::string& name) {
  return *std::find_if(std::begin(kMethods), std::end(kMethods), [&](const Method& m) { return m.name == name; });
}

text::Module library_steps(const Method& m) {
  std::string head = "import optim\ndef step(w: T[N], g: T[N], rate: T, t: T";
  for (int j = 0; j < m.states; ++j) head += ", s" + std::to_string(j) + ": T[N]";
  return text::parse(head + ") = " + m.step, "fit").value();
}

// `now`: weights and the states of their method. The library's steps are of one axis.
std::vector<Array> moved(const text::Module& steps, const std::vector<Array>& now, Array g, Array rate, Array looks) {
  const Shape shape = now[0].shape();
  const DType type = g.dtype();
  const Program step = text::instantiate(steps, "step", {{"N", shape.count()}}, nullptr, type).value();
  const auto flat = [&](Array a) { return reshape(a, {shape.count()}); };
  std::vector<Array> args = {flat(now[0]), flat(g), cast(rate, type), cast(looks, type)};
  for (size_t j = 1; j < now.size(); ++j) args.push_back(flat(now[j]));
  std::vector<Array> next = call(step, args);
  for (Array& a : next) a = reshape(a, shape);
  return next;
}

// Those of each weight, no bounds where none are given.
std::vector<Bounds> bounds_by_weight(const Program& p, const std::vector<size_t>& weights,
                                     const std::vector<Bounds>& given) {
  constexpr double kNone = std::numeric_limits<double>::infinity();
  std::vector<Bounds> out;
  std::vector<std::string> names;
  for (const size_t w : weights) {
    names.push_back(p.params[w].name);
    out.push_back({names.back(), -kNone, kNone});
  }
  for (const Bounds& b : given) {
    const auto at = std::ranges::find(names, b.name);
    if (at == names.end())
      throw usage_error("'--bounds': '" + b.name + "' is no input that changes")
          .note("those are " + io::listed(names))
          .hint(did_you_mean(b.name, names));
    out[static_cast<size_t>(at - names.begin())] = b;
  }
  return out;
}

// What is no number stays so.
Array within(Array a, const Bounds& b) {
  if (std::isfinite(b.low)) a = where(a < constant(a.dtype(), b.low), constant(a.dtype(), b.low), a);
  if (std::isfinite(b.high)) a = where(a > constant(a.dtype(), b.high), constant(a.dtype(), b.high), a);
  return a;
}

HostArray within(const HostArray& a, const Bounds& b) {
  std::vector<double> values = a.values();
  for (double& x : values) x = x < b.low ? b.low : x > b.high ? b.high : x;
  return HostArray(a.type, values);
}

// A shuffle by Fisher and Yates.
HostArray shuffled(int64_t n, uint64_t seed) {
  std::vector<double> order(static_cast<size_t>(n));
  std::iota(order.begin(), order.end(), 0.0);
  for (size_t j = order.size(); j-- > 1;) {
    const double draw = io::random_element(seed, j, DType::F64) * static_cast<double>(j + 1);
    std::swap(order[j], order[static_cast<size_t>(draw)]);
  }
  return HostArray(Type{DType::I32, {n}}, order);
}

// 0 .. n-1, for numbers below 2 n.
Array wrapped(Array a, int64_t n) {
  const Array end = constant(DType::I32, static_cast<double>(n));
  return where(a < end, a, a - end);
}

// The elements of one axis at these places.
Array picked(Array a, Array places, int axis) {
  std::vector<int> front = {axis}, back;
  for (int j = 0; j < a.shape().rank(); ++j) {
    if (j != axis) front.push_back(j);
    back.push_back(j < axis ? j + 1 : j == axis ? 0 : j);
  }
  return transpose(gather(transpose(a, front), {places}), back);
}

}  // namespace

std::vector<std::string> descent_methods() {
  std::vector<std::string> names;
  for (const Method& m : kMethods) names.emplace_back(m.name);
  return names;
}

Descent descent(const Program& p, const std::vector<HostArray>& inputs, const DescentOptions& how) {
  const GradientStep step = step_of(p, how);
  const DType real = p.results[step.loss].type.dtype;
  const Method& method = method_of(how.method);
  const text::Module steps = library_steps(method);
  const size_t states = static_cast<size_t>(method.states);
  const std::vector<Bounds> bounds = bounds_by_weight(p, step.weights, how.bounds);
  const Batch& batch = how.batch;
  for (const Batch::Axis& a : batch.axes)
    if (std::ranges::find(step.weights, a.param) != step.weights.end())
      throw usage_error("'--batch': '" + p.params[a.param].name + "' changes, and has the axis " + batch.variable)
          .note("each step would see and change a part of it only");
  Layout layout;
  Descent& out = layout.out;
  out.inputs = inputs;
  out.weights = step.weights;
  for (size_t k = 0; k < bounds.size(); ++k) {
    HostArray& start = out.inputs[step.weights[k]];
    start = within(start, bounds[k]);
  }
  for (size_t w : step.weights) out.fed.push_back({"w" + std::to_string(w), "in" + std::to_string(w), inputs[w].type});
  for (size_t w : step.weights) {
    for (size_t j = 0; j < states; ++j) layout.add(HostArray(inputs[w].type));
    out.good.push_back(layout.add(out.inputs[w]));
  }
  const size_t next_of_batch = out.inputs.size();
  if (batch.part > 0) layout.add(HostArray(Type{DType::I32, {}}));
  out.count = layout.add(HostArray(Type{DType::I32, {}}));
  out.alive = layout.add(HostArray(Type{DType::I32, {}}, {1}));
  out.losses = layout.add(HostArray(Type{real, {how.kept}}));
  const size_t state = inputs.size(), limits = out.inputs.size();
  out.inputs.emplace_back(Type{real, {}}, std::vector<double>{how.rate});
  out.inputs.emplace_back(Type{real, {}}, std::vector<double>{how.bound});
  if (batch.part > 0) out.inputs.push_back(shuffled(batch.all, batch.seed));

  std::vector<Param> params;
  for (size_t j = 0; j < out.inputs.size(); ++j) params.push_back({"in" + std::to_string(j), out.inputs[j].type});
  const auto body = [&](std::span<const Array> in) {
    std::vector<Array> own(in.begin(), in.begin() + static_cast<std::ptrdiff_t>(inputs.size()));
    if (batch.part > 0) {
      const Array places = gather(in[limits + 2], {wrapped(in[next_of_batch] + iota(batch.part), batch.all)});
      for (const Batch::Axis& a : batch.axes) own[a.param] = picked(own[a.param], places, a.axis);
    }
    const std::vector<Array> found = call(step.gradient, own);
    const Array loss = found[step.loss], rate = in[limits], bound = in[limits + 1];
    const Array looks = in[limits - 3], alive = in[limits - 2] != 0, losses = in[limits - 1];
    const Array ok = alive && loss <= bound && loss >= -bound;
    std::vector<Named> results;
    std::vector<Array> next;
    for (size_t k = 0; k < step.weights.size(); ++k) {
      const size_t first = state + k * (states + 1);
      std::vector<Array> now = {in[step.weights[k]]};
      for (size_t j = 0; j < states; ++j) now.push_back(in[first + j]);
      const std::vector<Array> then = moved(steps, now, found[step.values + k], rate, looks);
      results.emplace_back(out.fed[k].result, where(ok, within(then[0], bounds[k]), now[0]));
      for (size_t j = 1; j < then.size(); ++j) next.push_back(where(ok, then[j], now[j]));
      next.push_back(where(ok, now[0], in[first + states]));
    }
    if (batch.part > 0) next.push_back(wrapped(in[next_of_batch] + static_cast<int32_t>(batch.part), batch.all));
    next.push_back(looks + cast(alive, DType::I32));
    next.push_back(cast(ok, DType::I32));
    const Array slot = rem(looks, constant(DType::I32, static_cast<double>(how.kept)));
    next.push_back(where(alive && iota(how.kept) == slot, loss, losses));
    for (size_t j = 0; j < next.size(); ++j) results.emplace_back(out.fed[step.weights.size() + j].result, next[j]);
    return results;
  };
  out.program = trace(p.name, params, body).value();
  return std::move(out);
}

}  // namespace spirograd::cli
