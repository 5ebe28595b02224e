// Functions compiled when they are called: structure of results, one program for each list of types, a bounded cache,
// errors.
#include "spirograd/jit.h"

#include <cmath>
#include <thread>

#include "spirograd/derivatives.h"
#include "spirograd/ops.h"
#include "tests/gpu/fixture.h"

namespace spirograd::vk {
namespace jit_test {

class JitTest : public testing::Gpu {
 protected:
  JitOptions options() { return {.device = device}; }
};

HostArray numbers(std::initializer_list<float> values) { return HostArray::of<float>(values); }

TEST_F(JitTest, ResultsHaveTheStructureOfTheFunction) {
  const auto step = jit(value_and_grad([](Array w, Array x) { return sum(square(w * x)); }, wrt<0, 1>), options());
  const auto result = step(numbers({1, 2}), numbers({3, 4}));
  ASSERT_TRUE(result) << result.error().str();
  const auto& [value, gradient] = *result;
  EXPECT_EQ(value.values(), std::vector<double>{73});
  EXPECT_EQ(std::get<0>(gradient).values(), (std::vector<double>{18, 64}));
  EXPECT_EQ(std::get<1>(gradient).values(), (std::vector<double>{6, 32}));

  const auto list = jit([](Array x) { return std::vector<Array>{x, sum(x), x * x}; }, options());
  const auto all = list(numbers({2, 5}));
  ASSERT_TRUE(all);
  ASSERT_EQ(all->size(), 3u);
  EXPECT_EQ((*all)[1].values(), std::vector<double>{7});
  const auto constant = jit([] { return ones({2}); }, options())();
  ASSERT_TRUE(constant);
  EXPECT_EQ(constant->values(), (std::vector<double>{1, 1}));
}

template <class A>
struct Line {
  A slope, offset;
};
struct Pair {
  Array a, b;
};

TEST_F(JitTest, StructsGoInAndOut) {
  const auto loss = [](const Line<Array>& m, Array x) { return sum(square(m.slope * x + m.offset)); };
  const auto step = jit(value_and_grad(loss), options());
  const auto result = step(Line<HostArray>{numbers({2}), numbers({1})}, numbers({3, 4}));
  ASSERT_TRUE(result) << result.error().str();
  const Line<HostArray>& d = result->second;
  EXPECT_EQ(d.slope.values(), std::vector<double>{2 * (3 * 7 + 4 * 9)});
  EXPECT_EQ(d.offset.values(), std::vector<double>{2 * (7 + 9)});

  // Other structs are tuples on the host.
  const auto swap = jit([](Pair p, Array x) { return Pair{p.b * x, p.a}; }, options());
  std::tuple<HostArray, HostArray> p(numbers({1}), numbers({5}));
  for (int k = 0; k < 3; ++k) p = swap(p, numbers({2})).value();
  EXPECT_EQ(std::get<0>(p).values(), std::vector<double>{20});
  EXPECT_EQ(std::get<1>(p).values(), std::vector<double>{2});
  EXPECT_EQ(swap.programs().size(), 1u);
}

TEST_F(JitTest, StructureTellsProgramsApart) {
  const auto f = jit(
      [](const std::vector<Array>& x, const std::vector<Array>& y) {
        return 10 * static_cast<int>(x.size()) + static_cast<int>(y.size()) + (x.empty() ? y[0] : x[0]);
      },
      options());
  const HostArray one = numbers({1});
  using List = std::vector<HostArray>;
  EXPECT_EQ(f(List{one, one}, List{one})->values(), std::vector<double>{22});
  EXPECT_EQ(f(List{one}, List{one, one})->values(), std::vector<double>{13});
  EXPECT_EQ(f(List{}, List{one, one, one})->values(), std::vector<double>{4});
  EXPECT_EQ(f.programs().size(), 3u);
}

TEST_F(JitTest, IsTracedOncePerListOfTypes) {
  int traces = 0;
  const auto f = jit([&](Array x) { return ++traces, x + 1; }, options());
  for (int k = 0; k < 3; ++k) {
    EXPECT_EQ(f(numbers({float(k), 2}))->values(), (std::vector<double>{k + 1.0, 3}));
    EXPECT_EQ(f(HostArray::of<int32_t>({k}))->values(), std::vector<double>{k + 1.0});
  }
  EXPECT_EQ(traces, 2);
  const std::vector<JitProgram> programs = f.programs();
  ASSERT_EQ(programs.size(), 2u);
  EXPECT_EQ(programs[0].types, std::vector<Type>{i32({1})}) << "the last one first";
  EXPECT_EQ(programs[0].calls, 3u);
  EXPECT_GT(programs[0].seconds, 0);
  EXPECT_GT(programs[1].device_bytes, 0u);
}

TEST_F(JitTest, KeepsNoMoreThanItMay) {
  int traces = 0;
  auto f = jit([&](Array x) { return ++traces, sum(x); }, {.device = device, .most = 2});
  const auto call = [&](size_t n) { return f(HostArray(f32({static_cast<int64_t>(n)})))->values()[0]; };
  for (size_t n : {1, 2, 1, 3, 1}) EXPECT_EQ(call(n), 0);
  EXPECT_EQ(traces, 3) << "2 went when 3 came, 1 was used in between";
  call(2);
  EXPECT_EQ(traces, 4);
  EXPECT_EQ(f.programs().size(), 2u);
  f.clear();
  EXPECT_TRUE(f.programs().empty());
  EXPECT_EQ(call(2), 0);
  EXPECT_EQ(traces, 5);
}

TEST_F(JitTest, MistakesAreResultsAndLeaveNothingBehind) {
  const auto f = jit([](Array x, Array y) { return x + y; }, options());
  const auto wrong = f(numbers({1, 2}), numbers({1, 2, 3}));
  ASSERT_FALSE(wrong);
  EXPECT_EQ(wrong.error().code, "SG0101") << wrong.error().str();
  EXPECT_TRUE(f.programs().empty());
  EXPECT_EQ(f(numbers({1, 2}), numbers({3, 4}))->values(), (std::vector<double>{4, 6}));
}

TEST_F(JitTest, ThreadsShareIt) {
  const auto f = jit([](Array x) { return sin(x) * x; }, options());
  std::vector<std::thread> threads;
  std::array<bool, 4> right{};
  for (size_t t = 0; t < right.size(); ++t)
    threads.emplace_back([&, t] {
      right[t] = true;
      for (int k = 0; k < 20; ++k) {
        const double x = static_cast<double>(t) + 0.125 * k, y = f(numbers({static_cast<float>(x)}))->values()[0];
        right[t] = right[t] && std::abs(y - std::sin(x) * x) < 1e-5;
      }
    });
  for (std::thread& t : threads) t.join();
  EXPECT_EQ(right, (std::array<bool, 4>{true, true, true, true}));
  EXPECT_EQ(f.programs().size(), 1u);
}

}  // namespace jit_test
}  // namespace spirograd::vk
