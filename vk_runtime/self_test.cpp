#include "vk_runtime/self_test.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <future>
#include <optional>
#include <thread>
#include <type_traits>
#include <utility>

#include "vk_runtime/cache_file.h"
#include "vk_runtime/device.h"
#include "vk_runtime/errors.h"
#include "vk_runtime/probe_data.h"
#include "vk_runtime/probe_measure.h"
#include "vk_runtime/probe_programs.h"
#include "vk_runtime/probe_record.h"
#include "vk_runtime/probe_verdicts.h"
#include "vk_runtime/session_impl.h"

namespace spirograd::vk {
namespace {

constexpr uint64_t kFindingsVersion = 1;       // another one where findings are told from results in another way
constexpr uint64_t kPatience = 5'000'000'000;  // nanoseconds for one submission
constexpr size_t kMostHangs = 3;               // then nothing more is tried
constexpr uint32_t kFoldedAt = 2000;           // workgroups of a row while probes run: fewer than any device allows
constexpr uint32_t kLongestRow = 65535;        // the same where a device is examined: the least that Vulkan lets one allow

// What the driver describes, as far as programs use it.
Target offered_target(const Device::Impl& d) {
  Target t = d.plan.target;
  t.atomic_float_add = d.plan.enable_atomic_float_add;
  return t;
}

uint64_t key_of(const Target& t) {
  std::vector<uint8_t> bytes;
  for (uint64_t x :
       {kFindingsVersion, kProbeHash, uint64_t{t.float64}, uint64_t{t.float16_storage}, uint64_t{t.float16_addresses},
        uint64_t{t.atomic_float_add}, uint64_t{t.signed_zero_inf_nan}, uint64_t{t.round_to_even},
        uint64_t{t.signed_zero_inf_nan64}, uint64_t{t.round_to_even64}, uint64_t{t.device_address},
        uint64_t{t.subgroup_size}, uint64_t{t.subgroup_operations}, uint64_t{t.max_buffers}, uint64_t{t.max_groups}})
    for (int i = 0; i < 8; ++i) bytes.push_back(static_cast<uint8_t>(x >> (8 * i)));
  return hash64(bytes);
}

bool judges_forms(const Probe& p) {
  return std::all_of(p.expected.begin(), p.expected.end(), [](const Expectation& e) { return e.number <= 2; });
}

std::vector<uint32_t> words_of(const HostArray& a) {
  std::vector<uint32_t> words(a.bytes.size() / 4);
  std::memcpy(words.data(), a.bytes.data(), a.bytes.size());
  return words;
}

using Probes = std::vector<const Probe*>;

// What f returns, which runs on a thread of its own; none: it has not ended in time and is left to itself.
template <class F>
std::optional<std::invoke_result_t<F>> within(uint64_t nanoseconds, F f) {
  const auto task = std::make_shared<std::packaged_task<std::invoke_result_t<F>()>>(std::move(f));
  auto result = task->get_future();
  std::thread([task] { (*task)(); }).detach();
  if (result.wait_for(std::chrono::nanoseconds(nanoseconds)) != std::future_status::ready) return std::nullopt;
  return result.get();
}

Error late(const std::string& what, uint64_t nanoseconds) {
  return Error("SG0312", what + " had not ended after " + std::to_string(nanoseconds / 1'000'000'000) +
                             " seconds; what it uses is not freed");
}

class Runner {
 public:
  Runner(const std::shared_ptr<Device>& device, SelfTest& test, const Target& offered)
      : device_(device), d_(Device::Impl::of(*device)), test_(test), offered_(offered) {}

  /// False: the device is gone.
  bool run_all() {
    const std::vector<Probe> probes = unpack_probes(probe_words());
    Probes all, forms;
    for (const Probe& p : probes) {
      const uint32_t lanes = requirements_of(in_form(p, BindingForm::Descriptors)).subgroup_size;
      const bool is_measured = p.expected[0].number == 27;
      if (is_measured || (p.thorough && !test_.thorough) || (lanes != 0 && lanes != offered_.subgroup_size)) continue;
      all.push_back(&p);
      if (judges_forms(p)) forms.push_back(&p);
    }
    if (offered_.device_address && !run(all, BindingForm::Address)) return false;
    const bool both = !offered_.device_address || test_.thorough || doubts_addresses(test_.findings.list);
    if (!run(both ? all : forms, BindingForm::Descriptors)) return false;
    for (const BindingForm form : {BindingForm::Address, BindingForm::Descriptors})
      if (!record_commands(probes, form)) return false;
    if (test_.thorough) measure(device_, probes, test_.findings);
    return true;
  }
  /// Something failed that may succeed another time.
  bool is_transient() const { return transient_; }

 private:
  bool run(const Probes& probes, BindingForm form) {
    Probes together;
    for (const Probe* p : probes) {
      const std::pair<BindingForm, std::string> which(form, p->name);
      if (std::find(test_.done.begin(), test_.done.end(), which) != test_.done.end()) continue;
      if (!is_offered(*p, form))
        record(*p, form, same_for_all(*p, form, Outcome::NotOffered, ""));
      else if (test_.hangs >= kMostHangs || is_lost(form))
        record(*p, form, same_for_all(*p, form, Outcome::NotRun, "not tried after others hung"));
      else if (!p->thorough && !test_.one_by_one)
        together.push_back(p);
      else if (!run_alone(*p, form))
        return false;
    }
    if (together.empty() || attempt(together, form) == nullptr) return true;
    if (gone_) {
      test_.one_by_one = true;
      return false;
    }
    for (const Probe* p : together)
      if (!run_alone(*p, form)) return false;
    return true;
  }

  // For hosts, and where everything is looked at.
  bool record_commands(const std::vector<Probe>& probes, BindingForm form) {
    const std::pair<BindingForm, std::string> which(form, "recording");
    const bool wanted = (test_.thorough || !d_.owned) && test_.hangs < kMostHangs;
    const bool offered = form == BindingForm::Descriptors || offered_.device_address;
    if (!wanted || !offered || std::find(test_.done.begin(), test_.done.end(), which) != test_.done.end()) return true;
    const auto program =
        std::find_if(probes.begin(), probes.end(), [](const Probe& p) { return p.expected[0].number == 10; });
    if (test_.progress) test_.progress(which.second);
    test_.done.push_back(which);
    try {
      const std::vector<Finding> found = try_recording(device_, *program, form, kPatience);
      test_.findings.list.insert(test_.findings.list.end(), found.begin(), found.end());
    } catch (const Error& e) {
      gone_ = d_.lost || d_.abandoned;
      test_.hangs += gone_ ? 1 : 0;
      const Outcome outcome = e.code == "SG0312" ? Outcome::Hung : Outcome::Failed;
      for (uint32_t number : {11u, 29u}) test_.findings.list.push_back({number, kWholeProbe, form, outcome, 0, e.message});
    }
    return !gone_;
  }

  bool run_alone(const Probe& p, BindingForm form) {
    const std::unique_ptr<Error> error = attempt({&p}, form);
    if (!error) return true;
    const bool hung = error->code == "SG0312", no_memory = error->code == "SG0601";
    const std::string text = no_memory ? "not tried: " + error->message : error->message;
    record(p, form, same_for_all(p, form, hung ? Outcome::Hung : no_memory ? Outcome::NotRun : Outcome::Failed, text));
    transient_ = transient_ || (no_memory && !p.thorough);
    test_.hangs += gone_ ? 1 : 0;
    return !gone_;
  }

  // One session for all of them; what went wrong, if something did.
  std::unique_ptr<Error> attempt(const Probes& probes, BindingForm form) {
    std::vector<Executable> programs;
    for (const Probe* p : probes) {
      if (test_.progress) test_.progress(p->name);
      programs.push_back(program_for(*p, form, offered_));
    }
    const uint64_t patience = probes.size() == 1 ? test_.compile_patience : test_.compile_patience_for_all;
    // Whatever its thread still does at its end, it holds no device.
    const auto session = within(patience, [device = device_, whole = joined(programs)]() mutable {
      return Session::create(std::exchange(device, nullptr), whole);
    });
    if (!session) {
      d_.abandon();
      gone_ = true;
      return std::make_unique<Error>(late("the driver's compiler", patience));
    }
    gone_ = d_.lost;
    if (!*session) return std::make_unique<Error>(session->error());
    const auto outputs = Session::Impl::of(***session).run({}, kPatience);
    const bool hung = !outputs && outputs.error().code == "SG0312";
    gone_ = d_.lost || hung;
    if (!outputs) return std::make_unique<Error>(hung ? late("it", kPatience) : outputs.error());
    size_t at = 0;
    for (const Probe* p : probes) {
      std::vector<std::vector<uint32_t>> words;
      for (uint32_t j = 0; j < p->program.n_outputs; ++j) words.push_back(words_of((*outputs)[at++]));
      record(*p, form, judged(*p, form, words));
    }
    return nullptr;
  }

  // Nothing else of a form is tried where a probe that judges it has hung.
  bool is_lost(BindingForm form) const {
    return std::any_of(test_.findings.list.begin(), test_.findings.list.end(),
                       [&](const Finding& f) { return f.form == form && f.number <= 2 && f.outcome == Outcome::Hung; });
  }

  bool is_offered(const Probe& p, BindingForm form) const {
    const bool in_range = std::all_of(p.program.buffers.begin(), p.program.buffers.end(), [&](const BufferDesc& b) {
      return form == BindingForm::Address || b.bytes <= offered_.max_range;
    });
    const uint64_t most = d_.facts.max_allocation != 0 ? d_.facts.max_allocation : UINT64_MAX;
    const bool has_room = p.program.scratch_bytes < d_.info.memory_bytes / 2 && p.program.scratch_bytes <= most;
    return in_range && has_room && missing(requirements_of(program_for(p, form, offered_)), d_.info.target).empty();
  }

  void record(const Probe& p, BindingForm form, std::vector<Finding> found) {
    std::move(found.begin(), found.end(), std::back_inserter(test_.findings.list));
    test_.done.emplace_back(form, p.name);
  }

  const std::shared_ptr<Device>& device_;
  Device::Impl& d_;
  SelfTest& test_;
  const Target& offered_;
  bool transient_ = false;
  bool gone_ = false;  // lost, or work hangs in its queue
};

}  // namespace

uint64_t findings_key(const Device::Impl& device) { return key_of(offered_target(device)); }

bool prove(const std::shared_ptr<Device>& device, SelfTest& test) {
  Device::Impl& d = Device::Impl::of(*device);
  const Target offered = offered_target(d);
  const uint64_t key = key_of(offered);
  const std::string path = d.options.cache_dir.empty() ? "" : cache_path(d.options.cache_dir, "verdicts", d.facts.identity);
  bool known = false;
  if (!path.empty() && !test.thorough && test.done.empty())
    if (const auto bytes = load_cache(path, d.facts.identity))
      if (auto findings = decode(*bytes, key)) test.findings = *std::move(findings), known = true;
  bool alive = true;
  if (!known) {
    d.info.target = offered;
    d.info.target.max_loop_iterations = kNoLimit;
    d.info.target.max_groups = std::min(offered.max_groups, test.thorough ? kLongestRow : kFoldedAt);
    Runner runner(device, test, offered);
    alive = runner.run_all();
    test.findings.thorough = test.thorough;
    // On the host's processors whatever else runs there may be what took so long.
    const bool may_pass = d.facts.type == VK_PHYSICAL_DEVICE_TYPE_CPU && test.findings.any(Outcome::Hung);
    if (alive && !path.empty() && !runner.is_transient() && !may_pass)
      save_cache(path, d.facts.identity, encode(test.findings, key));
  }
  Proof proof = conclude(offered, test.findings.list);
  d.info.target = proof.target;
  d.info.verdicts = std::move(proof.verdicts);
  d.info.speeds = test.findings.speeds;
  test.unusable = proof.unusable;
  if (d.info.unusable.empty()) d.info.unusable = std::move(proof.unusable);
  d.plan.full_barriers = proof.full_barriers;
  return alive;
}

}  // namespace spirograd::vk
