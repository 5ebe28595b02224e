// Syntax trees of the text language. Nodes live in the arena of their Source, which also keeps the text that they point to.
#pragma once

#include <deque>
#include <string>
#include <string_view>
#include <vector>

#include "frontend/ir/op.h"
#include "spirograd/dtype.h"
#include "spirograd/result.h"

namespace spirograd::text {

/// Expressions and calls may nest this deep; deeper sources are refused instead of overflowing the stack.
inline constexpr int kMaxNesting = 420;

struct Place {
  int line = 0, column = 0;  // 1-based; columns count bytes
};

enum class Form : uint8_t {
  Number,    // number, suffix ('i', 'f', 'd', 'u')
  Bool,      // number: 0 or 1
  Name,      // text
  String,    // text. Only as an argument of operations that are told something by it
  Negate,    // operand
  Not,       // operand
  Binary,    // op; left, right
  FloorDiv,  // left, right: `//`, static integers only
  MatMul,    // left, right
  If,        // condition, then, else
  For,       // text: index name; number: level or -1; extent, body
  Fn,        // patterns.., body
  Call,      // callee, arguments..
  Keyword,   // text; value. Only as an argument
  Index,     // array, items..
  Slice,     // from, to (each may be null). Only as an item
  NewAxis,
  Ellipsis,
  Field,  // text; operand
  Tuple,
  Array,
  Block,  // Let.., result
  Let,    // pattern (Name or Tuple of patterns), value
};

struct Ast {
  Form form;
  char suffix = 0;
  ir::Op op = ir::Op::Add;
  int depth = 1;
  Place place;
  double number = 0;
  std::string_view text;
  std::vector<const Ast*> kids;
};

struct StructSyntax;

struct TypeSyntax {
  const StructSyntax* record = nullptr;  // a struct; extents: what stands for its sizes, or nothing
  DType dtype = DType::F32;
  std::string_view parameter;  // the type parameter used for the dtype, or ""
  std::vector<const Ast*> extents;
  Place place;
  std::string_view text;  // as written
};

struct ParamSyntax {
  std::string_view name;
  TypeSyntax type;
  Place place;
};

struct ResultSyntax {
  std::string_view name;  // "": not named
  TypeSyntax type;
};

/// A parameter, or a field of a struct, as it is written: one array, a struct, whose arrays follow one another, or a
/// function, which has none.
struct Declared {
  std::string_view name;
  const StructSyntax* record = nullptr;
  bool is_function = false;
  size_t arrays = 1;
  Place place;
};

/// The derivative that the user gives a definition: of its parameters, then, forward, of a tangent for each of those that
/// hold floats, or else of the cotangent of the result.
struct RuleSyntax {
  Place place;
  bool forward = true;
  std::vector<std::string_view> params;
  const Ast* body = nullptr;
  size_t visible = 0;  // definitions in front of it
};

struct DefSyntax {
  std::string_view name;
  Place place;
  std::vector<Declared> declared;
  std::vector<ParamSyntax> params;  // their arrays; those of a struct are named model.w
  bool has_results = false;
  std::vector<ResultSyntax> results;
  std::string_view results_text;
  const Ast* body = nullptr;
  const RuleSyntax* rule = nullptr;
};

/// The first parameter that is a function, or null.
const Declared* first_function(const DefSyntax& def);
/// Whether a tangent comes with it.
bool may_carry_tangents(const DefSyntax& def, const Declared& d);

/// Its fields, as the parameters of a function that has no body.
struct StructSyntax {
  std::vector<std::string_view> sizes;  // shape variables that each use may give other values
  DefSyntax fields;
};

/// Names that occur in an expression, each as often as it stands there.
void collect_names(const Ast& a, std::vector<const Ast*>& names);

/// A source file, its tokens' text and its trees.
struct Source {
  std::string file, text;
  std::deque<Ast> arena;
  std::deque<std::string> names;  // that stand nowhere in the text
  std::deque<StructSyntax> structs;
  std::deque<RuleSyntax> rules;
  std::vector<DefSyntax> defs;

  Loc loc(Place p) const { return {file, p.line, p.column}; }
  std::string line(int number) const;
  Error error(std::string code, std::string message, Place p) const;
};

/// Fills arena and defs of `source` from its text. Throws Error SG04xx.
void parse_source(Source& source);

}  // namespace spirograd::text
