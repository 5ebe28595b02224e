#include "tests/property/sizes.h"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>

#include "frontend/rewrite/passes.h"
#include "spirograd/compile.h"
#include "spirograd/grad.h"
#include "spirv/assemble.h"
#include "spirv/kernel/verify.h"
#include "spirv/lower/evaluate.h"
#include "tests/property/bits.h"
#include "tests/property/rounding.h"

namespace spirograd::property {
namespace {

using Clock = std::chrono::steady_clock;

constexpr size_t kMostSteps = 2500;        // dispatches that a device is asked for under validation
constexpr int64_t kDifferences = 100'000;  // elements, results included, up to which differences are taken
constexpr double kRounding = 8;            // times what three points are off a line, that two may be
constexpr double kShrinkSeconds = 30;

double seconds_since(Clock::time_point t) { return std::chrono::duration<double>(Clock::now() - t).count(); }

Values moderate_values(int64_t n, size_t salt) { return test::recipe_values({{}, 7}, f32({n}), 100 + salt); }

// What the device may decline; everything else that it says is a failure.
bool is_refusal(const Error& e) { return e.code == "SG0303" || e.code == "SG0305" || e.code.rfind("SG06", 0) == 0; }

struct Refused {};
struct TooLong {};

bool is_float_param(const Param& p) { return is_float(p.type.dtype); }
bool is_float_result(const ProgramResult& r) { return is_float(r.type.dtype); }

double dot(const std::vector<Values>& a, const std::vector<Values>& b) {
  double total = 0;
  for (size_t j = 0; j < a.size(); ++j)
    for (size_t i = 0; i < a[j].size(); ++i) total += a[j][i] * b[j][i];
  return total;
}
double dot_of_sizes(const std::vector<Values>& a, const std::vector<Values>& b) {
  double total = 0;
  for (size_t j = 0; j < a.size(); ++j)
    for (size_t i = 0; i < a[j].size(); ++i) total += std::abs(a[j][i] * b[j][i]);
  return total;
}
std::vector<Values> floats_of(const std::vector<Values>& results, const Program& p) {
  std::vector<Values> out;
  for (size_t j = 0; j < p.results.size(); ++j)
    if (is_float_result(p.results[j])) out.push_back(results[j]);
  return out;
}
bool all_finite(const std::vector<Values>& arrays) {
  for (const Values& v : arrays)
    for (double x : v)
      if (!std::isfinite(x)) return false;
  return true;
}

/// The modes of one program, their inputs, and what the interpreter makes of them.
class Subject {
 public:
  Subject(const SizedProgram& sized) : sized_(sized), primal_inputs_(sized.inputs()) {
    const Program& p = sized.program;
    for (const Param& q : p.params)
      if (is_float_param(q)) dots_.push_back(moderate_values(q.type.shape.count(), dots_.size()));
    for (const ProgramResult& r : p.results)
      if (is_float_result(r)) cts_.push_back(moderate_values(r.type.shape.count(), 50 + cts_.size()));
  }

  bool has_derivatives() const { return !dots_.empty() && !cts_.empty(); }

  Program program(Mode m) const {
    if (m == Mode::Value) return sized_.program;
    return m == Mode::Forward ? jvp(sized_.program).value() : vjp(sized_.program).value();
  }
  std::vector<Values> inputs(Mode m) const {
    std::vector<Values> all = primal_inputs_;
    const std::vector<Values>& more = m == Mode::Forward ? dots_ : cts_;
    if (m != Mode::Value) all.insert(all.end(), more.begin(), more.end());
    return all;
  }

