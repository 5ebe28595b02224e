// The commands of a run: written in parts, submitted, waited for.
#include <algorithm>

#include "vk_runtime/errors.h"
#include "vk_runtime/session_impl.h"

namespace spirograd::vk {
namespace {

constexpr size_t kKeptParts = 16;
constexpr size_t kKeptRuns = 6;

}  // namespace

void Session::Impl::write_copies(VkCommandBuffer commands, const Bound& at, bool in) {
  for (uint32_t i = in ? 0 : e.n_inputs; i < (in ? e.n_inputs : n_arguments()); ++i) {
    if (e.buffers[i].bytes == 0) continue;
    const VkDeviceSize host = staging.offset + staging_offset[i], device = at.places[i].offset;
    const VkBufferCopy region{in ? host : device, in ? device : host, e.buffers[i].bytes};
    d.fns.vkCmdCopyBuffer(commands, in ? staging.buffer : at.places[i].buffer, in ? at.places[i].buffer : staging.buffer, 1,
                          &region);
  }
}

// What was fed to an array that cannot be exchanged, because the host knows where it lies.
void Session::Impl::write_copies_back(VkCommandBuffer commands, const Bound& at) {
  for (const Feed& f : feeds) {
    if (f.exchanged || e.buffers[f.input].bytes == 0) continue;
    const Place &from = at.places[f.output], &to = at.places[f.input];
    memory_barrier(d.fns, commands, kOurUses, kOurUses);
    const VkBufferCopy region{from.offset, to.offset, e.buffers[f.input].bytes};
    d.fns.vkCmdCopyBuffer(commands, from.buffer, to.buffer, 1, &region);
  }
}

// `open` gives a command buffer that has begun, or null where there are enough of them: then the run is not written to its
// end, and the result is false. `close` says that it has all it gets. Barriers reach across submissions.
bool Session::Impl::write_run(Kept& run, const std::function<VkCommandBuffer()>& open, const std::function<void()>& close) {
  const bool hosts = std::any_of(arguments.begin(), arguments.end(), [](const auto& a) { return a->is_hosts(); });
  VkCommandBuffer commands = open();
  if (!commands) return false;
  memory_barrier(d.fns, commands, hosts ? kAllUses : kOurUses, kOurUses);  // after the run before
  if (run.with_copies) {
    write_copies(commands, *run.even, true);
    memory_barrier(d.fns, commands, kOurUses, kOurUses);
  }
  if (queries) {
    d.fns.vkCmdResetQueryPool(commands, queries, 0, 2);
    d.fns.vkCmdWriteTimestamp(commands, VK_PIPELINE_STAGE_TOP_OF_PIPE_BIT, queries, 0);
  }
  run.n_parts = 1;
  PartFill filled;
  for (uint64_t step = 0; step < run.steps; ++step) {
    const Bound& at = step % 2 == 0 ? *run.even : *run.odd;
    if (step > 0) memory_barrier(d.fns, commands, kOurUses, kOurUses);
    for (Progress progress(e.steps);;) {
      record_steps(d, commands, e, *pipelines, barriers, at.places, at.sets.get(), progress, part_limit, nullptr, &filled);
      if (progress.done()) break;
      close();
      if (!(commands = open())) return false;
      filled = {};
      ++run.n_parts;
    }
  }
  if (run.steps % 2 == 1) write_copies_back(commands, *run.even);
  if (queries) d.fns.vkCmdWriteTimestamp(commands, VK_PIPELINE_STAGE_BOTTOM_OF_PIPE_BIT, queries, 1);
  if (run.with_copies) {
    memory_barrier(d.fns, commands, kOurUses, kOurUses);
    write_copies(commands, *run.even, false);
  }
  memory_barrier(d.fns, commands, kOurUses, kHostReads);
  if (hosts) memory_barrier(d.fns, commands, kOurUses, kAllUses);
  close();
  return true;
}

void Session::Impl::forget(std::vector<VkCommandBuffer>& parts) {
  if (!parts.empty()) d.fns.vkFreeCommandBuffers(d.device, pool, static_cast<uint32_t>(parts.size()), parts.data());
  parts.clear();
}

// Pre: none of them runs.
void Session::Impl::forget_all() {
  for (const auto& k : kept) forget(k->parts);
  kept.clear();
}

std::shared_ptr<Session::Impl::Bound> Session::Impl::bound_for(std::vector<const Storage::Piece*> pieces) {
  std::vector<uint64_t> numbers;
  for (const Storage::Piece* p : pieces) numbers.push_back(p->number);
  for (const auto& k : kept)
    for (const auto& b : {k->even, k->odd})
      if (b->numbers == numbers) return b;
  auto out = std::make_shared<Bound>(Bound{std::move(numbers), places, nullptr});
  for (size_t i = 0; i < pieces.size(); ++i) out->places[i] = pieces[i]->place;
  check_rows(out->places);
  if (e.form == BindingForm::Descriptors) {
    out->sets = std::make_unique<DescriptorSets>(d, e, *pipelines);
    out->sets->update(out->places);
  }
  return out;
}

// Those of the same steps and places, if they are kept; else written now, and kept if they are few enough.
Session::Impl::Kept& Session::Impl::commands_for(uint64_t steps, bool with_copies) {
  std::vector<const Storage::Piece*> pieces;
  for (const auto& a : arguments) pieces.push_back(&a->piece);
  const auto known = std::find_if(kept.begin(), kept.end(), [&](const auto& k) {
    const auto same = [](uint64_t number, const Storage::Piece* piece) { return number == piece->number; };
    return k->steps == steps && k->with_copies == with_copies &&
           std::equal(k->even->numbers.begin(), k->even->numbers.end(), pieces.begin(), pieces.end(), same);
  });
  if (known != kept.end()) {
    std::rotate(kept.begin(), known, known + 1);
    return *kept.front();
  }
  if (kept.size() >= kKeptRuns) {
    finish();
    forget(kept.back()->parts);
    kept.pop_back();
  }
  auto run = std::make_unique<Kept>();
  run->steps = steps;
  run->with_copies = with_copies;
  run->odd = run->even = bound_for(pieces);
  for (const Feed& f : feeds) std::swap(pieces[f.input], pieces[f.output]);
  if (steps > 1 && !feeds.empty()) run->odd = bound_for(pieces);
  std::vector<VkCommandBuffer>& parts = run->parts;
  const auto open = [&] {
    // Asynchronous runs may be submitted again before they have ended.
    return parts.size() == kKeptParts ? VK_NULL_HANDLE
                                      : parts.emplace_back(begin(VK_COMMAND_BUFFER_USAGE_SIMULTANEOUS_USE_BIT));
  };
  const bool too_many =
      std::any_of(kept.begin(), kept.end(), [&](const auto& k) { return k->parts.empty() && k->steps <= steps; });
  try {
    if (!too_many && !write_run(*run, open, [&] { end(parts.back()); })) forget(parts);
  } catch (...) {
    forget(parts);
    throw;
  }
  n_parts = run->n_parts;
  return *kept.emplace(kept.begin(), std::move(run))->get();
}

void Session::Impl::record_commands() {
  bool whole = !commands_for(1, false).parts.empty();
  if (staged) whole = !commands_for(1, true).parts.empty() && whole;
  if (!whole) make_slots();
}

void Session::Impl::make_slots() {
  for (Slot& s : slots) {
    if (s.commands) continue;
    VkCommandBufferAllocateInfo info{VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO};
    info.commandPool = pool;
    info.commandBufferCount = 1;
    d.check(d.fns.vkAllocateCommandBuffers(d.device, &info, &s.commands), "vkAllocateCommandBuffers");
  }
}

// The slot that was submitted the longest time ago, begun anew.
VkCommandBuffer Session::Impl::next_slot(uint64_t timeout_ns) {
  slot = (slot + 1) % slots.size();
  Slot& s = slots[slot];
  if (s.point > 0) d.wait(s.point, timeout_ns);
  s.point = 0;
  VkCommandBufferBeginInfo info{VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO};
  info.flags = VK_COMMAND_BUFFER_USAGE_ONE_TIME_SUBMIT_BIT;
  d.check(d.fns.vkBeginCommandBuffer(s.commands, &info), "vkBeginCommandBuffer");
  return s.commands;
}

bool Session::Impl::still_runs() {
  if (!d.still_runs(last)) last = 0;
  return last > 0;
}

void Session::Impl::finish(uint64_t timeout_ns) {
  try {
    if (last > 0) d.wait(last, timeout_ns);
  } catch (const Error& error) {
    gave_up = error.code == "SG0312";
    if (!gave_up) last = 0;
    throw;
  }
  last = 0;
  gave_up = false;
}

// Of a difference of timestamps, of which only some bits count.
double Session::Impl::seconds_of_ticks(uint64_t ticks) const {
  const uint64_t mask = d.plan.timestamp_bits >= 64 ? ~uint64_t{0} : (uint64_t{1} << d.plan.timestamp_bits) - 1;
  return static_cast<double>(ticks & mask) * d.facts.timestamp_period * 1e-9;
}

// Between the timestamps, 0 where there are none.
double Session::Impl::device_seconds() {
  if (!queries) return 0;
  uint64_t ticks[2] = {};
  const VkResult r =
      d.fns.vkGetQueryPoolResults(d.device, queries, 0, 2, sizeof ticks, ticks, sizeof ticks[0], VK_QUERY_RESULT_64_BIT);
  if (r == VK_NOT_READY) return 0;  // a time is no reason to fail
  d.check(r, "vkGetQueryPoolResults");
  return seconds_of_ticks(ticks[1] - ticks[0]);
}

// Where parts have taken far longer than they should, the next run has shorter ones.
void Session::Impl::adapt(double seconds) {
  constexpr double kAim = 0.05, kTooLong = 4 * kAim;
  const double part = seconds / static_cast<double>(n_parts);
  // Of less work than it takes to start one, each command is alone, and cutting dispatches further gains nothing.
  if (part_limit.work <= d.info.target.price.dispatch || part < kTooLong) return;
  part_limit.work *= kAim / part;
  forget_all();
  record_commands();
}

const Session::Impl::Kept& Session::Impl::send(uint64_t steps, bool with_copies, uint64_t timeout_ns) {
  Kept& run = commands_for(steps, with_copies);
  bool runs = false;
  const auto submitted = [&](VkCommandBuffer commands, bool signals) {
    signals ? submit(commands) : d.submit(commands, VK_NULL_HANDLE);
    runs = true;
  };
  try {
    for (size_t i = 0; i < run.parts.size(); ++i) submitted(run.parts[i], i + 1 == run.parts.size());
    if (run.parts.empty()) {
      make_slots();
      write_run(
          run, [&] { return next_slot(timeout_ns); },
          [&] {
            Slot& s = slots[slot];
            end(s.commands);
            submitted(s.commands, true);
            s.point = last;
          });
    }
  } catch (const Error& error) {
    gave_up = gave_up || error.code == "SG0312";
    if (runs && error.code != "SG0312") d.settle();
    throw;
  }
  n_parts = run.n_parts;
  for (const auto& a : arguments) a->piece.used = std::max(a->piece.used, last);
  if (steps % 2 == 1)
    for (const Feed& f : feeds)
      if (f.exchanged) std::swap(arguments[f.input]->piece, arguments[f.output]->piece);
  std::fill(given.begin() + e.n_inputs, given.end(), true);
  return run;
}

// Returns the device time.
double Session::Impl::run_and_wait(uint64_t steps, bool with_copies, uint64_t timeout_ns) {
  d.check_alive();
  finish(timeout_ns);
  come_here();
  send(steps, with_copies, timeout_ns);
  finish(timeout_ns);
  const double seconds = device_seconds();
  adapt(seconds);
  return seconds;
}

}  // namespace spirograd::vk
