// Programs as source text. Every node but parameters, indices and scalar constants gets a `let`; terms that use the index of
// a build stand inside its braces, all others as far outside as they can, so nothing is written once per use.
#include <algorithm>
#include <charconv>
#include <cmath>
#include <unordered_set>

#include "frontend/base/number.h"
#include "frontend/ir/algebra.h"
#include "frontend/ir/by_kernel.h"
#include "frontend/ir/own_graph.h"
#include "frontend/ir/traverse.h"
#include "frontend/text/lexer.h"
#include "frontend/text/weak_nodes.h"
#include "spirograd/text.h"

namespace spirograd::text {
namespace {

using ir::Graph;
using ir::Kind;
using ir::LayoutOp;
using ir::Node;
using ir::NodeId;
using ir::Op;

std::string quoted(const std::string& name) { return is_identifier(name) ? name : "`" + name + "`"; }

template <class T>
std::string shortest(T x) {
  char buffer[64];
  const auto end = std::to_chars(buffer, buffer + sizeof buffer, x).ptr;
  std::string s(buffer, end);
  return s.find_first_of(".e") == std::string::npos ? s + ".0" : s;
}

std::string special(double x) {
  const std::string sign = std::signbit(x) ? "-" : "";
  return sign + (std::isnan(x) ? "nan" : "inf");
}

// An element inside const(..).
std::string element(DType t, double x) {
  switch (t) {
    case DType::Bool: return x != 0 ? "true" : "false";
    case DType::I32:
    case DType::U32: return std::to_string(static_cast<int64_t>(x));
    case DType::F16:
    case DType::F32: {
      if (!std::isfinite(x)) return special(x);
      const float f = static_cast<float>(x);
      if (static_cast<double>(f) != x) return shortest(x) + "d";  // more than an f32 holds: kept as it is
      const std::string s = shortest(f);
      return static_cast<float>(parse_number(s).value) == f ? s : shortest(x);
    }
    case DType::F64: return std::isfinite(x) ? shortest(x) : special(x);
  }
  return "?";
}

// A scalar constant as an operand.
std::string scalar_text(DType t, double x) {
  const std::string s = element(t, x);
  switch (t) {
    case DType::Bool:
    case DType::I32: return s;
    case DType::U32: return s + "u";
    case DType::F16:  // no constant is of it
    case DType::F32: return s.back() == 'd' ? "const(f32, [" + s + "])" : s;
    case DType::F64: return std::isfinite(x) ? s + "d" : "f64(" + s + ")";
  }
  return "?";
}

std::string list(std::span<const int64_t> values) {
  std::string out = "[";
  for (size_t j = 0; j < values.size(); ++j) out += (j ? ", " : "") + std::to_string(values[j]);
  return out + "]";
}
std::string list(const Shape& s) { return list(s.dims()); }

using BodyNames = std::unordered_map<int64_t, std::string>;

// The text of one definition.
class DefPrinter {
 public:
  DefPrinter(const Graph& g, const BodyNames& bodies, std::string& out) : g_(g), bodies_(bodies), out_(out) {}

  void run(const std::string& name, std::span<const Param> params, std::span<const ProgramResult> results) {
    out_ += "def " + quoted(name) + "(";
    for (size_t j = 0; j < params.size(); ++j) {
      used_.insert(params[j].name);
      params_.push_back(quoted(params[j].name));
      out_ += (j ? ", " : "") + params_[j] + ": " + to_string(params[j].type);
    }
    out_ += ") -> (";
    std::vector<NodeId> roots;
    for (size_t j = 0; j < results.size(); ++j) {
      out_ += (j ? ", " : "") + quoted(results[j].name) + ": " + to_string(results[j].type);
      roots.push_back({results[j].node});
    }
    out_ += ") {\n";
    weak_ = weak_nodes(g_, roots);
    scope(roots, 0, 0, 1);
    out_ += "  ";
    if (roots.size() != 1) out_ += "(";
    for (size_t j = 0; j < roots.size(); ++j) out_ += (j ? ", " : "") + operand(roots[j]);
    if (roots.size() != 1) out_ += ")";
    out_ += "\n}\n";
  }

 private:
  // Names of our own stay clear of the parameters' names.
  std::string fresh(const std::string& wish) {
    std::string name = wish;
    while (used_.contains(name)) name += "_";
    return name;
  }
  std::string next() { return fresh("t" + std::to_string(count_++)); }

