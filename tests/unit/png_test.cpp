#include "tools/io/png.h"

#include <gtest/gtest.h>

#include <string>

namespace spirograd::io {
namespace png_test {

TEST(Png, HasSignatureAndSize) {
  Picture p(3, 2);
  p.at(1, 1)[0] = 7;
  const std::vector<uint8_t> f = png_bytes(p);
  EXPECT_EQ(std::string(f.begin(), f.begin() + 8), "\x89PNG\r\n\x1a\n");
  EXPECT_EQ(f[19], 3);
  EXPECT_EQ(f[23], 2);
}

}  // namespace png_test
}  // namespace spirograd::io
