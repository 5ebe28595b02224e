#include "vk_runtime/self_test.h"

#include <algorithm>
#include <cstring>

#include "add_exchange.h"
#include "add_native.h"
#include "vk_runtime/cache_file.h"
#include "vk_runtime/device.h"

namespace spirograd::vk {
namespace {

constexpr uint32_t kAddresses[] = {1, 64, 4096};
constexpr uint32_t kAdds = 1u << 16;
constexpr uint32_t kWorkgroup = 64;

enum class Verdict : uint8_t { Untested, Proved, Wrong };

// Three outputs of zeros; kAdds ones go to each, evenly.
Executable adds(const char* name, std::span<const uint32_t> words) {
  Executable e;
  e.form = BindingForm::Descriptors;
  e.kernels = {{name, {words.begin(), words.end()}, kWorkgroup, 2}};
  e.n_outputs = static_cast<uint32_t>(std::size(kAddresses));
  for (uint32_t n : kAddresses) e.buffers.push_back({Role::Output, "sums", f32({n}), n * uint64_t{4}, 0, {}});
  BufferDesc counts{Role::Constant, "counts", u32({3}), sizeof kAddresses, 0, std::vector<uint8_t>(sizeof kAddresses)};
  std::memcpy(counts.data.data(), kAddresses, sizeof kAddresses);
  e.buffers.push_back(counts);
  for (uint32_t i = 0; i < e.n_outputs; ++i) {
    e.steps.push_back({Step::Kind::Fill, 0, 1, 0, {{i, 0, e.buffers[i].bytes, false, true}}, "zeros"});
  }
  for (uint32_t i = 0; i < e.n_outputs; ++i) {
    e.steps.push_back({Step::Kind::Dispatch,
                       0,
                       kAdds / kWorkgroup,
                       0,
                       {{i, 0, e.buffers[i].bytes, true, true}, {e.n_outputs, i * uint64_t{4}, 4, true, false}},
                       name});
  }
  return e;
}

Verdict try_adds(const std::shared_ptr<Device>& device, const char* name, std::span<const uint32_t> words) {
  const std::unique_ptr<Session> session = Session::create(device, adds(name, words)).value();
  const std::vector<HostArray> sums = session->run({}).value();
  for (const HostArray& s : sums)
    for (double x : s.values())
      if (x != static_cast<double>(kAdds) / static_cast<double>(s.count())) return Verdict::Wrong;
  return Verdict::Proved;
}

std::string sentence(Verdict v) {
  switch (v) {
    case Verdict::Untested: return "not tested";
    case Verdict::Proved: return "proved";
    case Verdict::Wrong: return "wrong";
  }
  return "";
}

}  // namespace

void prove(const std::shared_ptr<Device>& device) {
  Device::Impl& d = device->impl();
  const bool offered = d.plan.enable_atomic_float_add;
  std::string path;
  std::optional<std::vector<uint8_t>> known;
  if (!d.options.cache_dir.empty()) {
    path = cache_path(d.options.cache_dir, "verdicts", d.facts.identity);
    known = load_cache(path, d.facts.identity);
  }
  Verdict native = Verdict::Untested, exchange = Verdict::Untested;
  if (known && known->size() == 2 && (*known)[0] <= 2 && (*known)[1] <= 2) {
    native = static_cast<Verdict>((*known)[0]);
    exchange = static_cast<Verdict>((*known)[1]);
  }
  const bool missing = exchange == Verdict::Untested || (offered && native == Verdict::Untested);
  if (missing && d.plan.enable_timeline) {
    exchange = try_adds(device, "add by compare-exchange", add_exchange);
    if (offered) native = try_adds(device, "add by native atomic", add_native);
    const uint8_t verdicts[] = {static_cast<uint8_t>(native), static_cast<uint8_t>(exchange)};
    if (!path.empty()) save_cache(path, d.facts.identity, verdicts);
  }
  d.info.target.atomic_float_add = offered && native == Verdict::Proved;
  const std::string native_text = !offered                    ? "not offered"
                                  : native == Verdict::Wrong  ? "offered, but wrong: not used"
                                  : native == Verdict::Proved ? "proved"
                                                              : "offered, but not tested: not used";
  d.info.verdicts = {"atomic f32 add: " + native_text, "compare-exchange f32 add: " + sentence(exchange)};
}

}  // namespace spirograd::vk
