#include "spirv/kernel/latitude.h"

#include <cmath>

#include "spirv/kernel/scalar.h"

namespace spirograd::kernel {
namespace {

constexpr float kLeastNormal = std::numeric_limits<float>::min();

float flushed(float x) { return std::abs(x) < kLeastNormal ? std::copysign(0.0f, x) : x; }

// From -n to n.
int32_t deviation(uint32_t n, uint32_t a, uint32_t b) {
  uint32_t h = (a ^ 0x9e3779b9u) * 0x85ebca6bu ^ (b + 0x7f4a7c15u) * 0xc2b2ae35u;
  h = (h ^ h >> 15) * 0x2c1b3c6du;
  return static_cast<int32_t>((h ^ h >> 16) % (2 * n + 1)) - static_cast<int32_t>(n);
}

// Of a value that is known to more digits than f32 has. Overflow toward zero stays finite.
float rounded(double x, bool toward_zero) {
  const auto nearest = static_cast<float>(x);
  const bool beyond = std::abs(static_cast<double>(nearest)) > std::abs(x);
  return toward_zero && beyond ? std::nextafter(nearest, 0.0f) : nearest;
}

// In double all but sums of very different sizes are exact, or are so to twice the digits.
double exact(KOp op, double x, double y) {
  return op == KOp::Add ? x + y : op == KOp::Sub ? x - y : op == KOp::Mul ? x * y : op == KOp::Div ? x / y : std::sqrt(x);
}

// Whether it is an operation on f32 that need not stay one.
bool is_free(const Inst& i) { return i.type == Scalar::F32 && may_be_exact(i) && !is_exact(i); }

}  // namespace

Kernel contracted(const Kernel& kernel) {
  Kernel out = kernel;
  out.body.clear();
  std::vector<Value> moved;
  const auto put = [&](const Inst& i) {
    out.body.push_back(i);
    return static_cast<Value>(out.body.size() - 1);
  };
  for (Inst i : kernel.body) {
    const bool subtracts = i.op == KOp::Sub;
    const auto is_product = [&](Value v) { return kernel.body[v].op == KOp::Mul && is_free(kernel.body[v]); };
    const bool sums = is_free(i) && (i.op == KOp::Add || subtracts);
    const size_t term = !sums ? 2 : is_product(i.in[0]) ? 0 : is_product(i.in[1]) ? 1 : 2;
    const Inst product = term < 2 ? kernel.body[i.in[term]] : Inst{};
    for (Value& v : operands(i)) v = moved[v];
    if (term < 2) {
      const auto negative = [&](Value v) { return put({KOp::Neg, i.type, {v, 0, 0}}); };
      Value a = moved[product.in[0]], c = i.in[1 - term];
      if (subtracts && term == 0) c = negative(c);
      if (subtracts && term == 1) a = negative(a);
      i = {KOp::MulAdd, i.type, {a, moved[product.in[1]], c}};
    }
    moved.push_back(put(i));
  }
  return out;
}

uint64_t apply_with(const Latitude& l, KOp op, Scalar operand, Scalar result, uint64_t a, uint64_t b, uint64_t c) {
  if (op == KOp::MulAdd && l.fused && operand == Scalar::F32) return bits(std::fma(as_f32(a), as_f32(b), as_f32(c)));
  if (op == KOp::MulAdd) return apply_with(l, KOp::Add, operand, result, apply_with(l, KOp::Mul, operand, result, a, b), c);
  const bool rounds = op == KOp::Add || op == KOp::Sub || op == KOp::Mul || op == KOp::Div || op == KOp::Sqrt;
  if (operand != Scalar::F32 || !rounds) return apply(op, operand, result, a, b);
  const auto in = [&](uint64_t bits) { return l.flush_denormals ? flushed(as_f32(bits)) : as_f32(bits); };
  float r = rounded(exact(op, static_cast<double>(in(a)), static_cast<double>(in(b))), l.toward_zero);
  const bool inexact = op == KOp::Div || op == KOp::Sqrt;
  if (l.ulp > 0 && inexact && std::abs(r) >= 2 * kLeastNormal && std::isfinite(r)) {
    const int32_t off = deviation(l.ulp, as_u32(a), op == KOp::Div ? as_u32(b) : 0);
    r = std::bit_cast<float>(static_cast<uint32_t>(std::bit_cast<int32_t>(r) + off));
  }
  return bits(l.flush_denormals ? flushed(r) : r);
}

}  // namespace spirograd::kernel
