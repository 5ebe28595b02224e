// An array that was read is written, and read back the same.
#include "tools/io/npy.h"

#include "tests/fuzz/target.h"

using namespace spirograd;

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  try {
    io::FileArray array = io::parse_npy({data, data + size}, "fuzz.npy");
    const HostArray host = io::to_host(std::move(array), "fuzz.npy");
    const HostArray again = io::to_host(io::parse_npy(io::npy_bytes(host), "again.npy"), "again.npy");
    fuzz::demand(again.type == host.type && again.bytes == host.bytes, "written and read, an array is the same");
  } catch (const Error&) {
  }
  return 0;
}
