// trace(): runs the lambda under a Tracer, then checks what came out.
#include "spirograd/trace.h"

#include <atomic>
#include <limits>
#include <set>

#include "frontend/dsl/tracer.h"
#include "frontend/ir/traverse.h"

namespace spirograd {
namespace {

// All that a thread remembers: the trace that runs on it, and who wants to hear of mistakes.
struct ThreadState {
  detail::Tracer* current = nullptr;
  std::function<void(const Error&)> hook;
};
ThreadState& this_thread() {
  thread_local ThreadState state;
  return state;
}

void tell_hook(const Error& error) {
  if (this_thread().hook) this_thread().hook(error);
}

uint32_t next_serial() {
  static std::atomic<uint32_t> last{0};
  return ++last;
}

std::string place(const Loc& loc) { return loc.file + ":" + std::to_string(loc.line); }

bool is_name(const std::string& s) {
  const auto letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; };
  if (s.empty() || !letter(s[0])) return false;
  for (char c : s)
    if (!letter(c) && !(c >= '0' && c <= '9')) return false;
  return true;
}

void check_name(const std::string& what, const std::string& s) {
  if (!is_name(s))
    throw Error("SG0401", what + " '" + s + "': a name is made of letters, digits and _ and begins with no digit");
}

void check_type(const std::string& what, const Type& type) {
  if (type.shape.rank() > kMaxUserRank)
    throw Error("SG0104", what + " is " + to_string(type) + ": its rank " + std::to_string(type.shape.rank()) +
                              " is above the limit of " + std::to_string(kMaxUserRank));
  int64_t room = std::numeric_limits<int64_t>::max();
  for (int64_t d : type.shape) {
    if (d < 0) throw Error("SG0101", what + " is " + to_string(type) + ": an extent is negative");
    room /= std::max<int64_t>(d, 1);
  }
  if (room < 8) throw Error("SG0101", what + " is " + to_string(type) + ": too many elements");
}

// Fields of structs may be numbers.
void check_path(const std::string& what, const std::string& path) {
  const size_t dot = path.find('.');
  check_name(what, path.substr(0, dot));
  for (size_t from = dot; from < path.size();) {
    const size_t end = std::min(path.find('.', from + 1), path.size());
    check_name(what, "_" + path.substr(from + 1, end - from - 1));
    from = end;
  }
}

// The parameters of the program: one for each argument of the body, or for each field of it.
std::vector<Param> check_params(const std::string& name, const Params& params, int body_arity,
                                const std::vector<std::vector<std::string>>& fields) {
  check_name("trace: program", name);
  if (body_arity != detail::kAnyNumber && body_arity != static_cast<int>(params.list.size()))
    throw Error("SG0402", "trace: the lambda takes " + std::to_string(body_arity) +
                              (fields.empty() ? " arrays, " : " arguments, ") + std::to_string(params.list.size()) +
                              " parameters are declared");
  std::vector<Param> out;
  for (size_t j = 0; j < params.list.size(); ++j) {
    const Declared& d = params.list[j];
    const std::vector<std::string> paths = j < fields.size() ? fields[j] : std::vector<std::string>();
    if (paths.empty() == d.is_struct)
      throw Error("SG0402", "trace: '" + d.name + "' is " + (d.is_struct ? "an array" : "a struct") + ", declared is " +
                                (d.is_struct ? "a list of types" : to_string(d.types[0])))
          .hint("an array has one type, a struct a list of them: {\"model\", {f32({3}), f32()}}");
    if (d.is_struct && paths.size() != d.types.size())
      throw Error("SG0402", "trace: the struct '" + d.name + "' has " + std::to_string(paths.size()) + " arrays, " +
                                std::to_string(d.types.size()) + " types are declared");
    for (size_t k = 0; k < d.types.size(); ++k) out.push_back({d.is_struct ? d.name + "." + paths[k] : d.name, d.types[k]});
  }
  std::set<std::string> seen;
  for (const Param& p : out) {
    check_path("trace: parameter", p.name);
    if (!seen.insert(p.name).second) throw Error("SG0402", "trace: two parameters are called '" + p.name + "'");
    check_type("trace: parameter '" + p.name + "'", p.type);
  }
  return out;
}

std::string result_name(const Named& r, size_t j, size_t count) {
  const std::string& field = r.value.field;
  if (!r.name.empty()) return field.empty() ? r.name : r.name + "." + field;
  if (is_name(field.substr(0, field.find('.')))) return field;
  return count == 1 ? "out" : "out" + std::to_string(j);
}

// A placeholder that survived: an array of a lambda's inside, smuggled out through a captured variable.
void check_closed(const ir::Graph& g, const std::string& what, ir::NodeId root, const Loc& loc) {
  if (!g[root].has_var) return;
  Error error("SG0403", what + " uses an array or index that exists only inside the body of a build or loop");
  error.loc = loc;
  for (ir::NodeId id : ir::postorder(g, {&root, 1}))
    if (g[id].has_var && g[id].op != ir::Op::Var && g.loc(id).line != 0) {
      error.notes.push_back("it was made at " + place(g.loc(id)));
      break;
    }
  error.help = "return the value from the body instead of assigning it to a variable outside";
  throw error;
}

Program finish(detail::Tracer& tracer, std::string name, const std::vector<Named>& results, const Loc& loc) {
  if (results.empty()) throw Error("SG0402", "trace: '" + name + "' has no results").at(loc);
  Program program;
  program.name = std::move(name);
  program.graph = tracer.graph();
  program.params = tracer.params();
  std::set<std::string> seen;
  for (size_t j = 0; j < results.size(); ++j) {
    const Named& r = results[j];
    const std::string called = result_name(r, j, results.size());
    const Loc& where = r.value.loc.line != 0 ? r.value.loc : loc;
    try {
      check_path("trace: result", called);
      if (!seen.insert(called).second) throw Error("SG0402", "trace: two results are called '" + called + "'");
      if (!tracer.usable("trace", r.value)) throw *tracer.first_error();
      const ir::Expr e = ir::as_stored(detail::resolve(tracer, "trace", {&r.value, 1}, detail::Numbers::Alone)[0]);
      check_type("trace: result '" + called + "'", e.type());
      check_closed(*program.graph, "trace: result '" + called + "'", e.id, where);
      program.results.push_back({called, e.id.v, e.type()});
    } catch (Error& error) {
      if (error.loc.line == 0) error.loc = where;
      throw;
    }
  }
  return program;
}

}  // namespace

