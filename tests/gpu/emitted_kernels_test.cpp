// Kernels of our own emitter in sessions: atomics of both kinds, 64-bit floats, folded grids, workgroups that work together,
// in both binding forms.
#include <cmath>
#include <cstring>

#include "spirv/emit/emit.h"
#include "spirv/kernel/builder.h"
#include "support/group_kernels.h"
#include "tests/gpu/fixture.h"
#include "vk_runtime/device.h"

namespace spirograd::vk {
namespace emitted_kernels_test {

using namespace testing;
using kernel::Access;
using kernel::Builder;
using kernel::KOp;
using kernel::Scalar;
using kernel::Value;

class EmittedKernels : public Gpu {
 protected:
  // A program of one kernel over the given inputs and one output that is filled with zeros before.
  std::vector<double> run(const kernel::Kernel& k, BindingForm form, const spirv::EmitOptions& options,
                          const std::vector<HostArray>& inputs, Type output, uint32_t turned_quirks = 0) {
    Target target = device->target();
    target.quirks ^= turned_quirks;
    Executable e;
    e.form = form;
    e.kernels = {spirv::emit(k, target, form, options)};
    e.n_inputs = static_cast<uint32_t>(inputs.size());
    e.n_outputs = 1;
    Step dispatch;
    for (const HostArray& x : inputs) e.buffers.push_back(array(Role::Input, "x", x.type));
    e.buffers.push_back(array(Role::Output, "y", output));
    for (uint32_t i = 0; i <= e.n_inputs; ++i) dispatch.uses.push_back({i, 0, e.buffers[i].bytes, true, i == e.n_inputs});
    dispatch.groups = static_cast<uint32_t>((k.invocations + k.workgroup - 1) / k.workgroup);
    e.steps = {{Step::Kind::Fill, 0, 1, 0, {{e.n_inputs, 0, e.buffers[e.n_inputs].bytes, false, true}}, "zeros"}, dispatch};
    const auto s = session(e);
    if (!s) return {};
    const auto y = s->run(inputs);
    if (!y) {
      ADD_FAILURE() << y.error().str();
      return {};
    }
    return (*y)[0].values();
  }

