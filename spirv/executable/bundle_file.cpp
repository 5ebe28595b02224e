#include "spirograd/bundle_file.h"

#include <algorithm>

#include "frontend/base/spirv_words.h"
#include "spirv/executable/bundle_bytes.h"

namespace spirograd {
namespace {

// Header: magic 8, version 4, length of the payload 8, checksum 8. It stays as it is in later versions, so that each can
// tell the others.
constexpr std::string_view kMagic = "SPGBUNDL";
constexpr size_t kVersionAt = 8, kLengthAt = 12, kChecksumAt = 20, kHeader = 28;

// FNV-1a over everything but its own place: each of its steps is invertible, so that no single byte changes unnoticed.
uint64_t checksum_of(std::span<const uint8_t> file) {
  uint64_t h = 0xcbf29ce484222325u;
  for (const std::span<const uint8_t> part : {file.first(kChecksumAt), file.subspan(kHeader)})
    for (uint8_t b : part) h = (h ^ b) * 0x100000001b3u;
  return h;
}

template <class T>
T number_at(std::span<const uint8_t> bytes, size_t at) {
  BundleReader reader(bytes.subspan(at));
  T out = 0;
  reader.take(out);
  return out;
}

class Complaints {
 public:
  explicit Complaints(std::string_view file) : file_(file) {}
  std::string subject() const { return file_.empty() ? "the bundle" : "the bundle '" + file_ + "'"; }
  Error damaged(const std::string& what) const {
    return wrong(subject() + " " + what, "copy it again, or make it again: spirograd compile FILE.sg -o FILE.sgb");
  }
  Error wrong(std::string message, std::string help) const {
    return Error("SG0501", std::move(message)).hint(std::move(help));
  }

