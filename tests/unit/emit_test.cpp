// Modules that the emitter writes: valid for Vulkan 1.2 in both binding forms, with the decorations that exact arithmetic
// needs.
#include "spirv/emit/emit.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <sstream>

#include "spirv/kernel/unroll.h"
#include "support/kernels.h"

namespace spirograd {
namespace emit_test {

using namespace kernel;

Target device() {
  Target t;
  t.float64 = true;
  t.signed_zero_inf_nan = true;
  t.round_to_even = true;
  t.max_buffers = 30;
  return t;
}

size_t occurrences(const std::string& text, const std::string& part) {
  size_t n = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++n;
  return n;
}

std::string valid_text(const Kernel& k, const Target& t, BindingForm form, const spirv::EmitOptions& options = {}) {
  const KernelBinary binary = spirv::emit(k, t, form, options);
  if (const auto error = spirv::validate(binary.words))
    ADD_FAILURE() << error->str() << "\n" << spirv::disassemble(binary.words);
  return spirv::disassemble(binary.words);
}

Kernel axpy() {
  Builder k("axpy", 64, 1000);
  const uint32_t x = k.bind("x", Scalar::F32, Access::Read), y = k.bind("y", Scalar::F32, Access::ReadWrite);
  k.begin_guard();
  const Value i = k.index();
  const Value product = k.mul(k.load(x, i), k.f32(2.5)), sum = k.add(product, k.load(y, i));
  k.store(y, i, sum);
  k.end_if();
  return std::move(k).finish();
}

TEST(Emit, ElementsAreAsAlignedAsTheyAreLarge) {
  for (const Scalar type : {Scalar::F32, Scalar::U32, Scalar::F64}) {
    Builder k("copy", 64, 64);
    const uint32_t x = k.bind("x", type, Access::Read), y = k.bind("y", type, Access::Write);
    const Value i = k.index();
    k.store(y, i, k.load(x, i));
    const std::string text = valid_text(std::move(k).finish(), device(), BindingForm::Address);
    EXPECT_EQ(occurrences(text, "Aligned 4"), type == Scalar::F64 ? 0u : 2u) << text;
    EXPECT_EQ(occurrences(text, "Aligned 8"), type == Scalar::F64 ? 2u : 0u) << text;
  }
}

TEST(Emit, NeighboursAreOneNumberOf64Bits) {
  for (const Scalar type : {Scalar::F32, Scalar::I32}) {
    Builder k("swap", 64, 64);
    const uint32_t x = k.bind("x", type, Access::Read), y = k.bind("y", type, Access::Write);
    const Value even = k.op(KOp::Mul, k.index(), k.constant(Scalar::U32, 2)),
                odd = k.op(KOp::Add, even, k.constant(Scalar::U32, 1));
    const Value b = k.load(x, odd), a = k.load(x, even);
    k.store(y, even, b);
    k.store(y, odd, a);
    const Kernel kernel = std::move(k).finish();
    const std::string both = valid_text(kernel, device(), BindingForm::Address, {.begins = {32, 32}});
    EXPECT_EQ(occurrences(both, "Aligned 8"), 2u) << both;
    EXPECT_EQ(occurrences(both, "Aligned 4"), 0u) << both;
    const std::string read = valid_text(kernel, device(), BindingForm::Address, {.begins = {32, 4}});
    EXPECT_EQ(occurrences(read, "Aligned 8"), 1u) << read;
    EXPECT_EQ(occurrences(read, "Aligned 4"), 2u) << read;
  }
}

TEST(Emit, EveryOperationIsValidInBothForms) {
  for (const bool f64 : {false, true})
    for (const BindingForm form : {BindingForm::Address, BindingForm::Descriptors})
      for (const bool native : {false, true})
        for (const bool cpu : {false, true}) {
          Target t = device();
          t.atomic_float_add = native;
          t.quirks = cpu ? kSlowLocalIndex | kTruncatesByLane : 0;
          t.subgroup_size = cpu ? 8 : 32;
          valid_text(test::every_operation(f64), t, form);
        }
}

TEST(Emit, BuffersOfOneElementTypeAndAccessShareTheirType) {
  Builder k("sum", 64, 64);
  const uint32_t x = k.bind("x", Scalar::F32, Access::Read), y = k.bind("y", Scalar::F32, Access::Read);
  const uint32_t z = k.bind("z", Scalar::F32, Access::Write);
  const Value i = k.index();
  k.store(z, i, k.add({k.load(x, i), k.load(y, i)}));
  const Kernel sum = std::move(k).finish();
  for (const BindingForm form : {BindingForm::Address, BindingForm::Descriptors})
    EXPECT_LE(occurrences(valid_text(sum, device(), form), "OpTypeRuntimeArray"), 2u);
}

TEST(Emit, CapabilitiesStandOnce) {
  const std::string text = valid_text(test::every_operation(true), device(), BindingForm::Address);
  for (const char* name : {"Shader", "Float64", "PhysicalStorageBufferAddresses"})
    EXPECT_EQ(occurrences(text, "OpCapability " + std::string(name) + "\n"), 1u) << name;
}

TEST(Emit, NoKernelNeeds64BitIntegers) {
  const std::string text = valid_text(test::every_operation(true), device(), BindingForm::Address);
  EXPECT_EQ(text.find("Int64"), std::string::npos);
  EXPECT_EQ(text.find("OpTypeInt 64"), std::string::npos);
}

TEST(Emit, EveryFloatOperationForbidsContraction) {
  const std::string text = valid_text(test::every_operation(true), device(), BindingForm::Address);
  size_t arithmetic = 0;
  for (const char* op : {"OpFAdd ", "OpFSub ", "OpFMul ", "OpFDiv ", " Fma "}) arithmetic += occurrences(text, op);
  EXPECT_GE(arithmetic, 10u);
  EXPECT_EQ(occurrences(text, "NoContraction"), arithmetic);
}

// x x + x, once as a program computes it and once exactly, and a product for each width and conversion that is of the
// emitter's own making.
Kernel partly_exact() {
  Builder k("partly", 64, 64);
  const uint32_t x = k.bind("x", Scalar::F32, Access::Read), n = k.bind("n", Scalar::U32, Access::Read);
  const uint32_t y = k.bind("y", Scalar::F32, Access::Write), z = k.bind("z", Scalar::F64, Access::Write);
  const uint32_t sums = k.bind("sums", Scalar::F32, Access::Atomic);
  const Value i = k.index(), a = k.load(x, i), b = k.load(x, k.i32(0));
  const Value plain = k.add(k.mul(a, a), a);
  Value both = plain;
  {
    const Builder::Exact exact(k);
    both = k.op(KOp::Div, k.sub(k.mul(b, b), b), plain);
  }
  k.store(y, i, k.mul_add(both, b, k.convert(Scalar::F32, k.load(n, i))));
  k.store(z, i, k.op(KOp::Neg, k.convert(Scalar::F64, a)));
  k.atomic_add(sums, k.i32(0), a);
  return std::move(k).finish();
}

TEST(Emit, WhereExactnessIsCostlyOnlyExactOperationsForbidContraction) {
  Target t = device();
  const std::string every = valid_text(partly_exact(), t, BindingForm::Address);
  t.quirks = kCostlyExactness;
  const std::string exact = valid_text(partly_exact(), t, BindingForm::Address);
  EXPECT_EQ(occurrences(every, " NoContraction"), 9u) << every;
  EXPECT_EQ(occurrences(exact, " NoContraction"), 4u) << exact;
  // The number of the decorated value stands between "OpDecorate %" and the decoration.
  std::string decorated;
  for (const char* op : {"OpFAdd", "OpFSub", "OpFMul", "OpFDiv", "OpExtInst"})
    for (size_t at = exact.find(op); at != std::string::npos; at = exact.find(op, at + 1)) {
      const size_t line = exact.rfind('\n', at) + 1, name = exact.find('%', line), end = exact.find(' ', name);
      const std::string value = exact.substr(name, end - name);
      if (exact.find("OpDecorate " + value + " NoContraction") != std::string::npos) decorated += std::string(op) + " ";
    }
  EXPECT_EQ(decorated, "OpFSub OpFMul OpFDiv OpExtInst ");
}

TEST(Emit, FloatControlsFollowTheTarget) {
  EXPECT_EQ(occurrences(valid_text(axpy(), device(), BindingForm::Address), "SignedZeroInfNanPreserve 32"), 1u);
  EXPECT_EQ(occurrences(valid_text(axpy(), device(), BindingForm::Address), "RoundingModeRTE 32"), 1u);
  const std::string plain = valid_text(axpy(), Target{}, BindingForm::Address);
  EXPECT_EQ(plain.find("SignedZeroInfNanPreserve"), std::string::npos);
  EXPECT_EQ(plain.find("RoundingModeRTE"), std::string::npos);
}

TEST(Emit, NotEqualOfFloatsIsUnordered) {
  const std::string text = valid_text(test::every_operation(false), device(), BindingForm::Address);
  EXPECT_EQ(occurrences(text, "OpFUnordNotEqual"), 1u);
  EXPECT_EQ(text.find("OpFNegate"), std::string::npos);
  EXPECT_EQ(text.find("OpSRem"), std::string::npos);
  EXPECT_EQ(text.find("OpFOrdNotEqual"), std::string::npos);
}

TEST(Emit, FloatAtomicsAreNativeOnlyWhereTheTargetHasThem) {
  Target t = device();
  EXPECT_EQ(valid_text(test::every_operation(false), t, BindingForm::Address).find("AtomicFloat32AddEXT"),
            std::string::npos);
  EXPECT_EQ(occurrences(valid_text(test::every_operation(false), t, BindingForm::Address), "OpAtomicCompareExchange"), 1u);
  t.atomic_float_add = true;
  EXPECT_EQ(occurrences(valid_text(test::every_operation(false), t, BindingForm::Address), "OpAtomicFAddEXT"), 1u);
  for (const Scalar type : {Scalar::I32, Scalar::U32, Scalar::F32}) {
    Builder k("count", 64, 64);
    const uint32_t n = k.bind("n", type, Access::Atomic);
    k.atomic_add(n, k.index(), k.constant(type, 1));
    const Requirements needs = spirv::emit(std::move(k).finish(), t, BindingForm::Address).needs;
    EXPECT_EQ(needs.atomic_float_add, type == Scalar::F32) << name(type);
  }
  const std::string off = valid_text(test::every_operation(false), t, BindingForm::Address, {.native_float_atomics = false});
  EXPECT_EQ(off.find("OpAtomicFAddEXT"), std::string::npos);
}

TEST(Emit, KernelsThatDifferInTheirNamesAreTheSameModule) {
  Kernel renamed = axpy();
  renamed.name = "another";
  for (const BindingForm form : {BindingForm::Address, BindingForm::Descriptors})
    EXPECT_EQ(spirv::emit(renamed, device(), form).words, spirv::emit(axpy(), device(), form).words);
}

TEST(Emit, ReadOnlyBuffersAreNotWritable) {
  for (const BindingForm form : {BindingForm::Address, BindingForm::Descriptors})
    EXPECT_EQ(occurrences(valid_text(axpy(), device(), form), "NonWritable"), 1u);
}

TEST(Emit, KernelWithoutBindingsOrBodyIsValid) {
  valid_text(Builder("nothing", 64, 0).size() == 0 ? std::move(Builder("nothing", 64, 0)).finish() : axpy(), device(),
             BindingForm::Address);
}

// To which If an Else belongs, where another one has begun and ended since.
TEST(Emit, AnElseBelongsToTheIfThatIsOpen) {
  Builder k("nested", 64, 64);
  const uint32_t x = k.bind("x", Scalar::I32, Access::ReadWrite);
  const Value i = k.index(), at = k.load(x, i);
  k.begin_if(k.op(KOp::Lt, at, k.i32(9)));
  k.begin_if(k.op(KOp::Lt, at, k.i32(5)));
  k.store(x, i, k.i32(1));
  k.end_if();
  k.begin_else();
  k.store(x, i, k.i32(2));
  k.end_if();
  const std::string text = valid_text(std::move(k).finish(), device(), BindingForm::Descriptors);
  // The inner one goes on where it ends, the outer one elsewhere.
  std::vector<bool> has_else;
  std::string merge;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string op, a, b, c;
    words >> op >> a >> b >> c;
    if (op == "OpSelectionMerge") merge = a;
    if (op == "OpBranchConditional") has_else.push_back(c != merge);
  }
  EXPECT_EQ(has_else, (std::vector<bool>{true, false})) << text;
}

TEST(Emit, LongLoopsOfLongBodiesAreNotUnrolled) {
  const auto control = [](int trips, int length, bool breaks = false) {
    Builder b("loop", 64, 64);
    const uint32_t y = b.bind("y", Scalar::F32, kernel::Access::ReadWrite);
    b.begin_loop(b.i32(trips), breaks);
    const Value i = b.index();
    if (breaks) b.break_if(b.op(KOp::Lt, b.load(y, i), b.constant(Scalar::F32, 0)));
    for (int k = 0; k < length; ++k) b.store(y, i, b.add(b.load(y, i), b.constant(Scalar::F32, k)));
    b.end_loop();
    const std::string text = valid_text(std::move(b).finish(), device(), BindingForm::Address);
    return text.find(" DontUnroll") != std::string::npos;
  };
  EXPECT_TRUE(control(1000, 60));
  EXPECT_FALSE(control(1000, 3));
  EXPECT_FALSE(control(8, 60));
  EXPECT_TRUE(control(8, 3, true)) << "how long it is, only running it tells";
}

TEST(Emit, KernelsOfManyLoopsAreUnrolledAsFarAsCompilersTakeIt) {
  const auto unrolled = [](int loops, int trips, bool checks_bounds = true, bool cheap_barriers = true) {
    Builder b("loops", 64, 64);
    const uint32_t y = b.bind("y", Scalar::F32, kernel::Access::ReadWrite);
    for (int k = 0; k < loops; ++k) {
      const auto counter = b.begin_loop(b.i32(trips));
      b.store(y, b.add(b.bitcast(Scalar::I32, b.index()), counter), b.constant(Scalar::F32, k));
      b.end_loop();
    }
    const std::vector<bool> may = kernel::unrollable(std::move(b).finish(), checks_bounds, cheap_barriers);
    return std::count(may.begin(), may.end(), true);
  };
  EXPECT_EQ(unrolled(5, 8), 5);
  EXPECT_EQ(unrolled(100, 8, false), 100) << "accesses that check nothing are no branches";
  EXPECT_EQ(unrolled(100, 1000), 100) << "nobody unrolls loops as long as these, and they cost nothing";
  const auto many = unrolled(100, 8);
  EXPECT_GT(many, 5);
  EXPECT_LT(many, 20);
  EXPECT_LT(unrolled(100, 16), many) << "longer loops become more code";
  EXPECT_EQ(unrolled(5, 8, true, false), 0) << "drivers for processors make branches of each access";
  EXPECT_EQ(unrolled(5, 8, false, false), 0) << "for each lane, where none checks bounds";
}

TEST(Emit, LoopsWithBarriersStayLoops) {
  // A loop around one with a barrier and one without; a loop beside them.
  Builder b("steps", 64, 64);
  const uint32_t y = b.bind("y", Scalar::F32, kernel::Access::ReadWrite);
  const auto add = [&] {
    const Value i = b.index();
    b.store(y, i, b.add(b.load(y, i), b.constant(Scalar::F32, 1)));
  };
  b.begin_loop(b.i32(2));
  b.begin_loop(b.i32(3));
  add();
  b.barrier();
  b.end_loop();
  b.begin_loop(b.i32(4));
  add();
  b.end_loop();
  b.end_loop();
  b.begin_loop(b.i32(5));
  add();
  b.end_loop();
  const Kernel k = std::move(b).finish();
  const auto unrolled = [&](bool cheap_barriers) {
    std::vector<double> trips;
    const std::vector<bool> may = kernel::unrollable(k, false, cheap_barriers);
    for (size_t at = 0; at < may.size(); ++at)
      if (may[at]) trips.push_back(static_cast<double>(k.body[k.body[at].in[0]].imm));
    return trips;
  };
  EXPECT_EQ(unrolled(true), (std::vector<double>{4, 5}));
  EXPECT_EQ(unrolled(false), std::vector<double>());
}

TEST(Emit, MoreThanTheDeviceHasIsAnError) {
  const auto code = [](const Kernel& k, const Target& t) {
    try {
      spirv::emit(k, t, BindingForm::Address);
    } catch (const Error& e) {
      return e.code;
    }
    return std::string();
  };
  EXPECT_EQ(code(test::every_operation(true), Target{}), "SG0303");
  EXPECT_EQ(code(std::move(Builder("wide", 256, 10)).finish(), Target{}), "SG0303");
  EXPECT_EQ(code(std::move(Builder("huge", 64, uint64_t{1} << 32)).finish(), Target{}), "SG0303");
  // In rows of 65535 this has 962 surplus workgroups, the last of which would begin again at 0.
  EXPECT_EQ(code(std::move(Builder("wraps", 64, (uint64_t{1} << 32) - 64)).finish(), Target{}), "SG0303");
  EXPECT_EQ(code(std::move(Builder("rows", 64, (uint64_t{1} << 32) - 64)).finish(), {.max_groups = 1u << 31}), "");
  EXPECT_EQ(code(std::move(Builder("rows", 64, 64 * 13)).finish(), {.max_groups = 4, .max_groups_y = 3}), "SG0303");
  Builder k("f64_atomic", 64, 1);
  const uint32_t s = k.bind("s", Scalar::F64, Access::Atomic);
  k.atomic_add(s, k.i32(0), k.constant(Scalar::F64, 1));
  EXPECT_EQ(code(std::move(k).finish(), device()), "SG0303");
}

TEST(Emit, FloatModesAreDeclaredForTheWidthsThatAKernelUses) {
  Target t = device();
  t.signed_zero_inf_nan64 = t.round_to_even64 = true;
  const auto modes = [](const std::string& text) {
    std::string found;
    for (const char* mode :
         {"SignedZeroInfNanPreserve 32", "SignedZeroInfNanPreserve 64", "RoundingModeRTE 32", "RoundingModeRTE 64"})
      found += text.find(mode) != std::string::npos ? '1' : '0';
    return found;
  };
  EXPECT_EQ(modes(valid_text(axpy(), t, BindingForm::Address)), "1010");
  EXPECT_EQ(modes(valid_text(test::every_operation(true), t, BindingForm::Address)), "1111");
  EXPECT_EQ(modes(valid_text(test::every_operation(true), device(), BindingForm::Address)), "1010");
  const Requirements needs = spirv::emit(test::every_operation(true), t, BindingForm::Address).needs;
  EXPECT_TRUE(needs.signed_zero_inf_nan64 && needs.round_to_even64);
}

TEST(Emit, WhatTheModuleNeedsIsRecorded) {
  const auto needs = [](const Kernel& k, BindingForm form, const Target& t) { return spirv::emit(k, t, form).needs; };
  Requirements want;
  want.workgroup = 64;
  want.buffers = 2;
  want.push_bytes = 8;
  EXPECT_EQ(needs(axpy(), BindingForm::Descriptors, Target{}), want);
  want.signed_zero_inf_nan = want.round_to_even = true;
  EXPECT_EQ(needs(axpy(), BindingForm::Descriptors, device()), want);
  want.device_address = true;
  want.buffers = 0;
  want.push_bytes = 16;
  EXPECT_EQ(needs(axpy(), BindingForm::Address, device()), want);

  Target software;
  software.quirks = kSlowLocalIndex;
  software.subgroup_size = 8;
  EXPECT_EQ(needs(axpy(), BindingForm::Address, software).subgroup_operations, uint32_t{kSubgroupBasic});
  EXPECT_EQ(needs(axpy(), BindingForm::Address, software).subgroup_size, 0u);
  EXPECT_FALSE(needs(test::every_operation(false), BindingForm::Descriptors, device()).float64);
  EXPECT_TRUE(needs(test::every_operation(true), BindingForm::Descriptors, device()).float64);

  Builder k("loop", 64, 64);
  const uint32_t y = k.bind("y", Scalar::I32, Access::Write);
  k.store(y, k.begin_loop(k.i32(9)), k.i32(1));
  k.end_loop();
  const Requirements loop = needs(std::move(k).finish(), BindingForm::Address, Target{});
  EXPECT_EQ(loop.loop_iterations, 10u);
  EXPECT_EQ(loop.groups, 1u);
  Target unfolded;
  unfolded.folded_grids = false;
  for (const auto& [invocations, groups] : {std::pair(64, 1u), {65, 2u}, {128, 2u}, {129, 3u}}) {
    Builder some("some", 64, invocations);
    some.begin_guard();
    some.end_if();
    EXPECT_EQ(needs(std::move(some).finish(), BindingForm::Address, unfolded).groups, groups) << invocations;
  }
}

TEST(Emit, BrokenModulesAreReported) {
  KernelBinary binary = spirv::emit(axpy(), device(), BindingForm::Address);
  binary.words.resize(binary.words.size() - 1);
  const auto error = spirv::validate(binary.words);
  ASSERT_TRUE(error.has_value());
  EXPECT_EQ(error->code, "SG0903");
  ASSERT_EQ(error->notes.size(), 1u);
  EXPECT_EQ(error->notes[0].find("at word "), 0u) << error->notes[0];
}

TEST(Emit, ModulesHoldNothingBesidesWhatTheKernelDoes) {
  const std::string text = spirv::disassemble(spirv::emit(axpy(), device(), BindingForm::Descriptors).words);
  const auto count = [&](const std::string& op) {
    size_t n = 0;
    for (size_t at = text.find(op + " "); at != std::string::npos; at = text.find(op + " ", at + 1)) ++n;
    return n;
  };
  EXPECT_EQ(count("OpStore"), 1u);
  EXPECT_EQ(count("OpLoad"), 2u + 2u + 3u);  // elements, offsets, built-ins
  EXPECT_EQ(count("OpLoopMerge"), 0u);
  EXPECT_LT(std::count(text.begin(), text.end(), '\n'), 110);
}

// Set SPIROGRAD_UPDATE_GOLDEN=1 to write the files anew; the review is the difference.
void compare_with_file(const std::string& name, const std::string& text) {
  const std::string path = std::string(SPIROGRAD_SOURCE_DIR) + "/tests/golden/" + name;
  if (std::getenv("SPIROGRAD_UPDATE_GOLDEN")) std::ofstream(path) << text;
  std::ifstream file(path);
  std::stringstream wanted;
  wanted << file.rdbuf();
  EXPECT_EQ(text, wanted.str()) << "differs from " << path;
}

TEST(Emit, AxpyTextIsAsReviewed) {
  compare_with_file("axpy_address.spvasm", valid_text(axpy(), device(), BindingForm::Address));
  compare_with_file("axpy_descriptors.spvasm", valid_text(axpy(), device(), BindingForm::Descriptors));
}

}  // namespace emit_test
}  // namespace spirograd
