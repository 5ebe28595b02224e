// Syntax trees of the text language. Nodes live in the arena of their Source, which also keeps the text that they point to.
#pragma once

#include <deque>
#include <string>
#include <string_view>
#include <vector>

#include "frontend/ir/op.h"
#include "spirograd/dtype.h"
#include "spirograd/result.h"
#include "spirograd/text.h"

namespace spirograd::text {

/// Expressions and calls may nest this deep; deeper sources are refused instead of overflowing the stack.
inline constexpr int kMaxNesting = 420;

struct Place {
  int line = 0, column = 0;  // 1-based; columns count bytes
  int file = 0;              // of Source::files
};

/// From where a name is looked up: it may mean what stands above in this file, and what the file imports.
struct View {
  int file = 0;
  int order = 0;  // definitions of all files are numbered in the order in which they are read
};

enum class Form : uint8_t {
  Number,    // number, suffix ('i', 'f', 'd', 'u')
  Bool,      // number: 0 or 1
  Name,      // text
  Constant,  // text; number: which of Source::constants. Only in types, where it is told from a shape variable
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
  View view;
};

struct DefSyntax {
  std::string_view name;
  Place place;
  View view;
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

/// let name = body, outside of all definitions.
struct ConstantSyntax {
  std::string_view name;
  Place place;
  View view;
  const Ast* body = nullptr;
};

struct Import {
  int file = 0;
  std::string_view alias;  // behind `as`, or ""
  Place place;
};

struct FileSyntax {
  std::string name, text;
  bool of_library = false;
  std::vector<Import> imports;
};

/// What a name means that is defined outside of all definitions: one of these, or nothing.
struct Named {
  const DefSyntax* def = nullptr;
  const StructSyntax* record = nullptr;
  const ConstantSyntax* constant = nullptr;
  explicit operator bool() const { return def || record || constant; }
};

/// A source file and what it imports: the text of the tokens, and the trees.
struct Source {
  std::deque<FileSyntax> files;  // the first is the one that was asked for
  std::vector<int> open;         // files that are being read, each imported by the one before
  int next = 0;                  // View::order of what is defined next
  FileLoader load;               // of other files that are named; may be none
  std::deque<Ast> arena;
  std::deque<std::string> names;  // that stand nowhere in the text
  std::deque<StructSyntax> structs;
  std::deque<RuleSyntax> rules;
  std::vector<DefSyntax> defs;
  std::vector<ConstantSyntax> constants;

  const std::string& file_of(Place p) const { return files[static_cast<size_t>(p.file)].name; }
  Loc loc(Place p) const { return {file_of(p), p.line, p.column}; }
  std::string line(Place p) const;
  Error error(std::string code, std::string message, Place p) const;
  /// "line 3", or "other.sg:3" for whoever reads of something in another file.
  std::string where(Place p, int reader) const;
  std::string full(Place p) const { return file_of(p) + ":" + std::to_string(p.line); }

  /// What is defined under that name above `from` or in a file that its file imports without another name.
  Named find(std::string_view name, View from) const;
  /// What the file defines that `from` imports under the name of `import`.
  Named find(const Import& import, std::string_view name) const;
  /// The import of the file under that name, or null.
  const Import* aliased(std::string_view name, int file) const;
  /// All names that find() knows there.
  std::vector<std::string> names_from(View from) const;
};

/// Reads the file at the back of source.files, and through its loader what it imports. Throws Error SG04xx.
void parse_source(Source& source);

}  // namespace spirograd::text
