// Integers at the edges of their range, and truth values in memory.

#include "spirv/probes/recipe.h"

namespace spirograd::probes {
namespace {

using kernel::Access;
using kernel::Builder;
using kernel::KOp;
using kernel::Scalar;
using kernel::Value;

constexpr uint32_t kEdges[] = {0,          1,          2,          3,          7,          31,         255,       65537,
                               0x7ffffffe, 0x7fffffff, 0x80000000, 0x80000001, 0xfffffff9, 0xfffffffe, 0xffffffff};
constexpr auto kCount = static_cast<uint32_t>(std::size(kEdges));
constexpr uint32_t kPairs = kCount * kCount;

// One operation on all pairs of edges: on the device, and here.
struct IntegerRow {
  uint32_t number;
  const char* what;
  Value (*device)(Builder&, Value a, Value b);
  uint32_t (*host)(uint32_t a, uint32_t b);
};

Value as_signed(Builder& b, Value x) { return b.bitcast(Scalar::I32, x); }
Value count(Builder& b, Value x) { return b.op(KOp::And, x, word(b, 31)); }
// 1 where an operand of a division would have no defined result: divisors of 0, and the least number by -1.
Value divisor(Builder& b, Value x) { return b.select(b.op(KOp::Eq, x, word(b, 0)), word(b, 1), x); }
uint32_t divisor(uint32_t x) { return x == 0 ? 1 : x; }
Value signed_divisor(Builder& b, Value x, Value y) {
  const Value overflows = b.logical_and({b.op(KOp::Eq, x, word(b, 0x80000000)), b.op(KOp::Eq, y, word(b, 0xffffffff))});
  return as_signed(b, b.select(overflows, word(b, 1), divisor(b, y)));
}
int32_t signed_divisor(uint32_t x, uint32_t y) {
  return x == 0x80000000 && y == 0xffffffff ? 1 : static_cast<int32_t>(divisor(y));
}
Value truth(Builder& b, Value condition) { return b.select(condition, word(b, 1), word(b, 0)); }

int32_t s(uint32_t x) { return static_cast<int32_t>(x); }
uint32_t u(int64_t x) { return static_cast<uint32_t>(x); }

// clang-format off
constexpr IntegerRow kRows[] = {
    {12, "u32 quotients", [](Builder& b, Value x, Value y) { return b.op(KOp::Quot, x, divisor(b, y)); },
     [](uint32_t x, uint32_t y) { return x / divisor(y); }},
    {12, "u32 remainders", [](Builder& b, Value x, Value y) { return b.op(KOp::Rem, x, divisor(b, y)); },
     [](uint32_t x, uint32_t y) { return x % divisor(y); }},
    {12, "i32 quotients",
     [](Builder& b, Value x, Value y) { return as_word(b, b.op(KOp::Quot, {as_signed(b, x), signed_divisor(b, x, y)})); },
     [](uint32_t x, uint32_t y) { return u(s(x) / signed_divisor(x, y)); }},
    {12, "i32 remainders",
     [](Builder& b, Value x, Value y) { return as_word(b, b.op(KOp::Rem, {as_signed(b, x), signed_divisor(b, x, y)})); },
     [](uint32_t x, uint32_t y) { return u(s(x) % signed_divisor(x, y)); }},
    {12, "quotients by 7", [](Builder& b, Value x, Value) { return as_word(b, b.op(KOp::Quot, as_signed(b, x), b.i32(7))); },
     [](uint32_t x, uint32_t) { return u(s(x) / 7); }},
    {13, "shifts to the left", [](Builder& b, Value x, Value y) { return b.op(KOp::Shl, x, count(b, y)); },
     [](uint32_t x, uint32_t y) { return x << (y & 31); }},
    {13, "shifts of u32 to the right", [](Builder& b, Value x, Value y) { return b.op(KOp::ShrU, x, count(b, y)); },
     [](uint32_t x, uint32_t y) { return x >> (y & 31); }},
    {13, "shifts of i32 to the right",
     [](Builder& b, Value x, Value y) { return as_word(b, b.op(KOp::ShrS, {as_signed(b, x), as_signed(b, count(b, y))})); },
     [](uint32_t x, uint32_t y) { return u(s(x) >> (y & 31)); }},
    {13, "high words of products", [](Builder& b, Value x, Value y) { return b.op(KOp::MulHiU, x, y); },
     [](uint32_t x, uint32_t y) { return u(static_cast<int64_t>((uint64_t{x} * y) >> 32)); }},
    {13, "products", [](Builder& b, Value x, Value y) { return b.mul(x, y); }, [](uint32_t x, uint32_t y) { return x * y; }},
    {13, "i32 comparisons",
     [](Builder& b, Value x, Value y) { return truth(b, b.op(KOp::Lt, {as_signed(b, x), as_signed(b, y)})); },
     [](uint32_t x, uint32_t y) { return uint32_t{s(x) < s(y)}; }},
    {13, "u32 comparisons", [](Builder& b, Value x, Value y) { return truth(b, b.op(KOp::Lt, x, y)); },
     [](uint32_t x, uint32_t y) { return uint32_t{x < y}; }},
    {13, "i32 least of two",
     [](Builder& b, Value x, Value y) { return as_word(b, b.op(KOp::Min, {as_signed(b, x), as_signed(b, y)})); },
     [](uint32_t x, uint32_t y) { return s(x) < s(y) ? x : y; }},
};
// clang-format on

void add_edges(Recipes& out) {
  Draft d("integers");
  constexpr auto kAll = static_cast<uint32_t>(std::size(kRows));
  const uint32_t y = d.output(kAll * kPairs), edges = d.constant({std::begin(kEdges), std::end(kEdges)});
  Builder b("integers", 64, kPairs);
  const uint32_t from = b.bind("edges", Scalar::U32, Access::Read), to = b.bind("y", Scalar::U32, Access::Write);
  b.begin_guard();
  const Value i = b.index(), row = word(b, kCount);
  const Value left = b.load(from, b.op(KOp::Quot, i, row)), right = b.load(from, b.op(KOp::Rem, i, row));
  for (uint32_t r = 0; r < kAll; ++r) b.store(to, {b.add(i, word(b, r * kPairs)), kRows[r].device(b, left, right)});
  b.end_if();
  const uint32_t kernel = d.kernel(std::move(b).finish());
  d.run(kernel, {{edges}, {y}});
  for (uint32_t r = 0; r < kAll; ++r) {
    std::vector<uint32_t> expected;
    for (uint32_t x : kEdges)
      for (uint32_t z : kEdges) expected.push_back(kRows[r].host(x, z));
    d.expect(kRows[r].number, kRows[r].what, y, expected, r * kPairs);
  }
  out.push_back(std::move(d).take());
}

// Stored, loaded by another dispatch, combined.
void add_bools(Recipes& out) {
  constexpr uint32_t kBools = 130;
  Draft d("truth values");
  const uint32_t y = d.output(2 * kBools), flags = d.scratch(kBools);
  Builder put("store truth values", 64, kBools);
  const uint32_t to = put.bind("flags", Scalar::Bool, Access::Write);
  put.begin_guard();
  put.store(to, {put.index(), put.op(KOp::Eq, put.op(KOp::Rem, put.index(), word(put, 3)), word(put, 1))});
  put.end_if();
  Builder use("combine truth values", 64, kBools);
  const uint32_t from = use.bind("flags", Scalar::Bool, Access::Read), found = use.bind("y", Scalar::Bool, Access::Write);
  use.begin_guard();
  const Value a = use.load(from, use.index()),
              even = use.op(KOp::Eq, use.op(KOp::And, use.index(), word(use, 1)), word(use, 0));
  use.store(found, {use.index(), use.op(KOp::Or, {use.logical_and(a, even), use.op(KOp::Xor, a, even)})});
  use.store(found, {use.add(use.index(), word(use, kBools)), use.op(KOp::Not, a)});
  use.end_if();
  const uint32_t first = d.kernel(std::move(put).finish()), second = d.kernel(std::move(use).finish());
  d.run(first, {{flags}});
  d.run(second, {{flags}, {y}});
  std::vector<uint32_t> expected(2 * kBools);
  for (uint32_t i = 0; i < kBools; ++i) {
    expected[i] = i % 3 == 1 || i % 2 == 0;
    expected[kBools + i] = i % 3 != 1;
  }
  d.expect(24, "truth values", y, expected);
  out.push_back(std::move(d).take());
}

}  // namespace

void add_integers(Recipes& out) {
  add_edges(out);
  add_bools(out);
}

}  // namespace spirograd::probes