void on_error(std::function<void(const Error&)> hook) { this_thread().hook = std::move(hook); }

namespace detail {

Tracer::Tracer(std::vector<Param> params, Loc loc)
    : graph_(std::make_shared<ir::Graph>()), params_(std::move(params)), loc_(std::move(loc)), serial_(next_serial()) {}

Tracer* Tracer::current() { return this_thread().current; }

void Tracer::report_outside(std::string_view what, const Loc& loc) {
  tell_hook(Error("SG0404", std::string(what) + ": no trace() is running on this thread")
                .at(loc)
                .hint("arrays exist only inside the lambda that is given to trace()"));
}

void Tracer::report(Error error, const Loc& loc) {
  if (error.loc.line == 0) error.loc = loc.line != 0 ? loc : loc_;
  if (!on_trial_) tell_hook(error);
  if (!first_error_) first_error_ = std::move(error);
}

Loc Tracer::place_of(const Loc& loc, std::span<const Arg> args) const {
  if (loc.line != 0) return loc;
  for (const Arg& a : args)
    if (a.kind == Arg::Kind::Array && graph_->loc({Access::node(a.array)}).line != 0)
      return graph_->loc({Access::node(a.array)});
  return loc_;
}

Error Tracer::explained(Error error, std::span<const Arg> args) const {
  for (size_t j = 0; j < args.size() && j < 3; ++j) {
    if (args[j].kind != Arg::Kind::Array) continue;
    const ir::NodeId id{Access::node(args[j].array)};
    const ir::Node& n = (*graph_)[id];
    const std::string operand = "operand " + std::to_string(j + 1) + ", " + to_string(n.type) + ", ";
    if (n.op == ir::Op::Param && static_cast<size_t>(n.attr[0]) < params_.size())
      error.notes.push_back(operand + "is the parameter '" + params_[static_cast<size_t>(n.attr[0])].name + "'");
    else if (graph_->loc(id).line != 0)
      error.notes.push_back(operand + "was made at " + place(graph_->loc(id)));
  }
  return error;
}

bool Tracer::usable(std::string_view what, const Arg& arg) {
  if (arg.kind != Arg::Kind::Array) return true;
  if (!arg.array.has_value()) {
    // After a mistake this is its consequence, and stays silent.
    if (!first_error_)
      report(Error("SG0404", std::string(what) + ": an operand has no value")
                 .note("it was default-constructed, or made while no trace() was running"),
             arg.loc);
    return false;
  }
  if (!owns(arg.array)) {
    report(Error("SG0404", std::string(what) + ": an operand belongs to another trace()")
               .hint("an array lives only until its trace() returns; make it a parameter of this one"),
           arg.loc);
    return false;
  }
  return true;
}

TraceScope::TraceScope(Tracer& tracer) : outer_(this_thread().current) { this_thread().current = &tracer; }
TraceScope::~TraceScope() { this_thread().current = outer_; }

Result<Program> trace_with(std::string name, const Params& declared, int body_arity,
                           const std::vector<std::vector<std::string>>& fields, const TraceBody& body, const Loc& loc) {
  const Result<std::vector<Param>> params = guarded([&] { return check_params(name, declared, body_arity, fields); });
  Tracer tracer(params ? *params : std::vector<Param>(), loc);
  if (!params) {
    tracer.report(params.error(), loc);
    return *tracer.first_error();
  }
  std::vector<Named> results;
  {
    const TraceScope scope(tracer);
    std::vector<Array> in;
    for (size_t j = 0; j < tracer.params().size(); ++j)
      in.push_back(tracer.wrap(ir::as_read(ir::param(tracer.nodes(), static_cast<int64_t>(j), tracer.params()[j].type))));
    results = body(in);
  }
  if (tracer.first_error()) return *tracer.first_error();
  return guarded([&] { return finish(tracer, std::move(name), results, loc); });
}

}  // namespace detail
}  // namespace spirograd
