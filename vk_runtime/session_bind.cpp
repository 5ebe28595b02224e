// Arguments of a session by name: bound to arrays, fed from one run to the next, donated.
#include <algorithm>

#include "frontend/base/near_name.h"
#include "vk_runtime/barrier_plan.h"
#include "vk_runtime/device_array.h"
#include "vk_runtime/in_place.h"
#include "vk_runtime/session_impl.h"

namespace spirograd::vk {
namespace {

std::string quoted(const Executable& e, uint32_t i) {
  return std::string(i < e.n_inputs ? "input" : "output") + " '" + e.buffers[i].name + "'";
}

}  // namespace

// Without a role, read() means outputs first; bind() minds where a name is both, unless that output has no memory of its
// own.
uint32_t Session::Impl::argument(std::string_view name, const char* call, std::optional<Role> role) {
  std::vector<uint32_t> found;
  std::vector<std::string> names;
  for (uint32_t i = 0; i < n_arguments(); ++i) {
    if (role && *role != (i < e.n_inputs ? Role::Input : Role::Output)) continue;
    names.push_back(e.buffers[i].name);
    if (e.buffers[i].name == name) found.push_back(i);
  }
  const std::string what = !role ? "input or output" : *role == Role::Input ? "input" : "output";
  if (found.empty()) {
    Error error("SG0503", std::string(call) + ": the program has no " + what + " '" + std::string(name) + "'");
    for (const std::string& n : names) error.notes.push_back("it has '" + n + "'");
    error.help = did_you_mean(name, names);
    throw error;
  }
  if (found.size() == 1 || std::string_view(call) == "read") return found.back();
  const bool only_input = newest(found.back()) == found.front();
  if (!only_input)
    throw Error("SG0501", std::string(call) + ": '" + std::string(name) + "' is an input and an output")
        .hint("say which: bind(name, array, Role::Input)");
  return found.front();
}

bool Session::Impl::is_bound() const {
  return !feeds.empty() || !donated.empty() || std::find(bound.begin(), bound.end(), true) != bound.end();
}

uint32_t Session::Impl::home(uint32_t i) const {
  for (const auto& [input, output] : donated)
    if (output == i) return input;
  return i;
}

uint32_t Session::Impl::newest(uint32_t i) const {
  for (const Feed& f : feeds)
    if (f.output == i) return f.input;
  return home(i);
}

std::vector<Place> Session::Impl::homes() const {
  std::vector<Place> out;
  for (uint32_t i = 0; i < n_arguments(); ++i) out.push_back(arguments[home(i)]->piece.place);
  return out;
}

void Session::Impl::check_given() const {
  for (uint32_t i = 0; i < e.n_inputs; ++i)
    if (!given[i])
      throw Error("SG0502", "input '" + e.buffers[i].name + "' was never given")
          .hint("write(\"" + e.buffers[i].name + "\", ..) sets it, bind() makes it an array on the device");
}

// Arrays may have followed another session to the device on which that one runs.
void Session::Impl::come_here() {
  for (uint32_t i = 0; i < n_arguments(); ++i)
    if (bound[i]) arguments[i]->move_to(d);
}

void Session::Impl::bind(std::string_view name, DeviceArray& array, std::optional<Role> role) {
  const std::shared_ptr<Storage> storage = storage_of(array, "bind");
  d.check_alive();
  const uint32_t i = argument(name, "bind", role);
  if (const uint32_t at = newest(i); at != i)
    throw Error("SG0501", "bind: " + quoted(e, i) + " lies where " + quoted(e, at) + " lies, and cannot be bound by itself")
        .hint("bind \"" + e.buffers[at].name + "\", or the output before it is fed or donated to");
  if (storage->keeps != asked.lock() && storage->keeps != owner)
    throw Error("SG0501", "bind: the array for '" + e.buffers[i].name + "' is on another Device ('" +
                              storage->keeps->info().name + "') than the session ('" + d.name() + "')")
        .hint("make it on the device that the session was created with");
  if (storage->type != e.buffers[i].type)
    throw Error("SG0501", "bind: " + quoted(e, i) + " is " + to_string(e.buffers[i].type) + ", and the array is " +
                              to_string(storage->type))
        .hint("an array has the type that the program has for it; DeviceArray::create makes one of any type");
  storage->move_to(d);
  std::vector<Place> at = homes();
  for (uint32_t k = 0; k < n_arguments(); ++k)
    if (home(k) == i) at[k] = storage->piece.place;
  check_overlaps("bind", at, true);
  bytes += storage->piece.mine.bytes - arguments[i]->piece.mine.bytes;
  for (uint32_t k = 0; k < n_arguments(); ++k)
    if (home(k) == i) arguments[k] = storage;
  for (Feed& f : feeds) f.exchanged = !arguments[f.input]->is_hosts();
  bound[i] = given[i] = true;
}

// Which pairs may share memory or exchange it, whatever the program does.
void Session::Impl::check_pair(uint32_t input, uint32_t output, const char* call) const {
  if (e.buffers[input].type != e.buffers[output].type)
    throw Error("SG0501", std::string(call) + ": " + quoted(e, output) + " is " + to_string(e.buffers[output].type) +
                              ", and " + quoted(e, input) + " is " + to_string(e.buffers[input].type))
        .hint("what a step gives back is of the type that the next one takes");
  const auto taken = [&](uint32_t in, uint32_t out, const char* how) {
    if (in != input && out != output) return;
    throw Error("SG0501", std::string(call) + ": " + quoted(e, out) + " " + how + " " + quoted(e, in) + " already, so " +
                              quoted(e, output) + " and " + quoted(e, input) + " cannot be a pair");
  };
  for (const Feed& f : feeds) taken(f.input, f.output, "is fed to");
  for (const auto& [in, out] : donated) taken(in, out, "is written over");
  if (bound[output])
    throw Error("SG0501", std::string(call) + ": " + quoted(e, output) + " is bound to an array of its own")
        .hint("bind \"" + e.buffers[input].name + "\" alone: the array then holds what the last step has made");
}

void Session::Impl::place_in(uint32_t input, uint32_t output) {
  put_in_place(e, input, output);
  barriers = plan_barriers(e);
  bytes -= arguments[output]->piece.mine.bytes;
  arguments[output] = arguments[input];
  bound[output] = bound[input];
  donated.emplace_back(input, output);
  if (e.form == BindingForm::Descriptors) record_sets = std::make_unique<DescriptorSets>(d, e, *pipelines);
}

void Session::Impl::feed(std::string_view output_name, std::string_view input_name) {
  const uint32_t output = argument(output_name, "feed", Role::Output), input = argument(input_name, "feed", Role::Input);
  check_pair(input, output, "feed");
  d.check_alive();
  finish();
  feeds.push_back({output, input, !arguments[input]->is_hosts()});
  try {
    check_overlaps("feed", homes(), true);
  } catch (...) {
    feeds.pop_back();
    throw;
  }
  forget_all();
  if (!obstacle_in_place(e, input, output).empty()) return;
  feeds.pop_back();
  place_in(input, output);
}

void Session::Impl::donate(std::string_view input_name, std::string_view output_name) {
  const uint32_t input = argument(input_name, "donate", Role::Input), output = argument(output_name, "donate", Role::Output);
  check_pair(input, output, "donate");
  d.check_alive();
  if (const std::string obstacle = obstacle_in_place(e, input, output); !obstacle.empty())
    throw Error("SG0501", "donate: " + quoted(e, output) + " cannot be written over " + quoted(e, input) + ": " + obstacle)
        .hint("feed() lets the two exchange their memory instead; bind() gives the output a place of its own");
  donated.emplace_back(input, output);
  const std::vector<Place> at = homes();
  try {
    check_overlaps("donate", at, true);
  } catch (...) {
    donated.pop_back();
    throw;
  }
  donated.pop_back();
  finish();
  forget_all();
  place_in(input, output);
}

void Session::Impl::check_rows(const std::vector<Place>& at) const {
  const uint64_t alignment = d.facts.limits.minStorageBufferOffsetAlignment;
  for (uint32_t i = 0; i < n_arguments(); ++i)
    if (!begins_row(at[i].offset, alignment) && stores_rows(e, i))
      throw Error("SG0501", "the array for " + quoted(e, i) + " begins at byte " + std::to_string(at[i].offset) +
                                " of its buffer, and '" + d.name() + "' writes it in rows of " + std::to_string(kRowBytes) +
                                " bytes")
          .hint("let it begin at a multiple of " + std::to_string(row_alignment(alignment)) + " bytes");
}

// Steps run in any order that their dependencies on buffers allow, and these are told apart by name: an array that is
// written may share no byte with another one. Inputs may share theirs, but for those that runs write. `fed`: feeds count.
void Session::Impl::check_overlaps(const std::string& what, const std::vector<Place>& at, bool fed) const {
  std::vector<bool> written(n_arguments());
  std::fill(written.begin() + e.n_inputs, written.end(), true);
  for (const auto& [input, output] : donated) written[input] = true;
  for (const Feed& f : feeds) written[f.input] = written[f.input] || fed;
  for (uint32_t b = 0; b < n_arguments(); ++b)
    for (uint32_t a = 0; a < b; ++a) {
      const uint64_t a_end = at[a].offset + e.buffers[a].bytes, b_end = at[b].offset + e.buffers[b].bytes;
      const auto range = [&](uint32_t i, uint64_t end) {
        return quoted(e, i) + " (bytes " + std::to_string(at[i].offset) + " to " + std::to_string(end) + ")";
      };
      const bool pair = std::find(donated.begin(), donated.end(), std::pair(a, b)) != donated.end();
      const bool same = at[a].buffer == at[b].buffer && at[a].offset == at[b].offset;
      if (pair && !same && e.buffers[a].bytes > 0)
        throw Error("SG0501",
                    what + ": " + range(b, b_end) + " is written over " + range(a, a_end) + ", so both have the same place");
      if (pair || (!written[a] && !written[b])) continue;
      if (at[a].buffer != at[b].buffer || std::max(at[a].offset, at[b].offset) >= std::min(a_end, b_end)) continue;
      throw Error("SG0501", what + ": " + range(b, b_end) + " and " + range(a, a_end) + " share bytes of one buffer")
          .hint(b < e.n_inputs ? "an input that runs write needs a place of its own"
                               : "give the output a place of its own and copy afterwards, or donate() the input to it");
    }
}

}  // namespace spirograd::vk
