// Whether f32 are what IEEE 754 says, and whether compilers leave formulas as they are written.
#include <cmath>
#include <limits>

#include "spirv/kernel/math.h"
#include "spirv/probes/recipe.h"

namespace spirograd::probes {
namespace {

using kernel::Access;
using kernel::Builder;
using kernel::KOp;
using kernel::Scalar;
using kernel::Value;

// An operation on pairs of words, on the device and here.
struct Pair {
  uint32_t a, b;
};
struct FloatRow {
  uint32_t number;
  const char* what;
  std::vector<Pair> pairs;
  Value (*device)(Builder&, Value a, Value b);
  uint32_t (*host)(uint32_t a, uint32_t b);
};

float f(uint32_t x) { return std::bit_cast<float>(x); }
Value as_float(Builder& b, Value x) { return b.bitcast(Scalar::F32, x); }

std::vector<Pair> singles(const std::vector<float>& a) {
  std::vector<Pair> out;
  for (float x : a) out.push_back({bits_of(x), 0});
  return out;
}
std::vector<Pair> crossed(const std::vector<float>& values) {
  std::vector<Pair> out;
  for (float x : values)
    for (float y : values) out.push_back({bits_of(x), bits_of(y)});
  return out;
}
std::vector<Pair> words(const std::vector<uint32_t>& a) {
  std::vector<Pair> out;
  for (uint32_t x : a) out.push_back({x, 0});
  return out;
}

template <KOp op>
Value combine(Builder& b, Value x, Value y) {
  return as_word(b, b.op(op, {as_float(b, x), as_float(b, y)}));
}
template <KOp op>
Value apply(Builder& b, Value x, Value) {
  return as_word(b, b.op(op, as_float(b, x)));
}
uint32_t sum(uint32_t x, uint32_t y) { return bits_of(f(x) + f(y)); }
uint32_t difference(uint32_t x, uint32_t y) { return bits_of(f(x) - f(y)); }
uint32_t product(uint32_t x, uint32_t y) { return bits_of(f(x) * f(y)); }

// Saturates, NaN is 0; through 64 bits, for what is out of range has no conversion here either.
template <class T>
uint32_t converted(uint32_t x, uint32_t) {
  const double least = std::numeric_limits<T>::min(), most = std::numeric_limits<T>::max(), v = f(x);
  return std::isnan(v) ? 0 : static_cast<uint32_t>(static_cast<int64_t>(std::min(std::max(v, least), most)));
}

// One bit per comparison.
Value comparisons(Builder& b, Value x, Value y) {
  Value all = word(b, 0);
  uint32_t bit = 1;
  for (KOp op : {KOp::Eq, KOp::Ne, KOp::Lt, KOp::Le, KOp::Gt, KOp::Ge}) {
    const Value holds = b.op(op, {as_float(b, x), as_float(b, y)});
    all = b.op(KOp::Or, all, b.select(holds, word(b, bit), word(b, 0)));
    bit *= 2;
  }
  return all;
}
uint32_t comparisons(uint32_t x, uint32_t y) {
  const float a = f(x), b = f(y);
  return uint32_t{a == b} | uint32_t{a != b} << 1 | uint32_t{a < b} << 2 | uint32_t{a <= b} << 3 | uint32_t{a > b} << 4 |
         uint32_t{a >= b} << 5;
}

// What a + b loses by rounding, and what rounds to whole numbers: formulas that a compiler which reorders sums breaks.
Value lost(Builder& k, Value x, Value y) {
  const Value a = as_float(k, x), b = as_float(k, y), s = k.add(a, b), part = k.sub(s, a);
  return as_word(k, k.add({k.sub(a, k.sub(s, part)), k.sub(b, part)}));
}
uint32_t lost(uint32_t x, uint32_t y) {
  const float a = f(x), b = f(y), s = a + b, part = s - a;
  return bits_of((a - (s - part)) + (b - part));
}
constexpr float kMagic = 12582912;  // 1.5 * 2^23
Value whole(Builder& b, Value x, Value) { return as_word(b, b.sub(b.add(as_float(b, x), b.f32(kMagic)), b.f32(kMagic))); }
uint32_t whole(uint32_t x, uint32_t) { return bits_of((f(x) + kMagic) - kMagic); }

// a a - b, with a second rounding in between.
Value square_less(Builder& k, Value x, Value y) {
  const Value a = as_float(k, x), b = as_float(k, y);
  return as_word(k, k.sub(k.mul(a, a), b));
}
uint32_t square_less(uint32_t x, uint32_t y) {
  const float square = f(x) * f(x);
  return bits_of(square - f(y));
}

std::vector<Pair> squares() {
  std::vector<Pair> out;
  for (int i = 1; i < 40; ++i) {
    const float a = 1.0f + static_cast<float>(i) / 4097.0f;
    const float square = a * a;
    out.push_back({bits_of(a), bits_of(square)});
  }
  return out;
}

std::vector<FloatRow> rows() {
  const float inf = std::numeric_limits<float>::infinity(), nan = std::numeric_limits<float>::quiet_NaN();
  const float tiny = std::numeric_limits<float>::denorm_min(), least = std::numeric_limits<float>::min();
  const auto ulp = [](int n) { return 1.0f + static_cast<float>(n) * 0x1p-23f; };
  const std::vector<float> wide = {
      nan,   inf,  -inf,  2147483648.0f, -2147483648.0f, 4294967296.0f, 2147483520.0f, -2147483904.0f, 4294967040.0f,
      -1.0f, 0.5f, -0.9f, 1e20f,         -1e20f,         3.99f,         0.0f,          -0.0f};
  const std::vector<uint32_t> edges = {0,          1,          16777217,   16777219,   33554435,   33554433,
                                       0x7fffffff, 0x80000000, 0x80000080, 0x80000081, 0x8000017f, 0x80000180,
                                       0xffffff7f, 0xffffff80, 0xffffffff, 0xfffffe80, 0x7fffffbf, 0x7fffffc0};
  std::vector<Pair> roundings;
  for (float a : {1.0f, -1.0f, ulp(1), -ulp(1), ulp(2)})
    for (float b : {0x1p-24f, -0x1p-24f, 0x1.000002p-24f, 0x1.fffffep-25f, 0x1p-25f})
      roundings.push_back({bits_of(a), bits_of(b)});
  std::vector<Pair> products;
  for (int i = 1; i < 12; ++i) products.push_back({bits_of(ulp(i)), bits_of(-ulp(4099 * i))});
  std::vector<Pair> losses;
  for (float a : {1.0f, 1e8f, -3.0f, 12345.678f})
    for (float b : {1e-7f, -3.3e-8f, 0.1f, 3.1f}) losses.push_back({bits_of(a), bits_of(b)});
  // clang-format off
  return {
      {14, "i32 of f32", singles(wide),
       [](Builder& b, Value x, Value) { return as_word(b, kernel::saturated(b, Scalar::I32, as_float(b, x))); }, converted<int32_t>},
      {14, "u32 of f32", singles(wide),
       [](Builder& b, Value x, Value) { return kernel::saturated(b, Scalar::U32, as_float(b, x)); }, converted<uint32_t>},
      {15, "f32 of u32", words(edges),
       [](Builder& b, Value x, Value) { return as_word(b, b.convert(Scalar::F32, x)); },
       [](uint32_t x, uint32_t) { return bits_of(static_cast<float>(x)); }},
      {15, "f32 of i32", words(edges),
       [](Builder& b, Value x, Value) { return as_word(b, b.convert(Scalar::F32, b.bitcast(Scalar::I32, x))); },
       [](uint32_t x, uint32_t) { return bits_of(static_cast<float>(static_cast<int32_t>(x))); }},
      {16, "a a - b", squares(), square_less, square_less},
      {17, "rounding errors of sums", losses, lost, lost},
      {17, "whole numbers", singles({0.3f, 0.5f, 1.5f, 2.5f, -0.7f, -2.5f, 1000.49f, 4000000.5f}), whole, whole},
      {18, "rounding of sums", roundings, combine<KOp::Add>, sum},
      {18, "rounding of products", products, combine<KOp::Mul>, product},
      {19, "comparisons", crossed({nan, inf, -inf, 0.0f, -0.0f, 1.0f, -2.0f}), comparisons, comparisons},
      {20, "sums of zeros", crossed({0.0f, -0.0f}), combine<KOp::Add>, sum},
      {20, "differences of zeros", crossed({0.0f, -0.0f}), combine<KOp::Sub>, difference},
      {20, "products of zeros", crossed({0.0f, -0.0f, 1.0f, -1.0f}), combine<KOp::Mul>, product},
      {20, "roots of zeros", singles({0.0f, -0.0f}), apply<KOp::Sqrt>, [](uint32_t x, uint32_t) { return x; }},
      {20, "zeros that are rounded down", singles({0.0f, -0.0f}), apply<KOp::Floor>, [](uint32_t x, uint32_t) { return x; }},
      {21, "sums of denormals", crossed({tiny, -3 * tiny, least, -least / 2}), combine<KOp::Add>, sum},
      {21, "products that are denormal", crossed({least, 0.5f, 0.25f, -0.75f}), combine<KOp::Mul>,
       [](uint32_t x, uint32_t y) { return product(x, y); }},
  };
  // clang-format on
}

void add_rows(Recipes& out) {
  Draft d("f32");
  const std::vector<FloatRow> all = rows();
  std::vector<uint32_t> in;
  uint32_t most = 0, results = 0;
  for (const FloatRow& r : all) {
    for (const Pair& p : r.pairs) in.insert(in.end(), {p.a, p.b});
    results += static_cast<uint32_t>(r.pairs.size());
    most = std::max(most, static_cast<uint32_t>(r.pairs.size()));
  }
  const uint32_t y = d.output(results), x = d.constant(in);
  Builder b("f32", 64, most);
  const uint32_t from = b.bind("x", Scalar::U32, Access::Read), to = b.bind("y", Scalar::U32, Access::Write);
  b.begin_guard();
  const Value i = b.index(), two = word(b, 2);
  uint32_t first = 0;
  for (const FloatRow& r : all) {
    const auto count = static_cast<uint32_t>(r.pairs.size());
    b.begin_if(b.op(KOp::Lt, i, word(b, count)));
    const Value place = b.add(b.mul(i, two), word(b, 2 * first));
    const Value left = b.load(from, place), right = b.load(from, b.add(place, word(b, 1)));
    b.store(to, {b.add(i, word(b, first)), r.device(b, left, right)});
    b.end_if();
    std::vector<uint32_t> expected;
    for (const Pair& p : r.pairs) expected.push_back(r.host(p.a, p.b));
    d.expect(r.number, r.what, y, expected, first);
    first += count;
  }
  b.end_if();
  const uint32_t kernel = d.kernel(std::move(b).finish());
  d.run(kernel, {{x}, {y}});
  out.push_back(std::move(d).take());
}

// Loaded and stored as numbers.
void add_copies(Recipes& out) {
  Draft d("copies of denormals");
  std::vector<uint32_t> in = {1, 0x80000001, 0x7fffff, 0x807fffff, 0x12345, 0x3f800000, 0x80000000, 0};
  const auto count = static_cast<uint32_t>(in.size());
  const uint32_t y = d.output(count), x = d.constant(in);
  Builder b("copy", 64, count);
  const uint32_t from = b.bind("x", Scalar::F32, Access::Read), to = b.bind("y", Scalar::F32, Access::Write);
  b.begin_guard();
  const Value i = b.index();
  b.store(to, i, b.load(from, i));
  b.end_if();
  const uint32_t kernel = d.kernel(std::move(b).finish());
  d.run(kernel, {{x}, {y}});
  d.expect(21, "copies of denormals", y, in);
  out.push_back(std::move(d).take());
}

// Numbers of all mantissas and many exponents; those of neighbouring points have nothing in common.
uint32_t spread(uint32_t i, uint32_t salt) {
  const uint32_t mixed = (i + salt) * 0x9e3779b1u;
  return (mixed >> 9) | ((100 + (mixed & 31)) << 23);
}
Value spread(Builder& b, uint32_t salt) {
  const Value mixed = b.mul(b.add(b.index(), word(b, salt)), word(b, 0x9e3779b1));
  const Value exponent = b.op(KOp::Shl, b.add(b.op(KOp::And, mixed, word(b, 31)), word(b, 100)), word(b, 23));
  return as_float(b, b.op(KOp::Or, b.op(KOp::ShrU, mixed, word(b, 9)), exponent));
}

// Vulkan allows divisions 2.5 ULP, and roots as much as follows from that; ours say how near they come.
void add_quotients(Recipes& out) {
  constexpr uint32_t kPoints = 4096, kSalt = 77'777;
  Draft d("quotients and roots");
  const uint32_t y = d.output(2 * kPoints);
  Builder b("quotients and roots", 64, kPoints);
  const uint32_t to = b.bind("y", Scalar::F32, Access::Write);
  b.begin_guard();
  const Value p = spread(b, 0), q = spread(b, kSalt);
  b.store(to, {b.index(), b.op(KOp::Div, p, q)});
  b.store(to, {b.add(b.index(), word(b, kPoints)), b.op(KOp::Sqrt, p)});
  b.end_if();
  const uint32_t kernel = d.kernel(std::move(b).finish());
  d.run(kernel, {{y}});
  std::vector<uint32_t> quotients, roots;
  for (uint32_t i = 0; i < kPoints; ++i) {
    quotients.push_back(bits_of(f(spread(i, 0)) / f(spread(i, kSalt))));
    roots.push_back(bits_of(std::sqrt(f(spread(i, 0)))));
  }
  d.expect(22, "quotients", y, quotients).ulps = 3;
  d.expect(22, "roots", y, roots, kPoints).ulps = 3;
  out.push_back(std::move(d).take());
}

}  // namespace

void add_floats(Recipes& out) {
  add_rows(out);
  add_copies(out);
  add_quotients(out);
}

}  // namespace spirograd::probes
