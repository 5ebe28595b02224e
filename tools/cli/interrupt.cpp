#include "tools/cli/interrupt.h"

#include <csignal>

namespace spirograd::cli {
namespace {

volatile std::sig_atomic_t asked_to_stop = 0;

void on_interrupt(int number) {
  asked_to_stop = 1;
  std::signal(number, SIG_DFL);
}

}  // namespace

StopOnInterrupt::StopOnInterrupt() : before_(std::signal(SIGINT, on_interrupt)) {
  asked_to_stop = 0;
  if (before_ != SIG_DFL) std::signal(SIGINT, before_);
}

StopOnInterrupt::~StopOnInterrupt() {
  if (before_ == SIG_DFL) std::signal(SIGINT, SIG_DFL);
}

bool StopOnInterrupt::asked() const { return asked_to_stop != 0; }

}  // namespace spirograd::cli
