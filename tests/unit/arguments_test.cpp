// Inputs as typed on a command line, and files that appear whole or not at all.
#include "tools/io/arguments.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cmath>
#include <filesystem>

#include "tools/io/files.h"
#include "tools/io/npz.h"
#include "tools/io/png.h"

namespace spirograd::io {
namespace {

namespace fs = std::filesystem;

HostArray load(const std::string& text, DType t = DType::F32, bool cast = false) {
  return load_argument("x", text, t, cast);
}

std::string code_of(const auto& body) {
  try {
    body();
  } catch (const Error& e) {
    return e.code;
  }
  return "";
}
std::string refusal(const std::string& text, DType t = DType::F32) {
  return code_of([&] { load(text, t); });
}

struct Files : testing::Test {
  fs::path folder;
  Files() {
    std::string name = (fs::temp_directory_path() / "spirograd_files_XXXXXX").string();
    folder = mkdtemp(name.data());
  }
  ~Files() override { fs::remove_all(folder); }
  std::string path(const std::string& name) const { return (folder / name).string(); }
  std::string text(const std::string& name) const {
    const std::vector<uint8_t> b = read_file(path(name));
    return {b.begin(), b.end()};
  }
  size_t count() const {
    return static_cast<size_t>(std::distance(fs::directory_iterator(folder), fs::directory_iterator()));
  }
};

TEST(Arguments, SplitAtTheFirstEqualsSign) {
  EXPECT_EQ(split_argument("x=a=b.npy")->name, "x");
  EXPECT_EQ(split_argument("x=a=b.npy")->text, "a=b.npy");
  EXPECT_EQ(split_argument("x=")->text, "");
  EXPECT_FALSE(split_argument("x.npz"));
  EXPECT_FALSE(split_argument("=3"));
}

TEST(Arguments, WholeNumbersAreDigitsOnly) {
  EXPECT_EQ(whole_number("-12"), -12);
  for (const char* text : {"", "1.0", "1e3", " 1", "0x10", "99999999999999999999"}) EXPECT_FALSE(whole_number(text)) << text;
}

TEST(Literals, TakeTheTypeThatIsWanted) {
  EXPECT_EQ(load("3.5").type, f32());
  EXPECT_EQ(load("3.5").values()[0], 3.5);
  EXPECT_EQ(load("-7", DType::I32).values()[0], -7);
  EXPECT_EQ(load("+7", DType::U32).values()[0], 7);
  EXPECT_EQ(load("true", DType::Bool).values()[0], 1);
  EXPECT_EQ(load("0", DType::Bool).values()[0], 0);
  EXPECT_TRUE(std::isnan(load("nan").values()[0]));
  EXPECT_EQ(load("-inf").values()[0], -HUGE_VAL);
  EXPECT_EQ(load("0.1", DType::F64).values()[0], 0.1);
}

TEST(Literals, ListsNest) {
  EXPECT_EQ(load("[1, 2, 3]").type, f32({3}));
  EXPECT_EQ(load("[[1,2],[3,4],[5,6]]", DType::I32).type, i32({3, 2}));
  EXPECT_EQ(load("[[1,2],[3,4]]").values(), (std::vector<double>{1, 2, 3, 4}));
  EXPECT_EQ(load("[]").type, f32({0}));
  EXPECT_EQ(load("[[],[]]").type, f32({2, 0}));
  EXPECT_EQ(load("[[[[[[1]]]]]]").type, f32({1, 1, 1, 1, 1, 1}));
}

TEST(Literals, AreRefusedWhereTheyDoNotFit) {
  for (const char* text :
       {"[1,[2]]", "[[1],2]", "[[1,2],[3]]", "[1", "[1,]", "[1]]", "[1 2]", "[x]", "[[[[[[[1]]]]]]]", "1e39", "true", ""})
    EXPECT_EQ(refusal(text), "SG0506") << text;
  for (const char* text : {"1.0", "2147483648", "-2147483649", "nan", "true"})
    EXPECT_EQ(refusal(text, DType::I32), "SG0506") << text;
  EXPECT_EQ(refusal("-1", DType::U32), "SG0506");
  EXPECT_EQ(refusal("2", DType::Bool), "SG0506");
}

TEST(PseudoFiles, MakeZerosOnesAndCounts) {
  EXPECT_EQ(load("zeros:2x3xf32").type, f32({2, 3}));
  EXPECT_EQ(load("ones:2").values(), (std::vector<double>{1, 1}));
  EXPECT_EQ(load("ones:", DType::I32).type, i32());
  EXPECT_EQ(load("ones:i32", DType::I32).type, i32());
  EXPECT_EQ(load("iota:2x2xi32", DType::I32).values(), (std::vector<double>{0, 1, 2, 3}));
  EXPECT_EQ(load("zeros:0x5").count(), 0);
  EXPECT_EQ(load("ones:3xi32", DType::F32, true).type, f32({3}));
}

TEST(PseudoFiles, AreRefusedWhereTheyMakeNoSense) {
  for (const char* text : {"zeros:3y", "zeros:-1", "zeros:f32x3", "zeros:3xxf32", "zeros:1x1x1x1x1x1x1", "random:3xf32",
                           "random::3", "random:-1:3", "zero:3"})
    EXPECT_EQ(refusal(text), "SG0506") << text;
  EXPECT_EQ(refusal("random:1:3", DType::I32), "SG0506");
  EXPECT_EQ(refusal("zeros:3xf64"), "SG0507");
  EXPECT_EQ(refusal("zeros:9223372036854775807x9223372036854775807"), "SG0601");
  EXPECT_EQ(refusal("zeros:0x9223372036854775807x9223372036854775807"), "SG0601");
}

TEST(Random, IsAFunctionOfSeedAndPosition) {
  const std::vector<double> a = load("random:7:100xf32").values(), b = load("random:7:50x2xf32").values(),
                            c = load("random:8:100xf32").values();
  EXPECT_EQ(a, b);
  EXPECT_NE(a, c);
  // Fixed for all time: recorded results depend on it.
  EXPECT_EQ(a[0], 0x1.716984p-1);
  EXPECT_EQ(a[1], 0x1.4ca60ap-1);
  EXPECT_EQ(random_element(0, 0, DType::F64), 0x1.4e0dba5e9a32fp-1);
  const std::vector<double> d = load("random:7:100xf64", DType::F64).values();
  for (size_t j = 0; j < a.size(); ++j) EXPECT_TRUE(a[j] <= d[j] && d[j] < a[j] + 0x1p-24) << j;
}

TEST(Random, IsUniform) {
  double sum = 0, squares = 0;
  const int n = 100000;
  for (uint64_t j = 0; j < n; ++j) {
    const double x = random_element(3, j, DType::F64);
    ASSERT_TRUE(x >= 0 && x < 1);
    sum += x;
    squares += x * x;
  }
  EXPECT_NEAR(sum / n, 0.5, 0.005);
  EXPECT_NEAR(squares / n, 1.0 / 3, 0.005);
}

TEST_F(Files, AreLoadedByNameAndMember) {
  const HostArray a(f32({2}), {1, 2});
  OutputFiles out;
  out.add(path("a.npy"), npy_bytes(a));
  out.add(path("a.npz"), npz_bytes({{"m", a}}));
  out.commit();
  EXPECT_EQ(load(path("a.npy")).values(), a.values());
  EXPECT_EQ(load(path("a.npz") + ":m").values(), a.values());
  EXPECT_EQ(refusal(path("a.npz")), "SG0506");
  EXPECT_EQ(refusal(path("b.npy")), "SG0504");
  EXPECT_EQ(refusal(path("a.npy"), DType::I32), "SG0507");
  EXPECT_EQ(load(path("a.npy"), DType::I32, true).values(), a.values());
}

TEST_F(Files, AppearTogether) {
  {
    OutputFiles out;
    out.add(path("a"), std::string_view("1"));
    out.add(path("b"), std::string_view("2"));
    EXPECT_FALSE(fs::exists(path("a")));
    out.commit();
  }
  EXPECT_EQ(text("a") + text("b"), "12");
  EXPECT_EQ(count(), 2u);
}

TEST_F(Files, LeaveNothingBehindWithoutCommit) {
  OutputFiles().add(path("a"), std::string_view("1"));
  EXPECT_EQ(count(), 0u);
  EXPECT_EQ(code_of([&] {
              OutputFiles out;
              out.add(path("a"), std::string_view("1"));
              out.add(path("missing/b"), std::string_view("2"));
            }),
            "SG0505");
  EXPECT_EQ(count(), 0u);
}

TEST_F(Files, KeepRightsAndLinks) {
  OutputFiles first;
  first.add(path("a"), std::string_view("old"));
  first.commit();
  ASSERT_EQ(chmod(path("a").c_str(), 0640), 0);
  fs::create_symlink("a", path("link"));
  OutputFiles second;
  second.add(path("link"), std::string_view("new"));
  second.commit();
  EXPECT_TRUE(fs::is_symlink(path("link")));
  EXPECT_EQ(text("a"), "new");
  EXPECT_EQ(fs::status(path("a")).permissions(), fs::perms::owner_read | fs::perms::owner_write | fs::perms::group_read);
}

TEST_F(Files, RefuseFoldersAndMissingFolders) {
  EXPECT_EQ(code_of([&] { check_writable(folder.string()); }), "SG0505");
  EXPECT_EQ(code_of([&] { check_writable(path("missing/a")); }), "SG0505");
  EXPECT_EQ(code_of([&] { check_writable(""); }), "SG0505");
  EXPECT_EQ(code_of([&] { check_writable(path("a")); }), "");
  EXPECT_EQ(code_of([&] { check_writable("/dev/null"); }), "");
  EXPECT_EQ(code_of([&] { read_file(folder.string()); }), "SG0504");
}

TEST(Png, HasSignatureAndSize) {
  Picture p(3, 2);
  p.at(1, 1)[0] = 7;
  const std::vector<uint8_t> f = png_bytes(p);
  EXPECT_EQ(std::string(f.begin(), f.begin() + 8), "\x89PNG\r\n\x1a\n");
  EXPECT_EQ(f[19], 3);
  EXPECT_EQ(f[23], 2);
}

}  // namespace
}  // namespace spirograd::io
