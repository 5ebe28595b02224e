// Scatters on devices: every update arrives, whatever its index, on results beside the sizes where kernels change; and where
// asked for, with the same bits in every run.
#include <cmath>
#include <cstdlib>
#include <random>

#include "spirograd/compile.h"
#include "spirograd/grad.h"
#include "spirograd/text.h"
#include "tests/gpu/fixture.h"

namespace spirograd::vk::testing {
namespace scatters_test {

constexpr int64_t kUpdates = 100'003;

Program program(const std::string& text) { return text::instantiate(text::parse(text, "test.sg").value()).value(); }

Program scatter(const std::string& dtype, int64_t places) {
  const std::string n = std::to_string(kUpdates);
  return program("def f(x: " + dtype + "[" + n + "], i: i32[" + n + "]) = scatter([" + std::to_string(places) + "], x, i)");
}

struct Indices {
  std::string name;
  std::vector<double> values;
};

std::vector<Indices> indices(int64_t places) {
  std::vector<Indices> out = {{"the same", {}}, {"sorted", {}}, {"anywhere", {}}, {"in turn", {}}, {"outside", {}}};
  std::mt19937_64 random(7);
  for (int64_t k = 0; k < kUpdates; ++k) {
    const auto any = static_cast<int64_t>(random() % static_cast<uint64_t>(places + 2)) - 1;
    const double far = k % 2 ? 2147483647.0 : -2147483648.0;
    const std::vector<double> next = {static_cast<double>(places - 1), static_cast<double>(k * places / kUpdates),
                                      static_cast<double>(any), static_cast<double>(k % std::min<int64_t>(places, 2)), far};
    for (size_t j = 0; j < out.size(); ++j) out[j].values.push_back(next[j]);
  }
  return out;
}

class Scatters : public Gpu {
 protected:
  std::vector<HostArray> run(const Program& p, const std::vector<HostArray>& inputs, const CompileOptions& how,
                             int times = 1) {
    return run(p, inputs, how, device->target(), times);
  }
  std::vector<HostArray> run(const Program& p, const std::vector<HostArray>& inputs, const CompileOptions& how,
                             const Target& target, int times) {
    const auto executable = compile(p, target, how);
    EXPECT_TRUE(executable) << executable.error().str();
    const auto s = session(*executable);
    std::vector<HostArray> out;
    for (int k = 0; k < times; ++k) {
      auto results = s->run(inputs);
      EXPECT_TRUE(results) << results.error().str();
      for (HostArray& r : *results) out.push_back(std::move(r));
    }
    return out;
  }
};

TEST_F(Scatters, EveryUpdateArrivesWhateverItsIndex) {
  for (const std::string dtype : {"f32", "i32"})
    for (const int64_t places : {1, 2, 1000, 8191, 8193, 40'009, 300'007}) {
      const Program p = scatter(dtype, places);
      for (const Indices& i : indices(places)) {
        std::vector<double> x, want(static_cast<size_t>(places));
        for (int64_t k = 0; k < kUpdates; ++k) {
          x.push_back(static_cast<double>(k % 7 - 2));
          const double at = i.values[static_cast<size_t>(k)];
          if (at >= 0 && at < static_cast<double>(places)) want[static_cast<size_t>(at)] += x.back();
        }
        const std::vector<HostArray> inputs = {{p.params[0].type, x}, {p.params[1].type, i.values}};
        Target of_gpus = device->target();  // copies in turn, and subgroups that add up
        of_gpus.price = {};
        const auto arrives = [&](const Target& target, bool deterministic, const char* mode) {
          CompileOptions how{.deterministic = deterministic};
          if (places < 1000) how.form = BindingForm::Descriptors;
          EXPECT_EQ(run(p, inputs, how, target, 1)[0].values(), want)
              << dtype << "[" << places << "], indices " << i.name << mode;
        };
        arrives(device->target(), false, "");
        arrives(device->target(), true, ", deterministic");
        arrives(of_gpus, false, ", by the rules of GPUs");
      }
    }
}

TEST_F(Scatters, RowsArriveWhole) {
  constexpr int64_t kRows = 503;
  for (const std::string dtype : {"f32", "i32"})
    for (const int64_t row : {16, 33, 64, 100, 257}) {
      const std::string shape = "[" + std::to_string(kRows) + "," + std::to_string(row) + "]";
      const Program p =
          program("def f(x: " + dtype + shape + ", i: i32[" + std::to_string(kRows) + "]) = scatter([41], x, i)");
      for (const Indices& all : indices(41)) {
        const std::vector<double> i(all.values.begin(), all.values.begin() + kRows);
        std::vector<double> x, want(static_cast<size_t>(41 * row));
        for (int64_t k = 0; k < kRows * row; ++k) {
          x.push_back(static_cast<double>(k % 11 - 5));
          const double at = i[static_cast<size_t>(k / row)];
          if (at >= 0 && at < 41) want[static_cast<size_t>(static_cast<int64_t>(at) * row + k % row)] += x.back();
        }
        const std::vector<HostArray> inputs = {{p.params[0].type, x}, {p.params[1].type, i}};
        for (const BindingForm form : kForms)
          EXPECT_EQ(run(p, inputs, {.form = form})[0].values(), want) << dtype << shape << ", indices " << all.name;
      }
    }
}

TEST_F(Scatters, TheSameBitsInEveryRunAndWithAnyNumberOfThreads) {
  for (const int64_t places : {16, 1000, 300'007}) {
    const Program p = scatter("f32", places);
    std::vector<double> x;
    std::mt19937_64 random(11);
    for (int64_t k = 0; k < kUpdates; ++k) x.push_back(std::ldexp(static_cast<double>(random() % 16777216), -24) - 0.4);
    const std::vector<HostArray> inputs = {{p.params[0].type, x}, {p.params[1].type, indices(places)[2].values}};
    std::vector<HostArray> all;
    for ([[maybe_unused]] const char* threads : {"0", "1", "2"}) {
#ifndef _WIN32
      ::setenv("LP_NUM_THREADS", threads, 1);  // of one of the drivers, when an instance is made
#endif
      device.reset();
      open();
      for (HostArray& r : run(p, inputs, {.deterministic = true}, 3)) all.push_back(std::move(r));
    }
#ifndef _WIN32
    ::unsetenv("LP_NUM_THREADS");
#endif
    for (const HostArray& r : all) EXPECT_EQ(r.bytes, all[0].bytes) << places;
  }
}

}  // namespace scatters_test
}  // namespace spirograd::vk::testing
