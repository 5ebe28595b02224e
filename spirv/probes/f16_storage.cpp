// f16 in memory, where a device has it.
#include <cmath>
#include <limits>

#include "spirv/probes/recipe.h"

namespace spirograd::probes {

using kernel::Access;
using kernel::Builder;
using kernel::Scalar;
using kernel::Value;

// Each invocation reads one half, writes it as f32, and writes its double to another array of halves, beside those of
// others.
void add_f16_storage(Recipes& out) {
  constexpr float inf = std::numeric_limits<float>::infinity();
  const std::vector<float> xs = {1,           -0.0f, 0.5f,  1.0009765625f, -3,   0x1p-14f, 0x1p-24f,
                                 -0x1.8p-20f, 32752, -2047, inf,           -inf, 1000,     7};
  const auto n = static_cast<uint32_t>(xs.size());
  std::vector<uint32_t> halves(n / 2), doubled(n / 2);
  for (uint32_t i = 0; i < n; ++i) {
    halves[i / 2] |= uint32_t{Half(xs[i]).bits} << 16 * (i % 2);
    doubled[i / 2] |= uint32_t{Half(2 * xs[i]).bits} << 16 * (i % 2);
  }
  std::vector<uint32_t> widened;
  for (float x : xs) widened.push_back(bits_of(x));
  Draft d("f16 storage");
  const uint32_t wide = d.output(n), twice = d.output(n, DType::F16), x = d.constant(halves);
  Builder b("f16_storage", 64, n);
  const uint32_t from = b.bind("x", Scalar::F16, Access::Read), to = b.bind("wide", Scalar::F32, Access::Write),
                 next = b.bind("twice", Scalar::F16, Access::Write);
  b.begin_guard();
  const Value i = b.index(), v = b.load(from, i);
  b.store(to, i, v);
  b.store(next, i, b.add(v, v));
  b.end_if();
  d.run(d.kernel(std::move(b).finish()), {{x}, {wide}, {twice}});
  d.expect(31, "f16 in memory: what is read", wide, widened);
  d.expect(31, "f16 in memory: what is written", twice, doubled);
  out.push_back(std::move(d).take());
}

}  // namespace spirograd::probes
