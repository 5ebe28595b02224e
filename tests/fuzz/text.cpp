// A program that was read is printed, and what is printed is read as the same program.
#include "spirograd/text.h"

#include <string>

#include "tests/fuzz/target.h"

using namespace spirograd;

namespace {

constexpr size_t kMostBytes = 4096;

Result<std::string> printed(const std::string& source) {
  const Result<text::Module> module = text::parse(source, "fuzz.sg");
  if (!module) return module.error();
  const Result<Program> program = text::instantiate(*module, "", text::ShapeVariables{{"N", 3}, {"M", 2}});
  if (!program) return program.error();
  return text::print(*program);
}

}  // namespace

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size > kMostBytes) return 0;
  const Result<std::string> once = printed({reinterpret_cast<const char*>(data), size});
  if (!once || once->empty()) return 0;
  const Result<std::string> twice = printed(*once);
  fuzz::demand(twice && *twice == *once, "printed and read, a program is the same");
  return 0;
}
