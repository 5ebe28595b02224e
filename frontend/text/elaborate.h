// Elaboration: syntax trees to nodes of the IR, for known shapes. What it adds to the source is only what the surface
// promises: dtypes of literals, broadcasting, arithmetic of literals and shape variables. It simplifies nothing.
#pragma once

#include <array>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string_view>
#include <type_traits>
#include <unordered_map>
#include <utility>
#include <vector>

#include "frontend/ir/algebra.h"
#include "frontend/text/syntax.h"
#include "spirograd/text.h"

namespace spirograd::text {

struct Builtin;
struct Closure;
struct Call;
struct Weak;
struct RuledCall;  // custom_rules.cpp

class Elaborator;

/// What an expression stands for.
struct Value {
  enum class Kind : uint8_t {
    Array,    // a node
    Literal,  // numbers that take their dtype from the other operand; also shape variables and static integers
    Weak,     // an array made of literals alone: it takes its dtype as they do
    Tuple,
    Function,
    Type,    // f32, f32[2,3] as an argument
    String,  // "ij,jk->ik" as an argument
  };
  Kind kind = Kind::Tuple;
  ir::Expr expr;                         // Array
  std::optional<bool> known;             // Array: a truth value that is known before the program runs
  bool is_float = false;                 // Literal, Weak
  Shape shape;                           // Literal, Weak
  std::vector<double> numbers;           // Literal
  Weak* made = nullptr;                  // Weak: how it is made; the Elaborator owns it
  std::vector<Value> items;              // Tuple
  const StructSyntax* record = nullptr;  // Tuple: whose fields these are, or null
  std::shared_ptr<const Closure> function;
  Type type;
  std::string_view text;  // String

  static Value array(ir::Expr e) {
    Value v;
    v.kind = Kind::Array;
    v.expr = e;
    return v;
  }
  static Value integer(int64_t n);
  static Value literal(double x, bool is_float);
  static Value string(std::string_view text);
  static Value tuple(std::vector<Value> items, const StructSyntax* record = nullptr);
  bool is_array() const { return kind == Kind::Array; }
  bool is_literal() const { return kind == Kind::Literal; }
  bool is_whole_number() const { return is_literal() && !is_float && shape.rank() == 0; }
  /// Whether the element type is still open, and whether it may become `t`.
  bool is_weak() const { return kind == Kind::Literal || kind == Kind::Weak; }
  bool may_become(DType t) const { return is_weak() && t != DType::Bool && (!is_float || spirograd::is_float(t)); }
  /// The element type of a weak value that meets none.
  DType usual_dtype() const { return is_float ? DType::F32 : DType::I32; }
};

/// A weak array: a function from the element type that it meets to the node. Nothing is rounded before that type is known.
struct Weak {
  using Make = std::function<ir::Expr(DType, std::span<const ir::Expr>)>;
  bool is_float = false;
  std::vector<Value> operands;         // weak ones; they are made at the same element type
  Make make;                           // pure
  std::array<ir::Expr, 5> nodes = {};  // by element type, those that were asked for
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
  using Native = std::function<Value(Elaborator&, std::vector<Value>, Place)>;

  const Ast* fn = nullptr;  // a function literal with its surroundings,
  Env env;
  View caller;                                // and where it stands;
  int def = -1;                               // or a definition;
  std::string_view builtin;                   // or an operation;
  Native native = {};                         // or what an operation has made of other functions,
  std::vector<std::string_view> params = {};  // with names of its parameters, as far as they have any
};

using Function = std::shared_ptr<const Closure>;

/// Another value while it lives, also when an error passes: from where names are looked up, for one.
template <class T>
struct Within {
  Within(T& current_, std::type_identity_t<T> value) : current(current_), before(std::exchange(current_, value)) {}
  ~Within() { current = before; }
  Within(const Within&) = delete;
  T& current;
  T before;
};

/// An operation as programs write it: "+", "sin".
std::string spelling(ir::Op op);

class Elaborator {
 public:
  Elaborator(const Source& source, ir::Graph& graph) : source_(source), graph_(graph) {}
  Elaborator(const Elaborator&) = delete;
  ~Elaborator() {
    // A function bound by a let holds the scope that holds it: the circle is broken here.
    for (const std::shared_ptr<Scope>& s : scopes_) s->names.clear();
  }

  /// `shapes`: values given from outside; `inputs`: null to take the declared types.
  /// `element`: what type parameters stand for that no input shows.
  Program program(size_t def, const std::vector<NamedType>* inputs, const ShapeVariables& shapes,
                  std::optional<DType> element);