  /// "" if forward is reverse, and both are what differences say.
  std::string derivatives_agree(const std::vector<Values>& forward, const std::vector<Values>& reverse) const {
    const Program& p = sized_.program;
    const auto n = static_cast<ptrdiff_t>(p.results.size());
    const std::vector<Values> primal(forward.begin(), forward.begin() + n);
    std::string wrong = difference(primal, {reverse.begin(), reverse.begin() + n}, 1e-9);
    if (!wrong.empty()) return "values of forward and reverse: " + wrong;
    const std::vector<Values> tangents(forward.begin() + n, forward.end()), gradients(reverse.begin() + n, reverse.end());
    if (!all_finite(tangents) || !all_finite(gradients)) return {};
    const double f = dot(cts_, tangents), r = dot(gradients, dots_);
    const double scale = dot_of_sizes(cts_, tangents) + dot_of_sizes(gradients, dots_);
    if (std::abs(f - r) > 1e-9 * scale + 1e-12) {
      std::ostringstream out;
      out << "<ct, tangent> and <gradient, dot> differ: " << f << " and " << r;
      return out.str();
    }
    return sized_.smooth ? differences_agree(primal, tangents) : "";
  }

 private:
  std::string differences_agree(const std::vector<Values>& primal, const std::vector<Values>& tangents) const {
    const Program& p = sized_.program;
    int64_t elements = 0;
    for (const Values& v : primal_inputs_) elements += static_cast<int64_t>(v.size());
    for (const Values& v : primal) elements += static_cast<int64_t>(v.size());
    if (elements > kDifferences) return {};
    constexpr double kShort = 1e-7, kLong = 1e-5;  // too short for curvature: what is off a straight line has been rounded
    double best = HUGE_VAL, rounding = 0;
    for (double h : {kShort, kLong}) {
      const std::vector<Values> plus = floats_of(run(p, moved(h)), p), minus = floats_of(run(p, moved(-h)), p);
      double gap = 0, scale = 1e-3;
      for (size_t j = 0; j < tangents.size(); ++j)
        for (size_t i = 0; i < tangents[j].size(); ++i) {
          gap = std::max(gap, std::abs((plus[j][i] - minus[j][i]) / (2 * h) - tangents[j][i]));
          scale = std::max({scale, std::abs(tangents[j][i]), std::abs(plus[j][i])});
          if (h == kShort) rounding = std::max(rounding, std::abs(plus[j][i] + minus[j][i] - 2 * primal[j][i]));
        }
      best = std::min(best, (gap - kRounding * rounding / (2 * h)) / scale);
    }
    return best > 1e-3 ? "the tangent is far from differences: " + std::to_string(best) : "";
  }
  std::vector<Values> moved(double h) const {
    std::vector<Values> out = primal_inputs_;
    size_t d = 0;
    for (size_t j = 0; j < out.size(); ++j) {
      if (!is_float_param(sized_.program.params[j])) continue;
      for (size_t i = 0; i < out[j].size(); ++i) out[j][i] += h * dots_[d][i];
      ++d;
    }
    return out;
  }

  const SizedProgram& sized_;
  std::vector<Values> primal_inputs_, dots_, cts_;
};

class Checker {
 public:
  Checker(const Engine& engine) : engine_(engine) {}

  /// "" if the program is right in all modes that it has; else what is wrong, with the mode in front.
  std::string check(const SizedProgram& sized, uint64_t number, Tallies& tallies) const {
    const Subject subject(sized);
    std::array<std::vector<Values>, 3> interpreted;
    for (const Mode mode : {Mode::Value, Mode::Forward, Mode::Reverse}) {
      if (mode != Mode::Value && !subject.has_derivatives()) continue;
      const auto m = static_cast<size_t>(mode);
      Tally& tally = tallies[m];
      std::string wrong;
      try {
        const Program p = subject.program(mode);
        const std::vector<Values> inputs = subject.inputs(mode);
        interpreted[m] = run(p, inputs);
        if (mode == Mode::Reverse) wrong = subject.derivatives_agree(interpreted[1], interpreted[2]);
        if (wrong.empty()) wrong = agrees(p, inputs, interpreted[m], number + m, tally);
        if (wrong.empty()) ++tally.agreed;
      } catch (const Refused&) {
        ++tally.refused;
      } catch (const TooLong&) {
        ++tally.too_long;
      } catch (const Error& e) {
        wrong = e.str();
      } catch (const std::exception& e) {
        wrong = e.what();
      }
      if (wrong.empty()) continue;
      ++tally.found;
      return std::string(kModeNames[m]) + ": " + wrong;
    }
    return {};
  }

