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

constexpr uint32_t kPoints = 4096;
constexpr uint32_t kUlps = 4;  // what math.h promises

// Of two arguments the second one is between 1/4 and 8.
struct Function : kernel::Elementary {
  Value (*two)(Builder&, Value, Value) = nullptr;
};

// clang-format off
constexpr Function kOfTwo[] = {
    {{"pow",   nullptr, 1e-3f, 100,  false}, kernel::pow},
    {{"atan2", nullptr, 1e-3f, 1e3f, true},  kernel::atan2},
    {{"fmod",  nullptr, 1e-3f, 1e6f, true},  kernel::fmod},
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
  const Value first = argument(x);
  const Value y = f.of ? f.of(b, first) : f.two(b, first, argument(point(b, shuffled, 0.25f, 8)));
  b.store(to, i, y);
  b.end_if();
  return std::move(b).finish();
}

}  // namespace

void add_functions(Recipes& out) {
  Draft d("functions");
  std::vector<Function> functions;
  for (const kernel::Elementary& f : kernel::kElementary) functions.push_back({f});
  functions.insert(functions.end(), std::begin(kOfTwo), std::end(kOfTwo));
  std::vector<uint32_t> outputs;
  for (size_t j = 0; j < functions.size(); ++j) outputs.push_back(d.output(kPoints));
  for (size_t j = 0; j < functions.size(); ++j) {
    d.run(d.kernel(kernel_of(functions[j], Scalar::F32)), {{outputs[j]}});
    std::vector<double> exact(kPoints);
    std::vector<std::span<uint8_t>> buffers{{reinterpret_cast<uint8_t*>(exact.data()), 8 * exact.size()}};
    kernel::evaluate(kernel_of(functions[j], Scalar::F64), buffers);
    std::vector<uint32_t> expected;
    for (double y : exact) expected.push_back(bits_of(static_cast<float>(y)));
    d.expect(23, functions[j].name, outputs[j], expected).ulps = kUlps;
  }
  d.thorough();
  out.push_back(std::move(d).take());
}

}  // namespace spirograd::probes
