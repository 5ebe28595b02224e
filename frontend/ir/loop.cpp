// Typed constructors of builds and loops: what they bind is closed here.
#include "frontend/ir/loop.h"

#include <algorithm>

#include "frontend/ir/algebra.h"
#include "frontend/ir/make_node.h"
#include "frontend/ir/traverse.h"

namespace spirograd::ir {
namespace {

// Highest level of a Build below `root` that depends on a placeholder, -1 if there is none. Closed builds do not matter:
// their index is bound inside of them, whatever its level.
int64_t highest_open_build(const Graph& g, NodeId root) {
  int64_t level = -1;
  for (NodeId id : open_postorder(g, {&root, 1}))
    if (g[id].op == Op::Build && g[id].has_var) level = std::max(level, g[id].attr[0]);
  return level;
}

}  // namespace

Expr build(int64_t extent, Expr var, Expr body) {
  Graph& g = *body.graph;
  const int64_t level = highest_open_build(g, body.id) + 1;
  const Expr index = index_var(g, level, extent);
  return build_at(level, extent, {&g, substitute_vars(g, {&body.id, 1}, {{var.id.v, index.id}})[0]});
}

Expr build_at(int64_t level, int64_t extent, Expr body) {
  if (extent < 0) fail("build: negative extent " + std::to_string(extent));
  check_rank(body.rank() + 1, "build");
  return make1(Op::Build, {body.dtype(), checked(body.shape().inserted(0, extent), "build")}, body, {level, extent});
}

std::vector<Expr> map_accum(Graph& g, const Loop& loop) {
  const Function& f = g.function(loop.function);
  const auto mismatch = [&](const char* part, size_t j, Type want, Type have) {
    fail("loop: " + std::string(part) + " " + std::to_string(j) + " is " + to_string(have) + ", the body has " +
         to_string(want));
  };
  const size_t n_acc = loop.acc.size(), n_es = loop.es.size(), n_consts = loop.consts.size();
  if (f.params.size() != n_acc + n_es + n_consts)
    fail("loop: the body takes " + std::to_string(f.params.size()) + " arguments, the loop gives " +
         std::to_string(n_acc + n_es + n_consts));
  if (f.results.size() < n_acc || f.results.empty())
    fail("loop: the body returns " + std::to_string(f.results.size()) + " values for " + std::to_string(n_acc) +
         " accumulators");
  Node n;
  n.op = Op::MapAccum;
  for (size_t j = 0; j < n_acc; ++j) {
    if (loop.acc[j].type() != f.params[j]) mismatch("initial accumulator", j, f.params[j], loop.acc[j].type());
    if (g[f.results[j]].type != f.params[j]) mismatch("accumulator", j, f.params[j], g[f.results[j]].type);
    n.in.push_back(loop.acc[j].id);
  }
  for (size_t j = 0; j < n_es; ++j) {
    const Type want = {f.params[n_acc + j].dtype, f.params[n_acc + j].shape.inserted(0, loop.length)};
    if (loop.es[j].type() != want) mismatch("element stack", j, want, loop.es[j].type());
    n.in.push_back(loop.es[j].id);
  }
  for (size_t j = 0; j < n_consts; ++j) {
    if (loop.consts[j].type() != f.params[n_acc + n_es + j])
      mismatch("invariant operand", j, f.params[n_acc + n_es + j], loop.consts[j].type());
    n.in.push_back(loop.consts[j].id);
  }
  n.attr = {loop.function,
            loop.reverse ? 1 : 0,
            loop.length,
            static_cast<int64_t>(n_acc),
            static_cast<int64_t>(n_es),
            static_cast<int64_t>(n_consts)};
  n.type = g[f.results[0]].type;
  if (n_acc == 0) n.type.shape = n.type.shape.inserted(0, loop.length);
  return projections(g, g.intern(std::move(n)));
}

LoopParts loop_parts(const Graph& g, const Node& n) {
  LoopParts p{n.attr[0],
              n.attr[2],
              n.attr[1] != 0,
              static_cast<int>(n.attr[3]),
              static_cast<int>(n.attr[4]),
              static_cast<int>(n.attr[5]),
              0};
  p.n_bs = static_cast<int>(g.function(p.function).results.size()) - p.n_acc;
  return p;
}

std::vector<Expr> projections(Graph& g, NodeId id) {
  const Node& n = g[id];
  const LoopParts p = loop_parts(g, n);
  std::vector<Expr> out;
  for (int j = 0; j < p.n_acc + p.n_bs; ++j) {
    Type t = g[g.function(p.function).results[static_cast<size_t>(j)]].type;
    if (j >= p.n_acc) {
      check_rank(t.shape.rank() + 1, "loop");
      t.shape = t.shape.inserted(0, p.length);
    }
    out.push_back(make(g, {Op::Proj, t, {id}, {j}, {}}));
  }
  return out;
}

int64_t close_function(Graph& g, std::span<const Expr> vars, std::span<const Expr> results) {
  Memo memo;
  Function f;
  for (size_t j = 0; j < vars.size(); ++j) {
    memo[vars[j].id.v] = param(g, static_cast<int64_t>(j), vars[j].type()).id;
    f.params.push_back(vars[j].type());
  }
  f.results = rebuild(g, ids_of(results), memo);
  return g.intern(std::move(f));
}

}  // namespace spirograd::ir