 private:
  std::string agrees(const Program& p, const std::vector<Values>& inputs, const std::vector<Values>& want, uint64_t number,
                     Tally& tally) const {
    const Program simple = rewrite::optimise_for_lowering(p, {.verify = true});
    const lower::Plan plan = lowered(simple, engine_.target);
    for (const kernel::Kernel& k : plan.kernels)
      if (const auto defect = kernel::verify(k)) return "kernel: " + defect->str();
    const std::vector<HostArray> arrays = host_arrays(p, inputs), host = lower::evaluate(plan, arrays);
    std::string wrong = rounded_difference(p, inputs, want, values_of(host));
    if (!wrong.empty()) {
      // Where rounding decides in a way that disturbing the interpreter does not show, the same program in f64 is right.
      Target wide = engine_.target;
      wide.float64 = true;
      const Program exact = in_f64(simple);
      const std::vector<HostArray> in_double = lower::evaluate(lowered(exact, wide), host_arrays(exact, inputs));
      if (!difference(want, values_of(in_double), 1e-7).empty()) return "kernels: " + wrong;
      ++tally.by_f64;
    }
    if (!engine_.device) return {};
    if (commands(plan.steps) > kMostSteps) throw TooLong{};
    for (const BindingForm form : {BindingForm::Address, BindingForm::Descriptors}) {
      if (!engine_.every_form && (number % 2 == 0) != (form == BindingForm::Address)) continue;
      if (form == BindingForm::Descriptors && (engine_.target.quirks & kGatheredLoads)) {  // rows are for addresses
        const lower::Plan other = lowered(simple, in_form(engine_.target, form));
        wrong = device_agrees(p, inputs, arrays, other, lower::evaluate(other, arrays), want, form);
      } else {
        wrong = device_agrees(p, inputs, arrays, plan, host, want, form);
      }
      if (!wrong.empty()) return wrong + (form == BindingForm::Address ? " (address form)" : " (descriptors form)");
    }
    return {};
  }

  std::string device_agrees(const Program& p, const std::vector<Values>& inputs, const std::vector<HostArray>& arrays,
                            const lower::Plan& plan, const std::vector<HostArray>& host, const std::vector<Values>& want,
                            BindingForm form) const {
    const Result<Executable> executable = compile(p, engine_.target, {.form = form, .validate = true});
    if (!executable && is_refusal(executable.error())) throw Refused{};
    std::vector<HostArray> have;
    try {
      have = engine_.device(executable.value(), arrays);
    } catch (const Error& e) {
      if (is_refusal(e)) throw Refused{};
      throw;
    }
    bool flushed = false;
    std::string wrong = bit_difference(host, have, flushed);
    if (!wrong.empty() && (engine_.rounds_freely || adds_floats_atomically(plan)))
      wrong = rounded_difference(p, inputs, want, values_of(have));
    const bool lost =
        wrong.find("inf on the host") != std::string::npos || wrong.find("nan on the host") != std::string::npos;
    if (lost && engine_.loses_infinities) return {};
    return named("device", wrong);
  }

  lower::Plan lowered(const Program& simple, const Target& target) const {
    try {
      return lower::lower(simple, target);
    } catch (const Error& e) {
      if (is_refusal(e)) throw Refused{};
      throw;
    }
  }

  const Engine& engine_;
};

// The words before the first number: failures that shrinking may take for the same.
std::string kind_of(const std::string& s) { return s.substr(0, s.find_first_of("0123456789[\n")); }

std::string_view name_of(SizeClass c) { return test::kSizeClasses[static_cast<size_t>(c)].name; }

std::string seed_text(SizeClass c, const SizedProgram& sized, const std::string& wrong, const std::string& where) {
  std::string first_line = wrong.substr(0, wrong.find('\n'));
  return "# " + std::string(name_of(c)) + ", " + where + "\n# " + first_line + "\n# inputs: " + to_string(sized.recipe) +
         "\n" + text::print(sized.program);
}

// A file in the folder of failures; nothing if there is no such folder.
class Kept {
 public:
  explicit Kept(const std::string& name) {
    if (const char* folder = std::getenv("SPIROGRAD_FOUND")) file_ = std::filesystem::path(folder) / (name + ".sg");
  }
  void write(const std::function<std::string()>& content) const {
    if (file_.empty()) return;
    std::filesystem::create_directories(file_.parent_path());
    std::ofstream(file_) << content();
  }
  void remove() const {
    if (!file_.empty()) std::filesystem::remove(file_);
  }

