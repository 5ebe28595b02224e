#include "frontend/text/synonyms.h"

#include <algorithm>
#include <utility>

#include "frontend/base/characters.h"

namespace spirograd::text {
namespace {

using Synonym = std::pair<std::string_view, std::string_view>;

// clang-format off
constexpr Synonym kSynonyms[] = {
    {"absolute", "abs(x)"},            {"fabs", "abs(x)"},                {"arccos", "acos(x)"},
    {"arccosh", "acosh(x)"},           {"arcsin", "asin(x)"},             {"arcsinh", "asinh(x)"},
    {"arctan", "atan(x)"},             {"arctan2", "atan2(y, x)"},        {"arctanh", "atanh(x)"},
    {"ln", "log(x)"},                  {"log2", "log(x) / log(2.0)"},     {"log10", "log(x) / log(10.0)"},
    {"exp2", "2.0 ** x"},              {"power", "x ** y"},               {"sqr", "square(x)"},
    {"rsqrt", "1 / sqrt(x)"},          {"inversesqrt", "1 / sqrt(x)"},    {"reciprocal", "recip(x)"},
    {"sigmoid", "logistic(x)"},        {"expit", "logistic(x)"},          {"silu", "x * logistic(x)"},
    {"swish", "x * logistic(x)"},      {"gammaln", "lgamma(x)"},          {"loggamma", "lgamma(x)"},
    {"clip", "clamp(x, lo, hi)"},      {"lerp", "mix(a, b, t)"},          {"mod", "rem(a, b)"},
    {"fmod", "rem(a, b)"},             {"sgn", "sign(x)"},                {"amax", "reduce_max(x)"},
    {"amin", "reduce_min(x)"},         {"average", "mean(x)"},            {"std", "sqrt(variance(x))"},
    {"stddev", "sqrt(variance(x))"},   {"cat", "concat(a, b)"},           {"flip", "reverse(x)"},
    {"permute", "transpose(x)"},       {"arange", "iota(n)"},             {"range", "iota(n)"},
    {"identity", "eye(n)"},            {"inverse", "inv(a)"},             {"trace", "sum(diagonal(a))"},
    {"mm", "a @ b"},                   {"bmm", "a @ b"},                  {"unsqueeze", "x[:, None]"},
    {"expand_dims", "x[:, None]"},     {"take", "gather(x, i)"},          {"ifelse", "where(c, a, b)"},
    {"detach", "stop_gradient(x)"},    {"stop_grad", "stop_gradient(x)"}, {"rand", "random_uniform(key, [n])"},
    {"randn", "random_normal(key, [n])"}, {"permutation", "random_permutation(key, n)"},
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
