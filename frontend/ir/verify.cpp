// Types are re-derived through the constructors of algebra.h: interning makes "equal node" a comparison of ids.
#include "frontend/ir/verify.h"

#include <functional>
#include <string>
#include <unordered_set>

#include "frontend/ir/algebra.h"
#include "frontend/ir/by_kernel.h"
#include "frontend/ir/eval.h"
#include "frontend/ir/own_graph.h"
#include "frontend/ir/traverse.h"

namespace spirograd::ir {
namespace {

std::string print(const Node& n) { return std::string(name(n.op)) + " : " + to_string(n.type); }

[[noreturn]] void reject(const Node& n, const std::string& why) {
  throw Error("SG0900", "internal: " + print(n) + ": " + why);
}

// A function under check: the program itself or the body of a loop.
struct Scope {
  std::string what;
  std::vector<Type> params;
  std::vector<NodeId> roots;
};

// The program first, then each loop body that it reaches, once.
size_t attribute_count(const Node& n) {
  switch (info(n.op).kind) {
    case Kind::Leaf:
    case Kind::Pointwise: return 0;
    case Kind::Reduce: return n.op == Op::ArgMax || n.op == Op::ArgMin ? 1 : n.attr.size();
    case Kind::Indexed: return n.op == Op::Gather ? 0 : n.attr.size();
    case Kind::Binder: return 2;
    case Kind::Loop: return n.op == Op::Proj ? 1 : 6;
    case Kind::Rule: return n.op == Op::ByKernel ? n.attr.size() : 2;
    case Kind::Layout: break;
  }
  if (n.op == Op::Reshape) return 0;
  if (n.op == Op::Window) return 2;
  return n.op == Op::Broadcast || n.op == Op::Transpose ? n.attr.size() : 1;
}

std::vector<Scope> scopes(const Program& program) {
  const Graph& g = *program.graph;
  std::vector<Scope> out(1);
  out[0].what = "program " + program.name;
  for (const Param& p : program.params) out[0].params.push_back(p.type);
  for (const ProgramResult& r : program.results) {
    if (r.node == 0 || r.node >= g.size()) throw Error("SG0900", "internal: result " + r.name + " has no node");
    out[0].roots.push_back({r.node});
  }
  std::unordered_set<int64_t> seen;
  for (size_t s = 0; s < out.size(); ++s) {
    for (NodeId id : postorder(g, out[s].roots)) {
      const Node& n = g[id];
      if (!has_function(n.op)) continue;
      if (n.attr.size() != attribute_count(n) || n.attr[0] < 0 || n.attr[0] >= g.function_count()) reject(n, "has no body");
      if (!seen.insert(n.attr[0]).second) continue;
      const Function& f = g.function(n.attr[0]);
      out.push_back({"loop body " + std::to_string(seen.size()), f.params, f.results});
    }
  }
  return out;
}

void check_leaf(const Node& n, const Scope& scope) {
  const auto attributes = [&](size_t count) {
    if (n.attr.size() != count || !n.in.empty()) reject(n, "is malformed");
  };
  if (n.op == Op::Param) {
    attributes(1);
    if (n.attr[0] < 0 || n.attr[0] >= static_cast<int64_t>(scope.params.size()))
      reject(n, scope.what + " has no parameter " + std::to_string(n.attr[0]));
    const Type& want = scope.params[static_cast<size_t>(n.attr[0])];
    if (n.type != want) reject(n, "parameter " + std::to_string(n.attr[0]) + " of " + scope.what + " is " + to_string(want));
  } else if (n.op == Op::Const) {
    attributes(0);
    if (static_cast<int64_t>(n.data.size()) != n.type.shape.count())
      reject(n, "holds " + std::to_string(n.data.size()) + " elements");
    for (double x : n.data)
      if (!fits(x, n.type.dtype)) reject(n, std::to_string(x) + " does not fit");
  } else if (n.op == Op::Iota) {
    attributes(1);
    if (n.type.dtype != DType::I32 || n.attr[0] < 0 || n.attr[0] >= n.type.shape.rank()) reject(n, "is malformed");
  } else if (n.op == Op::IndexVar) {
    attributes(2);
    if (n.type != i32() || n.attr[0] < 0 || n.attr[0] > 63 || n.attr[1] < 0) reject(n, "is malformed");
  } else {
    reject(n, "a placeholder is left in " + scope.what);
  }
}

// Recreates a MapAccum or Proj; the other operations go through with_operands.
NodeId recreate_loop(Graph& g, const Node& n) {
  if (n.op == Op::Proj) {
    if (n.attr.size() != 1 || n.in.size() != 1 || g[n.in[0]].op != Op::MapAccum) reject(n, "is not a result of a loop");
    const std::vector<Expr> all = projections(g, n.in[0]);
    if (n.attr[0] < 0 || n.attr[0] >= static_cast<int64_t>(all.size())) reject(n, "the loop has no such result");
    return all[static_cast<size_t>(n.attr[0])].id;
  }
  if (n.attr[2] < 0 || n.attr[3] < 0 || n.attr[4] < 0 || n.attr[5] < 0 ||
      static_cast<int64_t>(n.in.size()) != n.attr[3] + n.attr[4] + n.attr[5])
    reject(n, "is malformed");
  Loop loop;
  loop.function = n.attr[0];
  loop.reverse = n.attr[1] != 0;
  loop.length = n.attr[2];
  size_t j = 0;
  for (int64_t c = 0; c < n.attr[3]; ++c) loop.acc.push_back({&g, n.in[j++]});
  for (int64_t c = 0; c < n.attr[4]; ++c) loop.es.push_back({&g, n.in[j++]});
  for (int64_t c = 0; c < n.attr[5]; ++c) loop.consts.push_back({&g, n.in[j++]});
  return g[map_accum(g, loop)[0].id].in[0];
}

void check_node(Graph& g, NodeId id, const Scope& scope) {
  const Node& n = g[id];
  const OpInfo& op = info(n.op);
  if (op.kind == Kind::Leaf) return check_leaf(n, scope);
  if (op.arity == kVariadic ? n.in.empty() && n.op != Op::MapAccum : static_cast<int>(n.in.size()) != op.arity)
    reject(n, "has " + std::to_string(n.in.size()) + " operands");
  if (n.attr.size() != attribute_count(n) || (!n.data.empty() && n.op != Op::ByKernel)) reject(n, "is malformed");
  if (is_scatter(n.op) && n.attr.size() > static_cast<size_t>(kMaxRank)) reject(n, "is malformed");
  if (n.op == Op::ByKernel && !is_own_kernel(n)) reject(n, "is malformed");
  if (has_function(n.op) && op.kind == Kind::Rule && (n.attr[1] < 1 || n.attr[1] >= static_cast<int64_t>(n.in.size())))
    reject(n, "is malformed");
  if (n.op == Op::Window && (n.attr[0] < 0 || n.attr[0] >= n.type.shape.rank())) reject(n, "axis out of range");
  NodeId again;
  try {
    std::vector<Expr> in;
    for (NodeId operand : n.in) in.push_back({&g, operand});
    again = op.kind == Kind::Loop ? recreate_loop(g, n) : with_operands(g, n, in).id;
  } catch (const Error& e) {
    reject(n, e.message);
  }
  if (again != id) reject(n, "the operands give " + print(g[again]));
}

// Every index variable that a Build binds has the Build's extent.
void check_binder(const Graph& g, NodeId build) {
  const Node& n = g[build];
  if (n.attr[0] < 0 || n.attr[0] > 63) reject(n, "level " + std::to_string(n.attr[0]) + " is out of range");
  std::unordered_set<uint32_t> seen;
  std::vector<NodeId> stack(n.in.begin(), n.in.end());
  while (!stack.empty()) {
    const NodeId id = stack.back();
    stack.pop_back();
    const Node& below = g[id];
    if ((below.free_vars >> n.attr[0] & 1) == 0 || !seen.insert(id.v).second) continue;
    if (below.op == Op::IndexVar && below.attr[1] != n.attr[1])
      reject(below, "has extent " + std::to_string(below.attr[1]) + ", its build has " + std::to_string(n.attr[1]));
    stack.insert(stack.end(), below.in.begin(), below.in.end());
  }
}

void check_user_rank(const std::string& what, const Type& t) {
  if (t.shape.rank() > kMaxUserRank)
    throw Error("SG0900", "internal: " + what + " is " + to_string(t) + ", above the limit of " +
                              std::to_string(kMaxUserRank) + " axes");
}

void require_well_formed(const Program& checked) {
  if (!checked.graph) throw Error("SG0900", "internal: program " + checked.name + " has no graph");
  scopes(checked);            // what can be reached at all
  Program program = checked;  // nodes are made again for their types, in a graph of our own
  Graph& g = *make_graph_private(program);
  for (const Scope& scope : scopes(program)) {
    for (NodeId id : postorder(g, scope.roots)) {
      check_node(g, id, scope);
      if (g[id].op == Op::Build) check_binder(g, id);
    }
    for (NodeId root : scope.roots)
      if (g[root].free_vars != 0) reject(g[root], "an index variable is free in " + scope.what);
  }
  for (const ProgramResult& r : program.results)
    if (r.type != g[{r.node}].type) reject(g[{r.node}], "result " + r.name + " is recorded as " + to_string(r.type));
  for (const Param& p : program.params) check_user_rank("parameter " + p.name, p.type);
  for (const ProgramResult& r : program.results) check_user_rank("result " + r.name, r.type);
}

bool may_be_indexed(Op op) {
  return op == Op::Param || op == Op::Const || op == Op::Stack || is_scatter(op) || op == Op::Proj;
}

void require_bulk(const Program& program) {
  require_well_formed(program);
  const Graph& g = *program.graph;
  for (const Scope& scope : scopes(program)) {
    for (NodeId id : postorder(g, scope.roots)) {
      const Node& n = g[id];
      if (n.op == Op::Build || n.op == Op::IndexVar) reject(n, "is not allowed in bulk form (" + scope.what + ")");
      if (n.op == Op::Gather && g[n.in[1]].type.shape.rank() == 0 && !may_be_indexed(g[n.in[0]].op))
        reject(n, "indexes " + print(g[n.in[0]]) + "; the index belongs inside");
    }
  }
}

std::optional<Error> as_value(const std::function<void()>& check) {
  try {
    check();
  } catch (const Error& e) {
    return e;
  }
  return std::nullopt;
}

}  // namespace

std::optional<Error> check_well_formed(const Program& program) {
  return as_value([&] { require_well_formed(program); });
}

std::optional<Error> check_bulk(const Program& program) {
  return as_value([&] { require_bulk(program); });
}

}  // namespace spirograd::ir
