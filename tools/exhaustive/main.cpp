// spirograd_exhaustive: how exact every elementary function and its derivative is, bit pattern by bit pattern.
#include <algorithm>
#include <cstdio>
#include <future>
#include <random>
#include <thread>

#include "tools/cli/tool.h"
#include "tools/exhaustive/c_library.h"
#include "tools/exhaustive/runner.h"
#include "tools/exhaustive/ulp.h"
#include "tools/io/progress.h"
#include "tools/io/table.h"

namespace spirograd::exhaustive {
namespace {

constexpr const char* kHelp =
    R"(usage: spirograd_exhaustive [options]

Compares every elementary function in f32, and its derivatives, with double precision: functions of one argument at every
N-th of the 2^32 bit patterns, functions of two at as many random pairs. Prints the largest error of each in units of the
last place, where it is, and whether NaN and infinities are right. Denormals may be flushed to zero on devices, not on the
host; there pairs of two denormals are not compared. Derivatives of u^v are compared where v is finite and u^v and u^(v-1)
are normal numbers, those of atan2 at no denormals; errors of logaddexp are relative to its larger argument, those of lgamma
and digamma below 0 to the terms of which they are the difference.

options:
  --device NAME     a Vulkan device, by a part of its name or its index; without it, the host's evaluator of kernels
  --function NAME   only this one (repeats)
  --stride N        every N-th pattern (default 997; 1: all of them)
  --seed N          where the patterns begin, and the random pairs (default 1)
  --bound ULP       the largest error that passes (default 4)
  --values          no derivatives
  --list            names of the functions

exit status: 0 all within the bound, 1 not, 2 usage, 4 device

examples:
  spirograd_exhaustive                                       a minute or two on the host
  spirograd_exhaustive --device llvmpipe --stride 1          all patterns: a minute or two per function and core
  spirograd_exhaustive --function tan --stride 1 --values
)";

constexpr uint64_t kPatterns = uint64_t{1} << 32;

struct Settings {
  std::vector<std::string> only;
  uint64_t stride = 997, seed = 1;
  double bound = 4;
  bool values_only = false;
  std::shared_ptr<vk::Device> device;
};

struct Worst {
  double error = 0;
  float x = 0, y = 0;
  void meet(double e, float at_x, float at_y) {
    if (e > error) *this = {e, at_x, at_y};
  }
};

struct Measured {
  Worst number, special;
  void meet(const Measured& m) {
    number.meet(m.number.error, m.number.x, m.number.y);
    special.meet(m.special.error, m.special.x, m.special.y);
  }
};

// The arguments in the order in which they are tried.
class Arguments {
 public:
  Arguments(const Function& f, const Settings& s) : f_(f), stride_(s.stride), next_(s.seed % s.stride), random_(s.seed) {
    left_ = (kPatterns - next_ + stride_ - 1) / stride_;
  }
  uint64_t left() const { return left_; }
  void fill(std::span<float> x, std::span<float> y) {
    for (size_t i = 0; i < x.size(); ++i) {
      if (f_.arity == 1) {
        x[i] = std::bit_cast<float>(static_cast<uint32_t>(next_));
        next_ += stride_;
      } else {
        pair(x[i], y[i]);
      }
    }
    left_ -= std::min<uint64_t>(left_, x.size());
  }

 private:
  float any() { return std::bit_cast<float>(static_cast<uint32_t>(random_())); }
  float uniform(double lo, double hi) { return static_cast<float>(std::uniform_real_distribution<double>(lo, hi)(random_)); }
  void pair(float& x, float& y) {
    const uint64_t kind = random_() % 4;
    x = any();
    y = any();
    if (kind == 0) return;
    if (f_.pairs == Pairs::Powers) {  // bases and exponents for which the power is in range
      const double log_x =
          kind == 1 ? uniform(-87, 88) : uniform(-1, 1) * std::pow(10.0, -static_cast<double>(random_() % 8));
      x = static_cast<float>(std::exp(log_x));
      y = static_cast<float>(uniform(-104, 89) / std::log(double{x}));
      if (kind == 3) x = -x, y = std::round(y);
    } else if (kind == 1) {  // of like size
      y = x * uniform(-4, 4);
    } else {
      x = uniform(-30, 30);
      y = kind == 2 ? uniform(-30, 30) : x + uniform(-1, 1) * 1e-3f;
    }
  }

