// The elementary functions, against their own f64 forms on the host.
#include "spirv/kernel/eval.h"
#include "spirv/kernel/math.h"
#include "spirv/probes/recipe.h"

namespace spirograd::probes {
namespace {

using kernel::Access;
using kernel::Builder;
using kernel::Kernel;
using kernel::KOp;
using kernel::Scalar;
using kernel::Value;

constexpr uint32_t kPoints = 1024;
constexpr uint32_t kUlps = 4;  // what math.h promises

// On numbers between least and most, which are positive, and on their negatives in turns where it says so. Of two arguments
// the other one is between 1/4 and 8.
struct Function {
  const char* name;
  float least, most;
  bool negatives;
  Value (*one)(Builder&, Value);
  Value (*two)(Builder&, Value, Value);
};

// clang-format off
constexpr Function kFunctions[] = {
    {"exp",      1e-3f, 87,      true,  kernel::exp,      nullptr},
    {"log",      1e-6f, 1e6f,    false, kernel::log,      nullptr},
    {"sin",      1e-3f, 1e4f,    true,  kernel::sin,      nullptr},
    {"cos",      1e-3f, 1e4f,    true,  kernel::cos,      nullptr},
    {"tan",      1e-3f, 1e4f,    true,  kernel::tan,      nullptr},
    {"asin",     1e-3f, 1,       true,  kernel::asin,     nullptr},
    {"acos",     1e-3f, 1,       true,  kernel::acos,     nullptr},
    {"atan",     1e-3f, 1e3f,    true,  kernel::atan,     nullptr},
    {"sinh",     1e-3f, 80,      true,  kernel::sinh,     nullptr},
    {"cosh",     1e-3f, 80,      true,  kernel::cosh,     nullptr},
    {"tanh",     1e-3f, 10,      true,  kernel::tanh,     nullptr},
    {"asinh",    1e-3f, 1e4f,    true,  kernel::asinh,    nullptr},
    {"acosh",    1,     1e4f,    false, kernel::acosh,    nullptr},
    {"atanh",    1e-3f, 0.9999f, true,  kernel::atanh,    nullptr},
    {"erf",      1e-3f, 4,       true,  kernel::erf,      nullptr},
    {"erfc",     1e-3f, 9,       true,  kernel::erfc,     nullptr},
    {"lgamma",   2.5f,  1e4f,    false, kernel::lgamma,   nullptr},
    {"digamma",  2,     1e4f,    false, kernel::digamma,  nullptr},
    {"logistic", 1e-3f, 80,      true,  kernel::logistic, nullptr},
    {"log1p",    1e-3f, 0.999f,  true,  kernel::log1p,    nullptr},
    {"expm1",    1e-3f, 80,      true,  kernel::expm1,    nullptr},
    {"pow",      1e-3f, 100,     false, nullptr,          kernel::pow},
    {"atan2",    1e-3f, 1e3f,    true,  nullptr,          kernel::atan2},
    {"fmod",     1e-3f, 1e6f,    true,  nullptr,          kernel::fmod},
};
// clang-format on

// The i-th of all points from a to b; exact, for they are counted in last places.
Value point(Builder& b, Value i, float least, float most) {
  const uint32_t first = bits_of(least), step = (bits_of(most) - first) / kPoints;
  return b.add(b.mul(i, word(b, step)), word(b, first));
}

Kernel kernel_of(const Function& f, Scalar type) {
  Builder b(f.name, 64, kPoints);
  const uint32_t to = b.bind("y", type, Access::Write);
  b.begin_guard();
  const Value i = b.index();
  Value x = point(b, i, f.least, f.most);
  if (f.negatives) x = b.op(KOp::Xor, x, b.op(KOp::Shl, i, word(b, 31)));
  const auto argument = [&](Value bits) { return b.convert(type, b.bitcast(Scalar::F32, bits)); };
  const Value shuffled = b.op(KOp::And, b.mul(i, word(b, 613)), word(b, kPoints - 1));
  const Value y = f.one ? f.one(b, argument(x)) : f.two(b, argument(x), argument(point(b, shuffled, 0.25f, 8)));
  b.store(to, i, y);
  b.end_if();
  return std::move(b).finish();
}

}  // namespace

void add_functions(Recipes& out) {
  Draft d("functions");
  std::vector<uint32_t> outputs;
  for (size_t j = 0; j < std::size(kFunctions); ++j) outputs.push_back(d.output(kPoints));
  for (size_t j = 0; j < std::size(kFunctions); ++j) {
    d.run(d.kernel(kernel_of(kFunctions[j], Scalar::F32)), {{outputs[j]}});
    std::vector<double> exact(kPoints);
    std::vector<std::span<uint8_t>> buffers{{reinterpret_cast<uint8_t*>(exact.data()), 8 * exact.size()}};
    kernel::evaluate(kernel_of(kFunctions[j], Scalar::F64), buffers);
    std::vector<uint32_t> expected;
    for (double y : exact) expected.push_back(bits_of(static_cast<float>(y)));
    d.expect(23, kFunctions[j].name, outputs[j], expected).ulps = kUlps;
  }
  d.thorough();
  out.push_back(std::move(d).take());
}

}  // namespace spirograd::probes
