// Bundles on a device, through the headers that are made with them: values, what a session refuses, what the compiler does.
#include "spirograd/bundle_file.h"

#include <array>
#include <fstream>
#include <iterator>
#include <type_traits>

#include "other_bundle.h"
#include "tests/gpu/fixture.h"
#include "typed_bundle.h"

namespace spirograd::vk {
namespace bundle_run_test {

std::vector<uint8_t> bytes_of(const std::string& name) {
  std::ifstream file(SPIROGRAD_BUNDLES "/" + name, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

// Arrays of other element types or numbers of elements do not compile.
using In = typed::Inputs;
static_assert(std::is_convertible_v<std::array<float, 6>&, decltype(In::x)>);
static_assert(!std::is_convertible_v<std::array<float, 5>&, decltype(In::x)>);
static_assert(!std::is_convertible_v<std::array<double, 6>&, decltype(In::x)>);
static_assert(!std::is_convertible_v<std::array<uint32_t, 3>&, decltype(In::k)>);

struct BundleTest : testing::Gpu {};

TEST_F(BundleTest, TypedInputsGiveTypedOutputs) {
  auto f = typed::Function::load(device, bytes_of("typed_bundle.sgb"));
  ASSERT_TRUE(f) << f.error().str();
  const std::array<float, 6> x = {1, 2, 3, 4, 5, 6};
  const std::array<int32_t, 3> k = {-1, 0, 2000000000};
  const std::array<bool, 2> mask = {true, false};
  const std::array<float, 0> none = {};
  for (float scale : {0.5f, -2.0f}) {
    const auto out = (*f)({.new_ = scale, .x = x, .k = k, .n = 4294967295u, .flag = false, .mask = mask, .none = none});
    ASSERT_TRUE(out) << out.error().str();
    EXPECT_EQ(out->delete_, scale + 21);
    EXPECT_EQ(out->y, (std::vector<float>{scale, 2 * scale, 3 * scale, 4 * scale, 5 * scale, 6 * scale}));
    EXPECT_EQ(out->twice, (std::vector<int32_t>{-2, 0, -294967296}));
    EXPECT_EQ(out->next, 0u);
    EXPECT_EQ(out->either, (std::vector<uint8_t>{1, 0}));
    EXPECT_TRUE(out->is);
    EXPECT_TRUE(out->nothing.empty());
  }
}

TEST_F(BundleTest, BothFormsGiveTheSame) {
  const std::vector<uint8_t> bytes = bytes_of("other_bundle.sgb");
  std::vector<std::vector<double>> values;
  for (BindingForm form : {BindingForm::Address, BindingForm::Descriptors}) {
    const auto e = load_bundle(bytes, device->target(), form);
    ASSERT_TRUE(e) << e.error().str();
    EXPECT_TRUE(e->form == form || !device->target().device_address);
    auto session = Session::create(device, *e);
    ASSERT_TRUE(session) << session.error().str();
    const std::vector inputs = {HostArray::of<float>({1, 0}), HostArray::of<float>({0, 1, 2, 3}),
                                HostArray::of<float>({1, 3, 5, 7})};
    const auto out = (*session)->run(inputs);
    ASSERT_TRUE(out) << out.error().str();
    values.push_back((*out)[1].values());
    EXPECT_EQ((*out)[0].values(), std::vector<double>{14});
  }
  EXPECT_EQ(values[0], (std::vector<double>{-6, -14}));
  EXPECT_EQ(values[0], values[1]);
}

TEST_F(BundleTest, AnotherBundleThanThatOfTheHeaderIsRefused) {
  const auto f = typed::Function::load(device, bytes_of("other_bundle.sgb"));
  ASSERT_FALSE(f);
  EXPECT_EQ(f.error().code, "SG0501");
  EXPECT_EQ(f.error().message, "this bundle of 'loss' is not the one that its header was made with");
  const auto none = typed::Function::load(device, {});
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().code, "SG0501");
}

// As docs/embedding.md shows it.
TEST_F(BundleTest, AHeaderIsUsedAsItsDocumentSays) {
  const std::vector<uint8_t> bytes = bytes_of("other_bundle.sgb");
  auto line = loss::Function::load(device, bytes).value();
  const std::array<float, 2> w = {1, 0};
  const std::array<float, 4> x = {0, 1, 2, 3}, y = {1, 3, 5, 7};
  const float value = line({.w = w, .x = x, .y = y}).value().loss;
  EXPECT_EQ(value, 14);
}

TEST_F(BundleTest, ArraysOfOtherTypesAreRefused) {
  auto f = loss::Function::load(device, bytes_of("other_bundle.sgb"));
  ASSERT_TRUE(f) << f.error().str();
  const HostArray w = HostArray::of<float>({1, 0}), x = HostArray::of<float>({0, 1, 2, 3});
  const auto error = [&](const std::vector<HostArray>& inputs) { return f->session->run(inputs).error(); };
  EXPECT_EQ(error({w, x}).message, "the program takes 3 inputs, and 2 are given");
  for (const HostArray& wrong : {HostArray::of<float>({1}), HostArray::of<int32_t>({1, 2, 3, 4})}) {
    const Error e = error({w, wrong, x});
    EXPECT_EQ(e.code, "SG0501");
    EXPECT_NE(e.message.find("'x'"), std::string::npos) << e.message;
    EXPECT_NE(e.message.find("f32[4]"), std::string::npos) << e.message;
  }
}

}  // namespace bundle_run_test
}  // namespace spirograd::vk
