// One line on stderr that tells what goes on. Nothing on streams that are no terminal, but for one line every ten seconds
// from update().
#pragma once

#include <chrono>
#include <string>

namespace spirograd::io {

/// From construction to destruction the line belongs to this work; it is removed at the end. One at a time.
class Progress {
 public:
  explicit Progress(std::string text, bool enabled = true);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;
  /// Replaces the text at once, on terminals only: the next stage of the work.
  void say(const std::string& text);
  /// Replaces the text. Cheap when called often: at most 15 updates a second are shown.
  void update(const std::string& text);

 private:
  using Clock = std::chrono::steady_clock;
  bool enabled_, terminal_;
  Clock::time_point shown_;
};

}  // namespace spirograd::io
