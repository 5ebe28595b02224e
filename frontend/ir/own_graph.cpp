#include "frontend/ir/own_graph.h"

#include <algorithm>
#include <map>

#include "frontend/ir/traverse.h"

namespace spirograd::ir {
namespace {

struct Reached {
  std::vector<uint32_t> nodes;     // ascending: operands before their users
  std::vector<int64_t> functions;  // ascending
};

Reached reachable(const Graph& g, const Program& program) {
  Reached out;
  std::vector<bool> seen(g.size(), false), called(static_cast<size_t>(g.function_count()), false);
  std::vector<uint32_t> stack;
  const auto enter = [&](NodeId id) {
    if (!id || seen[id.v]) return;
    seen[id.v] = true;
    stack.push_back(id.v);
  };
  for (const ProgramResult& r : program.results) enter({r.node});
  while (!stack.empty()) {
    const uint32_t id = stack.back();
    stack.pop_back();
    out.nodes.push_back(id);
    const Node& n = g[{id}];
    for (const NodeId operand : n.in) enter(operand);
    if (!has_function(n.op) || called[static_cast<size_t>(n.attr[0])]) continue;
    called[static_cast<size_t>(n.attr[0])] = true;
    out.functions.push_back(n.attr[0]);
    for (const NodeId result : g.function(n.attr[0]).results) enter(result);
  }
  std::sort(out.nodes.begin(), out.nodes.end());
  std::sort(out.functions.begin(), out.functions.end());
  return out;
}

}  // namespace

bool is_made(const Program& program) {
  return program.graph && std::all_of(program.results.begin(), program.results.end(),
                                      [&](const ProgramResult& r) { return r.node != 0 && r.node < program.graph->size(); });
}

void require_made(const Program& program) {
  if (is_made(program)) return;
  throw Error("SG0404", "the program '" + program.name + (program.graph ? "' has a result without value" : "' is empty"))
      .hint("programs are made by trace(), text::instantiate() and the transformations");
}

bool reaches(const Program& program, std::initializer_list<Op> ops) {
  require_made(program);
  const auto asked = [&](Op op) { return std::find(ops.begin(), ops.end(), op) != ops.end(); };
  return std::any_of(ops.begin(), ops.end(), [&](Op op) { return program.graph->has(op); }) &&
         reaches(program, [&](const Node& n) { return asked(n.op); });
}

bool reaches(const Program& program, const std::function<bool(const Node&)>& holds) {
  require_made(program);
  const std::vector<uint32_t> nodes = reachable(*program.graph, program).nodes;
  return std::any_of(nodes.begin(), nodes.end(), [&](uint32_t id) { return holds((*program.graph)[{id}]); });
}

std::vector<NodeId> copy_into(Graph& to, const Program& program) {
  require_made(program);
  const Graph& from = *program.graph;
  const Reached reached = reachable(from, program);
  to.reserve(to.size() + reached.nodes.size());
  std::vector<NodeId> copy(from.size());
  std::vector<int64_t> copied_function(static_cast<size_t>(from.function_count()), -1);
  auto next = reached.functions.begin();
  for (const uint32_t id : reached.nodes) {
    Node n = from[{id}];
    for (NodeId& operand : n.in) operand = copy[operand.v];
    if (has_function(n.op)) {
      // Functions were interned in the order of their numbers, each after its results and before the loop that calls it.
      for (; next != reached.functions.end() && *next <= n.attr[0]; ++next) {
        Function f = from.function(*next);
        for (NodeId& result : f.results) result = copy[result.v];
        copied_function[static_cast<size_t>(*next)] = to.intern(std::move(f));
      }
      n.attr[0] = copied_function[static_cast<size_t>(n.attr[0])];
    }
    copy[id] = to.intern(std::move(n));
    to.copy_loc(from, {id}, copy[id]);
  }
  std::vector<NodeId> results;
  for (const ProgramResult& r : program.results) results.push_back(copy[r.node]);
  return results;
}

std::shared_ptr<Graph> make_graph_private(Program& program) {
  const auto graph = std::make_shared<Graph>();
  const std::vector<NodeId> results = copy_into(*graph, program);
  for (size_t j = 0; j < results.size(); ++j) program.results[j].node = results[j].v;
  program.graph = graph;
  return graph;
}

Program with_replaced(const Program& program, std::initializer_list<Op> ops,
                      const std::function<NodeId(Graph&, const Node&)>& f) {
  if (!reaches(program, ops)) return program;
  Program out = program;
  const std::shared_ptr<Graph> own = make_graph_private(out);
  replace(out, *own, ops, f);
  return out;
}

void replace(Program& program, Graph& g, std::initializer_list<Op> ops,
             const std::function<NodeId(Graph&, const Node&)>& f) {
  std::map<int64_t, int64_t> functions;
  const std::function<std::vector<NodeId>(const std::vector<NodeId>&)> scope = [&](const auto& roots) {
    Memo memo;
    return rebuild(g, roots, memo, [&](NodeId, NodeId built) {
      const Node& n = g[built];
      if (std::find(ops.begin(), ops.end(), n.op) != ops.end()) return f(g, n);
      if (n.op != Op::MapAccum) return built;
      Node loop = n;
      const auto [it, fresh] = functions.try_emplace(loop.attr[0], 0);
      if (fresh) {
        Function body = g.function(loop.attr[0]);
        body.results = scope(body.results);
        it->second = g.intern(std::move(body));
      }
      loop.attr[0] = it->second;
      return g.intern(std::move(loop));
    });
  };
  std::vector<NodeId> roots;
  for (const ProgramResult& r : program.results) roots.push_back({r.node});
  roots = scope(roots);
  for (size_t j = 0; j < roots.size(); ++j) program.results[j].node = roots[j].v;
}

}  // namespace spirograd::ir
