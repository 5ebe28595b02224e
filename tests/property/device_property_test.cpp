// Random programs and gradients on the device, against the host. Kernels compute with the same instructions on both sides
// and nothing is contracted, so results agree bit by bit; only atomic additions, denormals and signs of zeros may differ,
// and on GPUs what depends on the last bits of quotients and roots. Then against the interpreter, in double, up to f32
// rounding.
#include <algorithm>

#include "frontend/rewrite/passes.h"
#include "spirograd/compile.h"
#include "spirograd/grad.h"
#include "spirv/lower/evaluate.h"
#include "support/random_source.h"
#include "support/text_programs.h"
#include "tests/gpu/fixture.h"
#include "tests/property/bits.h"
#include "tests/property/property.h"

namespace spirograd::property {
namespace device_property_test {

constexpr double kSingle = 1e-4;  // f32 against double
constexpr double kHuge = 1e37;    // where f32 overflows, double does not

struct Counts {
  int programs = 0, kernels = 0, equal = 0, zeros = 0, other_bits = 0, atomics = 0, rounded = 0, contracted = 0,
      zero_signs = 0, lost_infinities = 0;
  double largest = 0;  // relative error to the interpreter, of programs that do not depend on rounding
};

double relative_error(const std::vector<Values>& want, const std::vector<Values>& have) {
  double worst = 0;
  for (size_t j = 0; j < want.size(); ++j)
    for (size_t i = 0; i < want[j].size(); ++i)
      if (std::isfinite(want[j][i]) && std::isfinite(have[j][i]))
        worst = std::max(worst, std::abs(want[j][i] - have[j][i]) / std::max(1.0, std::abs(want[j][i])));
  return worst;
}

class DeviceProperty : public vk::testing::Gpu {
 protected:
  std::string agrees(const Program& p, const std::vector<Values>& inputs) {
    const BindingForm form = vk::testing::kForms[counts.programs % 2];
    const Program simple = rewrite::optimise_for_lowering(p, {.verify = true});
    const lower::Plan plan = lower::lower(simple, device->target());
    const std::vector<HostArray> arrays = host_arrays(p, inputs), host = lower::evaluate(plan, arrays);

    const Executable executable = compile(p, device->target(), {.form = form, .validate = true}).value();
    auto session = vk::Session::create(device, executable);
    if (!session) return session.error().str();
    const std::vector<HostArray> have = (*session)->run(arrays).value();
    if (!messages.lines.empty()) {
      const std::string said = messages.text();
      messages.lines.clear();
      return "validation: " + said;
    }
    ++counts.programs;
    counts.kernels += static_cast<int>(plan.kernels.size());

    bool flushed = false;
    std::string wrong = bit_difference(host, have, flushed);
    if (!wrong.empty() && !on_processors()) {
      ++counts.other_bits;  // what is right the interpreter decides
      wrong.clear();
    } else if (!wrong.empty() && adds_floats_atomically(plan)) {
      ++counts.atomics;
      wrong = named("atomics", difference(values_of(host), values_of(have), kSingle, kHuge));
    }
    // llvmpipe takes x * 0 for 0 and x / 0 for anything, whatever x is. Where we write the zero, kernels avoid it; where the
    // driver finds one by unrolling a loop, infinities and NaN get lost.
    const bool lost =
        wrong.find("inf on the host") != std::string::npos || wrong.find("nan on the host") != std::string::npos;
    if (lost && device->info().name.find("llvmpipe") != std::string::npos) {
      ++counts.lost_infinities;
      return {};
    }
    if (!wrong.empty()) return "device: " + wrong + " (" + vk::testing::form_name(form) + ")";
    ++(flushed ? counts.zeros : counts.equal);  // as far as bits are compared

    // Contraction may turn infinities and NaN into each other, so a second reference is the contracted program.
    std::vector<Values> want = run(p, inputs);
    wrong = difference(want, values_of(have), kSingle, kHuge);
    if (!wrong.empty() && !difference(want, run(simple, inputs), 1e-9).empty()) {
      ++counts.contracted;
      want = run(simple, inputs);
      wrong = difference(want, values_of(have), kSingle, kHuge);
    }
    if (wrong.empty()) {
      counts.largest = std::max(counts.largest, relative_error(want, values_of(have)));
      return {};
    }
    // Does f32 rounding decide? Then the same program in f64 is right.
    ++counts.rounded;
    Target wide = device->target();
    wide.float64 = true;
    const Program in_double = in_f64(simple);
    const lower::Plan exact = lower::lower(in_double, wide);
    return named("interpreter", difference(want, values_of(lower::evaluate(exact, host_arrays(in_double, inputs))), 1e-8));
  }

