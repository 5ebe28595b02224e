// Every kernel can be said in the languages of Metal and Direct3D: SPIRV-Cross, through which Vulkan runs on the systems of
// Apple, translates those of the samples, of the golden plans' programs and of their derivatives, and those whose
// invocations work together. What a language has no words for is named here.
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

#include "spirograd/compile.h"
#include "spirograd/grad.h"
#include "spirograd/text.h"
#include "spirv/emit/emit.h"
#include "tests/conformance/conformance.h"
#include "tests/support/f16_programs.h"
#include "tests/support/group_kernels.h"
#include "tests/support/random_program.h"

namespace spirograd {
namespace translate_test {

namespace fs = std::filesystem;

struct Language {
  const char* name;
  const char* options;  // of spirv-cross
  BindingForm form;
  bool has_subgroup_number;
};
void PrintTo(const Language& l, std::ostream* out) { *out << l.name; }

constexpr Language kMetal{"MetalAddresses", "--msl --msl-version 20300", BindingForm::Address, true};
constexpr Language kMetalDescriptors{"MetalDescriptors", "--msl --msl-version 20300", BindingForm::Descriptors, true};
constexpr Language kHlsl{"HlslDescriptors", "--hlsl --shader-model 60", BindingForm::Descriptors, false};

// A GPU with all that the kernels of groups use.
Target full_target() {
  Target t;
  t.subgroup_size = 32;
  t.subgroup_operations = kSubgroupBasic | kSubgroupVote | kSubgroupArithmetic | kSubgroupBallot | kSubgroupShuffle;
  t.shared_bytes = 32768;
  t.max_invocations = 1024;
  t.max_buffers = 31;
  return t;
}

Target target_of(const Language& l) {
  Target t = full_target();
  if (!l.has_subgroup_number) t.subgroup_operations = kSubgroupBasic;
  return t;
}

std::string contents(const fs::path& path) {
  std::ifstream in(path);
  std::stringstream text;
  text << in.rdbuf();
  return text.str();
}

text::Module module_of(const std::string& path) {
  return text::parse(contents(std::string(SPIROGRAD_SOURCE_DIR) + "/" + path), path).value();
}

// A folder of modules that one shell translates.
class Modules {
 public:
  explicit Modules(const Language& l) : Modules(l, target_of(l)) {}
  Modules(const Language& l, const Target& target)
      : language_(l),
        target_(target),
        folder_(fs::temp_directory_path() / ("spirograd_" + std::string(l.name) + "_" + std::to_string(getpid()) + "_" +
                                             std::to_string(target.quirks))) {
    fs::create_directories(folder_);
  }
  ~Modules() { fs::remove_all(folder_); }

  void add(const std::string& name, const KernelBinary& kernel) {
    if (!known_.insert(kernel.words).second) return;
    std::ofstream(file(names_.size(), "spv"), std::ios::binary)
        .write(reinterpret_cast<const char*>(kernel.words.data()), static_cast<std::streamsize>(kernel.words.size() * 4));
    names_.push_back(name + ": " + kernel.name);
  }
  /// Not if it needs f64, which these languages lack, or cannot read.
  void add(const std::string& name, const Program& p) {
    const Result<Executable> made = compile(p, target_, {.form = language_.form});
    if (!made && made.error().message.find("f64") != std::string::npos) return;
    for (const KernelBinary& k : made.value().kernels) add(name, k);
  }
  void add_with_derivatives(const std::string& name, const Program& p) {
    add(name, p);
    if (const auto backward = vjp(p)) add(name + ", transposed", *backward);  // else: no float parameter or result
    if (const auto forward = jvp(p)) add(name + ", in a direction", *forward);
  }

  size_t size() const { return names_.size(); }

  /// What SPIRV-Cross says of those that it refuses, and where it wrote what is no word of the language.
  std::vector<std::string> refusals() const {
    if (names_.empty()) return {};
    const std::string last = std::to_string(names_.size() - 1), options = language_.options;
    const int status =
        std::system(("cd " + folder_.string() + " && for j in $(seq 0 " + last + "); do " SPIRV_CROSS " $j.spv " + options +
                     " --output $j.txt 2> $j.err || rm -f $j.txt; done")
                        .c_str());
    std::vector<std::string> out;
    if (status != 0) out.push_back("the shell ended with " + std::to_string(status));
    for (size_t j = 0; j < names_.size(); ++j)
      if (!fs::exists(file(j, "txt"))) out.push_back(names_[j] + ": " + contents(file(j, "err")));
    return out;
  }

  const std::string& name(size_t j) const { return names_[j]; }
  std::string text(size_t j) const { return contents(file(j, "txt")); }

 private:
  fs::path file(size_t j, const char* kind) const { return folder_ / (std::to_string(j) + "." + kind); }

