// The text language and the C++ surface are one language: each operation of one is in the other, under the same name, makes
// the same nodes of the same arguments, and complains in the same words. What is on one side only is listed with its reason.
#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <regex>
#include <set>

#include "spirograd/build.h"
#include "spirograd/derivatives.h"
#include "spirograd/ops.h"
#include "spirograd/ravel.h"
#include "spirograd/text.h"
#include "spirograd/trace.h"

namespace spirograd {
namespace surfaces_test {

struct In {
  Array x, y, v, k, m, c;
};
using Body = std::function<Array(const In&)>;

const std::vector<Param>& params() {
  static const std::vector<Param> all = {{"x", f32({2, 3})}, {"y", f32({2, 3})},     {"v", f32({4})},
                                         {"k", i32({4})},    {"m", boolean({2, 3})}, {"c", boolean()}};
  return all;
}

// The printed program, or the first line of the error.
std::string outcome(const Result<Program>& p) { return p ? text::print(*p) : p.error().message; }

std::string from_text(const std::string& expression) {
  std::string source = "def main(";
  for (const Param& p : params()) source += (&p == params().data() ? "" : ", ") + p.name + ": " + to_string(p.type);
  const auto any_file = [](const std::string&) {
    return Result<std::string>(std::string("\x03\x02\x23\x07", 4) + std::string(16, 0));
  };
  const auto module = text::parse(source + ") = " + expression + "\n", "surface.sg", any_file);
  return module ? outcome(text::instantiate(*module)) : module.error().message;
}

std::string from_cpp(const Body& body) {
  return outcome(trace("main", params(), [&](Array x, Array y, Array v, Array k, Array m, Array c) {
    return body({x, y, v, k, m, c});
  }));
}

struct Sample {
  std::string name, text;
  Body cpp;
  std::string cpp_name = {};  // if it differs
};

using Unary = Array (*)(Arg);
using Binary = Array (*)(Arg, Arg);

void add_elementwise(std::vector<Sample>& out) {
  // clang-format off
  const std::vector<std::pair<const char*, Unary>> unary = {
      {"ceil", ceil},     {"round", round}, {"ceil_", ceil_},   {"round_", round_},   {"trunc_", trunc_}, {"cbrt", cbrt},
      {"erfinv", erfinv},
      {"abs", abs},       {"sign", sign},   {"sqrt", sqrt},     {"exp", exp},         {"log", log},
      {"sin", sin},       {"cos", cos},     {"tan", tan},       {"asin", asin},       {"acos", acos},
      {"atan", atan},     {"sinh", sinh},   {"cosh", cosh},     {"tanh", tanh},       {"asinh", asinh},
      {"acosh", acosh},   {"atanh", atanh}, {"erf", erf},       {"erfc", erfc},       {"logistic", logistic},
      {"log1p", log1p},   {"expm1", expm1}, {"lgamma", lgamma}, {"digamma", digamma}, {"softplus", softplus},
      {"square", square}, {"recip", recip}, {"relu", relu},     {"floor", floor},     {"floor_", floor_},
      {"stop_gradient", stop_gradient}, {"prefer_store", prefer_store}, {"prefer_recompute", prefer_recompute},
  };
  const std::vector<std::pair<const char*, Binary>> binary = {
      {"pow", pow},         {"atan2", atan2},     {"masked_mul", masked_mul}, {"masked_div", masked_div},
      {"minimum", minimum}, {"maximum", maximum}, {"strong_mul", strong_mul}, {"logaddexp", logaddexp},
      {"rem", rem},         {"max", max},         {"min", min},
  };
  // clang-format on
  for (const auto& [name, f] : unary)
    out.push_back({name, std::string(name) + "(x)", [f = f](const In& in) { return f(in.x); }});
  for (const auto& [name, f] : binary)
    out.push_back({name, std::string(name) + "(x, y[0])", [f = f](const In& in) { return f(in.x, in.y(0)); }});
  out.push_back({"leaky_relu", "leaky_relu(x)", [](const In& in) { return leaky_relu(in.x); }});
  out.push_back({"quot", "quot(k, 3)", [](const In& in) { return quot(in.k, 3); }});
  out.push_back({"leaky_relu", "leaky_relu(x, 0.2)", [](const In& in) { return leaky_relu(in.x, 0.2); }});
  out.push_back({"cast", "cast(x, i32)", [](const In& in) { return cast(in.x, DType::I32); }});
  out.push_back({"where", "where(m, x, 0.0)", [](const In& in) { return where(in.m, in.x, 0.0); }});
  out.push_back({"select", "select(m, 1, k[0])", [](const In& in) { return select(in.m, 1, in.k(0)); }});
  out.push_back({"cond", "cond(c, x, y[0])", [](const In& in) { return cond(in.c, in.x, in.y(0)); }});
}

// C++ has operators and keywords where the text has names too.
void add_spelt_differently(std::vector<Sample>& out) {
  const auto spelt = [&](const char* name, const char* cpp_name, const char* text, Body cpp) {
    out.push_back({name, text, std::move(cpp), cpp_name});
  };
  spelt("add", "operator+", "add(x, y)", [](const In& in) { return in.x + in.y; });
  spelt("sub", "operator-", "sub(x, y)", [](const In& in) { return in.x - in.y; });
  spelt("mul", "operator*", "mul(x, y)", [](const In& in) { return in.x * in.y; });
  spelt("div", "operator/", "div(x, y)", [](const In& in) { return in.x / in.y; });
  spelt("neg", "operator-", "neg(x)", [](const In& in) { return -in.x; });
  spelt("eq", "operator==", "eq(x, y)", [](const In& in) { return in.x == in.y; });
  spelt("ne", "operator!=", "ne(x, y)", [](const In& in) { return in.x != in.y; });
  spelt("lt", "operator<", "lt(x, y)", [](const In& in) { return in.x < in.y; });
  spelt("le", "operator<=", "le(x, y)", [](const In& in) { return in.x <= in.y; });
  spelt("gt", "operator>", "gt(x, y)", [](const In& in) { return in.x > in.y; });
  spelt("ge", "operator>=", "ge(x, y)", [](const In& in) { return in.x >= in.y; });
  for (DType t : kDTypes) {
    const std::string n(name(t));
    spelt(n.c_str(), "cast", (n + "(k)").c_str(), [t](const In& in) { return cast(in.k, t); });
  }
  spelt("const", "constant", "const(f32[2], [1.0, 2.5])", [](const In&) { return constant(f32({2}), {1, 2.5}); });
  spelt("len", "Array::extent", "x * f32(len(v))", [](const In& in) { return in.x * in.v.extent(0); });
  // A comprehension is no operation of the text language.
  spelt("", "build", "for i: 4 => v[3 - i]", [](const In& in) { return build(4, [&](Index i) { return in.v(3 - i); }); });
}

template <class F>
void add_reduction(std::vector<Sample>& out, const std::string& name, const std::string& of, F f) {
  const auto a = [of](const In& in) { return of == "m" ? in.m : in.x; };
  out.push_back({name, name + "(" + of + ")", [=](const In& in) { return f(a(in), Axes::every(), false); }});
  const bool second_may_be_array = name == "max" || name == "min";
  const std::string last = second_may_be_array ? ", axis=-1)" : ", -1)";
  out.push_back({name, name + "(" + of + last, [=](const In& in) { return f(a(in), Axes(-1), false); }});
  out.push_back({name, name + "(" + of + ", axis=[1, 0], keepdims=true)", [=](const In& in) {
                   return f(a(in), Axes({1, 0}), true);
                 }});
}

void add_reductions(std::vector<Sample>& out) {
  add_reduction(out, "sum", "x", sum);
  add_reduction(out, "prod", "x", prod);
  add_reduction(out, "mean", "x", mean);
  add_reduction(out, "logsumexp", "x", logsumexp);
  add_reduction(out, "reduce_max", "x", reduce_max);
  add_reduction(out, "reduce_min", "x", reduce_min);
  add_reduction(out, "max", "x", [](Array a, Axes axes, bool keep) { return max(a, axes, keep); });
  add_reduction(out, "min", "x", [](Array a, Axes axes, bool keep) { return min(a, axes, keep); });
  add_reduction(out, "any", "m", any);
  add_reduction(out, "all", "m", all);
  const auto add = [&](const char* name, const char* text, Body cpp) { out.push_back({name, text, std::move(cpp)}); };
  add("any", "any(m)", [](const In& in) { return any(in.m); });
  add("sum", "sum(x, axis=0)", [](const In& in) { return sum(in.x, 0); });
  add("argmax", "argmax(x)", [](const In& in) { return argmax(in.x); });
  add("argmax", "argmax(x, -1, keepdims=true)", [](const In& in) { return argmax(in.x, -1, true); });
  add("argmin", "argmin(x, keepdims=true)", [](const In& in) { return argmin(in.x, {}, true); });
  add("cumsum", "cumsum(x)", [](const In& in) { return cumsum(in.x); });
  add("cumsum", "cumsum(x, axis=-1)", [](const In& in) { return cumsum(in.x, -1); });
  add("cumprod", "cumprod(x, 1)", [](const In& in) { return cumprod(in.x, 1); });
  add("softmax", "softmax(x)", [](const In& in) { return softmax(in.x); });
  add("softmax", "softmax(x, axis=[0, 1])", [](const In& in) { return softmax(in.x, {0, 1}); });
  add("log_softmax", "log_softmax(x)", [](const In& in) { return log_softmax(in.x); });
  add_reduction(out, "norm", "x", norm);
  add_reduction(out, "variance", "x", variance);
  add("cummax", "cummax(x, axis=-1)", [](const In& in) { return cummax(in.x, -1); });
  add("cummin", "cummin(k)", [](const In& in) { return cummin(in.k); });
  add("segment_sum", "segment_sum(v, k, 3)", [](const In& in) { return segment_sum(in.v, in.k, 3); });
  add("segment_prod", "segment_prod(v, k, 3)", [](const In& in) { return segment_prod(in.v, in.k, 3); });
  add("segment_max", "segment_max(v, k, n=3)", [](const In& in) { return segment_max(in.v, in.k, 3); });
  add("segment_min", "segment_min(v, k, 3)", [](const In& in) { return segment_min(in.v, in.k, 3); });
  add("top_k", "{ let (values, positions) = top_k(x, 2)\n values * f32(positions) }", [](const In& in) {
    const auto [values, positions] = top_k(in.x, 2);
    return values * cast(positions, DType::F32);
  });
  add("nonzero", "nonzero(m, size=4)", [](const In& in) { return nonzero(in.m, 4); });
  add("logcumsumexp", "logcumsumexp(x, axis=-1)", [](const In& in) { return logcumsumexp(in.x, -1); });
  add("sort", "sort(x)", [](const In& in) { return sort(in.x); });
  add("sort", "sort(x, axis=0, descending=true)", [](const In& in) { return sort(in.x, 0, true); });
  add("argsort", "argsort(k)", [](const In& in) { return argsort(in.k); });
  add("searchsorted", "searchsorted(v, x)", [](const In& in) { return searchsorted(in.v, in.x); });
  add("searchsorted", "searchsorted(v, 0.5, right=true)", [](const In& in) { return searchsorted(in.v, 0.5, true); });
  add("take_along_axis", "take_along_axis(v, k)", [](const In& in) { return take_along_axis(in.v, in.k); });
  add("take_along_axis", "take_along_axis(x, argsort(x), -1)",
      [](const In& in) { return take_along_axis(in.x, argsort(in.x), -1); });
  add("cross", "cross(x, y[0])", [](const In& in) { return cross(in.x, in.y(0)); });
  add("eye", "eye(3)", [](const In&) { return eye(3); });
  add("eye", "eye(3, dtype=i32)", [](const In&) { return eye(3, DType::I32); });
  add("diagonal", "diagonal(x)", [](const In& in) { return diagonal(in.x); });
  add("triu", "triu(x, k=1)", [](const In& in) { return triu(in.x, 1); });
  add("tril", "tril(x)", [](const In& in) { return tril(in.x); });
  add("inv", "inv(outer(v, v))", [](const In& in) { return inv(outer(in.v, in.v)); });
  add("det", "det(outer(v, v))", [](const In& in) { return det(outer(in.v, in.v)); });
  add("cholesky", "cholesky(outer(v, v))", [](const In& in) { return cholesky(outer(in.v, in.v)); });
  add("solve", "solve(outer(v, v), v)", [](const In& in) { return solve(outer(in.v, in.v), in.v); });
  add("solve_triangular", "solve_triangular(outer(v, v), v, lower=false)",
      [](const In& in) { return solve_triangular(outer(in.v, in.v), in.v, false); });
  add("clamp", "clamp(x, 0.0, y)", [](const In& in) { return clamp(in.x, 0, in.y); });
  add("clamp", "clamp(k, 0, 9)", [](const In& in) { return clamp(in.k, 0, 9); });
  add("mix", "mix(x, y, 0.25)", [](const In& in) { return mix(in.x, in.y, 0.25); });
  add("bits", "bits(x)", [](const In& in) { return bits(in.x); });
  add("from_bits", "from_bits(bits(x))", [](const In& in) { return from_bits(bits(in.x)); });
  add("scatter_max", "scatter_max([4, 3], bits(v), k, k)", [](const In& in) {
    return scatter_max({4, 3}, bits(in.v), {in.k, in.k});
  });
  add("bit_and", "bit_and(k, 7)", [](const In& in) { return bit_and(in.k, 7); });
  add("bit_or", "bit_or(k, k)", [](const In& in) { return bit_or(in.k, in.k); });
  add("bit_xor", "bit_xor(k, -1)", [](const In& in) { return bit_xor(in.k, -1); });
  add("shift_left", "shift_left(k, 2)", [](const In& in) { return shift_left(in.k, 2); });
  add("shift_right", "shift_right(k, k)", [](const In& in) { return shift_right(in.k, in.k); });
  add("random_key", "random_key(7)", [](const In&) { return random_key(7); });
  add("random_key", "random_key(k[0])", [](const In& in) { return random_key(in.k(0)); });
  add("random_split", "random_split(random_key(7), 3)", [](const In&) { return random_split(random_key(7), 3); });
  add("random_bits", "random_bits(random_key(7))", [](const In&) { return random_bits(random_key(7)); });
  add("random_uniform", "random_uniform(random_key(7), [2, 3])", [](const In&) {
    return random_uniform(random_key(7), {2, 3});
  });
  add("random_normal", "random_normal(random_key(7), shape=[4])",
      [](const In&) { return random_normal(random_key(7), {4}); });
  add("random_permutation", "random_permutation(random_key(7), 40)",
      [](const In&) { return random_permutation(random_key(7), 40); });
  add("hypot", "hypot(x, 3.0)", [](const In& in) { return hypot(in.x, 3); });
  add("dot", "dot(v, v)", [](const In& in) { return dot(in.v, in.v); });
  add("matmul", "matmul(x, y.T)", [](const In& in) { return matmul(in.x, transpose(in.y)); });
  add("einsum", "einsum(\"ij,kj->ik\", x, y)", [](const In& in) { return einsum("ij,kj->ik", {in.x, in.y}); });
  add("by_kernel", "by_kernel(\"k.spv\", sin(v), (v, x), invocations=4)", [](const In& in) {
    return by_kernel({{{"k.spv", {0x07230203, 0, 0, 0, 0}}}, 4}, sin(in.v), {in.v, in.x});
  });
  const auto image = [](const Array& a) { return reshape(a, {1, 2, 3}); };
  add("conv", "conv(reshape(x, [1, 2, 3]), reshape(y, [1, 2, 3]), padding=\"same\")",
      [=](const In& in) { return conv(image(in.x), image(in.y), 1, "same"); });
  add("conv", "conv(reshape(x, [1, 2, 3]), reshape(y, [2, 1, 3]), [2], [1, 0], 1, groups=2)", [=](const In& in) {
    return conv(image(in.x), reshape(in.y, {2, 1, 3}), {2}, {1, 0}, 1, 2);
  });
  add("max_pool", "max_pool(reshape(x, [1, 2, 3]), 2)", [=](const In& in) { return max_pool(image(in.x), 2); });
  add("max_pool", "max_pool(reshape(x, [1, 2, 3]), [2], stride=1, padding=1)",
      [=](const In& in) { return max_pool(image(in.x), {2}, 1, 1); });
  add("avg_pool", "avg_pool(reshape(x, [1, 2, 3]), 2, padding=\"same\")",
      [=](const In& in) { return avg_pool(image(in.x), 2, {}, "same"); });
  add("outer", "outer(v, x[0])", [](const In& in) { return outer(in.v, in.x(0)); });
}

void add_layout(std::vector<Sample>& out) {
  const auto add = [&](const char* name, const char* text, Body cpp) { out.push_back({name, text, std::move(cpp)}); };
  add("zeros", "zeros([2, 3])", [](const In&) { return zeros({2, 3}); });
  add("zeros", "zeros([2], u32)", [](const In&) { return zeros({2}, DType::U32); });
  add("ones", "ones([2])", [](const In&) { return ones({2}); });
  add("ones", "ones([2], dtype=f64)", [](const In&) { return ones(f64({2})); });
  add("full", "full([2, 4], v)", [](const In& in) { return full({2, 4}, in.v); });
  add("full", "full([2], 0.5)", [](const In&) { return full({2}, 0.5); });
  add("iota", "iota(5)", [](const In&) { return iota(5); });
  add("iota", "iota([2, 3], -1)", [](const In&) { return iota({2, 3}, -1); });
  add("fft", "{ let (a, b) = fft(x, y)\n a + b }", [](const In& in) {
    const auto [a, b] = fft(in.x, in.y);
    return a + b;
  });
  add("fft", "{ let (a, b) = fft(x, axis=0)\n a + b }", [](const In& in) {
    const auto [a, b] = fft(in.x, 0, 0);
    return a + b;
  });
  add("ifft", "{ let (a, b) = ifft(x, y)\n a + b }", [](const In& in) {
    const auto [a, b] = ifft(in.x, in.y);
    return a + b;
  });
  add("rfft", "{ let (a, b) = rfft(x)\n a + b }", [](const In& in) {
    const auto [a, b] = rfft(in.x);
    return a + b;
  });
  add("irfft", "irfft(x, y)", [](const In& in) { return irfft(in.x, in.y); });
  add("irfft", "irfft(x, y, n=3, axis=0)", [](const In& in) { return irfft(in.x, in.y, 3, 0); });
  add("reshape", "reshape(x, [3, -1])", [](const In& in) { return reshape(in.x, {3, -1}); });
  add("transpose", "transpose(x)", [](const In& in) { return transpose(in.x); });
  add("transpose", "transpose(x, [-1, 0])", [](const In& in) { return transpose(in.x, {-1, 0}); });
  add("broadcast_to", "broadcast_to(v, [2, 4])", [](const In& in) { return broadcast_to(in.v, {2, 4}); });
  add("broadcast", "broadcast(v, [2, 4])", [](const In& in) { return broadcast(in.v, {2, 4}); });
  add("broadcast", "broadcast(v, [4, 2], [0])", [](const In& in) { return broadcast(in.v, {4, 2}, {0}); });
  add("replicate", "replicate(v, 3)", [](const In& in) { return replicate(in.v, 3); });
  add("replicate", "replicate(x, 3, axis=-1)", [](const In& in) { return replicate(in.x, 3, -1); });
  add("concat", "concat(x, y)", [](const In& in) { return concat({in.x, in.y}); });
  add("concat", "concat((x, y), axis=-1)", [](const In& in) { return concat({in.x, in.y}, -1); });
  add("concatenate", "concatenate((x, y), axis=1)", [](const In& in) { return concatenate({in.x, in.y}, 1); });
  add("append", "append(x, y)", [](const In& in) { return append(in.x, in.y); });
  add("append", "append(x, y, -1)", [](const In& in) { return append(in.x, in.y, -1); });
  add("append", "append([1.0], [2.0], 0)",
      [](const In&) { return append(constant(f32({1}), {1}), constant(f32({1}), {2}), 0); });
  add("stack", "stack(x, y, axis=-1)", [](const In& in) { return stack({in.x, in.y}, -1); });
  add("ravel", "ravel((x, k, 2, v))", [](const In& in) { return ravel(std::tuple(in.x, in.k, 2, in.v)); });
  add("unravel", "{ let (a, i, b) = unravel((v, k, x), ravel((v, x)) * 2)\n sum(a) + sum(b) }", [](const In& in) {
    const auto [a, i, b] = unravel(std::tuple(in.v, in.k, in.x), ravel(std::pair(in.v, in.x)) * 2);
    return sum(a) + sum(b);
  });
  add("map_fields", "{ let (a, b) = map_fields(fn(a, b) => a * b, (v, x), (v, 3.0))\n sum(a) + sum(b) }", [](const In& in) {
    const auto [a, b] = map_fields([](Array l, Array r) { return l * r; }, std::pair(in.v, in.x), std::pair(in.v, 3.0));
    return sum(a) + sum(b);
  });
  add("slice", "slice(v, 1, 3)", [](const In& in) { return slice(in.v, 1, 3); });
  add("slice", "slice(x, 1, 3, -1)", [](const In& in) { return slice(in.x, 1, 3, -1); });
  add("window", "window(v, -1, 6)", [](const In& in) { return window(in.v, -1, 6); });
  add("window", "window(x, axis=-1, lo=1, n=4)", [](const In& in) { return window(in.x, 1, 4, -1); });
  add("reverse", "reverse(x)", [](const In& in) { return reverse(in.x); });
  add("reverse", "reverse(x, -1)", [](const In& in) { return reverse(in.x, -1); });
  add("gather", "gather(x, k, 1)", [](const In& in) { return gather(in.x, {in.k, 1}); });
  add("scatter", "scatter([5], v, k)", [](const In& in) { return scatter({5}, in.v, {in.k}); });
  add("scatter", "scatter([2, 3], 1.0, k, k)", [](const In& in) { return scatter({2, 3}, 1.0, {in.k, in.k}); });
  add("one_hot", "one_hot(k, 3)", [](const In& in) { return one_hot(in.k, 3); });
  add("one_hot", "one_hot(k, 3, dtype=i32)", [](const In& in) { return one_hot(in.k, 3, DType::I32); });
}

void add_loops(std::vector<Sample>& out) {
  const auto plus = [](Array s, Array e) { return s + e; };
  const auto both = [](Array s, Array e) { return std::pair(s + e, s * e); };
  const auto add = [&](const char* name, const char* text, Body cpp) { out.push_back({name, text, std::move(cpp)}); };
  add("fold", "fold(fn(s, e) => s + e, 0.0, v)", [=](const In& in) { return fold(plus, 0.0, in.v); });
  add("scan", "scan(fn(s, e) => s + e, 0.0, v)", [=](const In& in) { return scan(plus, 0.0, in.v); });
  add("associative_scan", "associative_scan(fn(a, b) => a * b, x)",
      [](const In& in) { return associative_scan([](Array a, Array b) { return a * b; }, in.x); });
  add("associative_scan",
      "{ let (p, q) = associative_scan(fn((a, b), (c, d)) => (a * c, c * b + d), (v, v), reverse=true)\n p + q }",
      [](const In& in) {
        using Affine = std::pair<Array, Array>;
        const auto [p, q] =
            associative_scan([](Affine f, Affine g) { return Affine(f.first * g.first, g.first * f.second + g.second); },
                             Affine(in.v, in.v), true);
        return p + q;
      });
  add("map_accum_l", "{ let (s, r) = map_accum_l(fn(s, e) => (s + e, s * e), 1.0, v)\n s + r }", [=](const In& in) {
    const auto [s, r] = map_accum_l(both, 1.0, in.v);
    return s + r;
  });
  add("map_accum_r", "{ let (s, r) = map_accum_r(fn(s, e) => (s + e, s * e), 1.0, v)\n s + r }", [=](const In& in) {
    const auto [s, r] = map_accum_r(both, 1.0, in.v);
    return s + r;
  });
  add("fori", "fori(3, fn(i, s) => s * i, k)", [](const In& in) {
    return fori(
        3, [](Index i, Array s) { return s * i; }, in.k);
  });
}

void add_derivatives(std::vector<Sample>& out) {
  const auto wave = [](Array x) { return sum(sin(x) * x); };
  const auto scaled = [](Array x) { return x * 2.0f; };
  const auto add = [&](const char* name, const char* text, Body cpp) { out.push_back({name, text, std::move(cpp)}); };
  add("grad", "grad(fn(x) => sum(sin(x) * x))(v)", [=](const In& in) { return grad(wave)(in.v); });
  add("value_and_grad", "{ let (y, d) = value_and_grad(fn(x) => sum(sin(x) * x))(v)\n y + d }", [=](const In& in) {
    const auto [y, d] = value_and_grad(wave)(in.v);
    return y + d;
  });
  add("jvp", "{ let (y, d) = jvp(fn(x) => sum(sin(x) * x), v, v)\n y + d }", [=](const In& in) {
    const auto [y, d] = jvp(wave, std::tuple(in.v), std::tuple(in.v));
    return y + d;
  });
  add("vjp", "{ let (y, back) = vjp(fn(x) => x * 2.0, v)\n back(y) }", [=](const In& in) {
    const auto [y, back] = vjp(scaled, in.v);
    return back(y);
  });
  add("linearize", "{ let (y, along) = linearize(fn(x) => x * 2.0, v)\n along(y) }", [=](const In& in) {
    const auto [y, along] = linearize(scaled, in.v);
    return along(y);
  });
  add("jacobian", "jacobian(fn(x) => x * 2.0)(v)", [=](const In& in) { return jacobian(scaled)(in.v); });
  add("jacobian", "jacobian(fn(x) => x * 2.0, chunk=2)(v)",
      [=](const In& in) { return jacobian(scaled, wrt<0>, Chunk{2})(in.v); });
  add("hessian", "hessian(fn(x) => sum(sin(x) * x))(v)", [=](const In& in) { return hessian(wave)(in.v); });
  add("hvp", "hvp(fn(x) => sum(sin(x) * x))(v, v)", [=](const In& in) { return hvp(wave)(in.v, in.v); });
  add("vmap", "vmap(fn(x) => sum(sin(x) * x))(x)", [=](const In& in) { return vmap(wave)(in.x); });
  add("vmap", "vmap(fn(x, w) => x * sum(w), in_axes=(1, None), out_axes=1)(x, v)", [=](const In& in) {
    return vmap([](Array x, Array w) { return x * sum(w); }, {1, whole}, 1)(in.x, in.v);
  });
  out.push_back({"while", "{ let (s, n) = while(fn(s) => s < 3, fn(s) => s + 1, k[0], at_most=9)\n s + n }",
                 [](const In& in) {
                   const auto [s, n] = while_loop([](Array a) { return a < 3; }, [](Array a) { return a + 1; }, in.k(0), 9);
                   return s + n;
                 },
                 "while_loop"});
  out.push_back({"switch", "switch(k[0], (fn(a, b) => a + b, fn(a, b) => a * b, atan2), x[1], x[0])",
                 [](const In& in) {
                   const auto arms =
                       std::tuple([](Array a, Array b) { return a + b; }, [](Array a, Array b) { return a * b; },
                                  [](Array a, Array b) { return atan2(a, b); });
                   return switch_(in.k(0), arms, in.x(1), in.x(0));
                 },
                 "switch_"});
}

std::vector<Sample> samples() {
  std::vector<Sample> out;
  add_elementwise(out);
  add_spelt_differently(out);
  add_reductions(out);
  add_layout(out);
  add_loops(out);
  add_derivatives(out);
  return out;
}

// ---- what is on one side only, and why

const std::map<std::string, const char*>& text_only() {
  static const std::map<std::string, const char*> reasons = {
      {"map_accum", "a loop as it is printed, over a named body"},
      {"with_jvp", "what custom_jvp makes, as it is printed"},
      {"with_vjp", "what custom_vjp makes, as it is printed"},
      {"mapAccumL", "a spelling of before"},
      {"mapAccumR", "a spelling of before"},
  };
  return reasons;
}

// Functions that a public header declares.
std::set<std::string> declared(const char* header) {
  std::ifstream in(std::string(SPIROGRAD_SOURCE_DIR) + "/frontend/include/spirograd/" + header);
  const std::regex function(
      "^(?:inline )?(?:requires\\(.*\\) )?(?:Array|auto|detail::state_of<[SE]>|std::pair<Array, Array>) (\\w+)\\(.*");
  std::set<std::string> names;
  std::string line;
  bool public_part = true;
  while (std::getline(in, line)) {
    if (line.starts_with("namespace detail")) public_part = false;
    std::smatch m;
    if (public_part && std::regex_match(line, m, function)) names.insert(m[1]);
    if (line.starts_with("}  // namespace detail")) public_part = true;
  }
  return names;
}

TEST(Surfaces, EveryOperationOfTheTextIsInCpp) {
  std::set<std::string> named;
  for (const Sample& s : samples()) named.insert(s.name);
  std::set<std::string> known;
  for (const std::string& name : text::operation_names()) {
    known.insert(name);
    EXPECT_NE(named.contains(name), text_only().contains(name)) << name << ": in text only, or listed so without need";
  }
  named.erase("");
  for (const std::string& name : named) EXPECT_TRUE(known.contains(name)) << name << ": no operation of the text language";
  for (const auto& [name, reason] : text_only()) EXPECT_TRUE(known.contains(name)) << name << ": " << reason;
}

TEST(Surfaces, EveryFunctionOfTheHeadersIsInText) {
  std::set<std::string> named;
  for (const Sample& s : samples()) named.insert(s.cpp_name.empty() ? s.name : s.cpp_name);
  std::set<std::string> functions;
  for (const char* header : {"ops.h", "loops.h", "build.h", "derivatives.h", "ravel.h"}) {
    const std::set<std::string> here = declared(header);
    EXPECT_FALSE(here.empty()) << header;
    functions.insert(here.begin(), here.end());
  }
  EXPECT_GT(functions.size(), 80u);
  const std::set<std::string> cpp_only = {"custom_jvp", "custom_vjp"};  // forms of their own in text
  for (const std::string& name : functions)
    EXPECT_NE(named.contains(name), cpp_only.contains(name)) << name << ": in C++ only";
  for (const Sample& s : samples()) {
    const bool found = !s.cpp_name.empty() || functions.contains(s.name);
    EXPECT_TRUE(found) << s.name << ": in no header";
  }
}

TEST(Surfaces, TheSameCallIsTheSameProgram) {
  for (const Sample& s : samples()) {
    const std::string text = from_text(s.text);
    EXPECT_TRUE(text.starts_with("def ")) << s.text << "\n" << text;
    EXPECT_EQ(text, from_cpp(s.cpp)) << s.text;
  }
}

TEST(Surfaces, TheSameMistakeIsToldInTheSameWords) {
  const std::vector<std::pair<std::string, Body>> mistakes = {
      {"sum(x, axis=2)", [](const In& in) { return sum(in.x, 2); }},
      {"sum(x, axis=[1, -1])",
       [](const In& in) {
         return sum(in.x, {1, -1});
       }},
      {"sum(m)", [](const In& in) { return sum(in.m); }},
      {"max(m)", [](const In& in) { return max(in.m); }},
      {"mean(k)", [](const In& in) { return mean(in.k); }},
      {"einsum(\"ij,jk\", x, y)",
       [](const In& in) {
         return einsum("ij,jk", {in.x, in.y});
       }},
      {"conv(x, y)", [](const In& in) { return conv(in.x, in.y); }},
      {"max_pool(reshape(x, [1, 2, 3]), 5, padding=\"full\")",
       [](const In& in) {
         return max_pool(reshape(in.x, {1, 2, 3}), 5, {}, "full");
       }},
      {"top_k(x, 4)", [](const In& in) { return top_k(in.x, 4).first; }},
      {"segment_max(x, k, 2)", [](const In& in) { return segment_max(in.x, in.k, 2); }},
      {"nonzero(x, -1)", [](const In& in) { return nonzero(in.x, -1); }},
      {"argmax(x, axis=-3)", [](const In& in) { return argmax(in.x, -3); }},
      {"any(x)", [](const In& in) { return any(in.x); }},
      {"all(m, axis=2)", [](const In& in) { return all(in.m, 2); }},
      {"cumsum(x, axis=2)", [](const In& in) { return cumsum(in.x, 2); }},
      {"cumprod(m)", [](const In& in) { return cumprod(in.m); }},
      {"softmax(v[0])", [](const In& in) { return softmax(in.v(0)); }},
      {"sqrt(k)", [](const In& in) { return sqrt(in.k); }},
      {"quot(x, y)", [](const In& in) { return quot(in.x, in.y); }},
      {"div(k, k)", [](const In& in) { return in.k / in.k; }},
      {"pow(x, v)", [](const In& in) { return pow(in.x, in.v); }},
      {"atan2(x, k)", [](const In& in) { return atan2(in.x, in.k); }},
      {"where(x, x, y)", [](const In& in) { return where(in.x, in.x, in.y); }},
      {"select(m, x, v)", [](const In& in) { return select(in.m, in.x, in.v); }},
      {"cond(m, x, y)", [](const In& in) { return cond(in.m, in.x, in.y); }},
      {"dot(x, y)", [](const In& in) { return dot(in.x, in.y); }},
      {"outer(x, v)", [](const In& in) { return outer(in.x, in.v); }},
      {"matmul(x, y)", [](const In& in) { return matmul(in.x, in.y); }},
      {"reshape(x, [4, -1])",
       [](const In& in) {
         return reshape(in.x, {4, -1});
       }},
      {"reshape(x, [-1, -1])",
       [](const In& in) {
         return reshape(in.x, {-1, -1});
       }},
      {"reshape(x, [7])", [](const In& in) { return reshape(in.x, {7}); }},
      {"transpose(x, [0, 2])",
       [](const In& in) {
         return transpose(in.x, {0, 2});
       }},
      {"broadcast_to(x, [2])", [](const In& in) { return broadcast_to(in.x, {2}); }},
      {"broadcast(v, [4, 2], [1])",
       [](const In& in) {
         return broadcast(in.v, {4, 2}, {1});
       }},
      {"replicate(x, -2)", [](const In& in) { return replicate(in.x, -2); }},
      {"replicate(x, 2, axis=4)", [](const In& in) { return replicate(in.x, 2, 4); }},
      {"concat(x, v)",
       [](const In& in) {
         return concat({in.x, in.v});
       }},
      {"concat(x, y, axis=2)",
       [](const In& in) {
         return concat({in.x, in.y}, 2);
       }},
      {"append(x, y, axis=2)", [](const In& in) { return append(in.x, in.y, 2); }},
      {"stack(x, v)",
       [](const In& in) {
         return stack({in.x, in.v});
       }},
      {"stack(x, y, axis=-4)",
       [](const In& in) {
         return stack({in.x, in.y}, -4);
       }},
      {"slice(v, 1, 5)", [](const In& in) { return slice(in.v, 1, 5); }},
      {"window(v, 0, -1)", [](const In& in) { return window(in.v, 0, -1); }},
      {"reverse(v, 1)", [](const In& in) { return reverse(in.v, 1); }},
      {"iota([2, 3], 2)",
       [](const In&) {
         return iota({2, 3}, 2);
       }},
      {"gather(v, k, k)",
       [](const In& in) {
         return gather(in.v, {in.k, in.k});
       }},
      {"gather(v, x)", [](const In& in) { return gather(in.v, {in.x}); }},
      {"scatter([2, 2], v, k)",
       [](const In& in) {
         return scatter({2, 2}, in.v, {in.k});
       }},
      {"bits(k)", [](const In& in) { return bits(in.k); }},
      {"from_bits(k)", [](const In& in) { return from_bits(in.k); }},
      {"scatter_max([2], v, k)", [](const In& in) { return scatter_max({2}, in.v, {in.k}); }},
      {"scatter([2], x, k)", [](const In& in) { return scatter({2}, in.x, {in.k}); }},
      {"one_hot(x, 3)", [](const In& in) { return one_hot(in.x, 3); }},
      {"fold(fn(s, e) => s, 0.0, v[0])", [](const In& in) { return fold([](Array s, Array) { return s; }, 0.0, in.v(0)); }},
      {"fold(fn(s, (e, f)) => s, 0.0, (x, v))",
       [](const In& in) { return fold([](Array s, std::pair<Array, Array>) { return s; }, 0.0, std::pair(in.x, in.v)); }},
      {"associative_scan(fn(a, b) => x, v)",
       [](const In& in) { return associative_scan([&](Array, Array) { return in.x; }, in.v); }},
      {"associative_scan(fn(a, b) => a, v[0])",
       [](const In& in) { return associative_scan([](Array a, Array) { return a; }, in.v(0)); }},
      {"scan(fn(s, e) => x, v, v)", [](const In& in) { return scan([&](Array, Array) { return in.x; }, in.v, in.v); }},
      {"fori(-1, fn(i, s) => s, x)",
       [](const In& in) {
         return fori(
             -1, [](Index, Array s) { return s; }, in.x);
       }},
  };
  for (const auto& [expression, cpp] : mistakes) {
    const std::string text = from_text(expression);
    EXPECT_FALSE(text.starts_with("def ")) << expression;
    EXPECT_EQ(text, from_cpp(cpp)) << expression;
  }
}

// What the library has is there in C++ as a program that is called, and derivatives pass through it.
TEST(Surfaces, LibraryFunctionsAreCalledFromCxx) {
  const std::string source =
      "import losses\ndef f(x: f32[2,3], y: f32[2,3]) -> f32 = huber(reshape(x, [6]), reshape(y, [6]), 0.5)\n";
  const Program huber = text::instantiate(text::parse(source, "loss.sg").value()).value();
  const auto loss = [&](Array x, Array y) { return call(huber, {x, y})[0]; };
  const Result<Program> in_cpp =
      trace("main", {params()[0], params()[1]}, [&](Array x, Array y) { return grad(loss)(x, y); });
  const std::string in_text = source + "def main(x: f32[2,3], y: f32[2,3]) = grad(f)(x, y)\n";
  EXPECT_EQ(outcome(in_cpp), outcome(text::instantiate(text::parse(in_text, "main.sg").value())));
}

}  // namespace surfaces_test
}  // namespace spirograd
