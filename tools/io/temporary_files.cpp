#include "tools/io/temporary_files.h"

#include <signal.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstring>

#include "spirograd/result.h"

namespace spirograd::io {
namespace {

constexpr size_t kMostFiles = 4096;
constexpr int kSignals[] = {SIGINT, SIGTERM, SIGHUP};

// What a signal handler may look at: atomics without locks. Paths are C strings that the handler never frees.
struct State {
  std::array<std::atomic<char*>, kMostFiles> files{};
  std::atomic<int> waiting{0};  // how many SignalsWait live
  std::atomic<int> arrived{0};  // the signal that came meanwhile
};
static_assert(std::atomic<char*>::is_always_lock_free && std::atomic<int>::is_always_lock_free);

State& state() {
  static State s;
  return s;
}

void end_by(int number) {
  for (std::atomic<char*>& file : state().files)
    if (const char* path = file.load()) ::unlink(path);
  ::signal(number, SIG_DFL);
  ::raise(number);
}

void on_signal(int number) {
  if (state().waiting > 0)
    state().arrived = number;
  else
    end_by(number);
}

void handle_signals() {
  for (const int number : kSignals) {
    struct sigaction old {};
    if (::sigaction(number, nullptr, &old) != 0 || (old.sa_flags & SA_SIGINFO) || old.sa_handler != SIG_DFL) continue;
    struct sigaction ours {};
    ours.sa_handler = on_signal;
    ours.sa_flags = SA_RESTART;
    ::sigemptyset(&ours.sa_mask);
    ::sigaction(number, &ours, nullptr);
  }
}

}  // namespace

Temporary note_temporary(const std::string& path) {
  State& s = state();
  handle_signals();
  char* copy = ::strdup(path.c_str());
  if (!copy) throw std::bad_alloc();
  for (size_t slot = 0; slot < kMostFiles; ++slot) {
    char* none = nullptr;
    if (!s.files[slot].compare_exchange_strong(none, copy)) continue;
    Temporary out;
    out.path_ = copy;
    out.slot_ = slot;
    return out;
  }
  ::free(copy);
  throw Error("SG0505", "more than " + std::to_string(kMostFiles) + " output files");
}

void forget_temporary(const Temporary& file) {
  // A handler on another thread may be looking at the path, so it is not given back: a few bytes per output.
  state().files[file.slot_] = nullptr;
}

void remove_temporary(const Temporary& file) {
  ::unlink(file.path());
  forget_temporary(file);
}

SignalsWait::SignalsWait() { ++state().waiting; }

SignalsWait::~SignalsWait() {
  if (--state().waiting > 0) return;
  if (const int number = state().arrived.exchange(0)) end_by(number);
}

}  // namespace spirograd::io
