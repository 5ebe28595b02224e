#include "tools/io/progress.h"

#include <cstdio>

#include "tools/io/system.h"
#include "tools/io/table.h"

namespace spirograd::io {

Progress::Progress(std::string text, bool enabled)
    : enabled_(enabled), terminal_(enabled && stderr_is_terminal()), shown_(Clock::now()) {
  say(text);
}

Progress::~Progress() {
  if (terminal_) std::fputs("\r\033[K", stderr);
}

void Progress::update(const std::string& text) {
  const auto pause = terminal_ ? std::chrono::milliseconds(66) : std::chrono::milliseconds(10000);
  if (!enabled_ || Clock::now() - shown_ < pause) return;
  if (terminal_)
    say(text);
  else
    std::fprintf(stderr, "%s\n", printable(text).c_str());
  shown_ = Clock::now();
}

void Progress::say(const std::string& text) {
  if (!terminal_) return;
  std::fprintf(stderr, "\r%s\033[K", printable(text).c_str());
  std::fflush(stderr);
}

}  // namespace spirograd::io
