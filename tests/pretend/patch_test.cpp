// Patched modules are valid, and changed just where there is something to patch.
#include "tests/pretend/patch.h"

#include <gtest/gtest.h>

#include <functional>

#include "add_exchange.h"
#include "add_native.h"
#include "compare.h"
#include "count_iterations.h"
#include "lanes.h"
#include "spirograd/compile.h"
#include "spirv/emit/emit.h"
#include "tests/pretend/slices.h"

namespace spirograd::pretend {
namespace patch_test {

using Pass = std::function<Words(std::span<const uint32_t>)>;

struct Named {
  const char* name;
  Pass pass;
};
const std::vector<Named>& passes() {
  static const std::vector<Named> all = {
      {"lose_additions", [](auto m) { return lose_additions(m, 1000); }},
      {"lose_exchanges", [](auto m) { return lose_exchanges(m, 1000); }},
      {"assume_no_nan", [](auto m) { return assume_no_nan(m); }},
      {"reassociate", [](auto m) { return reassociate(m); }},
      {"cut_loops", [](auto m) { return cut_loops(m, 5000); }},
  };
  return all;
}

// Kernels of both forms for a GPU, with native additions and with exchanges.
std::vector<Words> emitted() {
  std::vector<Words> out;
  Target target;
  target.atomic_float_add = target.float64 = true;
  target.max_buffers = 64;
  for (const Slice& slice : slices()) {
    if (slice.name != "conformance" && slice.name != "scatter" && slice.name != "long_loops") continue;
    for (const Task& t : slice.tasks(0))
      for (BindingForm form : {BindingForm::Address, BindingForm::Descriptors})
        for (const bool native : {true, false})
          for (const KernelBinary& k :
               compile(t.program, target, {.form = form, .native_float_atomics = native}).value().kernels)
            out.push_back(k.words);
  }
  return out;
}

TEST(Patch, PatchedKernelsAreValid) {
  const std::vector<Words> modules = emitted();
  for (const auto& [name, pass] : passes()) {
    size_t changed = 0;
    for (const Words& m : modules) {
      const Words patched = pass(m);
      changed += patched != m;
      const auto complaint = spirv::validate(patched);
      ASSERT_FALSE(complaint) << name << ": " << complaint->str() << spirv::disassemble(patched);
    }
    EXPECT_GT(changed, 0u) << name << " changes none of " << modules.size();
    EXPECT_LT(changed, modules.size()) << name << " changes all";
  }
}

TEST(Patch, ShadersOfOthersAreValidAndChangedWhereTheyShould) {
  struct Shader {
    std::string name;
    Words words;
    std::vector<std::string> changed_by;
  };
  const auto words = [](const auto& w) { return Words(std::begin(w), std::end(w)); };
  const Shader shaders[] = {{"add_native", words(add_native), {"lose_additions"}},
                            {"add_exchange", words(add_exchange), {"lose_exchanges", "cut_loops"}},
                            {"count_iterations", words(count_iterations), {"cut_loops"}},
                            {"lanes", words(lanes), {"cut_loops"}},
                            {"compare", words(compare), {"assume_no_nan", "reassociate"}}};
  for (const Shader& s : shaders) {
    std::vector<std::string> changed_by;
    for (const auto& [name, pass] : passes()) {
      const Words patched = pass(s.words);
      if (patched != s.words) changed_by.push_back(name);
      const auto complaint = spirv::validate(patched);
      EXPECT_FALSE(complaint) << s.name << ", " << name << ": " << complaint->str() << spirv::disassemble(patched);
    }
    EXPECT_EQ(changed_by, s.changed_by) << s.name;
  }
}

}  // namespace patch_test
}  // namespace spirograd::pretend
