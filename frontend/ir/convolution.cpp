#include "frontend/ir/convolution.h"

#include <algorithm>
#include <functional>
#include <string>

#include "frontend/ir/composite.h"
#include "frontend/ir/make_node.h"

namespace spirograd::ir {
namespace {

using Places = std::vector<Expr>;
using Extents = std::vector<int64_t>;

// A window over one axis: result y reads y * stride + i * dilation - before, for i < window.
struct Sweep {
  int64_t extent, window, stride, dilation, before, results;
};

[[noreturn]] void fail_number(std::string_view what, const std::string& why, const char* help) {
  throw Error("SG0404", std::string(what) + ": " + why).hint(help);
}

// One number for all axes, or one for each, none below `least`.
Extents per_axis(std::string_view what, const char* word, std::span<const int64_t> numbers, size_t axes, int64_t least) {
  Extents out(numbers.begin(), numbers.end());
  if (out.size() == 1) out.assign(axes, numbers[0]);
  if (out.size() != axes)
    fail_number(what,
                std::string(word) + " has " + std::to_string(numbers.size()) + " numbers for " + std::to_string(axes) +
                    (axes == 1 ? " space axis" : " space axes"),
                "one number, or one for each axis behind batch and channels");
  for (int64_t n : out)
    if (n < least)
      fail_number(what, std::string(word) + " is " + std::to_string(n), least ? "it is at least 1" : "it is at least 0");
  return out;
}

Extents sides_of(std::string_view what, const Padding& padding, size_t axes) {
  if (padding.sides.size() != 1 && padding.sides.size() != 2 * axes)
    fail_number(
        what, "padding has " + std::to_string(padding.sides.size()) + " numbers for " + std::to_string(2 * axes) + " sides",
        "one number, or for each space axis one before and one behind it; or \"same\", \"valid\"");
  return per_axis(what, "padding", padding.sides, 2 * axes, 0);
}

std::vector<Sweep> sweeps_of(std::string_view what, Expr x, std::span<const int64_t> window, const Moves& moves) {
  const size_t axes = static_cast<size_t>(x.rank()) - 2;
  const Extents size = per_axis(what, "the window", window, axes, 1),
                stride = per_axis(what, "stride", moves.stride, axes, 1),
                dilation = per_axis(what, "dilation", moves.dilation, axes, 1);
  const Extents sides = moves.padding.same ? Extents(2 * axes, 0) : sides_of(what, moves.padding, axes);
  std::vector<Sweep> out;
  for (size_t j = 0; j < axes; ++j) {
    const int64_t n = x.shape()[static_cast<int>(j) + 2], reach = (size[j] - 1) * dilation[j] + 1;
    int64_t before = sides[2 * j], padded = n + before + sides[2 * j + 1];
    if (moves.padding.same) {
      const int64_t results = (n + stride[j] - 1) / stride[j];
      const int64_t more = results == 0 ? 0 : std::max<int64_t>(0, (results - 1) * stride[j] + reach - n);
      out.push_back({n, size[j], stride[j], dilation[j], more / 2, results});
      continue;
    }
    if (reach > padded)
      throw Error("SG0101", std::string(what) + ": a window that reaches over " + std::to_string(reach) +
                                " positions does not fit in axis " + std::to_string(j + 2) + " of " + to_string(x.type()) +
                                ", which has " + std::to_string(padded) + " with its padding")
          .hint("padding=\"same\" keeps the extent");
    out.push_back({n, size[j], stride[j], dilation[j], before, (padded - reach) / stride[j] + 1});
  }
  return out;
}

// body(i, j, ..) for all positions in an array of these extents.
Expr nested(Graph& g, const Extents& extents, const std::function<Expr(const Places&)>& body) {
  Places at;
  for (size_t j = 0; j < extents.size(); ++j) at.push_back(fresh_var(g, i32()));
  Expr out = body(at);
  for (size_t j = extents.size(); j-- > 0;) out = build(extents[j], at[j], out);
  return out;
}

Expr times(Expr e, int64_t n) { return n == 1 ? e : e * full_like(e, static_cast<double>(n)); }
Expr place(const Sweep& s, Expr y, Expr i) {
  const Expr at = times(y, s.stride) + times(i, s.dilation);
  return s.before == 0 ? at : at - full_like(at, static_cast<double>(s.before));
}

Extents windows_of(const std::vector<Sweep>& sweeps) {
  Extents out;
  for (const Sweep& s : sweeps) out.push_back(s.window);
  return out;
}

void require_images(std::string_view what, Expr x) {
  require_numbers(x, what);
  if (x.rank() < 3)
    throw Error("SG0101", std::string(what) + ": needs axes (batch, channels, space..), not " + to_string(x.type()))
        .hint("x[None, None, :] adds a batch and a channel of extent 1");
}

// f(what the window holds, along its axes) for each result.
Expr pooled(Expr x, const std::vector<Sweep>& sweeps, Expr outside, const std::function<Expr(Expr)>& f) {
  Graph& g = *x.graph;
  Extents results = {x.shape()[0], x.shape()[1]};
  for (const Sweep& s : sweeps) results.push_back(s.results);
  return nested(g, results, [&](const Places& out) {
    return f(nested(g, windows_of(sweeps), [&](const Places& in) {
      Places at = {out[0], out[1]};
      std::vector<Expr> inside;
      for (size_t j = 0; j < sweeps.size(); ++j) {
        const Sweep& s = sweeps[j];
        const Expr p = place(s, out[2 + j], in[j]);
        at.push_back(p);
        if (s.before > 0) inside.push_back(binary(Op::Ge, p, full_like(p, 0)));
        const int64_t last = (s.results - 1) * s.stride + (s.window - 1) * s.dilation - s.before;
        if (last >= s.extent) inside.push_back(binary(Op::Lt, p, full_like(p, static_cast<double>(s.extent))));
      }
      Expr value = gather(x, at);
      for (Expr mask : inside) value = select(mask, value, outside);
      return value;
    }));
  });
}

Moves with_stride(const Moves& moves, std::span<const int64_t> window) {
  Moves out = moves;
  if (out.stride.empty()) out.stride.assign(window.begin(), window.end());
  if (out.dilation.empty()) out.dilation = {1};
  return out;
}

}  // namespace

Padding padding_of(std::string_view what, std::string_view name) {
  if (name != "same" && name != "valid")
    fail_number(what, "there is no padding \"" + std::string(name) + "\"",
                "\"same\", \"valid\", one number, or for each space axis one before and one behind it");
  return {name == "same", {0}};
}

Expr conv(Expr x, Expr w, const Moves& moves, int64_t groups) {
  require_images("conv", x);
  if (w.dtype() != x.dtype() || w.rank() != x.rank())
    throw Error("SG0101", "conv: " + to_string(x.type()) + " has no weights " + to_string(w.type()))
        .hint("x is (batch, channels, space..), the weights are (results, channels / groups, window..)");
  const int64_t channels = w.shape()[1], results = w.shape()[0];
  if (groups < 1 || channels * groups != x.shape()[1] || results % groups != 0)
    throw Error("SG0101", "conv: " + std::to_string(x.shape()[1]) + " channels in " + std::to_string(groups) +
                              (groups == 1 ? " group" : " groups") + " have no weights " + to_string(w.type()))
        .hint("axis 1 of the weights has channels / groups, and groups divide axis 0");
  Graph& g = *x.graph;
  Extents window;
  for (int j = 2; j < w.rank(); ++j) window.push_back(w.shape()[j]);
  const std::vector<Sweep> sweeps = sweeps_of("conv", x, window, moves);
  const int64_t share = results / groups;
  Extents outer = groups == 1 ? Extents{x.shape()[0], results} : Extents{x.shape()[0], groups, share};
  const size_t front = outer.size();
  for (const Sweep& s : sweeps) outer.push_back(s.results);
  Extents inner = {channels};
  inner.insert(inner.end(), window.begin(), window.end());
  const Expr out = nested(g, outer, [&](const Places& y) {
    const Expr products = nested(g, inner, [&](const Places& i) {
      const Expr channel = groups == 1 ? i[0] : times(y[1], channels) + i[0];
      Places from = {y[0], channel}, weight = {groups == 1 ? y[1] : times(y[1], share) + y[2]};
      for (size_t j = 0; j < sweeps.size(); ++j) from.push_back(place(sweeps[j], y[front + j], i[1 + j]));
      weight.insert(weight.end(), i.begin(), i.end());
      return gather(x, from) * gather(w, weight);
    });
    return reduce(Op::Sum, products, all_axes(products));
  });
  if (groups == 1) return out;
  Shape shape{x.shape()[0], results};
  for (const Sweep& s : sweeps) shape.push_back(s.results);
  return reshape(out, shape);
}

Expr max_pool(Expr x, std::span<const int64_t> window, const Moves& moves) {
  require_images("max_pool", x);
  const std::vector<Sweep> sweeps = sweeps_of("max_pool", x, window, with_stride(moves, window));
  const Expr outside = scalar(*x.graph, x.dtype(), extreme_of(x.dtype(), false));
  return pooled(x, sweeps, outside, [](Expr in) { return reduce(Op::ReduceMax, in, all_axes(in)); });
}

Expr avg_pool(Expr x, std::span<const int64_t> window, const Moves& moves) {
  require_float(x, "avg_pool");
  require_images("avg_pool", x);
  const std::vector<Sweep> sweeps = sweeps_of("avg_pool", x, window, with_stride(moves, window));
  Expr out = pooled(x, sweeps, scalar(*x.graph, x.dtype(), 0), [](Expr in) { return reduce(Op::Sum, in, all_axes(in)); });
  Expr counts = full_like(out, 1);
  for (size_t j = 0; j < sweeps.size(); ++j) {
    const Sweep& s = sweeps[j];
    std::vector<double> inside;
    for (int64_t y = 0; y < s.results; ++y) {
      const int64_t from = y * s.stride - s.before;
      inside.push_back(
          static_cast<double>(std::max<int64_t>(0, std::min(from + s.window, s.extent) - std::max<int64_t>(from, 0))));
    }
    const Expr along = constant(*x.graph, {x.dtype(), {s.results}}, std::move(inside));
    counts = counts * broadcast(along, out.shape(), {static_cast<int64_t>(j) + 2});
  }
  return out / counts;
}

}  // namespace spirograd::ir
