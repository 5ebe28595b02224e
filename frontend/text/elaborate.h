// Elaboration: syntax trees to nodes of the IR, for known shapes. What it adds to the source is only what the surface
// promises: dtypes of literals, broadcasting, arithmetic of literals and shape variables. It simplifies nothing.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "frontend/ir/algebra.h"
#include "frontend/text/syntax.h"
#include "spirograd/text.h"

namespace spirograd::text {

struct Closure;
struct Call;

/// What an expression stands for.
struct Value {
  enum class Kind : uint8_t {
    Array,     // a node
    Literal,   // numbers that take their dtype from the other operand; also shape variables and static integers
    Tuple,
    Function,
    Type,      // f32, f32[2,3] as an argument
  };
  Kind kind = Kind::Tuple;
  ir::Expr expr;                // Array
  bool is_float = false;        // Literal
  Shape shape;                  // Literal
  std::vector<double> numbers;  // Literal
  std::vector<Value> items;     // Tuple
  std::shared_ptr<const Closure> function;
  Type type;

  static Value array(ir::Expr e) { Value v; v.kind = Kind::Array; v.expr = e; return v; }
  static Value integer(int64_t n);
  static Value literal(double x, bool is_float);
  static Value tuple(std::vector<Value> items);
  bool is_array() const { return kind == Kind::Array; }
  bool is_literal() const { return kind == Kind::Literal; }
};

/// Names of one block or function. Names are never removed; an Env sees those that were there when it was taken.
struct Scope;
struct Env {
  std::shared_ptr<Scope> scope;
  int limit = 0;
};
struct Scope {
  Env parent;
  int next = 0;
  std::unordered_map<std::string_view, std::vector<std::pair<int, Value>>> names;
};

Env empty_scope_in(const Env& parent);
void bind(Env& env, std::string_view name, Value value);
const Value* lookup(const Env& env, std::string_view name);
std::vector<std::string> visible_names(const Env& env);

struct Closure {
  const Ast* fn = nullptr;  // a function literal with its surroundings,
  Env env;
  int caller = 0;           // and the definition that it stands in;
  int def = -1;             // or a definition;
  std::string_view builtin; // or an operation
};

class Elaborator {
 public:
  Elaborator(const Source& source, ir::Graph& graph) : source_(source), graph_(graph) {}
  Elaborator(const Elaborator&) = delete;
  ~Elaborator() {
    // A function bound by a let holds the scope that holds it: the circle is broken here.
    for (const std::shared_ptr<Scope>& s : scopes_) s->names.clear();
  }

  /// `shapes`: values given from outside; `inputs`: null to take the declared types.
  Program program(size_t def, const std::vector<NamedType>* inputs, const ShapeVariables& shapes);

  // ---- for the operations (builtins*.cpp, index.cpp, loops.cpp)
  const Source& source() const { return source_; }
  ir::Graph& graph() { return graph_; }

  Value eval(const Ast& ast, const Env& env);
  Value apply(const Closure& closure, std::vector<Value> args, Place place);
  /// Result nodes of a definition with fixed types, elaborated over its own parameters: the body of a map_accum.
  int64_t body_function(size_t def, Place place);

  /// A node for a value: literals get `want`, else i32 or f32.
  ir::Expr materialise(const Value& v, std::optional<DType> want = {});
  ir::Expr array_of(const Value& v, std::string_view what);  // an error for tuples, functions, types
  void flatten(const Value& v, std::vector<ir::Expr>& out);
  /// A value of the form of `like` with the arrays of `flat`, from `at` on.
  static Value unflatten(const Value& like, std::span<const ir::Expr> flat, size_t& at);

  Value binary(ir::Op op, const Value& a, const Value& b);

 private:
  /// A new scope inside of `parent`; it lives as long as the elaboration.
  Env nested(const Env& parent) {
    Env env = empty_scope_in(parent);
    scopes_.push_back(env.scope);
    return env;
  }
  struct Instance;  // a definition with bound shape variables

  Value eval_form(const Ast& ast, const Env& env);
  Value eval_name(const Ast& ast, const Env& env);
  Value eval_bool(const Ast& ast);
  Value eval_not(const Ast& ast, const Env& env);
  Value eval_floor_div(const Ast& ast, const Env& env);
  Value eval_matmul(const Ast& ast, const Env& env);
  Value eval_fn(const Ast& ast, const Env& env);
  Value eval_tuple(const Ast& ast, const Env& env);
  Value eval_number(const Ast& ast);
  Value eval_operators(const Ast& ast, const Env& env);
  Value eval_negate(const Ast& ast, const Env& env);
  Value eval_if(const Ast& ast, const Env& env);
  Value choose(ir::Expr condition, const Value& yes, const Value& no);
  Value eval_for(const Ast& ast, const Env& env);
  Value eval_block(const Ast& ast, const Env& env);
  Value eval_call(const Ast& ast, const Env& env);
  Value eval_array(const Ast& ast, const Env& env);
  Value eval_field(const Ast& ast, const Env& env);
  void match(const Ast& pattern, const Value& value, Env& env);

  Value call_by_keywords(const Call& call, const Closure& closure);
  [[noreturn]] void too_deep(Place place) const;
  void locate_new_nodes(Place place);
  void locate(Error& e, Place place) const;

  Value call_def(size_t def, std::vector<Value> args, Place place);
  int find_def(std::string_view name) const;  // visible from the current definition, -1: none
  std::vector<Value> run_body(const DefSyntax& def, const Env& env);
  [[noreturn]] void unknown_function(std::string_view name, const Env& env, Place place);

  const Source& source_;
  ir::Graph& graph_;
  std::vector<std::shared_ptr<Scope>> scopes_;
  int current_def_ = 0;   // its own and later definitions are not visible
  int depth_ = 0;
  uint32_t located_ = 0;  // nodes up to here have their places
  std::map<std::vector<int64_t>, Value> calls_;  // definition, argument nodes -> result
  std::map<size_t, int64_t> bodies_;
};

// ---- shapes of parameters (bind_shapes.cpp)

/// Binds the shape variables in the types of `def` to `actual`, checks everything; variables of `given` are bound already.
/// `input`: whether to call a mismatch one of an input or one of an argument. Errors SG0103, SG0104.
void bind_shapes(Elaborator& elaborator, const DefSyntax& def, std::span<const Type> actual, const ShapeVariables& given,
    Env& env);
Type eval_type(Elaborator& elaborator, const TypeSyntax& type, const Env& env);

// ---- static arguments (static_values.cpp)
int64_t static_integer(const Value& v, std::string_view what);
std::vector<int64_t> static_integers(const Value& v, std::string_view what);  // one integer counts as a list of one
Shape static_shape(const Value& v, std::string_view what);
bool static_bool(const Value& v, std::string_view what);

/// One dtype for operands: literals follow the arrays, all literals together are f32 if one is a float, else i32.
DType common_dtype(std::span<const Value* const> values, std::string_view what);
std::vector<ir::Expr> unify(Elaborator& elaborator, std::span<const Value* const> values, std::string_view what);

// ---- indexing (index.cpp): x[i, :, 1:3, None]
Value index_value(Elaborator& elaborator, const Ast& ast, const Env& env);

/// "i32", "f32[3]", "a tuple", "a function".
std::string describe(const Value& v);

}  // namespace spirograd::text
