#include "tools/cli/passes.h"

#include <algorithm>
#include <chrono>

#include "frontend/rewrite/passes.h"
#include "spirograd/text.h"
#include "spirv/emit/emit.h"
#include "spirv/kernel/verify.h"
#include "tools/cli/tool.h"
#include "tools/io/table.h"

namespace spirograd::cli {
namespace {

std::string milliseconds(double seconds) { return io::short_number(1e3 * seconds, 3); }

std::string counts(const rewrite::RuleLog& rules) {
  std::vector<std::pair<int64_t, std::string_view>> rows;
  for (const auto& [name, n] : rules.applied) rows.emplace_back(-n, name);
  std::sort(rows.begin(), rows.end());
  io::Table table({"rule", ">applied"});
  for (const auto& [n, name] : rows) table.add({std::string(name), std::to_string(-n)});
  table.add({"all", std::to_string(rules.total)});
  return table.str();
}

}  // namespace

std::vector<OptionSpec> pass_options() {
  return {{"--print-after", "PASS", "the program after that pass of lowering, or after 'all'", "", true},
          {"--time-passes", "", "milliseconds of each pass, and operations after it"},
          {"--count-rules", "", "how often each rule of simplification was applied"},
          {"--rules-at-most", "N", "apply rules N times, then no more, and tell the last one"}};
}

bool wants_passes(const Options& options) {
  options.number("--rules-at-most", 0, 0);
  std::vector<std::string_view> names = {"all"};
  std::string listed = "all";
  for (const rewrite::Pass& pass : rewrite::lowering_passes()) {
    names.push_back(pass.name);
    listed += ", " + std::string(pass.name);
  }
  for (const std::string& wanted : options.values("--print-after"))
    if (std::find(names.begin(), names.end(), wanted) == names.end())
      throw usage_error("'" + wanted + "' is no pass").hint("one of " + listed);
  const std::vector<OptionSpec> all = pass_options();
  return std::any_of(all.begin(), all.end(), [&](const OptionSpec& o) { return options.has(o.name); });
}

lower::Plan lowered(const Program& p, const Target& target, const Options& options, std::string& report) {
  const std::vector<std::string> wanted = options.values("--print-after");
  rewrite::RuleLog rules;
  if (options.has("--rules-at-most")) rules.most = options.number("--rules-at-most", 0, 0);
  io::Table times({"pass", ">ms", ">operations"});
  const auto after = [&](const rewrite::PassReport& pass, const Program& made) {
    times.add({std::string(pass.name), milliseconds(pass.seconds), std::to_string(pass.operations)});
    if (std::find(wanted.begin(), wanted.end(), "all") != wanted.end() ||
        std::find(wanted.begin(), wanted.end(), pass.name) != wanted.end())
      report += "# after " + std::string(pass.name) + "\n" + text::print(made) + "\n";
  };
  const Program simple = rewrite::optimise_for_lowering(p, {.verify = true, .rules = &rules, .after = after});
  const auto start = std::chrono::steady_clock::now();
  lower::Plan plan = lower::lower(simple, target);
  const std::chrono::duration<double> lowering = std::chrono::steady_clock::now() - start;
  size_t instructions = 0;
  for (const kernel::Kernel& k : plan.kernels) {
    if (auto defect = kernel::verify(k)) throw *defect;
    instructions += k.body.size();
  }
  times.add({"lower", milliseconds(lowering.count()), std::to_string(instructions) + " instructions"});
  if (options.has("--time-passes")) report += times.str() + "\n";
  if (options.has("--count-rules")) report += counts(rules) + "\n";
  if (options.has("--rules-at-most"))
    report +=
        "rules applied: " + std::to_string(rules.total) + (rules.last.empty() ? "" : ", the last one " + rules.last) + "\n";
  return plan;
}

}  // namespace spirograd::cli
