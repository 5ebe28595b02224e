#include "vk_runtime/self_test.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

#include "add_exchange.h"
#include "add_native.h"
#include "count_iterations.h"
#include "lanes.h"
#include "vk_runtime/cache_file.h"
#include "vk_runtime/device.h"

namespace spirograd::vk {
namespace {

constexpr uint32_t kAddresses[] = {1, 64, 4096};
constexpr uint32_t kAdds = 1u << 16;
constexpr uint32_t kWorkgroup = 64;

enum class Verdict : uint8_t { Untested, Proved, Wrong };

BufferDesc constant_words(const char* name, std::span<const uint32_t> words) {
  BufferDesc b{Role::Constant, name, u32({static_cast<int64_t>(words.size())}), words.size_bytes(), 0, {}};
  b.data.resize(words.size_bytes());
  std::memcpy(b.data.data(), words.data(), words.size_bytes());
  return b;
}

// Three outputs of zeros; kAdds ones go to each, evenly.
Executable adds(const char* name, std::span<const uint32_t> words) {
  Executable e;
  e.form = BindingForm::Descriptors;
  e.kernels = {{name, {words.begin(), words.end()}, kWorkgroup, 2}};
  e.n_outputs = static_cast<uint32_t>(std::size(kAddresses));
  for (uint32_t n : kAddresses) e.buffers.push_back({Role::Output, "sums", f32({n}), n * uint64_t{4}, 0, {}});
  e.buffers.push_back(constant_words("counts", kAddresses));
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

// Outer and inner trip counts of the loops that are tried: one long loop, and many short ones.
constexpr std::array<std::array<uint32_t, 2>, 2> kLoops = {{{1, 1'000'003}, {1000, 1001}}};
// What is assumed of a device that could not be tested.
constexpr uint64_t kAssumedLoopLimit = 65535;

Executable loops() {
  Executable e;
  e.form = BindingForm::Descriptors;
  e.kernels = {{"count iterations", {std::begin(count_iterations), std::end(count_iterations)}, 1, 2}};
  e.n_outputs = static_cast<uint32_t>(kLoops.size());
  for (uint32_t i = 0; i < e.n_outputs; ++i) e.buffers.push_back({Role::Output, "report", u32({3}), 12, 0, {}});
  e.buffers.push_back(constant_words("counts", std::bit_cast<std::array<uint32_t, 2 * kLoops.size()>>(kLoops)));
  for (uint32_t i = 0; i < e.n_outputs; ++i)
    e.steps.push_back({Step::Kind::Dispatch,
                       0,
                       1,
                       0,
                       {{i, 0, 12, false, true}, {e.n_outputs, i * uint64_t{8}, 8, true, false}},
                       "count iterations"});
  return e;
}

// Iterations that one invocation gets over all its loops together, as far as this was tried: what nobody has seen run does
// not count. 0: the loops did not even compute what they counted.
uint64_t try_loops(const std::shared_ptr<Device>& device) {
  const std::unique_ptr<Session> session = Session::create(device, loops()).value();
  const std::vector<HostArray> reports = session->run({}).value();
  uint64_t limit = kNoLoopLimit;
  for (size_t i = 0; i < kLoops.size(); ++i) {
    const std::vector<double> report = reports[i].values();
    const auto state = static_cast<uint32_t>(report[0]), steps = static_cast<uint32_t>(report[1]);
    const auto [outer, inner] = kLoops[i];
    uint32_t expected = 1;
    for (uint32_t k = 0; k < std::min(steps, outer * inner); ++k) expected = expected * 1664525u + 1013904223u;
    if (state != expected || steps > outer * inner) return 0;
    limit = std::min(limit, outer == 1 ? steps : steps + static_cast<uint64_t>(report[2]));
  }
  return limit;
}

constexpr uint32_t kLanesWorkgroup = 128;

Executable exchange_lanes(uint32_t size) {
  Executable e;
  e.form = BindingForm::Descriptors;
  Requirements needs;
  needs.subgroup_size = size;
  needs.subgroup_operations = kSubgroupBasic | kSubgroupShuffle;
  e.kernels = {{"exchange lanes", {std::begin(lanes), std::end(lanes)}, kLanesWorkgroup, 2, needs}};
  e.n_outputs = 1;
  e.buffers = {{Role::Output, "report", u32({kLanesWorkgroup}), kLanesWorkgroup * uint64_t{4}, 0, {}},
               constant_words("lanes", {&size, 1})};
  e.steps = {{Step::Kind::Fill, 0, 1, 0, {{0, 0, e.buffers[0].bytes, false, true}}, "zeros"},
             {Step::Kind::Dispatch, 0, 1, 0, {{0, 0, e.buffers[0].bytes, false, true}, {1, 0, 4, true, false}}, "exchange"}};
  return e;
}

Verdict try_lanes(const std::shared_ptr<Device>& device) {
  const uint32_t size = device->target().subgroup_size;
  const std::unique_ptr<Session> session = Session::create(device, exchange_lanes(size)).value();
  const std::vector<double> report = session->run({}).value()[0].values();
  for (uint32_t first = 0; first < kLanesWorkgroup; first += size) {
    double sum = 0;
    for (uint32_t number = first; number < first + size; ++number) sum += static_cast<double>(number * number);
    for (uint32_t number = first; number < first + size; ++number)
      if (report[number] != sum) return Verdict::Wrong;
  }
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

namespace {

// What the self-test found, as the cache keeps it.
struct Findings {
  Verdict native = Verdict::Untested, exchange = Verdict::Untested, lanes = Verdict::Untested;
  uint64_t loop_limit = kAssumedLoopLimit;
  bool loops_tested = false;
};

std::vector<uint8_t> encode(const Findings& f) {
  std::vector<uint8_t> bytes = {static_cast<uint8_t>(f.native), static_cast<uint8_t>(f.exchange),
                                static_cast<uint8_t>(f.lanes)};
  for (int i = 0; i < 8; ++i) bytes.push_back(static_cast<uint8_t>(f.loop_limit >> (8 * i)));
  return bytes;
}

Findings decode(const std::optional<std::vector<uint8_t>>& bytes) {
  Findings f;
  if (!bytes || bytes->size() != encode(f).size() || *std::max_element(bytes->begin(), bytes->begin() + 3) > 2) return f;
  f.native = static_cast<Verdict>((*bytes)[0]);
  f.exchange = static_cast<Verdict>((*bytes)[1]);
  f.lanes = static_cast<Verdict>((*bytes)[2]);
  f.loop_limit = 0;
  for (size_t i = 0; i < 8; ++i) f.loop_limit |= static_cast<uint64_t>((*bytes)[3 + i]) << (8 * i);
  f.loops_tested = true;
  return f;
}

std::string offer_text(bool offered, Verdict v) {
  if (!offered) return "not offered";
  return v == Verdict::Proved  ? "proved"
         : v == Verdict::Wrong ? "offered, but wrong: not used"
                               : "offered, but not tested: not used";
}

std::string loops_text(const Findings& f) {
  if (!f.loops_tested) return "not tested: at most " + std::to_string(f.loop_limit) + " used";
  if (f.loop_limit == 0) return "wrong: no loops used";
  const bool all = f.loop_limit == uint64_t{kLoops[0][0]} * kLoops[0][1];
  return (all ? "proved up to " : "end without a word after ") + std::to_string(f.loop_limit) +
         "; longer loops are cut into several dispatches";
}

}  // namespace

void prove(const std::shared_ptr<Device>& device) {
  Device::Impl& d = Device::Impl::of(*device);
  const bool offered = d.plan.enable_atomic_float_add,
             offered_lanes = exchanges_lanes(d.plan.target) && kLanesWorkgroup % d.plan.target.subgroup_size == 0;
  std::string path;
  std::optional<std::vector<uint8_t>> known;
  if (!d.options.cache_dir.empty()) {
    path = cache_path(d.options.cache_dir, "verdicts", d.facts.identity);
    known = load_cache(path, d.facts.identity);
  }
  Findings found = decode(known);
  const bool missing = !found.loops_tested || found.exchange == Verdict::Untested ||
                       (offered && found.native == Verdict::Untested) || (offered_lanes && found.lanes == Verdict::Untested);
  if (missing && d.plan.enable_timeline) {
    found.exchange = try_adds(device, "add by compare-exchange", add_exchange);
    if (offered) found.native = try_adds(device, "add by native atomic", add_native);
    if (offered_lanes) found.lanes = try_lanes(device);
    found.loop_limit = try_loops(device);
    found.loops_tested = true;
    if (!path.empty()) save_cache(path, d.facts.identity, encode(found));
  }
  d.info.target.atomic_float_add = offered && found.native == Verdict::Proved;
  d.info.target.max_loop_iterations = found.loop_limit;
  if (!offered_lanes || found.lanes != Verdict::Proved) d.info.target.subgroup_operations &= kSubgroupBasic;
  d.info.verdicts = {"atomic f32 add: " + offer_text(offered, found.native),
                     "compare-exchange f32 add: " + sentence(found.exchange),
                     "loop iterations of one invocation: " + loops_text(found),
                     "subgroups of " + std::to_string(d.info.target.subgroup_size) +
                         ", values of other lanes: " + offer_text(offered_lanes, found.lanes)};
}

}  // namespace spirograd::vk