  const Function& f_;
  uint64_t stride_, next_, left_ = 0;
  std::mt19937_64 random_;
};

float flushed(float x) { return may_be_flushed(x) ? std::copysign(0.0f, x) : x; }

// The least error over what a device may make of denormals.
double error_at(Exact exact, Exact size, float got, float x, float y, bool may_flush) {
  const double e = ulps(got, exact(x, y), size ? size(x, y) : 0);
  if (e <= 1 || !may_flush) return e;
  if (may_be_flushed(x) && may_be_flushed(y)) return 0;  // zeros of two signs, or neither
  const double want = exact(x, y), other = exact(flushed(x), flushed(y));
  double least = std::min(e, ulps(got, other));
  if (got == 0 && (may_be_flushed(want) || may_be_flushed(other))) least = 0;
  return least;
}

Measured compare(const Function& f, int derivative, bool may_flush, std::span<const float> x, std::span<const float> y,
                 std::span<const float> got) {
  const Exact size = derivative < 0 ? f.size : f.slope_size,
              exact = derivative < 0 ? f.exact : f.slopes[static_cast<size_t>(derivative)];
  Measured out;
  for (size_t i = 0; i < got.size(); ++i) {
    if (derivative >= 0 && f.smooth && !f.smooth(x[i], y[i])) continue;
    const double e = error_at(exact, size, got[i], x[i], y[i], may_flush);
    (e >= kWrong ? out.special : out.number).meet(e, x[i], y[i]);
  }
  return out;
}

// Runs compare on every processor: double precision takes longer than most devices.
template <class Compare>
Measured in_parallel(size_t count, Compare&& compare) {
  const size_t parts = std::min<size_t>(std::max(1u, std::thread::hardware_concurrency()), 1 + count / 4096);
  std::vector<std::future<Measured>> running;
  for (size_t j = 0; j < parts; ++j) {
    const size_t from = count * j / parts, to = count * (j + 1) / parts;
    running.push_back(std::async(std::launch::async, [&compare, from, to] { return compare(from, to - from); }));
  }
  Measured out;
  for (std::future<Measured>& part : running) out.meet(part.get());
  return out;
}

Measured measure(const Function& f, int derivative, const Settings& s) {
  const size_t batch = s.device ? size_t{1} << 20 : size_t{1} << 15;
  const auto runner = make_runner(f, derivative, static_cast<int64_t>(batch), s.device);
  Arguments arguments(f, s);
  const double all = static_cast<double>(arguments.left());
  io::Progress progress(f.name + " ...");
  Measured out;
  std::vector<float> x(batch), y(batch), got(batch);
  while (arguments.left() > 0) {
    const size_t count = std::min<uint64_t>(arguments.left(), batch);
    arguments.fill(x, y);
    runner->run(x, y, got);
    out.meet(in_parallel(count, [&](size_t from, size_t n) {
      const auto part = [&](const std::vector<float>& values) { return std::span(values).subspan(from, n); };
      return compare(f, derivative, s.device != nullptr, part(x), part(y), part(got));
    }));
    char text[120];
    std::snprintf(text, sizeof text, "%s%s: %.0f %%, worst so far %.3f ULP", f.name.c_str(),
                  derivative < 0 ? "" : ", derivative", 100 * (1 - static_cast<double>(arguments.left()) / all),
                  out.number.error);
    progress.update(text);
  }
  return out;
}

std::string place(const Function& f, const Worst& w) {
  char text[80];
  if (f.arity == 1)
    std::snprintf(text, sizeof text, "%.9g", double{w.x});
  else
    std::snprintf(text, sizeof text, "(%.9g, %.9g)", double{w.x}, double{w.y});
  return text;
}

std::string row_name(const Function& f, int derivative) {
  if (derivative < 0) return f.name;
  return f.name + (f.arity == 1 ? "'" : derivative == 0 ? " d1" : " d2");
}

bool run(const Settings& s) {
  bool good = true;
  io::Table table({"function", ">worst ULP", "at", "special values"});
  for (const Function& f : functions()) {
    if (!s.only.empty() && std::find(s.only.begin(), s.only.end(), f.name) == s.only.end()) continue;
    if (!has_reference(f.name)) {
      table.add({f.name, "", "", "not looked at: the C library's own is wrong"});
      continue;
    }
    const int last = s.values_only ? 0 : static_cast<int>(f.slopes.size());
    for (int derivative = -1; derivative < last; ++derivative) {
      const Measured m = measure(f, derivative, s);
      char error[40];
      std::snprintf(error, sizeof error, "%.3f", m.number.error);
      table.add({row_name(f, derivative), error, place(f, m.number),
                 m.special.error == 0 ? "right" : "WRONG at " + place(f, m.special)});
      good = good && m.number.error <= s.bound && m.special.error == 0;
    }
  }
  const std::string where = s.device ? s.device->info().name : "host evaluator";
  cli::print(where + ", every " + std::to_string(s.stride) + ". pattern, " + std::to_string(kPatterns / s.stride) +
             " per function\n" + table.str());
  return good;
}

cli::Command command() {
  cli::Command c;
  c.name = "exhaustive";
  c.needs = "";
  c.options = {{"--device", "NAME", ""}, {"--function", "NAME", "", "", true},
               {"--stride", "N", ""},    {"--seed", "N", ""},
               {"--bound", "ULP", ""},   {"--values", "", ""},
               {"--list", "", ""},       {"--help", "", "", "-h"}};
  return c;
}

int run_tool(const std::vector<std::string>& arguments) {
  const cli::Options options = cli::read_options(command(), arguments);
  if (!options.positional().empty()) throw cli::usage_error("'" + options.positional()[0] + "' is no option").hint("--help");
  if (options.has("--help")) {
    cli::print(kHelp);
    return cli::kOk;
  }
  Settings s;
  std::string names;
  for (const Function& f : functions()) names += f.name + "\n";
  if (options.has("--list")) {
    cli::print(names);
    return cli::kOk;
  }
  s.only = options.values("--function");
  for (const std::string& name : s.only)
    if (("\n" + names).find("\n" + name + "\n") == std::string::npos)
      throw cli::usage_error("no function '" + name + "'").hint("--list names them all");
  s.stride = static_cast<uint64_t>(options.number("--stride", 997, 1));
  s.seed = static_cast<uint64_t>(options.number("--seed", 1, 0));
  s.bound = static_cast<double>(options.number("--bound", 4, 0));
  s.values_only = options.has("--values");
  if (const auto select = options.value("--device")) {
    vk::DeviceOptions wish;
    wish.select = *select;
    s.device = vk::Device::create(wish).value();
  }
  return run(s) ? cli::kOk : cli::kCheckFailed;
}

}  // namespace
}  // namespace spirograd::exhaustive

int main(int argc, char** argv) {
  using namespace spirograd;
  try {
    return exhaustive::run_tool({argv + 1, argv + argc});
  } catch (const Error& e) {
    std::fprintf(stderr, "%s\n", e.str().c_str());
    return cli::exit_code(e);
  } catch (const std::exception& e) {
    std::fprintf(stderr, "error: %s\n", e.what());
    return cli::kInternalError;
  }
}