 private:
  std::string file_;
};

bool is_argument(const Executable& e, size_t buffer) { return buffer < size_t{e.n_inputs} + e.n_outputs; }

// Beyond what a session checks: what is indexed before one sees it.
bool is_whole(const Executable& e) {
  if (e.version != 1 || uint64_t{e.n_inputs} + e.n_outputs > e.buffers.size()) return false;
  return std::all_of(e.kernels.begin(), e.kernels.end(), [](const KernelBinary& k) {
    return k.words.size() > 5 && k.words[0] == kSpirvMagic && k.workgroup > 0 &&
           std::all_of(k.in_place.begin(), k.in_place.end(),
                       [&](const InPlace& p) { return p.read < k.bindings && p.written < k.bindings; });
  });
}

bool have_same_arguments(const Executable& a, const Executable& b) {
  if (a.n_inputs != b.n_inputs || a.n_outputs != b.n_outputs) return false;
  for (size_t i = 0; is_argument(a, i); ++i)
    if (a.buffers[i].name != b.buffers[i].name || a.buffers[i].type != b.buffers[i].type) return false;
  return true;
}

bool belong_together(std::span<const Executable> forms) {
  if (forms.empty() || forms.size() > 2 || !std::all_of(forms.begin(), forms.end(), is_whole)) return false;
  return forms.size() == 1 || (forms[0].form != forms[1].form && have_same_arguments(forms[0], forms[1]));
}

std::string_view name_of(BindingForm form) { return form == BindingForm::Address ? "address" : "descriptor"; }

}  // namespace

Result<std::vector<uint8_t>> save_bundle(std::string_view program, std::span<const Executable> forms) {
  return guarded([&]() -> std::vector<uint8_t> {
    if (!belong_together(forms))
      throw Error("SG0501", "save_bundle: " + std::to_string(forms.size()) +
                                " executables, which are not one program in one binding form or both")
          .hint("give what compile() made of one program, once for each form");
    BundleWriter payload;
    payload.put(std::string(program));
    payload.put(static_cast<uint8_t>(forms.size()));
    for (const Executable& e : forms) payload.put(e);

    BundleWriter out;
    out.bytes.assign(kMagic.begin(), kMagic.end());
    out.put(kBundleVersion);
    out.put(uint64_t{payload.bytes.size()});
    out.put(uint64_t{0});
    out.bytes.insert(out.bytes.end(), payload.bytes.begin(), payload.bytes.end());
    const uint64_t sum = checksum_of(out.bytes);
    for (size_t i = 0; i < 8; ++i) out.bytes[kChecksumAt + i] = static_cast<uint8_t>(sum >> (8 * i));
    return std::move(out.bytes);
  });
}

Result<Bundle> read_bundle(std::span<const uint8_t> bytes, std::string_view file) {
  return guarded([&] {
    const Complaints say(file);
    const size_t compared = std::min(bytes.size(), kMagic.size());
    if (!std::equal(kMagic.begin(), kMagic.begin() + static_cast<std::ptrdiff_t>(compared), bytes.begin()))
      throw say.wrong(say.subject() + " is none: its first bytes are not '" + std::string(kMagic) + "'",
                      "bundles are made by: spirograd compile FILE.sg -o FILE.sgb");
    if (bytes.size() < kHeader)
      throw say.damaged("is cut short: it has " + std::to_string(bytes.size()) + " bytes, and the header alone " +
                        std::to_string(kHeader));
    if (const auto version = number_at<uint32_t>(bytes, kVersionAt); version != kBundleVersion)
      throw say.wrong(say.subject() + " has version " + std::to_string(version) + " of the format, and this library reads " +
                          std::to_string(kBundleVersion),
                      "compile the program again with the tool of this library: spirograd compile FILE.sg -o FILE.sgb");
    const uint64_t length = number_at<uint64_t>(bytes, kLengthAt), have = bytes.size() - kHeader;
    if (length != have)
      throw say.damaged("has " + std::to_string(have) + " bytes behind its header, which says " + std::to_string(length));
    Bundle out;
    out.checksum = number_at<uint64_t>(bytes, kChecksumAt);
    if (out.checksum != checksum_of(bytes)) throw say.damaged("is damaged: its checksum is not that of its bytes");

    BundleReader payload(bytes.subspan(kHeader));
    payload.take(out.program);
    uint8_t forms = 0;
    payload.take(forms);
    for (; forms > 0 && payload.ok(); --forms) payload.take(out.forms.emplace_back());
    if (!payload.ok() || !payload.at_end() || !belong_together(out.forms))
      throw say.damaged("is malformed, though its checksum is right");
    return out;
  });
}

Result<Executable> load_bundle(std::span<const uint8_t> bytes, const Target& target, BindingForm preferred,
                               std::string_view file) {
  Result<Bundle> bundle = read_bundle(bytes, file);
  if (!bundle) return bundle.error();
  return form_for(*std::move(bundle), target, preferred, file);
}

Result<Executable> form_for(Bundle bundle, const Target& target, BindingForm preferred, std::string_view file) {
  return guarded([&] {
    std::stable_partition(bundle.forms.begin(), bundle.forms.end(),
                          [&](const Executable& e) { return e.form == preferred; });
    Error error("SG0303", "");
    for (Executable& e : bundle.forms) {
      const std::vector<Missing> lacks = missing(requirements_of(e), target);
      if (lacks.empty()) return std::move(e);
      if (error.message.empty()) {
        error.message = Complaints(file).subject() + " needs " + lacks[0].what;
        error.help = lacks[0].hint;
      }
      for (const Missing& m : lacks) error.notes.push_back("in " + std::string(name_of(e.form)) + " form: " + m.what);
    }
    throw error;
  });
}

namespace {

std::vector<Param> arguments(const Executable& e, uint32_t first, uint32_t n) {
  std::vector<Param> out;
  for (uint32_t i = first; i < first + n; ++i) out.push_back({e.buffers[i].name, e.buffers[i].type});
  return out;
}

}  // namespace

std::vector<Param> inputs_of(const Executable& e) { return arguments(e, 0, e.n_inputs); }
std::vector<Param> outputs_of(const Executable& e) { return arguments(e, e.n_inputs, e.n_outputs); }

}  // namespace spirograd
