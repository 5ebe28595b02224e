// Drives the rules over a program and its loop bodies: indices of builds first, then the builds from the innermost outwards,
// then the scalar indices that are left.
#include "frontend/rewrite/vectorise.h"

#include <unordered_map>

#include "frontend/ir/own_graph.h"
#include "frontend/ir/traverse.h"
#include "frontend/rewrite/build_rules.h"
#include "frontend/rewrite/index_pusher.h"

namespace spirograd::rewrite {
namespace {

using namespace ir;

class Vectoriser {
 public:
  explicit Vectoriser(Graph& g) : g_(g), ranges_(g) {}

  std::vector<NodeId> scope(std::vector<NodeId> roots) {
    roots = without_indexed_builds(std::move(roots));
    roots = without_builds(std::move(roots));
    return with_pushed_indices(std::move(roots));
  }

 private:
  template <class F>
  std::vector<NodeId> each(const std::vector<NodeId>& roots, F&& f) {
    Memo memo;
    return rebuild(g_, roots, memo, std::forward<F>(f));
  }

  // An element of a build that is used nowhere else is the body with the index put in; nothing is computed twice unless the
  // index takes more values than the build has been made for.
  std::vector<NodeId> without_indexed_builds(std::vector<NodeId> roots) {
    const auto uses = count_uses(g_, roots);
    return each(roots, [&](NodeId old, NodeId built) {
      const Expr e{&g_, built};
      if (!is_index(e) || e.in(0).op() != Op::Build) return e.id;
      const NodeId table = g_[old].in[0];
      uint64_t moving = 0;
      for (int j = 1; j < static_cast<int>(e.node().in.size()); ++j) moving |= e.in(j).node().free_vars;
      if (uses.at(table.v) > 1 || (moving & ~e.in(0).node().free_vars)) return e.id;
      return IndexPusher(g_, ranges_).push(as_slice(e)).id;
    });
  }

  std::vector<NodeId> without_builds(std::vector<NodeId> roots) {
    return each(roots, [&](NodeId, NodeId built) {
      const Node& n = g_[built];
      if (n.op == Op::Build) return Lifting(g_, ranges_, n.attr[0], n.attr[1]).lift({&g_, n.in[0]}).id;
      if (!has_function(n.op)) return built;
      Node loop = n;
      loop.attr[0] = function(loop.attr[0]);
      return g_.intern(std::move(loop));
    });
  }

  static bool may_be_indexed(Op op) {
    return op == Op::Param || op == Op::Const || op == Op::Stack || ir::is_scatter(op) || op == Op::Proj;
  }

  std::vector<NodeId> with_pushed_indices(std::vector<NodeId> roots) {
    IndexPusher pusher(g_, ranges_);
    roots = each(roots, [&](NodeId, NodeId built) {
      const Expr e{&g_, built};
      return is_index(e) ? pusher.push(as_slice(e)).id : e.id;
    });
    // Where too many indices read one term, they read it as it stands: as gathers of one element.
    return each(roots, [&](NodeId, NodeId built) {
      const Expr e{&g_, built};
      if (!is_index(e) || may_be_indexed(e.in(0).op())) return e.id;
      std::vector<Expr> index;
      for (int j = 1; j < static_cast<int>(e.node().in.size()); ++j) index.push_back(reshape(e.in(j), {1}));
      return reshape(gather(e.in(0), index), e.shape()).id;
    });
  }

  // Recursive over the nesting of loops only.
  int64_t function(int64_t index) {
    if (auto known = functions_.find(index); known != functions_.end()) return known->second;
    Function f = g_.function(index);
    f.results = scope(f.results);
    const int64_t made = g_.intern(std::move(f));
    functions_[index] = functions_[made] = made;
    return made;
  }

  Graph& g_;
  Intervals ranges_;
  std::unordered_map<int64_t, int64_t> functions_;
};

}  // namespace

Program vectorise(const Program& program) {
  const auto has_work = [&](const Node& n) {
    const Graph& g = *program.graph;
    return n.op == Op::Build || (is_index(g, n) && g[n.in[0]].op != Op::Param);
  };
  if (!reaches(program, has_work)) return program;
  Program out = program;
  Graph& g = *make_graph_private(out);
  std::vector<NodeId> roots;
  for (const ProgramResult& r : out.results) roots.push_back({r.node});
  roots = Vectoriser(g).scope(std::move(roots));
  for (size_t j = 0; j < roots.size(); ++j) {
    out.results[j].node = roots[j].v;
    if (g[roots[j]].free_vars != 0) throw Error("SG0901", "internal: an index variable is used outside of its build");
  }
  return out;
}

}  // namespace spirograd::rewrite
