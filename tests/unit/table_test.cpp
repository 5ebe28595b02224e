// Tables and arrays as text.
#include "tools/io/table.h"

#include <gtest/gtest.h>

#include <limits>

namespace spirograd::io {
namespace {

TEST(Table, AlignsColumns) {
  Table t({">#", "name", "x"});
  t.add({"1", "long name", "a"});
  t.add({"10", "é", "b"});
  t.add({"2"});
  EXPECT_EQ(t.str(), " #  name       x\n 1  long name  a\n10  é          b\n 2\n");
}

TEST(Table, WithoutTitlesHasNoTitleLine) {
  Table t({"", ""});
  t.add({"a", "b"});
  EXPECT_EQ(t.str(), "a  b\n");
}

TEST(Numbers, ReadBackInTheirType) {
  EXPECT_EQ(number_text(0.1f, DType::F32), "0.1");
  EXPECT_EQ(number_text(0.1f, DType::F64), "0.10000000149011612");
  EXPECT_EQ(number_text(-3, DType::I32), "-3");
  EXPECT_EQ(number_text(4294967295.0, DType::U32), "4294967295");
  EXPECT_EQ(number_text(1, DType::Bool), "true");
  EXPECT_EQ(number_text(-std::numeric_limits<double>::infinity(), DType::F32), "-inf");
  EXPECT_EQ(number_text(-std::numeric_limits<double>::quiet_NaN(), DType::F64), "nan");
}

TEST(Arrays, PrintInNestedBrackets) {
  EXPECT_EQ(array_text(HostArray(f32(), {2.5})), "2.5");
  EXPECT_EQ(array_text(HostArray(i32({3}), {1, -20, 3})), "[  1 -20   3]");
  EXPECT_EQ(array_text(HostArray(i32({2, 2}), {1, 2, 3, 4})), "[[1 2]\n [3 4]]");
  EXPECT_EQ(array_text(HostArray(i32({2, 1, 2}), {1, 2, 3, 4})), "[[[1 2]]\n\n [[3 4]]]");
  EXPECT_EQ(array_text(HostArray(i32({0}))), "[]");
  EXPECT_EQ(array_text(HostArray(i32({2, 0}))), "[[]\n []]");
}

TEST(Arrays, OfManyElementsAreShortened) {
  std::vector<double> v(1001);
  for (size_t j = 0; j < v.size(); ++j) v[j] = static_cast<double>(j % 10);
  EXPECT_EQ(array_text(HostArray(i32({1001}), v)), "[0 1 2 ... 8 9 0]");
  EXPECT_EQ(array_text(HostArray(i32({143, 7}), v)).find("..."), array_text(HostArray(i32({143, 7}), v)).rfind("..."));
}

TEST(Printable, KeepsTextAndEscapesControlCharactersAndWhatIsNoUtf8) {
  EXPECT_EQ(printable("a\tb\nü→𝛼"), "a\tb\nü→𝛼");
  EXPECT_EQ(printable("\x1b[31m\x7f"), "\\x1b[31m\\x7f");
  EXPECT_EQ(printable("\xc2\x9b"), "\\xc2\\x9b") << "C1";
  EXPECT_EQ(printable("\xc0\xaf \xed\xa0\x80 \xff \xe2\x82"), "\\xc0\\xaf \\xed\\xa0\\x80 \\xff \\xe2\\x82");
  EXPECT_EQ(printable(std::string("\0", 1)), "\\x00");
}

}  // namespace
}  // namespace spirograd::io
