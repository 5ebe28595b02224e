// Which loads leave their loops, how far, and what comes with them; what the kernel computes stays the same.
#include "spirv/kernel/invariant.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <numeric>

#include "spirv/kernel/builder.h"
#include "spirv/kernel/eval.h"
#include "spirv/kernel/verify.h"

namespace spirograd {
namespace invariant_test {

using kernel::Access;
using kernel::Builder;
using kernel::Inst;
using kernel::Kernel;
using kernel::KOp;
using kernel::Scalar;
using kernel::Value;

constexpr int kElements = 256;

// What the body does with x, which is read, y, which is read and written, and the number of the invocation.
using Body = std::function<void(Builder&, uint32_t x, uint32_t y, Value i)>;

Kernel made(const Body& body) {
  Builder b("k", 4, 4);
  const uint32_t x = b.bind("x", Scalar::F32, Access::Read), y = b.bind("y", Scalar::F32, Access::ReadWrite);
  body(b, x, y, b.bitcast(Scalar::I32, b.index()));
  return std::move(b).finish();
}

std::vector<float> run(const Kernel& k) {
  std::vector<float> x(kElements), y(kElements, 1);
  std::iota(x.begin(), x.end(), 1.f);
  const auto bytes = [](std::vector<float>& s) { return std::span(reinterpret_cast<uint8_t*>(s.data()), 4 * s.size()); };
  const std::span<uint8_t> buffers[] = {bytes(x), bytes(y)};
  kernel::evaluate(k, buffers);
  return y;
}

// How many loops are open at each load, in the order of the code.
std::vector<int> depths(const Kernel& k) {
  std::vector<int> out;
  int open = 0;
  for (const Inst& i : k.body) {
    open += (i.op == KOp::Loop) - (i.op == KOp::EndLoop);
    if (i.op == KOp::Load) out.push_back(open);
  }
  return out;
}

using Depths = std::vector<int>;

Depths depths_after(const Body& body) {
  Kernel k = made(body);
  const std::vector<float> before = run(k);
  kernel::move_loads_out_of_loops(k);
  const std::optional<Error> wrong = kernel::verify(k);
  EXPECT_FALSE(wrong) << wrong->message;
  EXPECT_EQ(run(k), before);
  return depths(k);
}

void add_to(Builder& b, Value sum, Value x) { b.set(sum, b.add(b.get(sum), x)); }

TEST(Invariant, LoadsLeaveTheLoopsInWhichTheirPositionsStay) {
  EXPECT_EQ(depths_after([](Builder& b, uint32_t x, uint32_t y, Value i) {
              const Value sum = b.var(b.f32(0));
              const Value outer = b.begin_loop(b.i32(3));
              const Value inner = b.begin_loop(b.i32(5));
              add_to(b, sum, b.load(x, b.add(b.mul(i, b.i32(4)), b.i32(1))));  // of the invocation alone
              add_to(b, sum, b.load(x, b.add(outer, b.i32(2))));
              add_to(b, sum, b.load(x, inner));
              add_to(b, sum, b.load(x, b.add(b.mul(outer, b.i32(5)), inner)));
              b.end_loop();
              b.end_loop();
              b.store(y, i, b.get(sum));
            }),
            (Depths{0, 1, 2, 2}));
}

TEST(Invariant, WhatPositionsAreLoadedFromLeavesToo) {
  EXPECT_EQ(depths_after([](Builder& b, uint32_t x, uint32_t y, Value i) {
              const Value sum = b.var(b.f32(0));
              b.begin_loop(b.i32(3));
              const Value place = b.op(KOp::Min, b.convert(Scalar::I32, b.load(x, i)), b.i32(kElements - 1));
              add_to(b, sum, b.load(x, place));
              b.end_loop();
              b.store(y, i, b.get(sum));
            }),
            (Depths{0, 0}));
}

TEST(Invariant, EqualLoadsOfTwoLoopsAreOne) {
  EXPECT_EQ(depths_after([](Builder& b, uint32_t x, uint32_t y, Value i) {
              const Value sum = b.var(b.f32(0));
              for (int k = 0; k < 2; ++k) {
                b.begin_loop(b.i32(3));
                add_to(b, sum, b.load(x, b.add(i, b.i32(7))));
                b.end_loop();
              }
              b.store(y, i, b.get(sum));
            }),
            (Depths{0}));
}

TEST(Invariant, WhatIsPerhapsNotLoadedStays) {
  const auto one_load = [](const std::function<void(Builder&, Value i)>& open, const std::function<void(Builder&)>& close) {
    return depths_after([&](Builder& b, uint32_t x, uint32_t y, Value i) {
      const Value sum = b.var(b.f32(0));
      open(b, i);
      add_to(b, sum, b.load(x, b.add(i, b.i32(1))));
      close(b);
      b.store(y, i, b.get(sum));
    });
  };
  const auto end_loop = [](Builder& b) { b.end_loop(); };
  EXPECT_EQ(one_load([](Builder& b, Value) { b.begin_loop(b.i32(2)); }, end_loop), (Depths{0}));
  EXPECT_EQ(one_load([](Builder& b, Value i) { b.begin_loop(i); }, end_loop), (Depths{1})) << "perhaps no iteration";
  EXPECT_EQ(one_load(
                [](Builder& b, Value i) {
                  b.begin_loop(b.i32(9), true);
                  b.break_if(b.op(KOp::Lt, i, b.i32(2)));
                },
                end_loop),
            (Depths{1}))
      << "perhaps left before";
  EXPECT_EQ(one_load(
                [](Builder& b, Value i) {
                  b.begin_loop(b.i32(3));
                  b.begin_if(b.op(KOp::Lt, i, b.i32(2)));
                },
                [](Builder& b) {
                  b.end_if();
                  b.end_loop();
                }),
            (Depths{1}))
      << "under a condition";
}

TEST(Invariant, WhatIsWrittenIsLoadedWhereItWas) {
  EXPECT_EQ(depths_after([](Builder& b, uint32_t x, uint32_t y, Value i) {
              b.begin_loop(b.i32(3));
              b.store(y, i, b.add(b.load(y, i), b.load(x, i)));
              b.end_loop();
            }),
            (Depths{0, 1}));
}

constexpr int kMany = 200;

Body many_loads(bool waits) {
  return [waits](Builder& b, uint32_t x, uint32_t y, Value i) {
    const Value sum = b.var(b.f32(0));
    b.begin_loop(b.i32(3));
    for (int j = 0; j < kMany; ++j) add_to(b, sum, b.load(x, b.add(i, b.i32(j))));
    if (waits) b.barrier();
    b.end_loop();
    b.store(y, i, b.get(sum));
  };
}

TEST(Invariant, NotMoreLeaveALoopThanHaveRoom) {
  const Depths after = depths_after(many_loads(false));
  EXPECT_EQ(after.size(), static_cast<size_t>(kMany));
  EXPECT_EQ(std::count(after.begin(), after.end(), 0), 128);
}

TEST(Invariant, WhereInvocationsWaitForEachOtherMoreLeaveInParts) {
  EXPECT_EQ(depths_after(many_loads(true)), Depths(kMany, 0));
  Kernel k = made(many_loads(true));
  kernel::move_loads_out_of_loops(k);
  std::vector<int> loads = {0};  // between barriers
  for (const Inst& i : k.body) i.op == KOp::Barrier ? loads.push_back(0) : void(loads.back() += i.op == KOp::Load);
  EXPECT_EQ(loads, (std::vector<int>{64, 64, 64, 8, 0}));
}

}  // namespace invariant_test
}  // namespace spirograd
