#include "tools/cli/speed.h"

#include <algorithm>
#include <chrono>

#include "spirograd/text.h"

namespace spirograd::cli {
namespace {

using Clock = std::chrono::steady_clock;

constexpr size_t kMostTimedReplays = 1000;
constexpr uint64_t kMostProfiled = 100'000;  // commands that get a timestamp each

double median(std::vector<double> x) {
  std::sort(x.begin(), x.end());
  return x[x.size() / 2];
}

// Runs and bytes of each step, and what the plan takes in all.
void count(const Executable& e, Speed& out) {
  out.kernels = e.kernels.size();
  out.dispatches = runs(e.steps, Step::Kind::Dispatch);
  out.scratch = e.scratch_bytes;
  out.traffic = traffic(e);
  for (const Step& s : e.steps) out.steps.push_back({.label = s.label});
  run_through(e.steps, [&](size_t step, std::span<const uint64_t>) {
    const Step& s = e.steps[step];
    if (s.kind == Step::Kind::Repeat) return;
    StepSpeed& at = out.steps[step];
    ++at.runs;
    for (const BufferUse& use : s.uses) at.bytes += use.bytes;
    if (s.kind != Step::Kind::Dispatch) return;
    const KernelBinary& kernel = e.kernels[s.kernel];
    at.operations += kernel.operations * static_cast<double>(s.groups) * kernel.workgroup;
  });
  for (const StepSpeed& s : out.steps) out.operations += s.operations;
}

void profile(vk::Session& session, Speed& out) {
  uint64_t commands = 0;
  for (const StepSpeed& s : out.steps) commands += s.runs;
  const auto timed =
      commands <= kMostProfiled ? session.profile_runs() : Result<std::vector<vk::StepRun>>(Error("", "too many"));
  if (!timed) {
    out.steps.clear();
    return;
  }
  for (const vk::StepRun& r : *timed) {
    StepSpeed& of = out.steps[r.step];
    of.seconds += r.end - r.begin;
    const auto runs = static_cast<double>(of.runs);
    out.events.push_back({of.label, r.begin, r.end, of.bytes / of.runs, of.operations / runs});
  }
  std::erase_if(out.steps, [](const StepSpeed& s) { return s.runs == 0; });
  std::stable_sort(out.steps.begin(), out.steps.end(),
                   [](const StepSpeed& a, const StepSpeed& b) { return a.seconds > b.seconds; });
}

}  // namespace

uint64_t least_bytes(const Executable& e) {
  uint64_t out = 0;
  for (const BufferDesc& b : e.buffers)
    if (b.role == Role::Input || b.role == Role::Output) out += b.bytes;
  return out;
}

Traffic traffic(const Executable& e) {
  Traffic out{0, least_bytes(e)};
  run_through(e.steps, [&](size_t step, std::span<const uint64_t>) {
    if (e.steps[step].kind == Step::Kind::Repeat) return;
    for (const BufferUse& use : e.steps[step].uses) out.moved += use.bytes;
  });
  return out;
}

double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

Replays replay_for(vk::Session& session, double seconds, size_t most) {
  std::vector<double> host, device;
  const auto start = Clock::now();
  do {
    const vk::Timing t = session.replay().value();
    host.push_back(t.host);
    device.push_back(t.device);
  } while (host.size() < most && seconds_since(start) < seconds);
  const double best = *std::min_element(host.begin(), host.end());
  return {host.size(), {median(host), median(device)}, best};
}

Speed measure_speed(const std::shared_ptr<vk::Device>& device, const CompileOptions& how, const Program& program,
                    std::span<const HostArray> inputs, double seconds) {
  Speed out;
  auto start = Clock::now();
  const Executable executable = compile(program, device->target(), how).value();
  out.compile = seconds_since(start);
  count(executable, out);
  start = Clock::now();
  const auto session = vk::Session::create(device, executable).value();
  out.session = seconds_since(start);
  vk::Timing first;
  session->run(inputs, &first).value();
  out.first = first.host;
  const Replays replays = replay_for(*session, seconds, kMostTimedReplays);
  out.replays = replays.runs;
  out.replay = replays.median.host;
  out.best = replays.best;
  out.device = replays.median.device > 0 ? replays.median.device : out.replay;
  profile(*session, out);
  return out;
}

Limits measure_limits(const std::shared_ptr<vk::Device>& device, BindingForm form) {
  constexpr double kSeconds = 0.3;
  constexpr int64_t kElements = int64_t{1} << 24;
  // Several chains side by side, for each waits for itself.
  std::string chains;
  for (int c = 0; c < 8; ++c) {
    std::string chain = "x";
    for (int i = 0; i < 16; ++i) chain = "(" + chain + " * x + 0." + std::to_string(c + 1) + ")";
    chains += (c == 0 ? "" : " + ") + chain;
  }
  const auto speed = [&](const std::string& body, int64_t n) {
    const std::string text = "def f(x: f32[N]) -> f32[N] = " + body;
    const Program p = text::instantiate(text::parse(text, "limits").value(), "", text::ShapeVariables{{"N", n}}).value();
    return measure_speed(device, {.form = form}, p, std::vector{HostArray(f32({n}))}, kSeconds);
  };
  constexpr double kSoonDone = 1e-3;  // seconds, of which a GPU takes a part to begin and to end
  const Speed copy = speed("x * 1.5", kElements);
  Speed work = speed(chains, kElements / 16);
  if (work.device < kSoonDone) work = speed(chains, kElements);
  return {static_cast<double>(copy.traffic.least) / copy.device, work.operations / work.device};
}

}  // namespace spirograd::cli
