// f64, where a device has them.
#include <cmath>
#include <limits>

#include "spirv/probes/recipe.h"

namespace spirograd::probes {

using kernel::Access;
using kernel::Builder;
using kernel::KOp;
using kernel::Scalar;
using kernel::Value;

void add_doubles(Recipes& out) {
  const double inf = std::numeric_limits<double>::infinity(), nan = std::numeric_limits<double>::quiet_NaN();
  const std::vector<double> xs = {1,   -0.0, 0.1,      std::ldexp(1, 1000), std::ldexp(-3, -1000), 1 + 0x1p-52,
                                  nan, inf,  12345.678};
  const auto n = static_cast<uint32_t>(xs.size());
  constexpr uint32_t kPlanes = 6;
  Draft d("f64");
  const uint32_t y = d.output(kPlanes * n, DType::F64);
  std::vector<uint32_t> in;
  for (double x : xs) {
    const auto bits = std::bit_cast<uint64_t>(x);
    in.insert(in.end(), {static_cast<uint32_t>(bits), static_cast<uint32_t>(bits >> 32)});
  }
  const uint32_t x = d.constant(in);
  Builder b("f64", 64, n);
  const uint32_t from = b.bind("x", Scalar::F64, Access::Read), to = b.bind("y", Scalar::F64, Access::Write);
  b.begin_guard();
  const Value v = b.load(from, b.index()), three = b.constant(Scalar::F64, 3), one = b.constant(Scalar::F64, 1),
              two = b.constant(Scalar::F64, 2), is_nan = b.op(KOp::Ne, v, v);
  // A NaN may have any payload: 2 stands for it, in all planes.
  const Value planes[kPlanes] = {v,
                                 b.add(v, b.constant(Scalar::F64, 0.1)),
                                 b.op(KOp::Div, v, three),
                                 b.mul(v, v),
                                 b.op(KOp::Sqrt, b.select(b.op(KOp::Lt, v, b.constant(Scalar::F64, 0)), one, v)),
                                 b.select(b.op(KOp::Lt, v, one), one, b.constant(Scalar::F64, 0))};
  for (uint32_t p = 0; p < kPlanes; ++p) b.store(to, {b.add(b.index(), word(b, p * n)), b.select(is_nan, two, planes[p])});
  b.end_if();
  const uint32_t kernel = d.kernel(std::move(b).finish());
  d.run(kernel, {{x}, {y}});
  std::vector<uint32_t> expected;
  for (uint32_t p = 0; p < kPlanes; ++p)
    for (double z : xs) {
      const double results[kPlanes] = {z, z + 0.1, z / 3, z * z, std::sqrt(z < 0 ? 1 : z), z < 1 ? 1.0 : 0.0};
      const auto bits = std::bit_cast<uint64_t>(std::isnan(z) ? 2.0 : results[p]);
      expected.insert(expected.end(), {static_cast<uint32_t>(bits), static_cast<uint32_t>(bits >> 32)});
    }
  d.expect(25, "f64 arithmetic", y, expected);
  out.push_back(std::move(d).take());
}

}  // namespace spirograd::probes
