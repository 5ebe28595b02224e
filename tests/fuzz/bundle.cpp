// The payload of a bundle, behind a header that is right, so that the checksum hides nothing. What was read is written, and
// read back the same.
#include "spirograd/bundle_file.h"

#include <string_view>

#include "tests/fuzz/target.h"

using namespace spirograd;

namespace {

constexpr std::string_view kMagic = "SPGBUNDL";

std::vector<uint8_t> with_header(std::span<const uint8_t> payload) {
  std::vector<uint8_t> out(kMagic.begin(), kMagic.end());
  const auto put = [&](uint64_t x, int bytes) {
    for (int i = 0; i < bytes; ++i) out.push_back(static_cast<uint8_t>(x >> (8 * i)));
  };
  put(kBundleVersion, 4);
  put(payload.size(), 8);
  uint64_t sum = 0xcbf29ce484222325u;
  for (const std::span<const uint8_t> part : {std::span<const uint8_t>(out), payload})
    for (uint8_t b : part) sum = (sum ^ b) * 0x100000001b3u;
  put(sum, 8);
  out.insert(out.end(), payload.begin(), payload.end());
  return out;
}

}  // namespace

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  (void)read_bundle({data, size}, "as it is");
  const std::vector<uint8_t> file = with_header({data, size});
  const Result<Bundle> bundle = read_bundle(file, "with a header");
  if (!bundle) return 0;
  for (const BindingForm form : {BindingForm::Address, BindingForm::Descriptors})
    (void)load_bundle(file, Target{}, form, "for a device");
  const Result<std::vector<uint8_t>> written = save_bundle(bundle->program, bundle->forms);
  if (!written) return 0;
  const Result<Bundle> again = read_bundle(*written, "again");
  fuzz::demand(again && again->program == bundle->program && again->forms.size() == bundle->forms.size(),
               "written and read, a bundle is the same");
  return 0;
}
