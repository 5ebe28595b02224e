// Which results may lie where an operand lies: of kernels made by hand, of those of real programs, and of whole executables.
// What is claimed of a program is tried: its kernels give the same with both in one array.
#include "spirv/kernel/in_place.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <functional>

#include "frontend/rewrite/passes.h"
#include "spirograd/compile.h"
#include "spirograd/text.h"
#include "spirv/kernel/builder.h"
#include "spirv/kernel/eval.h"
#include "tests/support/lowered.h"
#include "vk_runtime/in_place.h"

namespace spirograd {
namespace in_place_test {

using kernel::Access;
using kernel::Builder;
using kernel::KOp;
using kernel::Scalar;
using kernel::Value;
using Pairs = std::vector<std::pair<uint32_t, uint32_t>>;
using Index = std::function<Value(Builder&, Value)>;

const Pairs kNone, kFirst = {{0, 1}};

// b[to] = a[from] + 1, by 960 invocations.
Pairs mapped(const Index& from, const Index& to, uint32_t subgroup = 0) {
  Builder b("map", 64, 960, subgroup);
  const uint32_t a = b.bind("a", Scalar::F32, Access::Read), out = b.bind("b", Scalar::F32, Access::Write);
  const Value i = b.bitcast(Scalar::I32, b.index()), at = from(b, i), there = to(b, i);
  b.store(out, there, b.add(b.load(a, at), b.f32(1)));
  return kernel::in_place(std::move(b).finish());
}
Pairs mapped(const Index& at) { return mapped(at, at); }

Value self(Builder&, Value i) { return i; }
Value quot(Builder& b, Value i, int64_t n) { return b.op(KOp::Quot, i, b.i32(n)); }
Value rem(Builder& b, Value i, int64_t n) { return b.op(KOp::Rem, i, b.i32(n)); }
Value times(Builder& b, Value i, int64_t n) { return b.mul(i, b.i32(n)); }

TEST(InPlace, EachElementIsReadByWhoWritesIt) {
  EXPECT_EQ(mapped(self), kFirst);
  EXPECT_EQ(mapped([](Builder& b, Value i) { return b.add(times(b, i, 3), b.i32(7)); }), kFirst) << "with holes";
  EXPECT_EQ(mapped([](Builder& b, Value i) { return b.add(times(b, rem(b, i, 8), 120), quot(b, i, 8)); }), kFirst)
      << "a transposed order";
  EXPECT_EQ(mapped([](Builder& b, Value i) {
              return b.add(times(b, rem(b, i, 4), 4), b.add(rem(b, quot(b, i, 4), 4), times(b, quot(b, i, 16), 16)));
            }),
            kFirst)
      << "tiles";
  EXPECT_EQ(mapped([](Builder& b, Value i) {
              const Value tile = rem(b, i, 60);
              return b.add(times(b, rem(b, tile, 12), 5), b.add(quot(b, tile, 12), times(b, quot(b, i, 60), 60)));
            }),
            kFirst)
      << "tiles, from what is left";
  EXPECT_EQ(mapped([](Builder& b, Value) {
              return b.bitcast(Scalar::I32, b.add(b.local_index(), b.mul(b.group_index(), b.constant(Scalar::U32, 64))));
            }),
            kFirst);
}

TEST(InPlace, OthersReadOrWriteTheSameElement) {
  EXPECT_EQ(mapped(self, [](Builder& b, Value i) { return b.add(i, b.i32(1)); }), kNone) << "of the neighbour";
  EXPECT_EQ(mapped([](Builder& b, Value i) { return b.sub(b.i32(959), i); }, self), kNone) << "from the other end";
  EXPECT_EQ(mapped([](Builder& b, Value i) { return b.sub(b.i32(959), i); }), kNone) << "right, but nobody looks";
  EXPECT_EQ(mapped([](Builder& b, Value i) { return quot(b, i, 2); }), kNone) << "two write each";
  EXPECT_EQ(mapped([](Builder& b, Value i) { return rem(b, i, 64); }), kNone);
  EXPECT_EQ(mapped([](Builder& b, Value) { return b.i32(0); }), kNone) << "all write one";
  EXPECT_EQ(mapped([](Builder& b, Value i) { return b.add(rem(b, i, 8), times(b, quot(b, i, 8), 7)); }), kNone)
      << "rows that overlap";
  EXPECT_EQ(mapped([](Builder& b, Value i) {
              const Value row = rem(b, i, 15);
              return b.add(rem(b, row, 7), b.add(times(b, quot(b, row, 7), 7), times(b, quot(b, i, 15), 14)));
            }),
            kNone)
      << "15 are no tiles of 7";
  EXPECT_EQ(mapped([](Builder& b, Value i) { return b.mul(i, i); }), kNone) << "not linear";
  EXPECT_EQ(mapped([](Builder& b, Value i) { return b.op(KOp::Min, i, b.i32(900)); }), kNone) << "the last ones write one";
  EXPECT_EQ(mapped([](Builder& b, Value) { return b.bitcast(Scalar::I32, b.lane_index()); }, self, 8), kNone);
  EXPECT_EQ(mapped([](Builder& b, Value) { return b.bitcast(Scalar::I32, b.lane_index()); }), kNone);
}

// A kernel of n invocations with inputs a, c and outputs b, d.
Pairs of(const std::function<void(Builder&, Value)>& body) {
  Builder b("k", 64, 640);
  for (const char* name : {"a", "b"}) b.bind(name, Scalar::F32, *name == 'a' ? Access::Read : Access::Write);
  for (const char* name : {"c", "d"}) b.bind(name, Scalar::F32, *name == 'c' ? Access::Read : Access::Write);
  body(b, b.bitcast(Scalar::I32, b.index()));
  return kernel::in_place(std::move(b).finish());
}

TEST(InPlace, WhatIsReadEndsInWhatIsWrittenThere) {
  const Pairs both = {{0, 1}, {2, 3}};
  EXPECT_EQ(of([](Builder& b, Value i) {
              b.store(1, i, b.load(0, i));
              b.store(3, i, b.load(2, i));
            }),
            both);
  EXPECT_EQ(of([](Builder& b, Value i) {
              b.store(1, i, b.mul(b.load(0, i), b.load(2, i)));
              b.store(3, i, b.f32(2));
            }),
            (Pairs{{0, 1}, {2, 1}}))
      << "either of them, and a result that nothing is read for goes nowhere";
  EXPECT_EQ(of([](Builder& b, Value i) {
              const Value x = b.load(0, i);
              b.store(1, i, x);
              b.store(3, i, x);
            }),
            kNone)
      << "a driver may read again for the second";
  EXPECT_EQ(of([](Builder& b, Value i) {
              b.store(1, i, b.f32(1));
              b.store(3, i, b.add(b.load(0, i), b.load(2, i)));
            }),
            (Pairs{{0, 3}, {2, 3}}));
  EXPECT_EQ(of([](Builder& b, Value i) {
              const Value even = times(b, i, 2), odd = b.add(even, b.i32(1)), x = b.load(0, even), y = b.load(0, odd);
              b.store(1, even, y);
              b.store(1, odd, x);
            }),
            kNone)
      << "an exchange";
  EXPECT_EQ(of([](Builder& b, Value i) {
              const Value even = times(b, i, 2), odd = b.add(even, b.i32(1)), x = b.load(0, even), y = b.load(0, odd);
              b.store(1, even, x);
              b.store(1, odd, y);
            }),
            kFirst)
      << "two elements each";
  EXPECT_EQ(of([](Builder& b, Value i) {
              b.begin_if(b.op(KOp::Lt, b.load(0, i), b.f32(0)));
              b.store(1, i, b.f32(1));
              b.end_if();
            }),
            kNone)
      << "a condition";
  EXPECT_EQ(of([](Builder& b, Value i) {
              const Value place = b.convert(Scalar::I32, b.load(0, i));
              b.store(1, i, b.load(2, b.op(KOp::Max, b.op(KOp::Min, place, b.i32(639)), b.i32(0))));
            }),
            kNone)
      << "a place in another array";
  EXPECT_EQ(of([](Builder& b, Value i) {
              b.use_lanes(8);
              b.store(1, i, b.shuffle(b.load(0, i), b.constant(Scalar::U32, 0)));
            }),
            kNone)
      << "what other lanes read";
  EXPECT_EQ(of([](Builder& b, Value i) {
              const Value sum = b.var(b.f32(0));
              b.begin_loop(b.i32(5));
              b.set(sum, b.add(b.get(sum), b.load(0, i)));
              b.end_loop();
              b.store(1, i, b.get(sum));
            }),
            kNone);
  EXPECT_EQ(of([](Builder& b, Value i) {
              b.begin_loop(b.i32(5));
              b.store(1, i, b.load(0, i));
              b.end_loop();
            }),
            kNone)
      << "again and again";
  EXPECT_EQ(of([](Builder& b, Value i) {
              b.store(1, i, b.load(0, i));
              b.store(1, i, b.f32(0));
            }),
            kNone)
      << "twice";
}

TEST(InPlace, TheLastOnesOfAnOddSizeAreKeptOut) {
  const auto cut = [](int64_t bound, int64_t limit) {
    return of([=](Builder& b, Value i) {
      const Value at = b.op(KOp::Min, i, b.i32(bound));
      b.begin_if(b.op(KOp::Lt, i, b.i32(limit)));
      b.store(1, at, b.load(0, at));
      b.end_if();
    });
  };
  EXPECT_EQ(cut(599, 600), kFirst);
  EXPECT_EQ(cut(599, 601), kNone) << "the one beyond writes the last one as well";
}

TEST(InPlace, WhatIsClaimedOfProgramsHolds) {
  const char* const sources[] = {
      "def f(w: f32[N], g: f32[N]) -> f32[N] = w - 0.5 * g\n",
      "def f(w: f32[N], g: f32[N]) -> f32[N] = w * exp(w) + sum(g)\n",
      "def f(w: f32[N], g: f32[N]) -> (f32[N], f32[N]) = (w - g, g * 0.5)\n",
      "def f(w: f32[N], g: f32[N]) -> f32[N] = reverse(w) + g\n",
      "def f(w: f32[N], g: f32[N]) -> f32[N] = cumsum(w) * g\n",
      "def f(w: f32[N], g: f32[N]) -> f32[N] = for i: N => w[i] + w[N - 1 - i] * g[i]\n",
      "def f(w: f32[7,N], g: f32[7,13]) -> f32[7,N] = w - 0.1 * g @ ones([13, N])\n",
      "def f(w: f32[N,5], g: f32[5,N]) -> f32[N,5] = w + g.T\n",
      "def f(w: f32[N,3,4], g: f32[4]) -> f32[N,3,4] = where(w > 0, w, w * g)\n",
  };
  size_t claims = 0, others = 0;
  for (const char* source : sources)
    for (const int64_t n : {1, 2, 31, 64, 1000, 7841, 7842})
      for (const Target& target : {test::cpu_target(), test::gpu_target(), test::gpu(), Target{}}) {
        const Program p = text::instantiate(text::parse(source, "f.sg").value(), "", {{"N", n}}).value();
        const lower::Plan plan = lower::lower(rewrite::optimise_for_lowering(p), target);
        for (const Step& step : plan.steps) {
          if (step.kind != Step::Kind::Dispatch || step.groups == 0) continue;
          const kernel::Kernel& k = plan.kernels[step.kernel];
          std::vector<std::vector<uint8_t>> memory;
          for (const BufferUse& use : step.uses) {
            memory.emplace_back(plan.buffers[use.buffer].bytes);
            for (size_t i = 0; i + 4 <= memory.back().size(); i += 4) {
              const float x = static_cast<float>((i / 4 * 37 + use.buffer) % 101) / 50 - 1;
              std::memcpy(memory.back().data() + i, &x, 4);
            }
          }
          const auto run = [&](std::vector<std::vector<uint8_t>> in, uint32_t read, uint32_t written) {
            std::vector<std::span<uint8_t>> spans(in.begin(), in.end());
            spans[written] = spans[read];
            kernel::evaluate(k, spans);
            return std::vector<uint8_t>(spans[written].begin(), spans[written].end());
          };
          const Pairs pairs = kernel::in_place(k);
          others += pairs.empty();
          if (source == sources[0]) {
            EXPECT_FALSE(pairs.empty()) << source << n << " " << k.name;
          }
          for (const auto& [read, written] : pairs) {
            if (memory[read].size() != memory[written].size()) continue;
            ++claims;
            EXPECT_EQ(run(memory, read, written), run(memory, written, written)) << source << n << " " << k.name;
          }
        }
      }
  EXPECT_GT(claims, 100u);
  EXPECT_GT(others, 30u);
}

Step uses(std::vector<BufferUse> list) {
  Step s;
  s.uses = std::move(list);
  return s;
}
BufferUse reads(uint32_t b, uint64_t offset = 0) { return {b, offset, 64, true, false, {}}; }
BufferUse writes(uint32_t b, uint64_t offset = 0) { return {b, offset, 64, false, true, {}}; }

// Buffers: w, w_next, and others. Kernel 0 knows nothing, of kernel 1 binding 1 may be where binding 0 is.
std::string obstacle(std::vector<Step> steps) {
  Executable e;
  e.buffers = {
      {Role::Input, "w", {}, 128, 0, {}}, {Role::Output, "w_next", {}, 128, 0, {}}, {Role::Scratch, "", {}, 128, 0, {}}};
  e.kernels.resize(2);
  e.kernels[1].in_place = {{0, 1}};
  e.steps = std::move(steps);
  return vk::obstacle_in_place(e, 0, 1);
}

TEST(InPlace, OfAnExecutableAllReadsComeBeforeTheFirstWrite) {
  const Step reader = uses({reads(0), writes(2)}), writer = uses({reads(2), writes(1)}), plain = uses({reads(0), writes(1)});
  Step pointwise = plain, shifted = uses({reads(0), writes(1, 64)}), repeat, idle = reader;
  pointwise.kernel = shifted.kernel = 1;
  idle.groups = 0;
  repeat.kind = Step::Kind::Repeat;
  repeat.count = repeat.body = 2;
  EXPECT_EQ(obstacle({reader, writer}), "");
  EXPECT_EQ(obstacle({reader, pointwise}), "");
  EXPECT_EQ(obstacle({writer, writer, idle}), "");
  EXPECT_EQ(obstacle({writer, reader}), "step 1 reads 'w' after 'w_next' is written");
  EXPECT_EQ(obstacle({pointwise, pointwise}), "step 1 reads 'w' after 'w_next' is written");
  const std::string elements = " reads elements of 'w' that may be written before as 'w_next'";
  EXPECT_EQ(obstacle({plain}), "step 0" + elements);
  EXPECT_EQ(obstacle({shifted}), "step 0" + elements);
  EXPECT_EQ(obstacle({reader, repeat, reader, writer}), "step 1" + elements) << "the next iteration reads again";
  EXPECT_EQ(obstacle({repeat, reader, reader, writer}), "");
  EXPECT_EQ(obstacle({repeat, idle, pointwise}), "step 0" + elements);
  Executable e;
  e.steps = {plain, writer};
  vk::put_in_place(e, 0, 1);
  EXPECT_EQ(e.steps[0].uses[1].buffer, 0u);
  EXPECT_EQ(e.steps[1].uses[1].buffer, 0u);
}

}  // namespace in_place_test
}  // namespace spirograd