  bool lacks_operations(const kernel::Kernel& k) const {
    Target all = device->target();
    all.subgroup_operations = ~0u;
    const Requirements needs = spirv::emit(k, all, BindingForm::Descriptors).needs;
    return (needs.subgroup_operations & ~device->target().subgroup_operations) != 0;
  }
};

// Wherever the arrays begin.
TEST_F(EmittedKernels, NeighboursAreReadAndWrittenInPairs) {
  if (!device->target().float64 || !device->target().device_address) GTEST_SKIP() << "no numbers of 64 bits at addresses";
  Builder b("swap", 64, 500);
  const uint32_t x = b.bind("x", Scalar::F32, Access::Read), y = b.bind("y", Scalar::F32, Access::Write);
  b.begin_guard();
  const Value even = b.op(KOp::Mul, b.index(), b.constant(Scalar::U32, 2));
  const Value odd = b.op(KOp::Add, even, b.constant(Scalar::U32, 1));
  const Value second = b.load(x, odd), first = b.load(x, even);
  b.store(y, odd, first);
  b.store(y, even, second);
  b.end_if();
  const kernel::Kernel k = std::move(b).finish();
  const uint64_t bytes = 1000 * 4;
  for (const uint64_t offset : {0, 4, 8}) {
    if (offset % 8 != 0 && device->target().price.coalesces) continue;  // no processor: kernels have no pairs there
    Executable e;
    e.kernels = {spirv::emit(k, device->target(), BindingForm::Address, {.begins = {32, 32}})};
    e.n_inputs = e.n_outputs = 1;
    e.buffers = {array(Role::Input, "x", f32({1002})), array(Role::Output, "y", f32({1002}))};
    e.steps = {{Step::Kind::Fill, 0, 1, 0, {{1, 0, 1002 * 4, false, true}}, "zeros"},
               {Step::Kind::Dispatch, 0, 8, 0, {{0, offset, bytes, true, false}, {1, offset, bytes, false, true}}, "swap"}};
    const auto s = session(e);
    ASSERT_TRUE(s);
    const auto out = s->run(std::vector{ramp(1002)});
    ASSERT_TRUE(out) << out.error().str();
    const std::vector<double> given = ramp(1002).values(), got = (*out)[0].values();
    for (uint64_t i = 0; i < 1000; ++i)
      ASSERT_EQ(got[offset / 4 + i], given[offset / 4 + (i ^ 1)]) << i << " from " << offset;
    if (offset == 0) {
      EXPECT_EQ(got[1000], 0);
    }
  }
}

// By the driver's conversion, and by shifts where that goes one lane after the other: every exponent, both signs, and the
// ends of both types.
TEST_F(EmittedKernels, NumbersBecomeIntegersTowardZero) {
  std::vector<float> numbers = {0.0f, -0.0f, 0x1p31f - 128, -0x1p31f, 0.99999994f, -0.99999994f, 1e-40f, 16777216.0f};
  for (int e = -30; e < 31; ++e)
    for (const float m : {1.0f, 1.25f, 1.9999999f, 1.3333334f})
      for (const float sign : {1.0f, -1.0f}) numbers.push_back(sign * std::ldexp(m, e));
  std::vector<float> positive = {0x1p32f - 256, 0x1p31f, 0x1p31f + 256};
  for (const float x : numbers)
    if (x >= 0) positive.push_back(x);
  const auto check = [&](Scalar to, const std::vector<float>& given, Type output) {
    const auto n = static_cast<int64_t>(given.size());
    Builder b("truncate", 64, static_cast<uint64_t>(n));
    const uint32_t x = b.bind("x", Scalar::F32, Access::Read), y = b.bind("y", to, Access::Write);
    b.begin_guard();
    b.store(y, b.index(), b.convert(to, b.load(x, b.index())));
    b.end_if();
    const kernel::Kernel k = std::move(b).finish();
    HostArray in(f32({n}));
    std::memcpy(in.bytes.data(), given.data(), 4 * given.size());
    std::vector<double> expected;
    for (const float v : given) expected.push_back(std::trunc(v) + 0.0);
    for (const uint32_t quirks : {0u, uint32_t{kTruncatesByLane}})
      EXPECT_EQ(run(k, BindingForm::Descriptors, {}, {in}, output, quirks), expected) << quirks;
  };
  check(Scalar::I32, numbers, {DType::I32, {static_cast<int64_t>(numbers.size())}});
  check(Scalar::U32, positive, u32({static_cast<int64_t>(positive.size())}));
}

TEST_F(EmittedKernels, AtomicAddsLoseNothing) {
  constexpr uint32_t kAdds = 20000;
  for (const bool native : {true, false})
    for (BindingForm form : kForms)
      for (uint32_t places : {1u, 7u, 1024u}) {
        Builder b("scatter", 64, kAdds);
        const uint32_t x = b.bind("x", Scalar::U32, Access::Read), y = b.bind("y", Scalar::F32, Access::Atomic);
        b.begin_guard();
        b.atomic_add(y, b.load(x, b.index()), b.f32(1));
        b.end_if();
        HostArray at(u32({kAdds}));
        std::vector<double> expected(places);
        for (uint32_t i = 0; i < kAdds; ++i) {
          const uint32_t place = i * 2654435761u % places;
          std::memcpy(at.bytes.data() + 4 * i, &place, 4);
          ++expected[place];
        }
        EXPECT_EQ(run(std::move(b).finish(), form, {native}, {at}, f32({places})), expected)
            << places << (native ? " native " : " exchange ") << form_name(form);
      }
}

TEST_F(EmittedKernels, AtomicMaximaLoseNothing) {
  constexpr uint32_t kUpdates = 20000;
  for (BindingForm form : kForms)
    for (uint32_t places : {1u, 7u, 1024u}) {
      Builder b("greatest", 64, kUpdates);
      const uint32_t in = b.bind("x", Scalar::U32, Access::Read), y = b.bind("y", Scalar::U32, Access::Atomic);
      b.begin_guard();
      const Value update = b.load(in, b.index());
      b.atomic_max(y, b.op(KOp::Rem, update, b.constant(Scalar::U32, places)), update);
      b.end_if();
      HostArray updates(u32({kUpdates}));
      std::vector<double> expected(places);
      for (uint32_t i = 0; i < kUpdates; ++i) {
        const uint32_t x = i * 2654435761u;  // beyond the range of i32, too
        std::memcpy(updates.bytes.data() + 4 * i, &x, 4);
        expected[x % places] = std::max<double>(expected[x % places], x);
      }
      EXPECT_EQ(run(std::move(b).finish(), form, {}, {updates}, u32({places})), expected) << places << form_name(form);
    }
}

TEST_F(EmittedKernels, DoublesWorkWhereTheDeviceHasThem) {
  for (BindingForm form : kForms) {
    Builder b("thirds", 64, 100);
    const uint32_t x = b.bind("x", Scalar::F64, Access::Read), y = b.bind("y", Scalar::F64, Access::Write);
    b.begin_guard();
    b.store(y, b.index(), b.op(kernel::KOp::Div, b.load(x, b.index()), b.constant(Scalar::F64, 3)));
    b.end_if();
    const kernel::Kernel k = std::move(b).finish();
    if (!device->target().float64) {
      EXPECT_THROW(spirv::emit(k, device->target(), form), Error);
      continue;
    }
    std::vector<double> values(100), thirds(100);
    for (size_t i = 0; i < 100; ++i) values[i] = static_cast<double>(i) + 0.25, thirds[i] = values[i] / 3;
    EXPECT_EQ(run(k, form, {}, {HostArray(f64({100}), values)}, f64({100})), thirds);
  }
}

TEST_F(EmittedKernels, SurplusOfAFoldedGridStoresNothing) {
  Device::Impl::of(*device).info.target.max_groups = 5;  // 13 workgroups become 5 x 3
  for (BindingForm form : kForms) {
    Builder b("count", 8, 100);
    const uint32_t y = b.bind("y", Scalar::U32, Access::Write);
    b.begin_guard();
    b.store(y, b.index(), b.add(b.index(), b.constant(Scalar::U32, 1)));
    b.end_if();
    const std::vector<double> counted = run(std::move(b).finish(), form, {}, {}, u32({128}));
    ASSERT_EQ(counted.size(), 128u);
    for (size_t i = 0; i < 128; ++i) EXPECT_EQ(counted[i], i < 100 ? static_cast<double>(i + 1) : 0) << form_name(form);
  }
}

// On the host and here as plain loops say. Kernels that need operations of subgroups which the device lacks are refused.
TEST_F(EmittedKernels, WorkgroupsWorkTogether) {
  const Target& t = device->target();
  size_t ran = 0;
  for (const test::GroupCase& c : test::group_cases(t.subgroup_size, t.max_invocations, t.float64)) {
    EXPECT_EQ(test::on_host(c), c.expected) << c.kernel.name;
    if (lacks_operations(c.kernel)) {
      EXPECT_THROW(spirv::emit(c.kernel, t, device->preferred_form()), Error) << c.kernel.name;
      continue;
    }
    for (BindingForm form : kForms)
      EXPECT_EQ(run(c.kernel, form, {}, c.inputs, c.output), c.expected) << c.kernel.name << " " << form_name(form);
    ++ran;
  }
  EXPECT_GE(ran, 8u);
}

TEST_F(EmittedKernels, SurplusWorkgroupsStayTogether) {
  const test::GroupCase c = test::groups::shared_reverse(Scalar::F32, 64, 7);
  Device::Impl::of(*device).info.target.max_groups = 3;  // 7 workgroups become 3 x 3
  for (BindingForm form : kForms) EXPECT_EQ(run(c.kernel, form, {}, c.inputs, c.output), c.expected) << form_name(form);
}

}  // namespace emitted_kernels_test
}  // namespace spirograd::vk
