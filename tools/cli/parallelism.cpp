#include "tools/cli/parallelism.h"

#include <algorithm>

#include "tools/io/table.h"
#include "vk_runtime/barrier_plan.h"

namespace spirograd::cli {

Parallelism parallelism(const Executable& executable) {
  const std::vector<uint32_t> barriers = vk::plan_barriers(executable);
  Parallelism out;
  uint64_t width = 0;
  for (StepWalk walk(executable.steps); !walk.done(); walk.next()) {
    const Step& step = executable.steps[walk.step()];
    if (out.in_turn == 0 || std::binary_search(barriers.begin(), barriers.end(), static_cast<uint32_t>(walk.step()))) {
      // A barrier before a Repeat and one before its first step are one: nothing runs between them.
      if (out.in_turn == 0 || width > 0) ++out.in_turn;
      width = 0;
    }
    if (step.kind == Step::Kind::Repeat || vk::is_idle(step)) continue;
    ++out.steps;
    if (step.kind == Step::Kind::Dispatch) {
      const KernelBinary& kernel = executable.kernels[step.kernel];
      const uint64_t invocations = uint64_t{step.groups} * kernel.workgroup;
      width += invocations;
      out.operations += static_cast<double>(invocations) * kernel.operations;
    } else {
      width += 1;
    }
    out.widest = std::max(out.widest, width);
  }
  if (out.steps == 0) out.in_turn = 0;
  return out;
}

std::string parallelism_text(const std::vector<std::pair<std::string, Parallelism>>& programs) {
  io::Table table({"", ">steps", ">one after the other", ">invocations at once", ">operations"});
  for (const auto& [name, p] : programs)
    table.add({name, std::to_string(p.steps), std::to_string(p.in_turn), std::to_string(p.widest),
               io::short_number(p.operations)});
  std::string out = table.str();
  const Parallelism &first = programs.front().second, &last = programs.back().second;
  if (programs.size() > 1 && first.in_turn > 0 && first.operations > 0)
    out += "\n" + programs.back().first + ": " +
           io::short_number(static_cast<double>(last.in_turn) / static_cast<double>(first.in_turn), 3) +
           " times as many one after the other, " + io::short_number(last.operations / first.operations, 3) +
           " times the operations\n";
  return out;
}

}  // namespace spirograd::cli