  Property property() {
    return [this](const RandomProgram& r) {
      std::string wrong = agrees(r.program, r.inputs);
      if (wrong.empty() || !agrees(with_plain_zeros(r.program), r.inputs).empty()) return wrong;
      ++counts.zero_signs;  // rewrites keep values up to signs of zeros; atan2 and quotients show them
      return std::string();
    };
  }

  void report(int most_rounded) {
    std::cout << device->info().name << ": " << counts.programs << " programs, " << counts.kernels << " kernels; "
              << counts.equal << " equal bit by bit, " << counts.zeros << " but for denormals and signs of zeros, "
              << counts.other_bits << " with other bits, " << counts.atomics
              << " with atomics to rounding; largest error to the interpreter " << counts.largest << "; " << counts.rounded
              << " depend on f32 rounding, " << counts.contracted << " on contraction, " << counts.zero_signs
              << " on signs of zeros; " << counts.lost_infinities << " lost an infinity or NaN\n";
    EXPECT_LE(counts.lost_infinities, 2);
    EXPECT_LE(counts.rounded, most_rounded);
    EXPECT_LE(counts.contracted, most_rounded);
    EXPECT_LE(counts.zero_signs, most_rounded);
  }

  Counts counts;
};

TEST_F(DeviceProperty, RandomProgramsGiveTheBitsOfTheHost) {
  check_programs(100000 * driver_number() + 10000, 140, {.max_size = 40}, property(), 150);
  report(6);
}

TEST_F(DeviceProperty, RandomProgramsOfHostileValuesGiveTheBitsOfTheHost) {
  check_programs(100000 * driver_number() + 20000, 70, {.hostile_values = true, .max_size = 40}, property(), 150);
  report(6);
}

TEST_F(DeviceProperty, RandomGradientsGiveTheBitsOfTheHost) {
  const Property of_program = property();
  const auto of_gradient = [&](const RandomProgram& r) -> std::string {
    const auto real = [](const Param& p) { return is_float(p.type.dtype); };
    if (std::none_of(r.program.params.begin(), r.program.params.end(), real)) return {};
    RandomProgram gradient = {vjp(r.program).value(), r.inputs};
    for (size_t j = r.inputs.size(); j < gradient.program.params.size(); ++j) {
      const int64_t n = gradient.program.params[j].type.shape.count();
      Values ct;
      for (int64_t i = 0; i < n; ++i) ct.push_back(static_cast<double>((i + static_cast<int64_t>(j)) % 5 - 2) / 2 + 0.25);
      gradient.inputs.push_back(std::move(ct));
    }
    return of_program(gradient);
  };
  check_programs(100000 * driver_number() + 30000, 54, {.differentiable_only = true, .max_size = 40}, of_gradient, 150);
  report(2);
  EXPECT_GE(counts.programs, 45);
}

TEST_F(DeviceProperty, ProgramsAsPeopleWriteThemGiveTheBitsOfTheHost) {
  using test::Spelling;
  const auto made = [](const Decisions& d) {
    const test::RandomSource source = test::random_source(d, Spelling::Rich);
    return RandomProgram{test::program(source.text), source.inputs};
  };
  const Generator generate = {made, [](const Decisions& d) { return test::random_source(d, Spelling::Rich).text; }};
  check_generated(100000 * driver_number() + 40000, 45, generate, property(), 150);
  report(2);
}

}  // namespace device_property_test
}  // namespace spirograd::property
