// Arrays of a program that is being traced. An Array is a handle of two words: nothing is computed while the lambda of
// trace() runs, every operation only writes down what the program will do.
//
// Shapes are static. Elementwise operations broadcast as in NumPy. Element types never convert by themselves (use cast);
// plain C++ numbers take the type of the array that they meet: x + 1, 2.5f * x, k < 3.
// Mistakes do not throw: the operation returns an Array without value, every later operation passes that on, and trace()
// returns the first mistake with the file and line of the user. Operations on arrays: ops.h. Loops: build.h and loops.h.
#pragma once

#include <concepts>
#include <initializer_list>
#include <string>
#include <vector>

#include "spirograd/result.h"
#include "spirograd/shape.h"

namespace spirograd {

namespace detail {
struct Access;  // the implementation's door to handles
template <class>
inline constexpr bool never = false;
}  // namespace detail

struct Arg;

/// A value of the program: a handle, valid until the trace() that made it returns.
class Array {
 public:
  /// No value; an error once it is used.
  Array() = default;

  /// f32 and rank 0 for an Array without value.
  Type type() const;
  DType dtype() const { return type().dtype; }
  Shape shape() const { return type().shape; }
  int rank() const { return type().shape.rank(); }
  /// Extent of one axis; negative axes count from the end. 0 for an axis that does not exist.
  int64_t extent(int axis) const;
  /// False after a mistake.
  bool has_value() const { return node_ != 0; }

  /// Element or sub-array. Indices are Index, int, scalar i32 arrays, or integer arrays of any shapes that broadcast
  /// together (a gather). Total: a read out of range gives 0.
  Array operator()(Arg i) const;
  Array operator()(Arg i, Arg j) const;
  Array operator()(Arg i, Arg j, Arg k) const;
  Array operator()(Arg i, Arg j, Arg k, Arg l) const;
  Array operator()(Arg i, Arg j, Arg k, Arg l, Arg m) const;
  Array operator()(Arg i, Arg j, Arg k, Arg l, Arg m, Arg n) const;

  template <class Never = void>
  explicit operator bool() const {
    static_assert(detail::never<Never>,
                  "a traced value is not known while the program is being written down: "
                  "use select(condition, a, b) instead of if, ?: and short-circuit logic");
    return false;
  }

 private:
  friend struct detail::Access;
  uint32_t trace_ = 0;  // serial number of the trace that made it
  uint32_t node_ = 0;   // 0: no value
};

/// An integer that build() or a loop counts: i32, no dimension. Arithmetic with integers gives an Index again; anything else
/// makes an Array of it. There is no operator/: quot and rem say which division is meant.
class Index {
 public:
  Index() = default;
  operator Array() const { return value_; }

  template <class Never = void>
  explicit operator bool() const {
    static_assert(detail::never<Never>,
                  "an index is not known while the program is being written down: use select(i < n, a, b)");
    return false;
  }

 private:
  friend struct detail::Access;
  Array value_;
};

/// Operand of an operation: an Array, an Index or a plain number, with the line of the user, which operators could not take
/// as a parameter.
struct Arg {
  enum class Kind : uint8_t { Array, Bool, Integer, Real };
  Kind kind = Kind::Array;
  Array array;
  double number = 0;
  Loc loc;
  std::string field = {};  // of a struct of arrays (bundle.h): which it is

  Arg(Array a, Loc l = Loc::here()) : array(a), loc(std::move(l)) {}
  Arg(Index i, Loc l = Loc::here()) : array(i), loc(std::move(l)) {}
  Arg(bool v, Loc l = Loc::here()) : kind(Kind::Bool), number(v ? 1 : 0), loc(std::move(l)) {}
  template <std::integral I>
  Arg(I v, Loc l = Loc::here()) : kind(Kind::Integer), number(static_cast<double>(v)), loc(std::move(l)) {}
  template <std::floating_point F>
  Arg(F v, Loc l = Loc::here()) : kind(Kind::Real), number(static_cast<double>(v)), loc(std::move(l)) {}
};

/// A list of operands: `{a, b, 1.0f}` or a vector of arrays.
struct ArgList {
  std::vector<Arg> args;
  Loc loc;
  ArgList(std::initializer_list<Arg> list, Loc l = Loc::here()) : args(list), loc(std::move(l)) {}
  ArgList(const std::vector<Array>& list, Loc l = Loc::here()) : loc(l) {
    for (Array a : list) args.emplace_back(a, l);
  }
};

// Arithmetic. The two sides broadcast. / is for floats only; quot and rem (ops.h) divide integers.
Array operator+(Arg a, Arg b);
Array operator-(Arg a, Arg b);
Array operator*(Arg a, Arg b);
Array operator/(Arg a, Arg b);
Array operator-(Arg a);
inline Array& operator+=(Array& a, Arg b) { return a = Arg(a, b.loc) + b; }
inline Array& operator-=(Array& a, Arg b) { return a = Arg(a, b.loc) - b; }
inline Array& operator*=(Array& a, Arg b) { return a = Arg(a, b.loc) * b; }
inline Array& operator/=(Array& a, Arg b) { return a = Arg(a, b.loc) / b; }

// Comparisons give bool arrays, logic takes them. Both sides of && and || are always part of the program.
Array operator<(Arg a, Arg b);
Array operator<=(Arg a, Arg b);
Array operator>(Arg a, Arg b);
Array operator>=(Arg a, Arg b);
Array operator==(Arg a, Arg b);
Array operator!=(Arg a, Arg b);
// (Exact parameter types: with Arg they would tie with the built-in operators. Errors fall back to the place of an operand.)
Array operator&&(Array a, Arg b);
Array operator||(Array a, Arg b);
Array operator&&(Array a, bool b);
Array operator||(Array a, bool b);
Array operator&&(bool a, Array b);
Array operator||(bool a, Array b);
Array operator!(Array a);

/// Operand of index arithmetic: an Index or an integer.
struct IndexArg {
  Arg arg;
  IndexArg(Index i, Loc l = Loc::here()) : arg(i, std::move(l)) {}
  template <std::integral I>
  IndexArg(I v, Loc l = Loc::here()) : arg(v, std::move(l)) {}
};

Index operator+(Index a, IndexArg b);
Index operator-(Index a, IndexArg b);
Index operator*(Index a, IndexArg b);
Index operator-(Index a);
/// Truncates toward zero; a divisor of 0 reads as 1.
Index quot(Index a, IndexArg b);
/// Has the sign of `a`; rem(a, 0) is 0.
Index rem(Index a, IndexArg b);

template <std::integral I>
Index operator+(I a, IndexArg b);
template <std::integral I>
Index operator-(I a, IndexArg b);
template <std::integral I>
Index operator*(I a, IndexArg b);

namespace detail {
enum class IndexOp : uint8_t { Add, Sub, Mul, Quot, Rem };
Index index_arithmetic(IndexOp op, const Arg& a, const Arg& b);
}  // namespace detail

template <std::integral I>
Index operator+(I a, IndexArg b) {
  return detail::index_arithmetic(detail::IndexOp::Add, Arg(a, b.arg.loc), b.arg);
}
template <std::integral I>
Index operator-(I a, IndexArg b) {
  return detail::index_arithmetic(detail::IndexOp::Sub, Arg(a, b.arg.loc), b.arg);
}
template <std::integral I>
Index operator*(I a, IndexArg b) {
  return detail::index_arithmetic(detail::IndexOp::Mul, Arg(a, b.arg.loc), b.arg);
}

}  // namespace spirograd
