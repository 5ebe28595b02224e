// Which accesses to neighbours are one of two elements: where their places are 2 n and 2 n + 1 whatever n is, and where
// nothing between them minds.
#include "spirv/kernel/pairs.h"

#include <gtest/gtest.h>

#include <functional>

#include "spirv/kernel/builder.h"

namespace spirograd {
namespace pairs_test {

using kernel::Access;
using kernel::Builder;
using kernel::Half;
using kernel::Kernel;
using kernel::KOp;
using kernel::Scalar;
using kernel::Value;

// What the body does with two arrays, x that is read and y that is written, and the number of the invocation.
using Body = std::function<void(Builder&, uint32_t x, uint32_t y, Value i)>;

Kernel made(const Body& body, Scalar t = Scalar::F32, Access of_y = Access::Write) {
  Builder b("k", 64, 6400);
  const uint32_t x = b.bind("x", t, Access::Read), y = b.bind("y", t, of_y);
  body(b, x, y, b.bitcast(Scalar::I32, b.index()));
  return std::move(b).finish();
}

size_t halves(const Kernel& k, const std::vector<bool>& allowed = {true, true}) {
  size_t n = 0;
  const std::vector<Half> found = kernel::pairs(k, allowed);
  for (Value at = 0; at < found.size(); ++at) {
    if (found[at].other == 0) continue;
    ++n;
    EXPECT_EQ(found[found[at].other].other, at);
    EXPECT_NE(found[found[at].other].odd, found[at].odd);
  }
  return n;
}

Value at(Builder& b, Value i, int64_t factor, int64_t plus) { return b.add(b.mul(i, b.i32(factor)), b.i32(plus)); }

// Two loads, one at factor i + first, the other behind it by `apart`.
size_t loads(int64_t factor, int64_t first, int64_t apart) {
  return halves(made([&](Builder& b, uint32_t x, uint32_t y, Value i) {
    const Value a = b.load(x, at(b, i, factor, first)), c = b.load(x, at(b, i, factor, first + apart));
    b.store(y, i, b.add(a, c));
  }));
}

TEST(Pairs, AreElementsOfAnEvenPlaceAndTheNext) {
  EXPECT_EQ(loads(2, 0, 1), 2u);
  EXPECT_EQ(loads(2, 7, -1), 2u) << "the second one first";
  EXPECT_EQ(loads(6, 4, 1), 2u);
  EXPECT_EQ(loads(2, 1, 1), 0u) << "an odd place and the next";
  EXPECT_EQ(loads(3, 0, 1), 0u) << "an odd place in every other invocation";
  EXPECT_EQ(loads(2, 0, 2), 0u);
  EXPECT_EQ(loads(2, 0, 3), 0u);
}

// However an index has been put together.
TEST(Pairs, SeeThroughSums) {
  EXPECT_EQ(halves(made([](Builder& b, uint32_t x, uint32_t y, Value i) {
              const Value row = b.mul(b.op(KOp::Quot, i, b.i32(8)), b.i32(100)), lane = b.op(KOp::Rem, i, b.i32(8));
              const Value own = b.mul(lane, b.i32(2));
              const Value a = b.load(x, b.add(row, own)), c = b.load(x, b.add(row, b.add(own, b.i32(1))));
              b.store(y, b.add(b.add(own, row), b.i32(3)), a);
              b.store(y, b.add(own, b.add(b.i32(2), row)), c);
            })),
            4u);
  EXPECT_EQ(halves(made([](Builder& b, uint32_t x, uint32_t y, Value i) {
              const Value even = b.mul(i, b.i32(2)), clamped = b.op(KOp::Min, b.add(even, b.i32(1)), b.i32(77));
              b.store(y, i, b.add(b.load(x, even), b.load(x, clamped)));
            })),
            0u)
      << "what is clamped may be anything";
}

TEST(Pairs, HaveNothingBetweenThemThatMinds) {
  const auto stores = [](const Body& between, Access of_y) {
    return halves(made(
        [&](Builder& b, uint32_t x, uint32_t y, Value i) {
          const Value even = b.mul(i, b.i32(2)), odd = b.add(even, b.i32(1));
          b.store(y, even, b.f32(1));
          between(b, x, y, i);
          b.store(y, odd, b.f32(2));
        },
        Scalar::F32, of_y));
  };
  const Body nothing = [](Builder&, uint32_t, uint32_t, Value) {};
  EXPECT_EQ(stores(nothing, Access::Write), 2u);
  EXPECT_EQ(stores(nothing, Access::ReadWrite), 0u) << "what is read, too, may be read in another width";
  EXPECT_EQ(
      stores([](Builder& b, uint32_t, uint32_t y, Value i) { b.store(y, b.mul(i, b.i32(2)), b.f32(3)); }, Access::Write), 2u)
      << "the later of two at one place";
  EXPECT_EQ(stores(
                [](Builder& b, uint32_t, uint32_t y, Value i) {
                  b.begin_if(b.op(KOp::Lt, i, b.i32(5)));
                  b.store(y, b.i32(12799), b.f32(0));
                  b.end_if();
                },
                Access::Write),
            0u)
      << "in two blocks";
}

TEST(Pairs, AreOfElementsOfFourBytesThatLieEven) {
  const Body both = [](Builder& b, uint32_t x, uint32_t y, Value i) {
    const Value even = b.mul(i, b.i32(2)), odd = b.add(even, b.i32(1));
    const Value a = b.load(x, even), c = b.load(x, odd);
    b.store(y, even, c);
    b.store(y, odd, a);
  };
  EXPECT_EQ(halves(made(both)), 4u);
  EXPECT_EQ(halves(made(both, Scalar::I32)), 4u);
  EXPECT_EQ(halves(made(both, Scalar::F64)), 0u);
  EXPECT_EQ(halves(made(both, Scalar::F16)), 0u);
  EXPECT_EQ(halves(made(both), {true, false}), 2u);
  EXPECT_EQ(halves(made(both), {}), 0u);
  EXPECT_EQ(halves(made([](Builder& b, uint32_t x, uint32_t y, Value i) {
              b.store(y, i, b.add(b.load(x, b.i32(6)), b.load(x, b.i32(7))));
            })),
            2u)
      << "the same ones of all invocations";
}

}  // namespace pairs_test
}  // namespace spirograd
