#include "tools/cli/fit_options.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "frontend/base/near_name.h"
#include "frontend/base/number.h"
#include "tools/cli/tool.h"
#include "tools/io/arguments.h"
#include "tools/io/files.h"
#include "tools/io/plot.h"
#include "tools/io/table.h"

namespace spirograd::cli {
namespace {

// "w:0..1", "w:0..", "w:..1".
Bounds bounds_of(const std::string& text, const std::vector<Bounds>& others) {
  const size_t colon = text.rfind(':'), dots = text.find("..", colon == std::string::npos ? 0 : colon);
  const auto bad = [&](const std::string& why) {
    return usage_error("'--bounds " + text + "' " + why).hint("--bounds w:0..1, w:0.. or w:..1");
  };
  if (colon == std::string::npos || colon == 0 || dots == std::string::npos) throw bad("is no name with two bounds");
  const auto bound = [&](const std::string& number, double none) {
    if (number.empty()) return none;
    const ParsedNumber parsed = parse_number(number);
    if (parsed.length != number.size() || std::isnan(parsed.value)) throw bad("has '" + number + "', which is no number");
    return parsed.value;
  };
  constexpr double kNone = std::numeric_limits<double>::infinity();
  Bounds b{text.substr(0, colon), bound(text.substr(colon + 1, dots - colon - 1), -kNone),
           bound(text.substr(dots + 2), kNone)};
  if (b.low > b.high) throw bad("leaves no value");
  for (const Bounds& o : others)
    if (o.name == b.name) throw usage_error("'" + b.name + "' has '--bounds' twice");
  return b;
}

// "500" steps or "30s".
CheckpointPlan checkpoint_plan(const Options& options) {
  CheckpointPlan plan;
  plan.path = options.value("--checkpoint").value_or("");
  plan.resume = options.has("--resume");
  if (plan.path.empty()) {
    for (const char* of_it : {"--checkpoint", "--resume", "--checkpoint-every"})
      if (options.has(of_it)) throw usage_error("'" + std::string(of_it) + "' needs a file").hint("--checkpoint fit.npz");
    return plan;
  }
  if (!plan.path.ends_with(".npz")) throw usage_error("'" + plan.path + "' does not end in .npz");
  io::check_writable(plan.path);
  if (io::exists(plan.path) != plan.resume) {
    if (!plan.resume)
      throw usage_error("the checkpoint '" + plan.path + "' is there already")
          .hint("--resume goes on from it; remove it to begin anew");
    tell("there is no " + plan.path + " yet: starting anew\n");
    plan.resume = false;
  }
  if (const auto every = options.value("--checkpoint-every")) {
    const bool in_seconds = every->ends_with("s");
    const ParsedNumber number = parse_number(*every);
    const bool whole = number.length + (in_seconds ? 1 : 0) == every->size();
    const auto steps = io::whole_number(*every);
    if (!whole || !(number.value > 0) || !std::isfinite(number.value) || (!in_seconds && !steps))
      throw usage_error("'--checkpoint-every' is a number of steps or of seconds, 500 or 30s, not '" + *every + "'");
    if (in_seconds)
      plan.seconds = number.value;
    else
      plan.steps = *steps;
  }
  return plan;
}

}  // namespace

DescentOptions descent_options(const Options& options) {
  DescentOptions how;
  how.by = options.names("--by");
  if (how.by.empty()) throw usage_error("'fit' needs the inputs to change").hint("--by w,b");
  how.of = options.value("--of").value_or("");
  const std::vector<std::string> methods = descent_methods();
  how.method = options.value("--method").value_or(methods[0]);
  if (std::find(methods.begin(), methods.end(), how.method) == methods.end())
    throw usage_error("'--method' is one of " + io::listed(methods) + ", not '" + how.method + "'")
        .hint(did_you_mean(how.method, methods));
  how.steps = options.number("--steps", 1000, 1);
  if (how.steps > std::numeric_limits<int32_t>::max() - 1) throw usage_error("'--steps' counts to 2147483646");
  how.rate = options.positive("--rate", 0.01);
  how.bound = options.positive("--bound", std::numeric_limits<float>::max());
  how.kept = std::min(how.steps + 1, kMostLooks);
  for (const std::string& text : options.values("--bounds")) how.bounds.push_back(bounds_of(text, how.bounds));
  return how;
}

Places places(const Options& options) {
  const auto one = [&](const char* option, const std::vector<std::string>& endings) {
    const std::string path = options.value(option).value_or("");
    if (path.empty() && options.has(option)) throw usage_error("'" + std::string(option) + "' needs the name of a file");
    if (path.empty()) return path;
    if (std::ranges::none_of(endings, [&](const std::string& e) { return path.ends_with(e); }))
      throw usage_error("'" + path + "' does not end in " + endings.front() +
                        (endings.size() > 1 ? " or " + endings.back() : ""));
    io::check_writable(path);
    return path;
  };
  Places out{one("--save", {".npz"}), one("--history", {".npy"}), one("--plot", {".svg", ".png"})};
  if (!out.plot.empty()) io::check_plots();
  return out;
}

Watch watch_of(const Options& options) {
  Watch watch;
  watch.every = options.has("--every") ? options.number("--every", 0, 1) : 0;
  watch.json = options.has("--json");
  watch.checkpoint = checkpoint_plan(options);
  return watch;
}

}  // namespace spirograd::cli