 private:
  std::filesystem::path file_;
};

}  // namespace

Tallies check_sizes(const Engine& engine, SizeClass c, uint64_t count) {
  const char* given = std::getenv("SPIROGRAD_SECONDS");
  const double seconds = given ? std::strtod(given, nullptr) : 0;
  const Checker checker(engine);
  Tallies tallies;
  const auto start = Clock::now();
  int failures = 0;
  for (uint64_t k = 0; failures < 3 && (given ? seconds_since(start) < seconds : k < count); ++k) {
    const Decisions decisions = test::sized_decisions((base_seed() * 16 + static_cast<uint64_t>(c)) * 1000003 + k);
    const auto defect = [&](const Decisions& d, Tallies& t) { return checker.check(test::sized_program(c, d), k, t); };
    const std::string where =
        engine.name + ", SPIROGRAD_SEED=" + std::to_string(base_seed()) + ", program " + std::to_string(k);
    const std::string name = std::string(name_of(c)) + "-" + engine.name;
    const Kept running(name + "-unfinished");  // stays if the program crashes or takes for ever
    running.write([&] { return seed_text(c, test::sized_program(c, decisions), "it has not ended", where); });
    const std::string wrong = defect(decisions, tallies);
    running.remove();
    if (wrong.empty()) continue;
    ++failures;
    const auto shrinking = Clock::now();
    Tallies ignored;
    const auto fails = [&](const Decisions& d) {
      return seconds_since(shrinking) < kShrinkSeconds && kind_of(defect(d, ignored)) == kind_of(wrong);
    };
    const Decisions least = test::shrink(decisions, fails, 400);
    const SizedProgram small = test::sized_program(c, least);
    const std::string content = seed_text(c, small, checker.check(small, k, ignored), where);
    Kept(name + "-" + std::to_string(base_seed()) + "-" + std::to_string(k)).write([&] { return content; });
    ADD_FAILURE() << wrong << "\nshrunk, to be kept in tests/property/seeds:\n" << content;
  }
  for (size_t m = 0; m < tallies.size(); ++m) {
    const Tally& t = tallies[m];
    std::cout << "sizes: " << engine.name << " | " << name_of(c) << " | " << kModeNames[m] << " | " << t.agreed
              << " agreed, " << t.refused << " refused, " << t.too_long << " too long, " << t.by_f64 << " by f64, "
              << t.found << " found\n";
  }
  return tallies;
}

void check_seeds(const Engine& engine) {
  const std::filesystem::path folder = std::filesystem::path(SPIROGRAD_SOURCE_DIR) / "tests/property/seeds";
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(folder))
    if (entry.path().extension() == ".sg") files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  EXPECT_FALSE(files.empty());
  const Checker checker(engine);
  int refused = 0;
  uint64_t number = 0;
  for (const auto& file : files) {
    std::ostringstream source;
    source << std::ifstream(file).rdbuf();
    SizedProgram sized;
    constexpr std::string_view key = "# inputs: ";
    const size_t at = source.str().find(key);
    ASSERT_NE(at, std::string::npos) << file << " does not say what its inputs are";
    std::istringstream words(source.str().substr(at + key.size()));
    std::string kind;
    int turn = 0;
    words >> kind >> turn;
    sized.recipe = test::recipe_of(kind, turn);
    sized.smooth = false;
    sized.program = text::instantiate(text::parse(source.str(), file.filename().string()).value()).value();
    Tallies tallies;
    EXPECT_EQ(checker.check(sized, number++, tallies), "") << file;
    for (const Tally& t : tallies) refused += t.refused + t.too_long;
  }
  std::cout << engine.name << ": " << files.size() << " programs; " << refused << " of their modes refused or too long\n";
}

}  // namespace spirograd::property
