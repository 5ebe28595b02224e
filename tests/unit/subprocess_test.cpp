// Programs that run others: names and words arrive as they were given.
#include "tools/io/subprocess.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "tools/io/utf8.h"

namespace spirograd::io {
namespace subprocess_test {

// This program says what it was given as a filter.
std::string filter_seen_by(const std::string& program, const std::string& filter) {
  const std::string option = "--gtest_filter=", says = "Google Test filter = ";
  std::string seen;
  const Ended ended = run_process(program, {option + filter}, [&](const std::string& line) {
    if (const size_t at = line.find(says); at != std::string::npos) seen = line.substr(at + says.size());
  });
  EXPECT_EQ(ended.status, 0);
  return seen;
}

TEST(Subprocess, WordsKeepSpacesQuotesAndBackslashes) {
  for (const std::string word : {"a b", "\"", "a\\\"b\\", "\\\\ ", "x\\"})
    EXPECT_EQ(filter_seen_by(own_program(), word), word);
}

TEST(Subprocess, ProgramsHaveNamesOfAnyLanguage) {
  const std::string name =
      "gr\xC3\xB6\xC3\x9F"
      "e \xE6\x97\xA5\xE6\x9C\xAC.exe";
  const std::filesystem::path own = native(own_program()), copy = own.parent_path() / native(name);
  EXPECT_EQ(utf8(copy.filename()), name);
  std::filesystem::copy_file(own, copy, std::filesystem::copy_options::overwrite_existing);
  EXPECT_EQ(filter_seen_by(utf8(copy), "none"), "none");
  std::filesystem::remove(copy);
}

}  // namespace subprocess_test
}  // namespace spirograd::io
