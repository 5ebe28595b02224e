// Kernels of the interpreter for layout, reductions, gather and scatter. Strided walks without allocation per element.
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <string>

#include "frontend/ir/eval_ops.h"

namespace spirograd::ir {
namespace {

using Strides = std::array<int64_t, kMaxRank>;

// Calls f(offset, step, run) for each innermost row of `shape`: `run` elements at offset, offset + step, ...
template <class F>
void for_rows(const Shape& shape, const Strides& stride, int64_t base, F f) {
  if (shape.count() == 0) return;
  if (shape.rank() == 0) return f(base, int64_t{0}, int64_t{1});
  const int last = shape.rank() - 1;
  std::array<int64_t, kMaxRank> at{};
  int64_t offset = base;
  for (;;) {
    f(offset, stride[static_cast<size_t>(last)], shape[last]);
    int axis = last - 1;
    for (; axis >= 0; --axis) {
      const auto a = static_cast<size_t>(axis);
      offset += stride[a];
      if (++at[a] < shape[axis]) break;
      offset -= at[a] * stride[a];
      at[a] = 0;
    }
    if (axis < 0) return;
  }
}

// out, row-major in `shape`, is `in` read with the given strides.
void strided_copy(const Shape& shape, const Strides& stride, int64_t base, const double* in, double* out) {
  for_rows(shape, stride, base, [&](int64_t offset, int64_t step, int64_t run) {
    for (int64_t i = 0; i < run; ++i) *out++ = in[offset + i * step];
  });
}

int64_t outer_count(const Shape& s, int axis) { return s.slice(0, axis).count(); }

void eval_window(const Node& n, const View& in, double* out) {
  const int axis = static_cast<int>(n.attr[0]);
  const int64_t extent = n.type.shape[axis], source = in.type->shape[axis];
  const int64_t outer = outer_count(n.type.shape, axis), inner = n.type.shape.stride(axis), lo = n.attr[1];
  std::fill_n(out, n.type.shape.count(), 0.0);
  // Positions p with 0 <= lo + p < source; written so that a huge |lo| cannot overflow.
  const int64_t first = lo < 0 ? (lo <= -extent ? extent : -lo) : 0;
  const int64_t last = lo >= source ? first : std::min(extent, lo < 0 && source > INT64_MAX + lo ? extent : source - lo);
  if (first >= last) return;
  for (int64_t o = 0; o < outer; ++o)
    std::copy_n(in.data + (o * source + lo + first) * inner, (last - first) * inner, out + (o * extent + first) * inner);
}

// Operands side by side along `axis`; of a Stack each has extent 1 there.
void eval_join(const Node& n, std::span<const View> in, double* out) {
  const int axis = static_cast<int>(n.attr[0]);
  const int64_t outer = outer_count(n.type.shape, axis), inner = n.type.shape.stride(axis);
  for (int64_t o = 0; o < outer; ++o) {
    for (const View& v : in) {
      const int64_t run = n.op == Op::Stack ? inner : v.type->shape[axis] * inner;
      out = std::copy_n(v.data + o * run, run, out);
    }
  }
}

// Folds the reduced axes into `out`, which holds the initial values.
template <class F>
void fold(const Node& n, const View& in, double* out, F f) {
  const Shape& shape = in.type->shape;
  Strides stride{};
  for (int axis = 0, kept = 0; axis < shape.rank(); ++axis) {
    const bool reduced = std::find(n.attr.begin(), n.attr.end(), axis) != n.attr.end();
    stride[static_cast<size_t>(axis)] = reduced ? 0 : n.type.shape.stride(kept);
    kept += !reduced;
  }
  const double* x = in.data;
  for_rows(shape, stride, 0, [&](int64_t offset, int64_t step, int64_t run) {
    if (step == 0) {
      double acc = out[offset];
      for (int64_t i = 0; i < run; ++i) acc = f(acc, *x++);
      out[offset] = acc;
    } else {
      for (int64_t i = 0; i < run; ++i, offset += step) out[offset] = f(out[offset], *x++);
    }
  });
}

// NaN stands for "nothing seen yet": it loses against every number and survives only alone.
template <class Better>
void eval_extreme(const Node& n, const View& in, double* out, Better better) {
  const int64_t count = n.type.shape.count();
  if (in.type->shape.count() == 0) {
    std::fill_n(out, count, reduction_of_nothing(n.op, n.type.dtype));
    return;
  }
  std::fill_n(out, count, std::nan(""));
  fold(n, in, out, [better](double acc, double x) { return std::isnan(acc) || better(x, acc) ? x : acc; });
}

template <class Better>
void eval_arg(const Node& n, const View& in, double* out, Better better) {
  const int axis = static_cast<int>(n.attr[0]);
  const Shape& shape = in.type->shape;
  const int64_t outer = outer_count(shape, axis), extent = shape[axis], inner = shape.stride(axis);
  for (int64_t o = 0; o < outer; ++o) {
    for (int64_t i = 0; i < inner; ++i) {
      int64_t best = -1;
      for (int64_t j = 0; j < extent; ++j) {
        const double x = in.data[(o * extent + j) * inner + i];
        if (!std::isnan(x) && (best < 0 || better(x, in.data[(o * extent + best) * inner + i]))) best = j;
      }
      *out++ = static_cast<double>(std::max<int64_t>(best, 0));
    }
  }
}

// Offset of the slice that position m of the index arrays selects in row-major `addressed`, in slices; -1 if out of range.
int64_t slice_at(std::span<const View> index, const Shape& addressed, int64_t m) {
  int64_t offset = 0;
  for (size_t j = 0; j < index.size(); ++j) {
    const double at = index[j].data[m];
    const int64_t extent = addressed[static_cast<int>(j)];
    if (!(at >= 0 && at < static_cast<double>(extent))) return -1;
    offset = offset * extent + static_cast<int64_t>(at);
  }
  return offset;
}

}  // namespace

void eval_iota(const Node& n, double* out) {
  const int axis = static_cast<int>(n.attr[0]);
  const int64_t outer = outer_count(n.type.shape, axis), extent = n.type.shape[axis], inner = n.type.shape.stride(axis);
  for (int64_t o = 0; o < outer; ++o)
    for (int64_t j = 0; j < extent; ++j) out = std::fill_n(out, inner, wrap(static_cast<uint64_t>(j), DType::I32));
}

void eval_layout(const Node& n, std::span<const View> in, double* out) {
  const Shape &shape = n.type.shape, &source = in[0].type->shape;
  Strides stride{};
  if (n.op == Op::Broadcast) {
    for (size_t j = 0; j < n.attr.size(); ++j) stride[static_cast<size_t>(n.attr[j])] = source.stride(static_cast<int>(j));
    strided_copy(shape, stride, 0, in[0].data, out);
  } else if (n.op == Op::Transpose) {
    for (size_t j = 0; j < n.attr.size(); ++j) stride[j] = source.stride(static_cast<int>(n.attr[j]));
    strided_copy(shape, stride, 0, in[0].data, out);
  } else if (n.op == Op::Reverse) {
    for (int j = 0; j < shape.rank(); ++j) stride[static_cast<size_t>(j)] = shape.stride(j);
    const auto axis = static_cast<size_t>(n.attr[0]);
    const int64_t base = (shape[static_cast<int>(axis)] - 1) * stride[axis];
    stride[axis] = -stride[axis];
    strided_copy(shape, stride, base, in[0].data, out);
  } else if (n.op == Op::Reshape) {
    std::copy_n(in[0].data, shape.count(), out);
  } else if (n.op == Op::Window) {
    eval_window(n, in[0], out);
  } else {
    eval_join(n, in, out);
  }
}

double reduction_of_nothing(Op op, DType t) {
  if (op == Op::Sum || op == Op::Prod) return op == Op::Prod ? 1 : 0;
  const bool max = op == Op::ReduceMax;
  if (t == DType::I32) return max ? -2147483648.0 : 2147483647.0;
  if (t == DType::U32) return max ? 0.0 : 4294967295.0;
  return max ? -std::numeric_limits<double>::infinity() : std::numeric_limits<double>::infinity();
}

void eval_reduce(const Node& n, const View& in, double* out) {
  const DType t = n.type.dtype;
  const int64_t count = n.type.shape.count();
  if (n.op == Op::Sum) {
    std::fill_n(out, count, 0.0);
    if (is_integer(t))
      fold(n, in, out, [t](double a, double x) { return wrap(bits(a) + bits(x), t); });
    else
      fold(n, in, out, [](double a, double x) { return a + x; });
  } else if (n.op == Op::Prod) {
    std::fill_n(out, count, 1.0);
    if (is_integer(t))
      fold(n, in, out, [t](double a, double x) { return wrap(bits(a) * bits(x), t); });
    else
      fold(n, in, out, [](double a, double x) { return a * x; });
  } else if (n.op == Op::ReduceMax) {
    eval_extreme(n, in, out, [](double x, double y) { return x > y; });
  } else if (n.op == Op::ReduceMin) {
    eval_extreme(n, in, out, [](double x, double y) { return x < y; });
  } else if (n.op == Op::ArgMax) {
    eval_arg(n, in, out, [](double x, double y) { return x > y; });
  } else {
    eval_arg(n, in, out, [](double x, double y) { return x < y; });
  }
}

void eval_gather(std::span<const View> in, double* out) {
  const auto index = in.subspan(1);
  const Shape& table = in[0].type->shape;
  const int p = static_cast<int>(index.size());
  const Shape addressed = table.slice(0, p);
  const int64_t rest = table.slice(p, table.rank()).count(), positions = index[0].type->shape.count();
  for (int64_t m = 0; m < positions; ++m) {
    const int64_t slice = slice_at(index, addressed, m);
    out = slice < 0 ? std::fill_n(out, rest, 0.0) : std::copy_n(in[0].data + slice * rest, rest, out);
  }
}

void eval_scatter(const Node& n, std::span<const View> in, double* out) {
  const auto index = in.subspan(1);
  const int p = static_cast<int>(index.size());
  const DType t = n.type.dtype;
  const Shape addressed = n.type.shape.slice(0, p);
  const int64_t rest = n.type.shape.slice(p, n.type.shape.rank()).count(), positions = index[0].type->shape.count();
  std::fill_n(out, n.type.shape.count(), 0.0);
  for (int64_t m = 0; m < positions; ++m) {
    const int64_t slice = slice_at(index, addressed, m);
    if (slice < 0) continue;
    const double* x = in[0].data + m * rest;
    double* to = out + slice * rest;
    if (n.op == Op::ScatterMax) {
      for (int64_t i = 0; i < rest; ++i) to[i] = std::max(to[i], x[i]);
      continue;
    }
    for (int64_t i = 0; i < rest; ++i) to[i] = is_integer(t) ? wrap(bits(to[i]) + bits(x[i]), t) : to[i] + x[i];
  }
}

}  // namespace spirograd::ir