  Language language_;
  Target target_;
  fs::path folder_;
  std::set<std::vector<uint32_t>> known_;
  std::vector<std::string> names_;
};

class Translate : public testing::TestWithParam<Language> {
 protected:
  void expect_all() {
    ASSERT_GT(modules_.size(), 0u);
    for (const std::string& refusal : modules_.refusals()) ADD_FAILURE() << refusal;
    // Metal refuses atomics of constant memory. SPIRV-Cross before March 2024 takes addresses in push constants for such;
    // the self-test of that form finds devices out that do.
    if (GetParam().form == BindingForm::Descriptors) {
      for (size_t j = 0; j < modules_.size(); ++j)
        EXPECT_EQ(modules_.text(j).find("constant atomic_"), std::string::npos) << modules_.name(j);
    }
    RecordProperty("modules", static_cast<int>(modules_.size()));
  }
  Modules modules_{GetParam()};
};

// What is rounded operation by operation goes through functions that Metal must not optimise, which takes ten times as long.
TEST_P(Translate, SumsOfProductsAreOneOperation) {
  const std::string product = "def main(a: f32[64, 64], b: f32[64, 64]) = a @ b";
  modules_.add("a product", text::instantiate(text::parse(product, "test.sg").value()).value());
  expect_all();
  for (size_t j = 0; j < modules_.size(); ++j) {
    const std::string text = modules_.text(j), used = text.substr(text.find("main0(") + 1);
    EXPECT_NE(text.find(GetParam().options[2] == 'm' ? "= fma(" : "= mad("), std::string::npos) << text;
    EXPECT_EQ(used.find("spvFMul("), std::string::npos) << text;
  }
}

TEST_P(Translate, Samples) {
  modules_.add_with_derivatives("line", text::instantiate(module_of("samples/line.sg"), "loss", {{"N", 1000}}).value());
  modules_.add_with_derivatives("roughness",
                                text::instantiate(module_of("samples/roughness.sg"), "roughness", {{"N", 1000}}).value());
  for (const auto& [n, d, k] : {std::array{272, 2, 2}, std::array{1000, 10, 25}})
    modules_.add_with_derivatives(
        "gmm", text::instantiate(module_of("samples/gmm.sg"), "gmm", {{"N", n}, {"D", d}, {"K", k}}).value());
  expect_all();
}

TEST_P(Translate, Families) {
  const text::Module families = module_of("tests/golden/families.sg");
  for (const text::Signature& f : families.functions())
    modules_.add_with_derivatives(f.name, text::instantiate(families, f.name).value());
  expect_all();
}

TEST_P(Translate, Conformance) {
  for (const conformance::Check& c : conformance::checks(conformance::Surface::Text, DType::F32))
    modules_.add(c.line + " " + c.name, c.program);
  expect_all();
}

TEST_P(Translate, RandomPrograms) {
  for (uint64_t seed = 1; seed <= 60; ++seed)
    modules_.add_with_derivatives("program " + std::to_string(seed), test::random_program(seed).program);
  expect_all();
}

// All but what a language has no words for.
TEST_P(Translate, WorkgroupsThatWorkTogether) {
  const Target t = full_target();
  for (const test::GroupCase& c : test::group_cases(t.subgroup_size, t.max_invocations, false))
    modules_.add("group", spirv::emit(c.kernel, t, GetParam().form));
  std::string refused;
  for (const std::string& refusal : modules_.refusals()) refused += refusal.substr(0, refusal.find(": SPIRV-Cross")) + ", ";
  // Metal has no exclusive scan by minimum, Direct3D no number of a subgroup in its workgroup.
  EXPECT_EQ(refused, GetParam().has_subgroup_number
                         ? "group: subgroup_combine, "
                         : "group: subgroup_sum, group: subgroup_combine, group: subgroup_exchange, ");
}

INSTANTIATE_TEST_SUITE_P(Languages, Translate, testing::Values(kMetal, kMetalDescriptors, kHlsl),
                         [](const auto& i) { return std::string(i.param.name); });

// Calls of functions that Metal must not optimise, in all kernels of programs, and in those of their derivatives.
class Metal : public testing::TestWithParam<Language> {
 protected:
  static size_t calls_of(const std::string& text) {
    size_t n = 0;
    for (size_t at = text.find("main0("); (at = text.find("spvF", at)) != std::string::npos; ++at) ++n;
    return n;
  }
  static Program program(const std::string& body) {
    const std::string text = "def main(x: f32[5000], y: f32[5000]) = " + body;
    return text::instantiate(text::parse(text, "test.sg").value()).value();
  }
  static Modules modules(uint32_t quirks) {
    Target t = full_target();
    t.quirks = quirks;
    return Modules(GetParam(), t);
  }
  static size_t calls(const Modules& modules) {
    EXPECT_EQ(modules.refusals(), std::vector<std::string>());
    size_t n = 0;
    for (size_t j = 0; j < modules.size(); ++j) {
      n += calls_of(modules.text(j));
      EXPECT_EQ(modules.text(j).find("optnone") != std::string::npos, calls_of(modules.text(j)) > 0) << modules.text(j);
    }
    return n;
  }
  static size_t calls(uint32_t quirks, const std::string& body) {
    Modules m = modules(quirks);
    m.add(body, program(body));
    return calls(m);
  }
  static size_t always(const std::string& body) { return calls(0, body); }
  static size_t where_costly(const std::string& body) { return calls(kCostlyExactness, body); }
};

TEST_P(Metal, ArithmeticOfProgramsIsPlainWhereExactnessIsCostly) {
  for (const char* body :
       {"x * y + 2.0 * x - y", "(x - y) / (x + 0.5)", "x ** 2.0 - y ** 3.0 + x ** 4.0", "-x * -y + abs(x)",
        "where(x > y, x - y, 3.0 * y)", "f32(u32(x)) * y + f32(i32(y))", "sqrt(x * x + y * y)", "max(x + y, x * y)",
        "for i: 5000 => fori(7, fn(j, s) => s * x[i] + y[i], 1.0)"}) {
    EXPECT_GT(always(body), 0u) << body;
    EXPECT_EQ(where_costly(body), 0u) << body;
  }
}

TEST_P(Metal, FormulasStayExactWhereExactnessIsCostly) {
  for (const char* body : {"exp(x)", "sin(x)", "log1p(x)", "tanh(x)", "x ** y", "lgamma(x)", "atan2(x, y)", "x ** 0.5"}) {
    EXPECT_GT(where_costly(body), 0u) << body;
    EXPECT_LE(where_costly(body), always(body)) << body;
  }
  // Three round x / log 2 to a whole number, four take that off x, three are r + r r tail(r), and then 1 + .. times two
  // powers of 2: all but the polynomial.
  EXPECT_EQ(where_costly("exp(x)"), 13u);
  EXPECT_EQ(always("exp(x * y + y) + x"), always("exp(x)") + 3);
  EXPECT_EQ(where_costly("exp(x * y + y) + x"), where_costly("exp(x)"));
}

TEST_P(Metal, SumsStayCompensatedWhereExactnessIsCostly) {
  for (const char* body : {"sum(x)", "cumsum(x)", "scan(fn(s, x) => s + x, 0.0, x)"}) {
    EXPECT_GE(where_costly(body), 4u) << body;
    EXPECT_LE(where_costly(body), always(body)) << body;
  }
}

// What the samples' and families' kernels call, derivatives included: for whoever weighs it.
TEST_P(Metal, FewCallsAreLeftWhereExactnessIsCostly) {
  const text::Module families = module_of("tests/golden/families.sg");
  Modules all = modules(0), of_formulas = modules(kCostlyExactness);
  for (const text::Signature& f : families.functions())
    for (Modules* m : {&all, &of_formulas}) m->add_with_derivatives(f.name, text::instantiate(families, f.name).value());
  const size_t every = calls(all), formulas = calls(of_formulas);
  std::cout << GetParam().name << ": " << every << " calls, " << formulas << " where exactness is costly\n";
  EXPECT_LT(formulas, every);
}

INSTANTIATE_TEST_SUITE_P(Forms, Metal, testing::Values(kMetal, kMetalDescriptors),
                         [](const auto& i) { return std::string(i.param.name); });

// What is said of x * x; "" if nothing.
std::string refusal(const Language& l, const std::string& type) {
  const std::string source = "def f(x: " + type + "[8]) -> " + type + "[8] = x * x";
  Target t = full_target();
  t.float64 = true;
  Modules modules(l);
  const Program p = text::instantiate(text::parse(source, "f").value(), "f").value();
  modules.add("f", compile(p, t, {.form = l.form}).value().kernels[0]);
  const std::vector<std::string> refusals = modules.refusals();
  return refusals.empty() ? "" : refusals[0];
}

// Arrays of f16: HLSL has 16 bits in memory from shader model 6.2 on.
TEST(TranslateF16, HalvesAreHalves) {
  constexpr Language kHlsl62{"Hlsl62", "--hlsl --shader-model 62 --hlsl-enable-16bit-types", BindingForm::Descriptors,
                             false};
  for (const Language& l : {kMetal, kMetalDescriptors, kHlsl62}) {
    Target t = target_of(l);
    t.float16_storage = t.float16_addresses = true;
    Modules modules(l, t);
    for (const test::F16Program& given : test::kF16Programs)
      modules.add_with_derivatives(given.name, text::instantiate(text::parse(given.text, "f").value()).value());
    EXPECT_GT(modules.size(), 40u);
    for (const std::string& refused : modules.refusals()) ADD_FAILURE() << l.name << ", " << refused;
    EXPECT_NE(modules.text(0).find("half"), std::string::npos) << l.name;
  }
}

TEST(TranslateNot, Doubles) {
  for (const Language& l : {kMetal, kMetalDescriptors, kHlsl}) {
    EXPECT_EQ(refusal(l, "f32"), "") << l.name;
    EXPECT_NE(refusal(l, "f64"), "") << l.name;
  }
}

TEST(TranslateNot, AddressesToHlsl) {
  Language addresses = kHlsl;
  addresses.form = BindingForm::Address;
  EXPECT_NE(refusal(addresses, "f32"), "");
}

}  // namespace translate_test
}  // namespace spirograd
