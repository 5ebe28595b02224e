// The probes of the self-test: complete, valid in both forms, right on the host, and those that the runtime carries.
#include <gtest/gtest.h>

#include <cstring>
#include <fstream>
#include <iterator>
#include <set>

#include "spirv/emit/emit.h"
#include "spirv/kernel/verify.h"
#include "spirv/lower/evaluate.h"
#include "spirv/probes/recipe.h"
#include "vk_runtime/probe_data.h"
#include "vk_runtime/probe_findings.h"
#include "vk_runtime/probe_programs.h"
#include "vk_runtime/probe_table.h"

namespace spirograd {
namespace probes_test {

constexpr BindingForm kForms[] = {BindingForm::Address, BindingForm::Descriptors};

std::vector<Probe> all_emitted() {
  std::vector<Probe> out;
  for (const probes::Recipe& r : probes::recipes()) out.push_back(probes::emitted(r));
  return out;
}

std::vector<Target> float_controls() {
  std::vector<Target> out(16);
  for (size_t i = 0; i < 16; ++i) {
    out[i].signed_zero_inf_nan = i & 1;
    out[i].round_to_even = i & 2;
    out[i].signed_zero_inf_nan64 = i & 4;
    out[i].round_to_even64 = i & 8;
  }
  return out;
}

TEST(Probes, TheTableHasThirtyOfThem) {
  const auto rows = vk::probe_table();
  ASSERT_EQ(rows.size(), 31u);
  std::set<std::string_view> names;
  for (size_t i = 0; i < rows.size(); ++i) {
    EXPECT_EQ(rows[i].number, i + 1);
    EXPECT_TRUE(names.insert(rows[i].name).second) << rows[i].name;
    if (rows[i].weight == vk::Weight::Decides) {
      EXPECT_FALSE(rows[i].otherwise.empty()) << rows[i].name;
    }
  }
}

TEST(Probes, TheTableIsThatOfTheDocument) {
  std::ifstream file(SPIROGRAD_SOURCE_DIR "/docs/devices.md");
  const std::string text((std::istreambuf_iterator<char>(file)), {});
  for (const vk::ProbeRow& r : vk::probe_table()) {
    const std::string weight = r.weight == vk::Weight::Decides ? "decides" : "recorded";
    const std::string row = "\n| " + std::to_string(r.number) + " | " + std::string(r.name) + " | " + weight + " | " +
                            std::string(r.otherwise) + " |\n";
    EXPECT_NE(text.find(row), std::string::npos) << row;
  }
}

TEST(Probes, EveryNumberButThoseWithoutAProgramIsAnswered) {
  std::set<uint32_t> answered;
  std::set<std::string> names;
  for (const probes::Recipe& r : probes::recipes()) {
    EXPECT_TRUE(names.insert(r.probe.name).second) << r.probe.name << " stands twice";
    ASSERT_FALSE(r.probe.expected.empty());
    for (const Expectation& e : r.probe.expected) answered.insert(e.number);
  }
  for (uint32_t number = 1; number <= 30; ++number)
    EXPECT_EQ(answered.contains(number), number != 11 && number != 26 && number != 28 && number != 29) << number;
}

TEST(Probes, KernelsAreLegal) {
  for (const probes::Recipe& r : probes::recipes())
    for (const kernel::Kernel& k : r.kernels) {
      const auto wrong = kernel::verify(k);
      EXPECT_FALSE(wrong) << k.name << ": " << wrong->str();
    }
}

TEST(Probes, ModulesAreValidInBothFormsAndForAllFloatControls) {
  if (!spirv::has_spirv_tools()) GTEST_SKIP() << "this build has no SPIRV-Tools";
  for (const Probe& p : all_emitted())
    for (BindingForm form : kForms)
      for (const Target& t : float_controls())
        for (const KernelBinary& k : vk::program_for(p, form, t).kernels) {
          const auto wrong = spirv::validate(k.words);
          EXPECT_FALSE(wrong) << k.name << ": " << wrong->str();
        }
}

// What the runtime leaves out of a module is what the emitter would not have written.
TEST(Probes, WithoutAFloatControlTheyAreWhatTheEmitterMakes) {
  for (const probes::Recipe& r : probes::recipes()) {
    const Probe p = probes::emitted(r);
    for (BindingForm form : kForms)
      for (Target t : float_controls()) {
        const Executable e = vk::program_for(p, form, t);
        t.float64 = t.float16_storage = t.float16_addresses = t.atomic_float_add = true;
        t.subgroup_operations = ~0u;
        t.max_buffers = 32;
        for (size_t k = 0; k < e.kernels.size(); ++k) {
          t.subgroup_size = r.kernels[k].subgroup;
          t.max_groups = ~0u;
          const KernelBinary made = spirv::emit(r.kernels[k], t, form, {.native_float_atomics = r.native_atomics});
          EXPECT_EQ(e.kernels[k].words, made.words) << made.name;
          EXPECT_EQ(e.kernels[k].needs, made.needs) << made.name;
        }
      }
  }
}

TEST(Probes, TheHostGivesWhatIsExpected) {
  for (const probes::Recipe& r : probes::recipes()) {
    const Executable& e = r.probe.program;
    if (e.scratch_bytes > uint64_t{1} << 30) continue;
    lower::Plan plan;
    plan.kernels = r.kernels;
    plan.buffers = e.buffers;
    plan.steps = e.steps;
    plan.n_outputs = e.n_outputs;
    plan.scratch_bytes = e.scratch_bytes;
    std::vector<std::vector<uint32_t>> words;
    for (const HostArray& a : lower::evaluate(plan, {})) {
      words.emplace_back(a.bytes.size() / 4);
      std::memcpy(words.back().data(), a.bytes.data(), a.bytes.size());
    }
    for (const vk::Finding& f : vk::judged(r.probe, BindingForm::Address, words))
      EXPECT_EQ(f.outcome, vk::Outcome::Passed) << r.probe.name << ", " << f.number << ": " << f.text;
  }
}

TEST(Probes, ComeBackFromWordsAsTheyWere) {
  const std::vector<Probe> made = all_emitted();
  const std::vector<uint32_t> words = pack_probes(made);
  const std::vector<Probe> back = unpack_probes(words);
  EXPECT_EQ(pack_probes(back), words);
  ASSERT_EQ(back.size(), made.size());
  for (size_t i = 0; i < made.size(); ++i) {
    EXPECT_EQ(back[i].name, made[i].name);
    EXPECT_EQ(back[i].expected, made[i].expected);
    for (BindingForm form : kForms) {
      const Executable a = in_form(made[i], form), b = in_form(back[i], form);
      EXPECT_EQ(requirements_of(b), requirements_of(a)) << made[i].name;
      ASSERT_EQ(b.kernels.size(), a.kernels.size());
      for (size_t k = 0; k < a.kernels.size(); ++k) EXPECT_EQ(b.kernels[k].words, a.kernels[k].words);
      ASSERT_EQ(b.buffers.size(), a.buffers.size());
      for (size_t k = 0; k < a.buffers.size(); ++k) {
        EXPECT_EQ(b.buffers[k].type, a.buffers[k].type);
        EXPECT_EQ(b.buffers[k].data, a.buffers[k].data);
      }
      EXPECT_EQ(commands(b.steps), commands(a.steps));
    }
  }
}

TEST(Probes, TheRuntimeCarriesThese) {
  const auto carried = vk::probe_words();
  EXPECT_EQ(std::vector<uint32_t>(carried.begin(), carried.end()), pack_probes(all_emitted()));
}

TEST(Probes, SeveralInOneProgramKeepTheirArrays) {
  std::vector<Executable> programs;
  uint32_t outputs = 0;
  uint64_t commands_of_all = 0;
  for (const Probe& p : all_emitted()) {
    if (p.thorough) continue;
    programs.push_back(in_form(p, BindingForm::Descriptors));
    outputs += p.program.n_outputs;
    commands_of_all += commands(p.program.steps);
  }
  const Executable all = vk::joined(programs);
  EXPECT_EQ(all.n_outputs, outputs);
  EXPECT_EQ(commands(all.steps), commands_of_all);
  for (uint32_t b = 0; b < all.buffers.size(); ++b) EXPECT_EQ(all.buffers[b].role == Role::Output, b < outputs);
  // The uses of the last program, where every number is moved.
  const Executable& last = programs.back();
  for (size_t i = 0; i < last.steps.size(); ++i) {
    const Step &own = last.steps[i], &moved = all.steps[all.steps.size() - last.steps.size() + i];
    EXPECT_EQ(all.kernels[moved.kernel].name, last.kernels[own.kernel].name);
    for (size_t u = 0; u < own.uses.size(); ++u)
      EXPECT_EQ(all.buffers[moved.uses[u].buffer].type, last.buffers[own.uses[u].buffer].type);
  }
}

}  // namespace probes_test
}  // namespace spirograd
