// The built-in operations: one row per name. Arguments come evaluated; each row's function checks and builds nodes.
#pragma once

#include "frontend/text/elaborate.h"

namespace spirograd::text {

/// A call under way: evaluated arguments, and helpers that take them out with clear errors.
struct Call {
  Elaborator& elaborator;
  const Ast& ast;
  const Env& env;
  std::string_view name;
  std::vector<Value> args;
  std::vector<std::pair<std::string_view, Value>> keywords;

  ir::Graph& graph() { return elaborator.graph(); }
  ir::Expr array(size_t j) { return elaborator.array_of(args[j], name); }
  ir::Expr floating(size_t j);  // a literal integer becomes f32
  /// The value of a keyword, or null.
  const Value* keyword(std::string_view word) const;
  const Value& required(std::string_view word) const;
  /// Argument j, or else the keyword.
  const Value* argument(size_t j, std::string_view word) const;
  int64_t integer(size_t j, std::string_view word);
  int64_t integer_or(size_t j, std::string_view word, int64_t otherwise);
  bool flag(std::string_view word, bool otherwise);
  /// axis= (or argument j) as it is written, for whoever knows of which array it is.
  int64_t written_axis(size_t j, int64_t otherwise) { return integer_or(j, "axis", otherwise); }
  /// The same counted from the front, of an array of that type.
  int axis(size_t j, const Type& type, int64_t otherwise = 0);
  /// axis= (or argument j) as a list of axes in increasing order; all axes without it.
  std::vector<int64_t> axes(ir::Expr a, size_t j);
  [[noreturn]] void fail(const std::string& message, std::string help = "") const;
};

/// All arguments as arrays of one element type.
std::vector<ir::Expr> unified(Call& c);
/// `f` of an argument and of the axes in axis=, which it loses, or which keepdims= keeps as extents of 1.
Value over_axes(Call& c, ir::Expr a, const std::function<ir::Expr(ir::Expr, std::span<const int64_t>)>& f);
/// `make` of the element type in argument j or dtype=; open without it.
Value in_dtype(Call& c, size_t j, const std::function<ir::Expr(DType)>& make);

/// Which arguments give the result its element type. If these are weak, the result is.
enum class Follows : uint8_t { Nothing, First, Second, FirstTwo, Branches, All };

struct Builtin {
  std::string_view name;
  int least, most;            // positional arguments; most == -1: any number
  std::string_view keywords;  // allowed, separated by spaces
  std::string_view usage;
  Value (*run)(Call&);
  Follows follows = Follows::Nothing;
  bool floats = false;                             // whole numbers count as floats
  std::string_view names = "";                     // keywords that are not evaluated: names of parameters, axes
  double (*of_numbers)(double, double) = nullptr;  // of two whole numbers that are known: the same, at once
};

const Builtin* find_builtin(std::string_view name);
std::span<const Builtin> math_builtins();        // builtins_math.cpp: pointwise
std::span<const Builtin> array_builtins();       // builtins_array.cpp: layout, reductions, indexed
std::span<const Builtin> composite_builtins();   // builtins_composite.cpp: softmax, matmul, literals of the printed form
std::span<const Builtin> linear_builtins();      // builtins_linear.cpp: rounding, order, linear algebra
std::span<const Builtin> loop_builtins();        // loops.cpp
std::span<const Builtin> derivative_builtins();  // derivatives.cpp
std::span<const Builtin> batch_builtins();       // batches.cpp
std::span<const Builtin> ravel_builtins();       // builtins_ravel.cpp
std::span<const Builtin> field_builtins();       // fields.cpp

/// The arguments that `follows` names, those of a tuple one by one.
std::vector<Value*> carriers_of(const Builtin& builtin, std::vector<Value>& args);

/// Whether `list`, separated by spaces, has `word`.
bool is_among(std::string_view word, std::string_view list);
/// Checks number and keywords of the arguments.
void check_arguments(const Builtin& builtin, const Call& call);

}  // namespace spirograd::text
