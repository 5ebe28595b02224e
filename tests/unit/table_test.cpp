// Tables, and text for terminals.
#include "tools/io/table.h"

#include <gtest/gtest.h>

namespace spirograd::io {
namespace table_test {

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

TEST(Printable, KeepsTextAndEscapesControlCharactersAndWhatIsNoUtf8) {
  EXPECT_EQ(printable("a\tb\nü→𝛼"), "a\tb\nü→𝛼");
  EXPECT_EQ(printable("\x1b[31m\x7f"), "\\x1b[31m\\x7f");
  EXPECT_EQ(printable("\xc2\x9b"), "\\xc2\\x9b") << "C1";
  EXPECT_EQ(printable("\xc0\xaf \xed\xa0\x80 \xff \xe2\x82"), "\\xc0\\xaf \\xed\\xa0\\x80 \\xff \\xe2\\x82");
  EXPECT_EQ(printable(std::string("\0", 1)), "\\x00");
}

}  // namespace table_test
}  // namespace spirograd::io
