// Ctrl-C as a wish: the first one asks work to stop where its results are whole, the next does what it does elsewhere.
#pragma once

namespace spirograd::cli {

/// While one of these lives. A process that ignores or handles Ctrl-C itself goes on to do so. One at a time.
class StopOnInterrupt {
 public:
  StopOnInterrupt();
  ~StopOnInterrupt();
  StopOnInterrupt(const StopOnInterrupt&) = delete;
  StopOnInterrupt& operator=(const StopOnInterrupt&) = delete;
  /// Whether it has come.
  bool asked() const;

 private:
  void (*before_)(int);
};

}  // namespace spirograd::cli