  // The level that an unmarked `for` gets when it is read back: above the builds in its body that depend on an open index.
  int64_t usual_level(NodeId body, uint64_t open) const {
    int64_t level = -1;
    std::unordered_set<uint32_t> seen = {body.v};
    std::vector<NodeId> stack = {body};
    while (!stack.empty()) {
      const Node& n = g_[stack.back()];
      stack.pop_back();
      if ((n.free_vars & open) == 0) continue;
      if (n.op == Op::Build) level = std::max(level, n.attr[0]);
      for (NodeId i : n.in)
        if (seen.insert(i.v).second) stack.push_back(i);
    }
    return level + 1;
  }

  static bool is_inline(const Node& n) {
    return n.op == Op::Param || n.op == Op::IndexVar || n.op == Op::Var || (n.op == Op::Const && n.type.shape.rank() == 0);
  }

  // Lets for the nodes below `roots` that use only indices of `outer` and `own`, and some index of `own` (all, at the top).
  void scope(std::span<const NodeId> roots, uint64_t outer, uint64_t own, int indent) {
    for (NodeId id : open_nodes(roots, outer, own)) {
      const Node& n = g_[id];
      if ((n.free_vars & ~(outer | own)) != 0 || is_inline(n) || n.op == Op::Proj) continue;
      out_ += std::string(static_cast<size_t>(indent) * 2, ' ') + "let ";
      if (n.op == Op::MapAccum) {
        loop(id);
      } else {
        const std::string name = next();
        out_ += name + " = ";
        if (n.op == Op::Build)
          build(n, outer | own, indent);
        else
          out_ += expression(n);
        names_[id.v] = name;
      }
      out_ += "\n";
    }
  }

  // Postorder that stops at nodes which an outer scope has written.
  std::vector<NodeId> open_nodes(std::span<const NodeId> roots, uint64_t outer, uint64_t own) {
    if (own == 0) return ir::postorder(g_, roots);
    std::vector<NodeId> order;
    std::unordered_set<uint32_t> seen;
    std::vector<std::pair<NodeId, size_t>> stack;
    const auto enter = [&](NodeId id) {
      if ((g_[id].free_vars & ~outer) != 0 && seen.insert(id.v).second) stack.emplace_back(id, 0);
    };
    for (NodeId root : roots) {
      enter(root);
      while (!stack.empty()) {
        auto& [id, at] = stack.back();
        if (at < g_[id].in.size()) {
          enter(g_[id].in[at++]);
        } else {
          order.push_back(id);
          stack.pop_back();
        }
      }
    }
    return order;
  }

  void build(const Node& n, uint64_t outer, int indent) {
    const int64_t level = n.attr[0];
    const bool usual = usual_level(n.in[0], outer | uint64_t{1} << level) == level;
    out_ += (usual ? "for " : "for[" + std::to_string(level) + "] ") + index_name(level) + ": " + std::to_string(n.attr[1]) +
            " => ";
    const size_t begin = out_.size();
    out_ += "{\n";
    const size_t empty = out_.size();
    scope(n.in, outer, uint64_t{1} << level, indent + 1);
    if (out_.size() == empty) {
      out_.resize(begin);
      out_ += operand(n.in[0]);
      return;
    }
    const std::string margin(static_cast<size_t>(indent) * 2, ' ');
    out_ += margin + "  " + operand(n.in[0]) + "\n" + margin + "}";
  }

  void loop(NodeId id) {
    const Node& n = g_[id];
    const ir::LoopParts p = ir::loop_parts(g_, n);
    const int results = p.n_acc + p.n_bs;
    std::string names;
    std::vector<std::string>& own = loops_[id.v];
    own.clear();  // those of another build that has the same loop
    for (int j = 0; j < results; ++j) {
      const std::string name = next();
      own.push_back(name);
      names += (j ? ", " : "") + name;
    }
    out_ += (results == 1 ? names : "(" + names + ")") + " = map_accum(" + bodies_.at(p.function) +
            ", reverse=" + (p.reverse ? "true" : "false") + ", length=" + std::to_string(p.length);
    size_t at = 0;
    const auto part = [&](const char* word, int count) {
      out_ += std::string(", ") + word + "=(";
      for (int j = 0; j < count; ++j) out_ += (j ? ", " : "") + operand(n.in[at++]) + (count == 1 ? "," : "");
      out_ += ")";
    };
    part("acc", p.n_acc);
    part("es", p.n_es);
    part("consts", p.n_consts);
    out_ += ")";
  }