  // ---- for the operations (builtins*.cpp, index.cpp, loops.cpp)
  const Source& source() const { return source_; }
  /// A step runs again with other element types; loops within loops do so again for each. Throws SG0406 beyond all reason.
  void count_repetition();
  /// A shape variable as the caller of the program gives it, which no argument has to show.
  std::optional<int64_t> given_from_outside(std::string_view name) const;
  /// Whether types are those of the program itself, which may be given from outside.
  bool outermost() const { return call_depth_ == 0; }
  ir::Graph& graph() { return graph_; }

  Value eval(const Ast& ast, const Env& env);
  Value apply(const Closure& closure, std::vector<Value> args, Place place);
  /// Result nodes of a definition with fixed types, elaborated over its own parameters: the body of a map_accum.
  int64_t body_function(size_t def, Place place);

  /// A node for a value: weak values get `want`, else i32 or f32.
  ir::Expr materialise(const Value& v, std::optional<DType> want = {});
  ir::Expr array_of(const Value& v, std::string_view what);  // an error for tuples, functions, types
  void flatten(const Value& v, std::vector<ir::Expr>& out);

  Value binary(ir::Op op, const Value& a, const Value& b);
  /// Either of two values of one form, by one bool.
  Value choose(ir::Expr condition, const Value& yes, const Value& no);
  Value convert(const Value& v, DType t);  // f32(x): a weak value becomes that type, others are cast
  Value run(const Builtin& builtin, Call& call);

  /// Names of its parameters; "" for patterns, none for operations.
  std::vector<std::string_view> parameters_of(const Closure& closure) const;

  /// A weak array. Made once with its usual type, which checks it and gives the shape.
  Value weak(bool is_float, std::vector<Value> operands, Weak::Make make);
  /// The results of `called`, a pure function of the element type that the weak `operands` take. As open as they are where
  /// it works for f32 (i32 if there is no float among them) and for f64; else those of the type for which it works.
  Value at_open_types(std::vector<Value> operands, bool any_float, const std::function<Value(DType)>& called);
  /// f of nodes of one dtype: at once if any value has a dtype, else as a weak value. `floats`: f is for floats only.
  using Pointwise = std::function<ir::Expr(std::span<const ir::Expr>)>;
  Value lift(std::vector<Value> values, std::string_view what, Pointwise f, bool floats = false);

 private:
  /// A new scope inside of `parent`; it lives as long as the elaboration.
  Env nested(const Env& parent) {
    Env env = empty_scope_in(parent);
    scopes_.push_back(env.scope);
    return env;
  }
  /// a + b and the like where one of them is a struct or a tuple; nothing where both are arrays.
  std::optional<Value> field_by_field(ir::Op op, const Value& a, const Value& b);
  Value negated(const Value& v);  // of an array, a struct or a tuple
  ir::Expr made_at(Weak& w, DType t);
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
  Value eval_for(const Ast& ast, const Env& env);
  Value eval_block(const Ast& ast, const Env& env);
  Value eval_call(const Ast& ast, const Env& env);
  Value plain_call(const Ast& ast, const Env& env);
  Value eval_array(const Ast& ast, const Env& env);
  Value eval_field(const Ast& ast, const Env& env);
  void match(const Ast& pattern, const Value& value, Env& env);

  Value call_by_keywords(const Call& call, const Closure& closure);
  [[noreturn]] void too_deep(Place place) const;
  void locate_new_nodes(Place place);
  void locate(Error& e, Place place) const;

  /// A struct of these arguments, by position and by name.
  Value construct(const StructSyntax& record, const Call& call);
  Value call_def(size_t def, std::vector<Value> args, Place place);
  /// `functions`: for the parameters that are functions.
  Value call_weakly(size_t def, const std::vector<Value>& args, const std::vector<Function>& functions, Place place);
  Value call_with(size_t def, std::span<const ir::Expr> args, const std::vector<Function>& functions, Place place);
  /// Equal for functions that do the same.
  int64_t number_of(const Function& f);
  /// The results of a call with the derivative that custom_jvp or custom_vjp gives them.
  Value with_rule(size_t def, std::span<const ir::Expr> args, const std::vector<Function>& functions, const Value& plain);
  Value with_tangents(size_t def, const RuledCall& call, const Value& plain, Env env);
  Value with_cotangents(size_t def, const RuledCall& call, const Value& plain, Env env);
  Value apply_rule(size_t def, const Env& env);
  /// What a name, or one of a file that is imported under a name (m.f), means here if nothing local has it.
  Named named(const Ast& ast, const Env& env) const;
  Value value_of(const Named& found, const Ast& ast);
  Value function_of(const DefSyntax& def) const;
  Value constant(const ConstantSyntax& constant);
  std::string library_hint(std::string_view name) const;
  struct Results {
    std::vector<Value> arrays;
    Value form;  // that has them as its leaves
  };
  Results run_body(const DefSyntax& def, const Env& env);
  ir::Expr result_node(const DefSyntax& def, const Value& v, std::optional<DType> want);
  [[noreturn]] void unknown_function(std::string_view name, const Env& env, Place place);
  [[noreturn]] void unknown_name(const Ast& ast, const Env& env);

