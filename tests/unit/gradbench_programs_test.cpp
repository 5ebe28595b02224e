// The programs of samples/gradbench and the table of evaluations belong together.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "spirograd/text.h"
#include "tools/gradbench/evaluations.h"
#include "tools/gradbench/program_sources.h"

namespace spirograd::gradbench {
namespace gradbench_programs_test {

TEST(GradBenchPrograms, AreBuiltInAsTheyAre) {
  size_t files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(SPIROGRAD_SOURCE_DIR "/samples/gradbench")) {
    std::ifstream file(entry.path(), std::ios::binary);
    const std::string source{std::istreambuf_iterator<char>(file), {}};
    const std::vector<ProgramSource> built_in = program_sources();
    const auto same = [&](const ProgramSource& p) { return p.name == entry.path().stem().string(); };
    const auto found = std::find_if(built_in.begin(), built_in.end(), same);
    ASSERT_NE(found, built_in.end()) << entry.path();
    EXPECT_EQ(found->source, source);
    EXPECT_TRUE(source.starts_with("# GradBench's " + std::string(found->name))) << "says what it is";
    ++files;
  }
  EXPECT_EQ(files, evaluations().size());
}

TEST(GradBenchPrograms, HaveEachDefinitionThatTheTableNames) {
  for (const Evaluation& e : evaluations()) {
    const std::vector<ProgramSource> sources = program_sources();
    const auto source =
        std::find_if(sources.begin(), sources.end(), [&](const ProgramSource& p) { return p.name == e.name; });
    ASSERT_NE(source, sources.end()) << e.name;
    const text::Module module = text::parse(std::string(source->source), e.name + ".sg").value();
    const auto has = [&](const std::string& name) {
      const auto all = module.functions();
      return std::any_of(all.begin(), all.end(), [&](const text::Signature& s) { return s.name == name; });
    };
    EXPECT_GE(e.functions.size(), 2u) << e.name;
    const bool optional = std::any_of(e.fields.begin(), e.fields.end(), [](const Field& f) { return f.optional; });
    for (const Function& f : e.functions) {
      EXPECT_TRUE(has(f.definition)) << e.name << "::" << f.definition;
      EXPECT_EQ(has(f.with_option), optional) << e.name << "::" << f.with_option;
    }
  }
}

}  // namespace gradbench_programs_test
}  // namespace spirograd::gradbench
