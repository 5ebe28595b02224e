// Every member of an archive is read or refused, whatever became of those before it.
#include "tools/io/npz.h"

#include "tests/fuzz/target.h"

using namespace spirograd;

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  try {
    const io::NpzReader archive({data, data + size}, "fuzz.npz");
    for (const std::string& name : archive.names()) try {
        io::to_host(archive.read(name), name);
      } catch (const Error&) {
      }
  } catch (const Error&) {
  }
  return 0;
}
