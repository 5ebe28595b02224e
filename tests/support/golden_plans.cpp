#include "support/golden_plans.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <sstream>

#include "spirv/kernel/iterations.h"
#include "spirv/kernel/print.h"
#include "spirv/lower/plan.h"
#include "spirv/schedule/chooser.h"
#include "support/lowered.h"

namespace spirograd::test {
namespace {

// Work is an estimate, of which three digits count. What is exact makes no difference on these targets.
std::string whole(const lower::Plan& plan) {
  std::stringstream out;
  for (kernel::Kernel k : plan.kernels) {
    for (kernel::Inst& i : k.body)
      if (may_be_exact(i)) i.imm = 0;
    out << kernel::to_string(k);
  }
  for (const Step& s : plan.steps) {
    out << static_cast<int>(s.kind);
    for (uint32_t n : {s.kernel, s.groups, s.fill_word, s.count, s.body}) out << " " << n;
    for (const BufferUse& u : s.uses) {
      out << ", " << u.buffer << " " << u.offset << " " << u.bytes;
      for (int64_t n : u.strides) out << " " << n;
    }
    char work[32];
    std::snprintf(work, sizeof work, "%.3g", s.work);
    out << ", " << work << "\n";
  }
  return out.str();
}

std::string counted(size_t steps) { return std::to_string(steps) + (steps == 1 ? " step" : " steps"); }

std::string in_full(const lower::Plan& plan) {
  constexpr size_t kShown = 6;
  std::stringstream out;
  out << counted(plan.steps.size()) << ":";
  for (size_t k = 0; k < std::min(kShown, plan.steps.size()); ++k) switch (const Step& s = plan.steps[k]; s.kind) {
      case Step::Kind::Dispatch: out << " " << s.groups; break;
      case Step::Kind::Fill: out << " fill"; break;
      case Step::Kind::Copy: out << " copy"; break;
      case Step::Kind::Repeat: out << " [repeat " << s.count << " x " << s.body << "]"; break;
    }
  size_t instructions = 0;
  uint64_t iterations = 0;
  for (const kernel::Kernel& k : plan.kernels) {
    instructions += k.body.size();
    iterations = std::max(iterations, kernel::loop_iterations(k));
  }
  out << (plan.steps.size() > kShown ? " .., " : ", ") << instructions << " instructions, " << iterations << " iterations, "
      << plan.scratch_bytes << " bytes, " << fingerprint(whole(plan));
  return out.str();
}

std::string in_short(const lower::Plan& plan) { return counted(plan.steps.size()) + " " + fingerprint(whole(plan)); }

// What the tables of rules were asked, what they say, and what a tuner would try.
std::string text(const std::vector<schedule::Asked>& asked) {
  std::string out;
  for (const schedule::Asked& a : asked) {
    out += a.facts + "\n" + a.usual + "\n";
    for (const std::string& n : a.neighbours) out += n + "\n";
  }
  return out;
}

// What the compiler refuses is a decision as well; that it refuses a schedule of its own is none.
template <class Describe>
std::string lowered(const Program& p, const Target& target, const schedule::Scheduler& scheduler, const Describe& describe) {
  try {
    return describe(lower::lower(p, target, scheduler));
  } catch (const Error& e) {
    if (e.code == "SG0306") throw;
    return e.code;
  }
}

}  // namespace

std::string golden(const std::string& file) {
  std::ifstream in(std::string(SPIROGRAD_SOURCE_DIR) + "/tests/golden/" + file);
  std::stringstream text;
  text << in.rdbuf();
  return text.str();
}

Target plain_cpu() {
  Target t = cpu_target();
  t.max_loop_iterations = 65535;
  return t;
}

Target lane_cpu() {
  Target t = plain_cpu();
  t.subgroup_operations = kSubgroupBasic | kSubgroupVote | kSubgroupArithmetic | kSubgroupBallot | kSubgroupShuffle;
  t.max_invocations = 1024;
  t.quirks |= kGatheredLoads | kScatteredStores;
  return t;
}

Target plain_gpu() {
  Target t;
  t.float64 = true;
  t.atomic_float_add = true;
  t.subgroup_size = 32;
  t.subgroup_operations = kSubgroupBasic | kSubgroupShuffle;
  t.max_invocations = 1024;
  t.max_buffers = 16;
  return t;
}

Target poor_gpu() {
  Target t;
  t.float64 = true;
  t.shared_memory = false;
  t.max_invocations = 128;
  t.max_buffers = 4;
  t.device_address = false;
  return t;
}

std::string fingerprint(const std::string& text) {
  uint32_t hash = 2166136261u;
  for (char c : text) hash = (hash ^ static_cast<uint8_t>(c)) * 16777619u;
  char out[16];
  std::snprintf(out, sizeof out, "%08x", hash);
  return out;
}

std::string summary(const Program& p, const Target& target) {
  const Choices none;
  std::vector<schedule::Asked> asked;
  const schedule::Chooser chooser(none, &asked);
  return lowered(p, target, chooser,
                 [&](const lower::Plan& plan) { return in_full(plan) + ", asked " + fingerprint(text(asked)); });
}

std::string short_summary(const Program& p, const Target& target) {
  return lowered(p, target, schedule::Scheduler(), in_short);
}

void expect_golden(const std::string& file, const std::string& have) {
  if (std::getenv("SPIROGRAD_UPDATE_GOLDEN"))
    std::ofstream(std::string(SPIROGRAD_SOURCE_DIR) + "/tests/golden/" + file) << have;
  std::stringstream want_lines(golden(file)), have_lines(have);
  int shown = 0;
  for (std::string want, line, name; shown < 20;) {
    const bool more_wanted = !!std::getline(want_lines, want), more = !!std::getline(have_lines, line);
    if (!more_wanted && !more) break;
    if (line.rfind("  ", 0) != 0) name = line;
    if (want != line) ADD_FAILURE() << ++shown << ". " << name << "\n  was " << want << "\n  is  " << line;
    want.clear(), line.clear();
  }
  if (shown > 0) ADD_FAILURE() << "if that is meant: cmake --build BUILD --target update_docs, and review the difference";
}

}  // namespace spirograd::test
