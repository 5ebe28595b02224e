#include "tools/io/temporary_files.h"

#include <array>
#include <atomic>
#include <deque>
#include <mutex>

#include "spirograd/result.h"
#include "tools/io/system.h"

namespace spirograd::io {
namespace {

constexpr size_t kMostFiles = 4096;
constexpr int kNone = -1;

// What a signal handler may look at: atomics without locks. Paths are C strings that the handler never frees.
struct State {
  std::array<std::atomic<const char*>, kMostFiles> files{};
  std::atomic<int> waiting{0};      // how many SignalsWait live
  std::atomic<int> arrived{kNone};  // the request to end that came and is not carried out yet
};
static_assert(std::atomic<const char*>::is_always_lock_free && std::atomic<int>::is_always_lock_free);

State& state() {
  static State s;
  return s;
}

void end_if_requested() {
  const int request = state().arrived.exchange(kNone);
  if (request == kNone) return;
  for (std::atomic<const char*>& file : state().files)
    if (const char* path = file.load()) remove_file(path);
  end_process(request);
}

// May run beside a SignalsWait that ends: what it stores first, one of both carries out.
void on_request(int request) {
  state().arrived = request;
  if (state().waiting == 0) end_if_requested();
}

// The path for as long as the process lives: a handler on another thread may be looking at it when it is forgotten.
const char* kept(const std::string& path) {
  static std::mutex one_at_a_time;
  static auto& all = *new std::deque<std::string>;  // threads may outlive what is static
  const std::lock_guard lock(one_at_a_time);
  return all.emplace_back(path).c_str();
}

}  // namespace

Temporary note_temporary(const std::string& path) {
  State& s = state();
  on_end_request(on_request);
  Temporary out;
  out.path_ = kept(path);
  for (; out.slot_ < kMostFiles; ++out.slot_) {
    const char* none = nullptr;
    if (s.files[out.slot_].compare_exchange_strong(none, out.path_)) return out;
  }
  throw Error("SG0505", "more than " + std::to_string(kMostFiles) + " output files");
}

void forget_temporary(const Temporary& file) { state().files[file.slot_] = nullptr; }

void remove_temporary(const Temporary& file) {
  remove_file(file.path());
  forget_temporary(file);
}

SignalsWait::SignalsWait() { ++state().waiting; }

SignalsWait::~SignalsWait() {
  if (--state().waiting == 0) end_if_requested();
}

}  // namespace spirograd::io
