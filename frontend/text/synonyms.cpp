#include "frontend/text/synonyms.h"

#include <algorithm>
#include <utility>

#include "frontend/base/characters.h"

namespace spirograd::text {
namespace {

using Synonym = std::pair<std::string_view, std::string_view>;

// clang-format off
constexpr Synonym kSynonyms[] = {
    {"absolute", "abs(x)"},                {"fabs", "abs(x)"},                    {"arccos", "acos(x)"},
    {"arccosh", "acosh(x)"},               {"arcsin", "asin(x)"},                 {"arcsinh", "asinh(x)"},
    {"arctan", "atan(x)"},                 {"arctan2", "atan2(y, x)"},            {"arctanh", "atanh(x)"},
    {"ln", "log(x)"},                      {"log2", "log(x) / log(2.0)"},         {"log10", "log(x) / log(10.0)"},
    {"exp2", "2.0 ** x"},                  {"power", "x ** y"},                   {"sqr", "square(x)"},
    {"rsqrt", "1 / sqrt(x)"},              {"inversesqrt", "1 / sqrt(x)"},        {"reciprocal", "recip(x)"},
    {"sigmoid", "logistic(x)"},            {"expit", "logistic(x)"},              {"silu", "x * logistic(x)"},
    {"swish", "x * logistic(x)"},          {"gammaln", "lgamma(x)"},              {"loggamma", "lgamma(x)"},
    {"clip", "clamp(x, lo, hi)"},          {"lerp", "mix(a, b, t)"},              {"mod", "rem(a, b)"},
    {"fmod", "rem(a, b)"},                 {"sgn", "sign(x)"},                    {"amax", "reduce_max(x)"},
    {"amin", "reduce_min(x)"},             {"average", "mean(x)"},                {"std", "sqrt(variance(x))"},
    {"stddev", "sqrt(variance(x))"},       {"cat", "concat(a, b)"},               {"flip", "reverse(x)"},
    {"permute", "transpose(x)"},           {"arange", "iota(n)"},                 {"range", "iota(n)"},
    {"identity", "eye(n)"},                {"inverse", "inv(a)"},                 {"trace", "sum(diagonal(a))"},
    {"mm", "a @ b"},                       {"bmm", "a @ b"},                      {"unsqueeze", "x[:, None]"},
    {"expand_dims", "x[:, None]"},         {"take", "gather(x, i)"},              {"ifelse", "where(c, a, b)"},
    {"detach", "stop_gradient(x)"},        {"stop_grad", "stop_gradient(x)"},     {"rand", "random_uniform(key, [n])"},
    {"randn", "random_normal(key, [n])"},                     {"permutation", "random_permutation(key, n)"},
    {"isnan", "x != x"},                   {"isinf", "abs(x) == inf"},            {"isfinite", "abs(x) < inf"},
    {"nan_to_num", "where(x == x, x, 0)"}, {"trunc", "trunc_(x)"},                {"fix", "trunc_(x)"},
    {"rint", "round_(x)"},                 {"degrees", "x * 180 / pi"},           {"rad2deg", "x * 180 / pi"},
    {"radians", "x * pi / 180"},           {"deg2rad", "x * pi / 180"},           {"float_power", "x ** y"},
    {"heaviside", "where(x > 0, 1.0, 0.0)"},                  {"logit", "log(x / (1 - x))"},
    {"gelu", "x * 0.5 * erfc(-x / sqrt(2.0))"},               {"elu", "where(x > 0, x, expm1(x))"},
    {"mish", "x * tanh(softplus(x))"},     {"softsign", "x / (1 + abs(x))"},      {"relu6", "clamp(x, 0, 6)"},
    {"hardtanh", "clamp(x, -1, 1)"},       {"subtract", "x - y"},                 {"multiply", "x * y"},
    {"divide", "x / y"},                   {"true_divide", "x / y"},              {"negative", "-x"},
    {"logical_and", "a and b"},            {"logical_or", "a or b"},              {"logical_not", "not a"},
    {"left_shift", "shift_left(x, n)"},    {"right_shift", "shift_right(x, n)"},  {"bitwise_and", "bit_and(x, y)"},
    {"bitwise_or", "bit_or(x, y)"},        {"bitwise_xor", "bit_xor(x, y)"},      {"bitwise_not", "bit_xor(x, -1)"},
    {"var", "variance(x)"},                {"ptp", "max(x) - min(x)"},            {"count_nonzero", "sum(i32(x != 0))"},
    {"tensordot", "einsum(\"ij,jk->ik\", a, b)"},             {"squeeze", "x[:, 0]"},
    {"embedding", "gather(x, i)"},         {"index_add", "scatter([n], x, i)"},   {"scatter_add", "scatter([n], x, i)"},
    {"bincount", "scatter([n], ones([k]), i)"},               {"map", "vmap(f)(x)"},
    {"reduce", "fold(f, start, x)"},       {"foldl", "fold(f, start, x)"},        {"roll", "for i: n => x[(i - k + n) % n]"},
    {"pad", "window(x, lo=-1, n=len(x) + 2)"},                {"tile", "concat(x, x)"},
    {"repeat", "replicate(x, n)"},         {"diag", "diagonal(a)"},               {"swapaxes", "transpose(x, [1, 0])"},
    {"hstack", "concat(a, b, axis=1)"},    {"vstack", "concat(a, b)"},            {"zeros_like", "zeros(x.shape)"},
    {"ones_like", "ones(x.shape)"},        {"vdot", "dot(x, y)"},                 {"inner", "sum(x * y)"},
    {"nansum", "sum(where(x == x, x, 0))"},                   {"floor_divide", "floor_(x / y)"},
    {"copysign", "where(y < 0, -abs(x), abs(x))"},
    {"linspace", "for i: n => a + (b - a) * f32(i) / (n - 1)"},
};
// clang-format on

}  // namespace

std::string_view written_here(std::string_view name) {
  const auto at = std::ranges::find(kSynonyms, name, &Synonym::first);
  return at == std::end(kSynonyms) ? std::string_view() : at->second;
}

std::string synonym_hint(std::string_view name) {
  const std::string_view here = written_here(name);
  return here.empty() ? "" : in_quotes(name) + " is written " + std::string(here);
}

}  // namespace spirograd::text
