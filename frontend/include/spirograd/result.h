// Errors as values. Inside the compiler passes an Error is thrown; every public function catches it and returns a Result.
#pragma once

#include <exception>
#include <new>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

namespace spirograd {

/// A place in the user's source. line == 0: unknown. column == 0: unknown.
struct Loc {
  std::string file;
  int line = 0;
  int column = 0;
  /// "model.sg:3:12", as far as it is known; "somewhere".
  std::string str() const;
  /// The place of the caller, for default arguments: `f(Loc loc = Loc::here())`. GCC, Clang and MSVC know these names;
  /// std::source_location is missing from Clang before 16.
  static Loc here(const char* file = __builtin_FILE(), int line = __builtin_LINE()) { return {file, line, 0}; }
};

/// One mistake, told to the user. Codes are stable:
///   SG01xx shape and type    SG02xx differentiation   SG03xx device and limits
///   SG04xx language (syntax, names)   SG05xx files and inputs   SG06xx memory   SG09xx a defect of ours
class Error : public std::exception {
 public:
  Error() = default;
  Error(std::string code_, std::string message_) : code(std::move(code_)), message(std::move(message_)) {}

  std::string code;                // "SG0101"
  std::string message;             // one line: the operation and both values
  Loc loc;                         // the user's place, if known
  std::string source_line;         // the text of that line, if known
  std::vector<std::string> notes;  // facts that help to understand
  std::string help;                // something to type

  Error&& at(Loc l) && {
    loc = std::move(l);
    return std::move(*this);
  }
  Error&& note(std::string n) && {
    notes.push_back(std::move(n));
    return std::move(*this);
  }
  Error&& hint(std::string h) && {
    help = std::move(h);
    return std::move(*this);
  }

  const char* what() const noexcept override { return message.c_str(); }
  /// The whole message: `error[SG0101]: ...`, `  --> file:line:column`, the quoted line with a caret, notes, help.
  std::string str() const;
};

/// A value or an Error.
template <class T>
class [[nodiscard]] Result {
 public:
  Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}
  Result(Error error) : state_(std::in_place_index<1>, std::move(error)) {}

  explicit operator bool() const { return state_.index() == 0; }
  T& operator*() & { return std::get<0>(state_); }
  const T& operator*() const& { return std::get<0>(state_); }
  T&& operator*() && { return std::get<0>(std::move(state_)); }
  T* operator->() { return &std::get<0>(state_); }
  const T* operator->() const { return &std::get<0>(state_); }
  /// Pre: no value.
  const Error& error() const { return std::get<1>(state_); }
  /// The value; throws the Error for those who want exceptions.
  T value() && {
    if (!*this) throw error();
    return std::get<0>(std::move(state_));
  }
  const T& value() const& {
    if (!*this) throw error();
    return std::get<0>(state_);
  }

 private:
  std::variant<T, Error> state_;
};

/// Nothing, or an Error.
template <>
class [[nodiscard]] Result<void> {
 public:
  Result() = default;
  Result(Error error) : error_(std::move(error)) {}

  explicit operator bool() const { return !error_; }
  /// Pre: an Error.
  const Error& error() const { return *error_; }
  /// Throws the Error for those who want exceptions.
  void value() const {
    if (error_) throw *error_;
  }

 private:
  std::optional<Error> error_;
};

/// Runs `body` and turns a thrown Error into a Result. Anything else that is thrown becomes SG0900.
template <class F>
auto guarded(F&& body) -> Result<decltype(body())> {
  try {
    if constexpr (std::is_void_v<decltype(body())>) {
      body();
      return {};
    } else {
      return body();
    }
  } catch (const Error& e) {
    return e;
  } catch (const std::bad_alloc&) {
    return Error("SG0601", "the host ran out of memory");
  } catch (const std::exception& e) {
    return Error("SG0900", std::string("internal: ") + e.what());
  }
}

}  // namespace spirograd
