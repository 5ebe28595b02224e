#include "tools/cli/descent.h"

#include <algorithm>

#include "spirograd/derivatives.h"
#include "spirograd/grad.h"
#include "spirograd/ops.h"
#include "spirograd/trace.h"

namespace spirograd::cli {
namespace {

struct Step {
  Program gradient;
  std::vector<size_t> weights;  // parameters of the function
  size_t loss = 0, values = 0;  // the result, and how many the function has
};

Step step_of(const Program& p, const DescentOptions& how) {
  Step s{value_and_grad(p, how.by, how.of).value(), {}, 0, p.results.size()};
  for (const std::string& name : how.by)
    for (size_t j = 0; j < p.params.size(); ++j)
      if (p.params[j].name == name) s.weights.push_back(j);
  const auto meant = [&](const ProgramResult& r) {
    return how.of.empty() ? is_float(r.type.dtype) && r.type.shape.rank() == 0 : r.name == how.of;
  };
  s.loss = static_cast<size_t>(std::find_if(p.results.begin(), p.results.end(), meant) - p.results.begin());
  return s;
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

// w and the moments m and v of one weight after a step; plain descent has no moments.
std::vector<Array> moved(std::span<const Array> w, Array g, Array rate, Array looks) {
  if (w.size() == 1) return {w[0] - rate * g};
  const Array m = 0.9 * w[1] + 0.1 * g, v = 0.999 * w[2] + 0.001 * g * g, t = cast(looks + 1, g.dtype());
  const Array fair_m = m / (1 - pow(constant(g.dtype(), 0.9), t)), fair_v = v / (1 - pow(constant(g.dtype(), 0.999), t));
  return {w[0] - rate * fair_m / (sqrt(fair_v) + 1e-8), m, v};
}

}  // namespace

Descent descent(const Program& p, const std::vector<HostArray>& inputs, const DescentOptions& how) {
  const Step step = step_of(p, how);
  const DType real = p.results[step.loss].type.dtype;
  const size_t moments = how.adam ? 2 : 0;
  Layout layout;
  Descent& out = layout.out;
  out.inputs = inputs;
  for (size_t w : step.weights) out.fed.push_back({"w" + std::to_string(w), "in" + std::to_string(w), inputs[w].type});
  for (size_t w : step.weights) {
    for (size_t j = 0; j < moments; ++j) layout.add(HostArray(inputs[w].type));
    out.good.push_back(layout.add(inputs[w]));
  }
  out.count = layout.add(HostArray(Type{DType::I32, {}}));
  out.alive = layout.add(HostArray(Type{DType::I32, {}}, {1}));
  out.losses = layout.add(HostArray(Type{real, {how.kept}}));
  const size_t state = inputs.size(), limits = out.inputs.size();
  out.inputs.emplace_back(Type{real, {}}, std::vector<double>{how.rate});
  out.inputs.emplace_back(Type{real, {}}, std::vector<double>{how.bound});

  std::vector<Param> params;
  for (size_t j = 0; j < out.inputs.size(); ++j) params.push_back({"in" + std::to_string(j), out.inputs[j].type});
  const auto body = [&](std::span<const Array> in) {
    const std::vector<Array> own(in.begin(), in.begin() + static_cast<std::ptrdiff_t>(inputs.size()));
    const std::vector<Array> found = call(step.gradient, own);
    const Array loss = found[step.loss], rate = in[limits], bound = in[limits + 1];
    const Array looks = in[limits - 3], alive = in[limits - 2] != 0, losses = in[limits - 1];
    const Array ok = alive && loss <= bound && loss >= -bound;
    std::vector<Named> results;
    std::vector<Array> next;
    for (size_t k = 0; k < step.weights.size(); ++k) {
      const size_t first = state + k * (moments + 1);
      std::vector<Array> now = {in[step.weights[k]]};
      for (size_t j = 0; j < moments; ++j) now.push_back(in[first + j]);
      const DType type = now[0].dtype();
      const std::vector<Array> then = moved(now, found[step.values + k], cast(rate, type), looks);
      results.emplace_back(out.fed[k].result, where(ok, then[0], now[0]));
      for (size_t j = 1; j < then.size(); ++j) next.push_back(where(ok, then[j], now[j]));
      next.push_back(where(ok, now[0], in[first + moments]));
    }
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
