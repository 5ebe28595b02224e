// Whether results are sums over the data, means or concatenated is found out, and what is none of them is refused.
#include <gtest/gtest.h>

#include "spirograd/grad.h"
#include "spirograd/shards.h"
#include "spirograd/text.h"
#include "vk_runtime/shards/pieces.h"

namespace spirograd {
namespace how_joined_test {

MakeProgram made_from(const std::string& source) {
  return [module = text::parse(source, "test.sg").value()](std::span<const Param> params) {
    std::vector<text::NamedType> types;
    for (const Param& p : params) types.push_back({p.name, p.type});
    return text::instantiate(module, "", types);
  };
}

const std::vector<Param> kParams = {{"w", f32({2})}, {"x", f32({7, 2})}};
const std::vector<HostArray> kInputs = {HostArray(f32({2}), {0.5, -2}),
                                        HostArray(f32({7, 2}), {1, 2, -3, 4, 5, 5, 7, 1, 0, 2, 3, 3, 1, 8})};

Result<std::vector<JoinedResult>> asked(const std::string& source, std::vector<JoinedResult> told = {}) {
  return how_joined(made_from(source), kParams, {{"x", 0}}, kInputs, std::move(told));
}
// "sum", "concatenated 1", or the code of the error.
std::string answer(const std::string& body) {
  const auto found = asked("def f(w: f32[2], x: f32[N,2]) = " + body);
  if (!found) return found.error().code;
  const JoinedResult& r = found->at(0);
  return std::string(name(r.how)) + (r.how == Joined::Concatenate ? " " + std::to_string(r.axis) : "");
}

TEST(HowJoined, SumsMeansAndWhatIsConcatenatedAreTold) {
  EXPECT_EQ(answer("sum(x)"), "sum");
  EXPECT_EQ(answer("sum(square(matmul(x, w)))"), "sum");
  EXPECT_EQ(answer("mean(square(matmul(x, w)))"), "mean");
  EXPECT_EQ(answer("mean(square(matmul(x, w))) + 3 * sum(square(w))"), "mean") << "each piece adds it, with its weight";
  EXPECT_EQ(answer("matmul(x, w)"), "concatenated 0");
  EXPECT_EQ(answer("transpose(x)"), "concatenated 1");
  EXPECT_EQ(answer("sum(w)"), "mean") << "the same in all pieces";
}

TEST(HowJoined, WhatCannotBeSharedIsRefused) {
  EXPECT_EQ(answer("max(x)"), "SG0511");
  EXPECT_EQ(answer("sum(x) + sum(w)"), "SG0511") << "each piece would add w";
  EXPECT_EQ(answer("log(sum(exp(x)))"), "SG0511");
  EXPECT_EQ(answer("cumsum(matmul(x, w))"), "SG0511");
  EXPECT_EQ(answer("matmul(x, transpose(x))"), "SG0511");
  EXPECT_EQ(answer("sum(f32(iota(N)) * matmul(x, w))"), "SG0511") << "a piece counts from 0";
}

TEST(HowJoined, ZerosTellNothingUnlessSomebodySaysIt) {
  const std::string source = "def f(w: f32[2], x: f32[N,2]) -> (r: f32, s: f32) = (0 * sum(x), sum(x))";
  const auto silent = asked(source);
  ASSERT_FALSE(silent);
  EXPECT_EQ(silent.error().code, "SG0511");
  EXPECT_NE(silent.error().message.find("'r'"), std::string::npos) << silent.error().message;
  const auto told = asked(source, {{"r", Joined::Mean}});
  ASSERT_TRUE(told) << told.error().str();
  ASSERT_EQ(told->size(), 2u);
  EXPECT_EQ(told->at(0).how, Joined::Mean);
  EXPECT_EQ(told->at(1).how, Joined::Sum);
}

TEST(HowJoined, PiecesOfAnyAxisArePutTogetherAgain) {
  std::vector<double> values(2 * 5 * 3);
  for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<double>(i);
  for (int axis = 0; axis < 3; ++axis) {
    const HostArray whole(i32({2, 5, 3}), values);
    const int64_t n = whole.type.shape[axis], k = n / 2;
    const HostArray a = shards::piece_of(whole, axis, 0, k), b = shards::piece_of(whole, axis, k, n - k);
    EXPECT_EQ(a.type.shape[axis], k);
    const std::vector<shards::Part> parts = {{k, &a}, {n - k, &b}};
    EXPECT_EQ(shards::joined(whole.type, {"", Joined::Concatenate, axis}, parts).bytes, whole.bytes) << axis;
  }
}

TEST(HowJoined, SumsOfIntegersWrapAndMeansHaveWeights) {
  const HostArray a(u32({1}), {4294967295.0}), b(u32({1}), {3});
  const std::vector<shards::Part> whole_numbers = {{1, &a}, {1, &b}};
  EXPECT_EQ(shards::joined(u32({1}), {"", Joined::Sum, 0}, whole_numbers).values(), std::vector<double>{2});
  const HostArray c = HostArray::of<float>({4}), d = HostArray::of<float>({8});
  const std::vector<shards::Part> floats = {{1, &c}, {3, &d}};
  EXPECT_EQ(shards::joined(f32({1}), {"", Joined::Mean, 0}, floats).values(), std::vector<double>{7});
}

}  // namespace how_joined_test
}  // namespace spirograd
