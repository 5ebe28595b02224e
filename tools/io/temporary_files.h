// Files that must not outlive the process: signals that end it remove them first.
#pragma once

#include <string>

namespace spirograd::io {

/// A file that is noted. Valid until it is forgotten or removed.
class Temporary {
 public:
  const char* path() const { return path_; }

 private:
  friend Temporary note_temporary(const std::string& path);
  const char* path_ = nullptr;
  size_t slot_ = 0;
  friend void forget_temporary(const Temporary& file);
};

/// From now on SIGINT, SIGTERM and SIGHUP, where the process leaves them to the system, remove the file, whether or not it
/// exists by then.
Temporary note_temporary(const std::string& path);
/// The file stays, under this or another name.
void forget_temporary(const Temporary& file);
/// Removes the file and forgets it.
void remove_temporary(const Temporary& file);

/// Signals that come while one of these lives take effect at its end.
class SignalsWait {
 public:
  SignalsWait();
  ~SignalsWait();
  SignalsWait(const SignalsWait&) = delete;
  SignalsWait& operator=(const SignalsWait&) = delete;
};

}  // namespace spirograd::io