  std::string index_name(int64_t level) { return fresh("i" + std::to_string(level)); }

  bool is_literal(NodeId id) const { return g_[id].op == Op::Const && g_[id].type.shape.rank() == 0; }

  std::string operand(NodeId id) {
    const Node& n = g_[id];
    if (n.op == Op::Param) return params_.at(static_cast<size_t>(n.attr[0]));
    if (n.op == Op::IndexVar) return index_name(n.attr[0]);
    if (n.op == Op::Var) return "var" + std::to_string(n.attr[0]);
    if (n.op == Op::Proj) return loops_.at(n.in[0].v).at(static_cast<size_t>(n.attr[0]));
    if (!is_literal(id)) return names_.at(id.v);  // has a let
    // A parameter may be called inf.
    if (!std::isfinite(n.data[0]) && used_.contains(std::isnan(n.data[0]) ? "nan" : "inf"))
      return "const(" + to_string(n.type) + ", [" + element(n.type.dtype, n.data[0]) + "])";
    return scalar_text(n.type.dtype, n.data[0]);
  }
  // Where an operator would tear a sign off.
  std::string tight(NodeId id) {
    const std::string s = operand(id);
    return s[0] == '-' ? "(" + s + ")" : s;
  }
  std::string arguments(std::span<const NodeId> in) {
    std::string out;
    for (size_t j = 0; j < in.size(); ++j) out += (j ? ", " : "") + operand(in[j]);
    return out;
  }
  std::string call(std::string_view name, const Node& n, const std::string& more = "") {
    return std::string(name) + "(" + arguments(n.in) + more + ")";
  }

  std::string expression(const Node& n) {
    const std::span<const NodeId> in = n.in;
    switch (ir::kind(n.op)) {
      case Kind::Leaf: return leaf(n);
      case Kind::Pointwise: return pointwise(n);
      case Kind::Layout: return layout(n);
      case Kind::Reduce:
        if (finds_place(n.op)) return call(ir::name(n.op), n, axis(n));
        return call(ir::name(n.op), n, ", axis=" + list(n.attr));
      case Kind::Indexed:
        if (ir::is_scatter(n.op)) return std::string(ir::name(n.op)) + "(" + list(n.attr) + ", " + arguments(in) + ")";
        if (g_[in[1]].type.shape.rank() > 0) return call("gather", n);
        return operand(in[0]) + "[" + arguments(in.subspan(1)) + "]";
      case Kind::Rule: {
        if (n.op == Op::ByKernel) return by_kernel(n);
        const auto n_xs = static_cast<size_t>(n.attr[1]);
        return std::string(ir::name(n.op)) + "(" + bodies_.at(n.attr[0]) + ", " + operand(in[0]) + ", wrt=(" +
               arguments(in.subspan(1, n_xs)) + ",), consts=(" + arguments(in.subspan(1 + n_xs)) +
               (in.size() > 1 + n_xs ? ",))" : "))");
      }
      case Kind::Binder:
      case Kind::Loop: break;
    }
    return "?";
  }

  std::string by_kernel(const Node& n) {
    const OwnKernel k = ir::own_kernel(n);
    std::string names;
    for (const OwnKernel::Module& m : k.modules) names += (names.empty() ? "\"" : ", \"") + m.name + "\"";
    return "by_kernel(" + (k.modules.size() > 1 ? "(" + names + ")" : names) + ", " + operand(n.in[0]) + ", (" +
           arguments(std::span(n.in).subspan(1)) + ",), invocations=" + std::to_string(k.invocations) + ")";
  }

  static std::string axis(const Node& n) { return ", axis=" + std::to_string(n.attr[0]); }

  static std::string leaf(const Node& n) {
    if (n.op == Op::Iota) {
      const Shape& shape = n.type.shape;
      return shape.rank() == 1 ? "iota(" + std::to_string(shape[0]) + ")" : "iota(" + list(shape) + axis(n) + ")";
    }
    std::string out = "const(" + to_string(n.type) + ", [";
    for (size_t j = 0; j < n.data.size(); ++j) out += (j ? ", " : "") + element(n.type.dtype, n.data[j]);
    return out + "])";
  }

