// Programs with loops whose steps are dispatches.
#pragma once

#include <cmath>
#include <string>
#include <vector>

#include "spirograd/grad.h"
#include "spirograd/text.h"

namespace spirograd::test {

inline Program parsed(const std::string& text) { return text::instantiate(text::parse(text, "loop.sg").value()).value(); }

struct DispatchLoop {
  std::string name;
  Program program;
};

/// Loops of n steps: forward and reversed, with several states and stacked rows, nested, and their gradients.
inline std::vector<DispatchLoop> dispatch_loops(int n) {
  const std::string rows = std::to_string(n);
  const std::string head = "def main(w: f32[5,5], x: f32[5], e: f32[" + rows + ",5]) -> ";
  const std::string step = "fn((a, b), v) => { let t = tanh(w @ a + v)\n let u = w @ t - 0.5 * b\n ((t, u), u * a) }";
  std::vector<DispatchLoop> out;
  for (const std::string direction : {"L", "R"}) {
    const std::string loop = "{ let ((a, b), r) = mapAccum" + direction + "(" + step + ", (x, x * 0.5), e)\n";
    out.push_back({"mapAccum" + direction,
                   parsed(head + "(a: f32[5], b: f32[5], r: f32[" + rows + ",5]) " + loop + " (a, b, r) }\n")});
    const Program sum = parsed(head + "(s: f32) " + loop + " sum(a) + sum(b * b) + sum(r * r) }\n");
    out.push_back({"gradient of mapAccum" + direction, value_and_grad(sum, {"w", "x", "e"}).value()});
  }
  const std::string inner = "fold(fn(t, v) => tanh(w @ t + v + u), s, e)";
  const Program nested = parsed(head + "(s: f32[5]) = fold(fn(s, u) => " + inner + ", x, e)\n");
  out.push_back({"nested", nested});
  const std::string rows_of_rows =
      "{ let (t, r) = mapAccumR(fn(t, v) => { let q = tanh(w @ t + v + u)\n (q, q * v) }, s, e)\n";
  const Program stacked = parsed(head + "(s: f32[5], r: f32[" + rows + "," + rows + ",5]) = mapAccumL(fn(s, u) => " +
                                 rows_of_rows + " (t, r) }, x, e)\n");
  out.push_back({"nested, with rows", stacked});
  const Program sum = parsed(head + "(s: f32) = sum(fold(fn(s, u) => " + inner + ", x, e))\n");
  if (n <= 20) out.push_back({"gradient of nested", value_and_grad(sum, {"w", "x", "e"}).value()});
  return out;
}

inline std::vector<double> ramp(int64_t n, double step = 0.07) {
  std::vector<double> out;
  for (int64_t i = 0; i < n; ++i)
    out.push_back(static_cast<double>(static_cast<float>(0.4 * std::sin(static_cast<double>(i) * step))));
  return out;
}

inline std::vector<std::vector<double>> inputs_of(const Program& p) {
  std::vector<std::vector<double>> out;
  for (const Param& param : p.params) out.push_back(ramp(param.type.shape.count(), 0.37 + 0.21 * double(out.size())));
  return out;
}

}  // namespace spirograd::test
