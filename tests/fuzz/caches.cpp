// What the cache folder keeps, once the header and the hash of its file are right: schedules and findings. What was read is
// written, and read back the same.
#include "tests/fuzz/target.h"
#include "vk_runtime/cache_file.h"
#include "vk_runtime/choices_file.h"
#include "vk_runtime/probe_findings.h"

using namespace spirograd;

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::span<const uint8_t> bytes(data, size);
  (void)vk::unpack_cache({}, bytes);
  fuzz::demand(vk::unpack_cache({}, vk::pack_cache({}, bytes)) == std::vector<uint8_t>(data, data + size),
               "packed and unpacked, bytes are the same");
  if (const auto choices = vk::decode_choices(bytes))
    fuzz::demand(vk::decode_choices(vk::encode_choices(*choices)) == choices, "written and read, schedules are the same");
  uint64_t key = 0;
  for (size_t i = 0; i < 8 && i < size; ++i) key |= uint64_t{data[i]} << (8 * i);
  if (const auto findings = vk::decode(bytes, key)) {
    const std::vector<uint8_t> written = vk::encode(*findings, key);
    const auto again = vk::decode(written, key);
    fuzz::demand(again && vk::encode(*again, key) == written, "written and read, findings are the same");
  }
  return 0;
}
