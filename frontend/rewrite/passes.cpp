#include "frontend/rewrite/passes.h"

#include <array>
#include <chrono>

#include "frontend/ir/own_graph.h"
#include "frontend/ir/traverse.h"
#include "frontend/ir/verify.h"
#include "frontend/rewrite/exchange_sums.h"
#include "frontend/rewrite/factor_sums.h"
#include "frontend/rewrite/read_chosen.h"
#include "frontend/rewrite/split_loops.h"
#include "frontend/rewrite/spread_updates.h"
#include "frontend/rewrite/vectorise.h"

namespace spirograd::rewrite {
namespace {

// Values are what they are; only derivatives ask for their rules.
Program without_rules(const Program& p, RuleLog*) {
  return ir::with_replaced(p, {ir::Op::WithJvp, ir::Op::WithVjp}, [](ir::Graph&, const ir::Node& n) { return n.in[0]; });
}

constexpr std::array<Pass, 8> kPasses = {{
    {"without_rules", "drops derivatives that users have given: none is asked for any more", without_rules,
     ir::check_well_formed},
    {"vectorise", "removes builds", [](const Program& p, RuleLog*) { return vectorise(p); }, ir::check_bulk},
    {"simplify", "fewer and cheaper operations, equal values", simplify, ir::check_well_formed},
    {"split_loops", "what no step waits for leaves loops: equal over the reals", split_loops, ir::check_well_formed},
    {"factor_sums", "factors leave sums: equal over the reals", factor_sums, ir::check_well_formed},
    {"exchange_sums", "sums of sums in the order that keeps less: equal over the reals", exchange_sums,
     ir::check_well_formed},
    {"read_chosen", "one element of each row is read where it is: equal over the reals", read_chosen, ir::check_well_formed},
    {"spread_updates", "one element for each row is a choice by position", spread_updates, ir::check_well_formed},
}};

}  // namespace

std::span<const Pass> lowering_passes() { return kPasses; }

Program optimise_for_lowering(const Program& p, const PassOptions& options) {
  Program out = p;
  for (const Pass& pass : kPasses) {
    const auto start = std::chrono::steady_clock::now();
    out = pass.run(out, options.rules);
    const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
    if (options.verify)
      if (auto defect = pass.verify(out)) throw std::move(*defect).note("after the pass " + std::string(pass.name));
    if (options.after) options.after({pass.name, seconds.count(), operations(out)}, out);
  }
  return out;
}

std::optional<RuleLog> first_bad_rule(const Program& bulk, const std::function<bool(const Program&)>& good) {
  const auto after = [&](int64_t most) {
    RuleLog rules;
    rules.most = most;
    return std::pair(simplify(bulk, &rules), rules);
  };
  auto [simple, all] = after(std::numeric_limits<int64_t>::max());
  if (good(simple)) return std::nullopt;
  int64_t sound = 0, broken = all.total;
  while (broken - sound > 1) {
    const int64_t middle = sound + (broken - sound) / 2;
    (good(after(middle).first) ? sound : broken) = middle;
  }
  return after(broken).second;
}

size_t operations(const Program& p) {
  std::vector<std::vector<ir::NodeId>> scopes(1);
  for (const ProgramResult& r : p.results) scopes[0].push_back({r.node});
  size_t n = 0;
  while (!scopes.empty()) {
    const std::vector<ir::NodeId> roots = std::move(scopes.back());
    scopes.pop_back();
    for (ir::NodeId id : ir::postorder(*p.graph, roots)) {
      ++n;
      const ir::Node& node = (*p.graph)[id];
      if (node.op == ir::Op::MapAccum) scopes.push_back(p.graph->function(node.attr[0]).results);
    }
  }
  return n;
}

}  // namespace spirograd::rewrite
