#include "vk_runtime/probe_measure.h"

#include <algorithm>
#include <cstdio>
#include <cstring>

#include "vk_runtime/clock.h"
#include "vk_runtime/device.h"
#include "vk_runtime/errors.h"
#include "vk_runtime/probe_programs.h"

namespace spirograd::vk {
namespace {

constexpr double kLong = 0.2;      // seconds that a dispatch is lengthened to
constexpr double kSlowRead = 5e8;  // bytes per second; caches are faster anywhere
constexpr uint64_t kCopied = 64u << 20;

std::string printed(const char* format, double a, double b = 0) {
  char text[80];
  std::snprintf(text, sizeof text, format, a, b);
  return text;
}

const Probe* probe_of(std::span<const Probe> probes, uint32_t number) {
  for (const Probe& p : probes)
    if (!p.expected.empty() && p.expected[0].number == number) return &p;
  return nullptr;
}

class Measure {
 public:
  Measure(const std::shared_ptr<Device>& device, std::span<const Probe> probes, Findings& findings)
      : device_(device), d_(Device::Impl::of(*device)), probes_(probes), findings_(findings) {
    form_ = d_.plan.enable_device_address ? BindingForm::Address : BindingForm::Descriptors;
  }

  // The loops of probe 5, with other trip counts: what is not asked for takes no time.
  void loops() {
    const Probe* p = probe_of(probes_, 5);
    Executable e = program_for(*p, form_, d_.plan.target);
    for (uint32_t trips = 1u << 16;; trips *= 4) {
      std::vector<uint32_t> counts(2 * kLoopCases.size());
      counts[0] = 1;
      counts[1] = trips;
      for (BufferDesc& b : e.buffers)
        if (b.role == Role::Constant) std::memcpy(b.data.data(), counts.data(), b.data.size());
      const std::unique_ptr<Session> session = Session::create(device_, e).value();
      session->run({}).value();  // some drivers compile when a pipeline first runs
      Timing time;
      const auto outputs = session->run({}, &time).value();
      const double seconds = time.device > 0 ? time.device : time.host, steps = outputs[0].values()[1];
      findings_.speeds.iterations = steps / seconds;
      if (seconds < kLong && steps == trips && trips < (1u << 30)) continue;
      record(26, Outcome::Passed,
             printed("%.3g iterations per second, in a dispatch of %.0f ms", steps / seconds, 1e3 * seconds));
      return;
    }
  }

  void compiling() {
    const Probe& p = *probe_of(probes_, 27);
    const Executable e = program_for(p, form_, d_.plan.target);
    const auto start = Clock::now();
    const std::unique_ptr<Session> session = Session::create(device_, e).value();
    const std::vector<HostArray> outputs = session->run({}).value();
    findings_.speeds.compile = seconds_since(start);
    std::vector<std::vector<uint32_t>> words(1);
    for (double x : outputs[0].values()) words[0].push_back(static_cast<uint32_t>(x));
    const Finding found = judged(p, form_, words)[0];
    record(27, found.outcome, printed("%.0f ms for 1,500 instructions", 1e3 * findings_.speeds.compile) + found.text);
  }

  void copies() {
    const Allocation memory = d_.memory->allocate(MemoryKind::Staging, kCopied);
    const Defer release([&] { d_.memory->release(memory); });
    std::vector<uint8_t> host(kCopied, 1);
    const auto speed = [&](void* to, const void* from) {
      std::memcpy(to, from, kCopied);  // the pages are there afterwards
      const auto start = Clock::now();
      std::memcpy(to, from, kCopied);
      return static_cast<double>(kCopied) / seconds_since(start);
    };
    findings_.speeds.written = speed(memory.mapped, host.data());
    findings_.speeds.read = speed(host.data(), memory.mapped);
    const bool cached = findings_.speeds.read >= kSlowRead;
    record(28, cached ? Outcome::Passed : Outcome::Wrong,
           printed("%.3g GB/s written, %.3g GB/s read", findings_.speeds.written / 1e9, findings_.speeds.read / 1e9));
  }

  // A measurement that fails is a verdict, too.
  void attempt(uint32_t number, void (Measure::*run)()) {
    try {
      (this->*run)();
    } catch (const Error& e) {
      record(number, Outcome::Failed, e.message);
    }
  }

 private:
  void record(uint32_t number, Outcome outcome, const std::string& text) {
    findings_.list.push_back({number, kWholeProbe, form_, outcome, 0, text});
  }

  const std::shared_ptr<Device>& device_;
  Device::Impl& d_;
  std::span<const Probe> probes_;
  Findings& findings_;
  BindingForm form_;
};

}  // namespace

void measure(const std::shared_ptr<Device>& device, std::span<const Probe> probes, Findings& findings) {
  Measure m(device, probes, findings);
  m.attempt(26, &Measure::loops);
  m.attempt(27, &Measure::compiling);
  m.attempt(28, &Measure::copies);
}

}  // namespace spirograd::vk
