// The transposed program is cut off where the fewest bytes cross (kept.h); what crosses becomes results of the one half and
// parameters of the other.
#include "spirograd/split.h"

#include <algorithm>

#include "ad/kept.h"
#include "ad/scope.h"
#include "ad/signature.h"
#include "frontend/ir/loop.h"
#include "frontend/ir/traverse.h"

namespace spirograd {
namespace {

using ad::Names;
using ad::Work;
using ir::Expr;

// In the order of parameters; what is no parameter comes behind them, in the order in which it is computed.
std::vector<Expr> in_order(std::vector<Expr> passed) {
  const auto slot = [](Expr e) { return e.op() == ir::Op::Param ? e.attr(0) : INT64_MAX; };
  std::stable_sort(passed.begin(), passed.end(), [&](Expr a, Expr b) { return slot(a) < slot(b); });
  return passed;
}

Residual residual(const Work& work, Expr e, Names& names, size_t& added) {
  const auto is_input = [&](const std::string& name) {
    return std::any_of(work.p.params.begin(), work.p.params.end(), [&](const Param& p) { return p.name == name; });
  };
  const Loc at = work.graph.loc(e.id);
  if (e.op() == ir::Op::Param)
    return {work.p.params[static_cast<size_t>(e.attr(0))].name, e.type(), Residual::From::Input, at};
  for (const ProgramResult& r : work.out.results)
    if (r.node == e.id.v && !is_input(r.name)) return {r.name, e.type(), Residual::From::Result, at};
  return {names.fresh("r_", std::to_string(added++)), e.type(), Residual::From::Added, at};
}

Split halves(const Program& program, const std::vector<std::string>& wrt) {
  const std::vector<size_t> slots = ad::resolve_wrt(program, wrt, "split");
  Work work(program);
  ir::Graph& g = work.g();
  std::vector<Expr> roots, cts, others;
  std::vector<size_t> place;
  for (size_t j = 0; j < work.p.results.size(); ++j) {
    const bool is_root = is_float(work.p.results[j].type.dtype);
    place.push_back(is_root ? roots.size() : others.size());
    (is_root ? roots : others).push_back(work.result(j));
    if (is_root) cts.push_back(ir::fresh_var(g, computed_as(work.p.results[j].type)));
  }
  const std::vector<ad::Zeros> plain(roots.size(), ad::Zeros::None);
  const ad::Derivative d = ad::pull_back(g, roots, work.inputs(slots), cts, plain, others);
  for (size_t j = 0; j < place.size(); ++j)
    work.old_result(j, is_float(work.p.results[j].type.dtype) ? d.primal[place[j]] : d.others[place[j]]);
  std::vector<Expr> gradients = d.linear;
  for (size_t j = 0; j < slots.size(); ++j)
    gradients[j] = ad::or_zeros(g, gradients[j], computed_as(work.p.params[slots[j]].type));

  Split out;
  out.backward.name = work.p.name + "_backward";
  Names names;
  names.take(work.p.params);
  names.take(work.p.results);
  std::vector<Expr> vars;
  ir::Memo memo;
  size_t added = 0;
  for (Expr e : in_order(ad::least_passed(g, gradients))) {
    const Residual r = residual(work, e, names, added);
    vars.push_back(ir::fresh_var(g, e.type()));
    memo[e.id.v] = vars.back().id;
    out.backward.params.push_back({r.name, r.type});
    if (r.from == Residual::From::Added) work.out.results.push_back({r.name, e.id.v, r.type});
    out.residuals.push_back(r);
  }
  for (const ProgramResult& r : work.p.results)
    if (is_float(r.type.dtype)) out.backward.params.push_back({names.fresh("ct_", r.name), computed_as(r.type)});
  vars.insert(vars.end(), cts.begin(), cts.end());

  std::vector<Expr> over_vars;
  for (ir::NodeId id : ir::rebuild(g, ir::ids_of(gradients), memo)) over_vars.push_back({&g, id});
  const ir::Function f = g.function(ir::close_function(g, vars, over_vars));
  for (size_t j = 0; j < slots.size(); ++j) {
    const Param& by = work.p.params[slots[j]];
    out.backward.results.push_back({work.result_names.fresh("d_", by.name), f.results[j].v, computed_as(by.type)});
  }
  out.backward.graph = work.out.graph;
  out.forward = std::move(work.out);
  out.forward.name = work.p.name + "_forward";
  return out;
}

}  // namespace

uint64_t Split::residual_bytes() const {
  uint64_t sum = 0;
  for (const Residual& r : residuals) sum += device_bytes(r.type);
  return sum;
}

Result<Split> split(const Program& program, const std::vector<std::string>& wrt) {
  return guarded([&] { return halves(program, wrt); });
}

}  // namespace spirograd