  const Source& source_;
  ir::Graph& graph_;
  std::vector<std::shared_ptr<Scope>> scopes_;
  std::deque<Weak> weaks_;  // of long chains too, which no value could own without recursion
  View view_;               // of the definition whose body is elaborated: it and what follows are not visible
  bool in_constant_ = false;
  int depth_ = 0;
  int repetitions_ = 0;                          // of steps of loops
  int call_depth_ = 0;                           // calls of definitions under way
  uint32_t located_ = 0;                         // nodes up to here have their places
  std::map<std::vector<int64_t>, Value> calls_;  // definition, argument nodes, functions -> result
  std::map<Function, int64_t> functions_;        // arguments of such calls, kept so that their addresses stay theirs
  std::map<size_t, int64_t> bodies_;
  std::map<const ConstantSyntax*, Value> constants_;
  ShapeVariables from_outside_;
  std::vector<size_t> ruling_;  // definitions whose rules are elaborated: calls of them there are plain
};

// ---- types of parameters (bind_types.cpp)

/// What a call fixes from outside.
struct GivenTypes {
  const ShapeVariables* shapes = nullptr;
  std::optional<DType> element;  // of all type parameters
};
/// Binds the shape variables and type parameters in the types of `def` to `actual`, checks everything; those of `given` are
/// bound already. Errors SG0103, SG0104, SG0106.
void bind_types(Elaborator& elaborator, const DefSyntax& def, std::span<const Type> actual, const GivenTypes& given,
                Env& env);
/// The same for what is given alone, before any actual type is known.
void bind_given(const DefSyntax& def, const GivenTypes& given, Env& env);
Type eval_type(Elaborator& elaborator, const TypeSyntax& type, const Env& env);
/// Type parameters of a definition in the order in which they stand there.
std::vector<std::string_view> type_parameters(const DefSyntax& def);

// ---- structs (records.cpp)

/// The arrays of arguments, one after the other, as `def` declares them; SG0103 where one is no such struct.
std::vector<Value> arrays_of(const DefSyntax& def, const std::vector<Value>& args);
/// Those that are functions. SG0103 for other arguments in their places.
std::vector<Function> functions_of(const DefSyntax& def, const std::vector<Value>& args);
void bind_functions(const DefSyntax& def, std::span<const Function> functions, Env& env);
/// The parameters of `def` by name: arrays, and structs of such. `arrays`: one for each of def.params.
void bind_params(const DefSyntax& def, std::span<const Value> arrays, Env& env);
const Value& field_of(const Value& record, std::string_view name);

// ---- static arguments (value.cpp)
int64_t static_integer(const Value& v, std::string_view what);
std::vector<int64_t> static_integers(const Value& v, std::string_view what);  // one integer counts as a list of one
Shape static_shape(const Value& v, std::string_view what);
bool static_bool(const Value& v, std::string_view what);

/// One dtype for operands: weak values follow the others, all weak ones together are f32 if one is a float, else i32.
DType common_dtype(std::span<const Value* const> values, std::string_view what);
std::vector<ir::Expr> unify(Elaborator& elaborator, std::span<const Value* const> values, std::string_view what);

// ---- indexing (index.cpp): x[i, :, 1:3, None]
Value index_value(Elaborator& elaborator, const Ast& ast, const Env& env);

/// "i32", "f32[3]", "a tuple", "a function".
std::string describe(const Value& v);
/// Shape of an array, also of a weak one; an error for everything else.
const Shape& shape_of(const Value& v, std::string_view what);

// ---- tuples: their arrays from left to right, and a value of the form of `like` with other arrays in these places
void leaves(const Value& v, std::vector<Value>& out);
Value with_leaves(const Value& like, std::span<const Value> flat, size_t& at);

}  // namespace spirograd::text
