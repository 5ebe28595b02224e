#include "tools/cli/transforms.h"

#include "frontend/rewrite/simplify.h"
#include "frontend/rewrite/vectorise.h"
#include "spirograd/grad.h"
#include "spirograd/split.h"

namespace spirograd::cli {
namespace {

std::vector<std::string> names_in(const std::string& list) {
  std::vector<std::string> out(1);
  for (char c : list)
    if (c == ',')
      out.emplace_back();
    else
      out.back() += c;
  return out;
}

}  // namespace

std::vector<OptionSpec> derivative_options() {
  return {{"--grad", "A,B", "gradient of the first scalar result", "", true},
          {"--value-and-grad", "A,B", "all results, and the gradient", "", true},
          {"--jvp", "A,B", "forward mode", "", true},
          {"--split-forward", "A,B", "all results, and what reverse mode needs of them later", "", true},
          {"--split-backward", "A,B", "the other half: of that and of cotangents, the gradient", "", true}};
}

Program transformed(Program p, const Options& options, std::string& stage) {
  for (const Options::Given& g : options.given()) {
    if (g.name == "--bot") p = rewrite::vectorise(p), stage = "bulk";
    if (g.name == "--grad") p = grad(p, names_in(g.value)).value(), stage = "gradient";
    if (g.name == "--value-and-grad") p = value_and_grad(p, names_in(g.value)).value(), stage = "gradient";
    if (g.name == "--jvp") p = jvp(p, names_in(g.value)).value(), stage = "gradient";
    if (g.name == "--split-forward") p = split(p, names_in(g.value)).value().forward, stage = "forward";
    if (g.name == "--split-backward") p = split(p, names_in(g.value)).value().backward, stage = "backward";
    if (g.name == "--simplify") p = rewrite::simplify(rewrite::vectorise(p)), stage = "simple";
  }
  return p;
}

}  // namespace spirograd::cli
