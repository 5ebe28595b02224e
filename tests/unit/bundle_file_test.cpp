// Executables as bytes: what is read is what was written, and bytes that are something else are refused, whatever they are.
#include "spirograd/bundle_file.h"

#include <gtest/gtest.h>

#include <functional>
#include <iterator>

#include "spirograd/compile.h"
#include "spirograd/grad.h"
#include "support/dispatch_loops.h"
#include "support/lowered.h"
#include "vk_runtime/executable_check.h"

namespace spirograd {
namespace bundle_file_test {

using Bytes = std::vector<uint8_t>;
constexpr size_t kVersionAt = 8, kChecksumAt = 20, kHeader = 28;

Executable compiled(const Program& p, BindingForm form, Target target = test::gpu_target()) {
  CompileOptions how;
  how.form = form;
  target.device_address = form == BindingForm::Address;
  return compile(p, target, how).value();
}

std::vector<Executable> both(const Program& p) {
  return {compiled(p, BindingForm::Address), compiled(p, BindingForm::Descriptors)};
}

Program small() { return test::parsed("def f(x: f32[3], k: i32) -> (y: f32[3], s: f32) = (x * [1.0, 2.0, 3.0], sum(x))"); }

Bytes small_bundle() { return save_bundle("f", both(small())).value(); }

// The bytes with the checksum that they should have: FNV-1a, as it is defined.
Bytes mended(Bytes b) {
  uint64_t h = 0xcbf29ce484222325u;
  for (size_t i = 0; i < b.size(); ++i)
    if (i < kChecksumAt || i >= kHeader) h = (h ^ b[i]) * 0x100000001b3u;
  for (size_t i = 0; i < 8; ++i) b[kChecksumAt + i] = static_cast<uint8_t>(h >> (8 * i));
  return b;
}

Error refused(const Bytes& bytes) {
  const Result<Bundle> r = read_bundle(bytes, "f.sgb");
  return r ? Error("", "it was read") : r.error();
}

bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

// Loops in steps, strides that go back, constants, doubles, gradients, arrays without elements and without axes.
std::vector<Program> programs() {
  std::vector<Program> out = {
      small(), test::parsed("def f(x: f64[4]) -> (y: f64) = sum(exp(x))"),
      test::parsed("def f(x: f32[0, 5], b: bool[2]) -> (y: f32[0], z: bool[2]) = (sum(x, axis=1), not b)"),
      grad(
          test::parsed("def f(a: f32[70, 80], b: f32[80]) -> (y: f32) = sum(for i: 70 => sum(for j: 80 => a[i, j] * b[j]))"),
          {"b"})
          .value()};
  for (const test::DispatchLoop& loop : test::dispatch_loops(9)) out.push_back(loop.program);
  return out;
}

TEST(BundleFile, WhatIsReadIsWhatWasWritten) {
  for (const Program& p : programs()) {
    const std::vector<Executable> forms = both(p);
    const Bytes bytes = save_bundle(p.name, forms).value();
    const Bundle read = read_bundle(bytes).value();
    EXPECT_EQ(read.program, p.name);
    ASSERT_EQ(read.forms.size(), 2u);
    // Fields are told apart by hand where they are of most weight, all others by writing them again.
    for (size_t i = 0; i < 2; ++i) {
      const Executable &a = forms[i], &b = read.forms[i];
      EXPECT_EQ(a.form, b.form);
      ASSERT_EQ(a.kernels.size(), b.kernels.size());
      for (size_t k = 0; k < a.kernels.size(); ++k) {
        EXPECT_EQ(a.kernels[k].words, b.kernels[k].words);
        EXPECT_EQ(a.kernels[k].needs, b.kernels[k].needs);
        EXPECT_EQ(a.kernels[k].in_place, b.kernels[k].in_place);
      }
      ASSERT_EQ(a.buffers.size(), b.buffers.size());
      for (size_t k = 0; k < a.buffers.size(); ++k) {
        EXPECT_EQ(a.buffers[k].name, b.buffers[k].name);
        EXPECT_EQ(a.buffers[k].type, b.buffers[k].type);
        EXPECT_EQ(a.buffers[k].data, b.buffers[k].data);
      }
      ASSERT_EQ(a.steps.size(), b.steps.size());
      EXPECT_EQ(commands(a.steps), commands(b.steps));
      EXPECT_NO_THROW(vk::check_executable(b));
    }
    EXPECT_EQ(save_bundle(read.program, read.forms).value(), bytes);
  }
}

TEST(BundleFile, OneFormIsEnough) {
  const Executable e = compiled(small(), BindingForm::Descriptors);
  const Bytes bytes = save_bundle("f", {&e, 1}).value();
  EXPECT_LT(bytes.size(), small_bundle().size());
  EXPECT_EQ(read_bundle(bytes).value().forms.size(), 1u);
  EXPECT_EQ(load_bundle(bytes, test::gpu_target(), BindingForm::Address).value().form, BindingForm::Descriptors);
}

// From x to y, by hand.
Executable least_executable() {
  Executable e;
  e.kernels = {{"k", {0x07230203, 1, 2, 3, 4, 5}, 64, 2, 1.5, {}, {{0, 1}}}};
  e.buffers = {{Role::Input, "x", f32({3}), 12, 0, {}}, {Role::Output, "y", f32({3}), 12, 0, {}}};
  e.n_inputs = e.n_outputs = 1;
  Step step;
  step.uses = {{0, 0, 12, true, false, {}}, {1, 0, 12, false, true, {-4}}};
  step.label = "twice";
  e.steps = {step};
  return e;
}

// Who changes the format changes kBundleVersion, or files of before are read as what they are not.
TEST(BundleFile, TheFormatIsThatOfItsVersion) {
  const Executable e = least_executable();
  const Bytes bytes = save_bundle("p", {&e, 1}).value();
  EXPECT_EQ(kBundleVersion, 4u);
  EXPECT_EQ(bytes.size(), 415u);
  EXPECT_EQ(read_bundle(bytes).value().checksum, 1149025664313664859u);
  EXPECT_EQ(mended(bytes), bytes);
}

TEST(BundleFile, TheBeginningOfABundleIsNone) {
  const Bytes whole = small_bundle();
  for (size_t n = 0; n < whole.size(); ++n) {
    const Error e = refused(Bytes(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(n)));
    ASSERT_EQ(e.code, "SG0501") << n;
    ASSERT_TRUE(contains(e.message, n < kHeader ? "is cut short" : "behind its header, which says")) << e.message;
    ASSERT_FALSE(e.help.empty());
  }
  Bytes longer = whole;
  longer.push_back(0);
  EXPECT_TRUE(contains(refused(longer).message, "behind its header, which says"));
}

TEST(BundleFile, NoByteChangesUnnoticed) {
  const Bytes whole = small_bundle();
  for (size_t at = 0; at < whole.size(); ++at)
    for (uint8_t flip : {0x01, 0x80, 0xff}) {
      Bytes b = whole;
      b[at] ^= flip;
      const Error e = refused(b);
      ASSERT_EQ(e.code, "SG0501") << at;
      const char* what = at < kVersionAt ? "is none" : at < 12 ? "has version" : at < kChecksumAt ? "header" : "is damaged";
      ASSERT_TRUE(contains(e.message, what)) << at << ": " << e.message;
    }
}

// Whoever can mend a checksum can write anything: it is refused here, or by the session, or does nothing out of range.
TEST(BundleFile, BytesWithARightChecksumAreSafeToRead) {
  const Bytes whole = small_bundle();
  size_t refusals = 0, read = 0;
  for (size_t at = kHeader; at < whole.size(); ++at)
    for (uint8_t flip : {0x01, 0x80, 0xff}) {
      Bytes b = whole;
      b[at] ^= flip;
      const Result<Bundle> r = read_bundle(mended(b));
      if (!r) {
        ASSERT_EQ(r.error().code, "SG0501");
        ASSERT_TRUE(contains(r.error().message, "malformed")) << r.error().message;
        ++refusals;
        continue;
      }
      ++read;
      for (const Executable& e : r->forms) {
        try {
          vk::check_executable(e);
        } catch (const Error& error) {
          ASSERT_EQ(error.code, "SG0900");
        }
        requirements_of(e);
      }
    }
  EXPECT_GT(refusals, 100u);
  EXPECT_GT(read, 100u);
}

TEST(BundleFile, WhatNoCompilerMakesIsRefused) {
  const std::function<void(Executable&)> mistakes[] = {
      [](Executable& e) { e.version = 2; },
      [](Executable& e) { e.n_inputs = 2; },
      [](Executable& e) { e.n_inputs = e.n_outputs = 0x80000000u; },
      [](Executable& e) { e.kernels[0].words.resize(5); },
      [](Executable& e) { e.kernels[0].words[0] = 0x03022307; },
      [](Executable& e) { e.kernels[0].workgroup = 0; },
      [](Executable& e) {
        e.kernels[0].in_place = {{2, 1}};
      },
      [](Executable& e) {
        e.kernels[0].in_place = {{0, 1}, {0, 2}};
      },
  };
  for (size_t i = 0; i < std::size(mistakes); ++i) {
    Executable e = least_executable();
    mistakes[i](e);
    const Result<Bytes> saved = save_bundle("p", {&e, 1});
    ASSERT_FALSE(saved) << i;
    EXPECT_EQ(saved.error().code, "SG0501");
  }
  // The same in bytes: behind the header, the name, the number of forms: the executable's version.
  const Executable e = least_executable();
  Bytes b = save_bundle("p", {&e, 1}).value();
  constexpr size_t kExecutableVersionAt = kHeader + 8 + 1 + 1;
  ASSERT_EQ(b[kExecutableVersionAt], 1);
  b[kExecutableVersionAt] = 2;
  EXPECT_EQ(refused(mended(b)).message, "the bundle 'f.sgb' is malformed, though its checksum is right");
}

TEST(BundleFile, AnotherVersionIsNamed) {
  Bytes b = small_bundle();
  b[kVersionAt] = 7;
  const Error e = refused(mended(b));
  EXPECT_EQ(e.code, "SG0501");
  EXPECT_EQ(e.message, "the bundle 'f.sgb' has version 7 of the format, and this library reads 4");
  EXPECT_TRUE(contains(e.help, "spirograd compile"));
}

TEST(BundleFile, OtherFilesAreNone) {
  const std::string text = "def f(x: f32) -> (y: f32) = x\n";
  const Error e = refused(Bytes(text.begin(), text.end()));
  EXPECT_EQ(e.code, "SG0501");
  EXPECT_EQ(e.message, "the bundle 'f.sgb' is none: its first bytes are not 'SPGBUNDL'");
}

TEST(BundleFile, TheFormIsOneThatRuns) {
  const Bytes bytes = small_bundle();
  Target t = test::gpu_target();
  for (BindingForm form : {BindingForm::Address, BindingForm::Descriptors})
    EXPECT_EQ(load_bundle(bytes, t, form).value().form, form);
  t.device_address = false;
  EXPECT_EQ(load_bundle(bytes, t, BindingForm::Address).value().form, BindingForm::Descriptors);
  t.device_address = true;
  t.descriptors = false;
  EXPECT_EQ(load_bundle(bytes, t, BindingForm::Descriptors).value().form, BindingForm::Address);
}

TEST(BundleFile, WhatADeviceLacksIsNamed) {
  const Bytes bytes = save_bundle("f", both(test::parsed("def f(x: f64[4]) -> (y: f64) = sum(exp(x))"))).value();
  Target t = test::gpu_target();
  t.float64 = false;
  const Result<Executable> r = load_bundle(bytes, t, BindingForm::Descriptors, "f.sgb");
  ASSERT_FALSE(r);
  EXPECT_EQ(r.error().code, "SG0303");
  EXPECT_EQ(r.error().message, "the bundle 'f.sgb' needs f64 arithmetic (shaderFloat64), which the device does not have");
  ASSERT_EQ(r.error().notes.size(), 2u);
  EXPECT_TRUE(contains(r.error().notes[0], "in descriptor form: f64"));
  EXPECT_TRUE(contains(r.error().notes[1], "in address form: f64"));
  EXPECT_FALSE(r.error().help.empty());
  t.float64 = true;
  EXPECT_TRUE(load_bundle(bytes, t, BindingForm::Descriptors, "f.sgb"));
}

// Facts that no device is asked for, but its self-test has disproved.
TEST(BundleFile, WhatADeviceGetsWrongIsNamed) {
  const Bytes bytes =
      save_bundle("f", both(test::parsed("def f(x: i32[6], i: i32[6]) -> (y: i32[3]) = scatter([3], x, i)"))).value();
  Target t = test::gpu_target();
  EXPECT_TRUE(load_bundle(bytes, t, BindingForm::Address));
  t.integer_atomics = false;
  const Result<Executable> r = load_bundle(bytes, t, BindingForm::Address);
  ASSERT_FALSE(r);
  EXPECT_EQ(r.error().code, "SG0303");
  EXPECT_EQ(r.error().message,
            "the bundle needs integer atomics that the self-test has proved, which the device does not have");
}

TEST(BundleFile, OnlyFormsOfOneProgramAreSaved) {
  const std::vector<Executable> f = both(small());
  const Executable other = compiled(test::parsed("def g(x: f32[3]) -> (y: f32) = sum(x)"), BindingForm::Descriptors);
  EXPECT_EQ(save_bundle("f", {}).error().code, "SG0501");
  EXPECT_EQ(save_bundle("f", std::vector{f[0], f[0]}).error().code, "SG0501");
  EXPECT_EQ(save_bundle("f", std::vector{f[0], other}).error().code, "SG0501");
  EXPECT_EQ(save_bundle("f", std::vector{f[0], f[1], f[0]}).error().code, "SG0501");
  EXPECT_TRUE(save_bundle("f", std::vector{f[1], f[0]}));
}

}  // namespace bundle_file_test
}  // namespace spirograd