  std::string pointwise(const Node& n) {
    const std::span<const NodeId> in = n.in;
    if (n.op == Op::Neg) return is_literal(in[0]) ? call("neg", n) : "-" + operand(in[0]);
    if (n.op == Op::Not) return "not " + operand(in[0]);
    if (n.op == Op::Select) return call("where", n);
    if (n.op == Op::Cast) {
      // What is made of literals would become that type itself: it gets its own one first.
      if (weak_.contains(in[0].v))
        return std::string(name(n.type.dtype)) + "(" + std::string(name(g_[in[0]].type.dtype)) + "(" + operand(in[0]) + "))";
      return call(name(n.type.dtype), n);
    }
    // The operators add literals up; the names do not (`and` and `or` are no names). Remainders always go by their name.
    const ir::OpInfo& info = ir::info(n.op);
    const bool literals = in.size() == 2 && is_literal(in[0]) && is_literal(in[1]);
    const bool of_literals = literals && !info.parameters.empty();
    if (literals && n.op == Op::Min) return call("minimum", n);
    if (literals && n.op == Op::Max) return call("maximum", n);
    if (info.symbol.empty() || n.op == Op::Rem || of_literals) return call(info.name, n);
    return tight(in[0]) + " " + std::string(info.symbol) + " " + tight(in[1]);
  }

  std::string layout(const Node& n) {
    switch (ir::layout_op(n.op)) {
      case LayoutOp::Broadcast: return call(ir::name(n.op), n, ", " + list(n.type.shape) + ", " + list(n.attr));
      case LayoutOp::Transpose: return call(ir::name(n.op), n, ", " + list(n.attr));
      case LayoutOp::Reshape: return call(ir::name(n.op), n, ", " + list(n.type.shape));
      case LayoutOp::Window: {
        const int64_t extent = n.type.shape[static_cast<int>(n.attr[0])];
        return call(ir::name(n.op), n, axis(n) + ", lo=" + std::to_string(n.attr[1]) + ", n=" + std::to_string(extent));
      }
      case LayoutOp::Reverse:
      case LayoutOp::Concat:
      case LayoutOp::Stack: return call(ir::name(n.op), n, axis(n));
    }
    return "?";
  }

  const Graph& g_;
  const BodyNames& bodies_;
  std::string& out_;
  std::unordered_set<uint32_t> weak_;
  std::vector<std::string> params_;
  std::unordered_set<std::string> used_;
  int count_ = 0;
  std::unordered_map<uint32_t, std::string> names_;
  std::unordered_map<uint32_t, std::vector<std::string>> loops_;
};

// Functions of the loops below `roots`, inner ones first, each once.
void find_bodies(const Graph& g, std::span<const NodeId> roots, std::vector<int64_t>& found) {
  for (NodeId id : ir::postorder(g, roots)) {
    if (!ir::has_function(g[id].op)) continue;
    const int64_t f = g[id].attr[0];
    if (std::find(found.begin(), found.end(), f) != found.end()) continue;
    find_bodies(g, g.function(f).results, found);
    found.push_back(f);
  }
}

}  // namespace

std::string print(const Program& program) {
  if (!ir::is_made(program)) return "";
  const Graph& g = *program.graph;
  std::vector<NodeId> roots;
  for (const ProgramResult& r : program.results) roots.push_back({r.node});
  std::vector<int64_t> functions;
  find_bodies(g, roots, functions);
  BodyNames bodies;
  std::string out;
  for (int64_t f : functions) {
    std::string name = "body" + std::to_string(bodies.size());
    if (name == program.name) name += "_";
    bodies[f] = name;
  }
  for (int64_t f : functions) {
    const ir::Function& function = g.function(f);
    std::vector<Param> params;
    std::vector<ProgramResult> results;
    for (const Type& t : function.params) params.push_back({"p" + std::to_string(params.size()), t});
    for (NodeId r : function.results) results.push_back({"r" + std::to_string(results.size()), r.v, g[r].type});
    DefPrinter(g, bodies, out).run(bodies[f], params, results);
    out += "\n";
  }
  DefPrinter(g, bodies, out).run(program.name, program.params, program.results);
  return out;
}

}  // namespace spirograd::text
