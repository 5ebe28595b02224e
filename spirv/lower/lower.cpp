// The driver of lowering: regions (a program, or the body of a loop that runs as dispatches) become computes, kernels and
// steps.
#include <algorithm>
#include <unordered_map>
#include <utility>

#include "frontend/ir/algebra.h"
#include "frontend/ir/own_graph.h"
#include "frontend/ir/traverse.h"
#include "spirograd/host_array.h"
#include "spirv/kernel/iterations.h"
#include "spirv/lower/alike.h"
#include "spirv/lower/bounded.h"
#include "spirv/lower/check_extents.h"
#include "spirv/lower/computes.h"
#include "spirv/lower/gates.h"
#include "spirv/lower/joined_axes.h"
#include "spirv/lower/kept_rows.h"
#include "spirv/lower/memory.h"
#include "spirv/lower/own_kernels.h"
#include "spirv/lower/plan.h"
#include "spirv/lower/steps.h"

namespace spirograd::lower {

using ir::Expr;
using ir::Graph;
using ir::Node;
using ir::NodeId;
using ir::Op;

namespace {

constexpr uint32_t kFormal = 0x80000000u;  // buffer ids of a loop body's own parameters and results, replaced per step
constexpr int kAttempts = 32;              // at a region, until its kernels are within the bounds

struct Wanted {
  NodeId node;
  BufferRef to;
};

class Lowering {
 public:
  Lowering(Graph& g, const Target& target, const schedule::Scheduler& scheduler)
      : g_(g), target_(target), scheduler_(scheduler) {}

  // `turns`: the results of the program, maybe in turns.
  Plan run(const Program& p, const Turns& turns) {
    std::vector<ParamSource> params;
    for (const Param& param : p.params) {
      const uint32_t id = add_buffer(Role::Input, param.type, param.name);
      params.push_back({ParamSource::Kind::Buffer, {id, 0}});
    }
    std::vector<Wanted> wanted;
    for (const ProgramResult& r : p.results) wanted.push_back({{r.node}, {add_buffer(Role::Output, r.type, r.name), 0}});
    plan_.n_inputs = static_cast<uint32_t>(p.params.size());
    plan_.n_outputs = static_cast<uint32_t>(p.results.size());
    region(params, wanted, p.name, turns, {});
    if (const uint64_t n = commands(plan_.steps); n > kCommandLimit)
      throw Error("SG0305", "the program has " + std::to_string(n) + " dispatches, which is above the limit of " +
                                std::to_string(kCommandLimit));
    number_given_kernels(plan_);
    place_scratch(plan_);
    return std::move(plan_);
  }

 private:
  uint32_t add_buffer(Role role, const Type& type, std::string name, std::string what = "", const Loc& at = {}) {
    check_buffer(type, target_, at);
    BufferDesc d;
    d.role = role;
    d.name = std::move(name);
    d.what = std::move(what);
    d.type = type;
    d.bytes = device_bytes(type);
    plan_.buffers.push_back(std::move(d));
    return static_cast<uint32_t>(plan_.buffers.size() - 1);
  }

  /// For the value of a node.
  BufferRef scratch(NodeId id) { return {add_buffer(Role::Scratch, g_[id].type, "", value_text(g_, id), g_.loc(id)), 0}; }

  BufferRef constant_buffer(NodeId id) {
    auto [it, fresh] = constants_.try_emplace(id.v, 0);
    if (fresh) {
      const Node& n = g_[id];
      it->second = add_buffer(Role::Constant, n.type, "");
      Type stored = n.type;  // device layout: bool as words
      if (stored.dtype == DType::Bool) stored.dtype = DType::U32;
      plan_.buffers[it->second].data = HostArray(stored, n.data).bytes;
    }
    return {it->second, 0};
  }

  // Everything that `wanted` asks for, computed from the region's parameters, as steps at the end of the plan. Lowered again
  // with an amended draft as long as a kernel is beyond the bounds.
  void region(const std::vector<ParamSource>& params, std::vector<Wanted> wanted, const std::string& name,
              const Turns& turns, const std::vector<Gate>& gates) {
    Draft draft = first_draft(g_, turns, target_, scheduler_);
    const size_t kernels = plan_.kernels.size(), steps = plan_.steps.size(), buffers = plan_.buffers.size();
    uint64_t limit = loop_limit(target_);
    for (int attempt = 1;; ++attempt) {
      for (size_t j = 0; j < wanted.size(); ++j) wanted[j].node = draft.roots[j];
      const std::vector<Excess> excesses = lower_draft(draft, params, wanted, name, limit, gates);
      if (excesses.empty()) return;
      plan_.kernels.resize(kernels);
      plan_.schedules.resize(kernels);
      plan_.steps.resize(steps);
      plan_.buffers.resize(buffers);
      std::erase_if(plan_.kept, [&](const KeptRows& r) { return r.place.buffer >= buffers; });
      std::erase_if(constants_, [&](const auto& c) { return c.second >= buffers; });
      std::erase_if(equal_code_, [&](const auto& c) { return c.second >= kernels; });
      made_before_.erase_from(kernels);
      if (attempt < kAttempts && amend(g_, draft, excesses, limit)) continue;
      // What cannot be cut may take long, if it ends.
      if (limit == target_.max_loop_iterations) throw refusal(excesses[0], target_);
      limit = target_.max_loop_iterations;
    }
  }

  // One attempt. Returns the kernels that are beyond the bounds.
  std::vector<Excess> lower_draft(const Draft& draft, const std::vector<ParamSource>& params,
                                  const std::vector<Wanted>& wanted, const std::string& name, uint64_t limit,
                                  const std::vector<Gate>& gates) {
    check_extents(g_, draft.roots);
    const Arms arms(g_, draft.roots);
    std::set<uint32_t> forced = arms.dear_flags(g_, target_);
    forced.insert(draft.stored.begin(), draft.stored.end());
    const Beside beside = find_beside(g_, draft.roots, draft.stored, draft.partial, draft.alone, target_);
    Partition partition = choose_partition(g_, draft.roots, forced, draft.dispatched, draft.scans, beside, target_);
    const TurnedStacks turned = turn_stacks(g_, draft.roots, partition, target_);
    NodeSet stored_by_others;  // that need no compute of their own
    std::set<uint32_t> apart = without_rows(draft.stored, draft.partial, draft.stretched);
    apart.insert(draft.alone.begin(), draft.alone.end());
    for (const auto& [stack, transpose] : turned) stored_by_others.insert(transpose.v), apart.insert(transpose.v);
    const RowKernels rows = find_row_kernels(g_, draft.roots, apart, partition, target_);
    for (const uint32_t id : rows.others) stored_by_others.insert(id);
    Materialised places;
    for (const PackBuffer& pack : pack_buffers(g_, partition.order, partition.packed,
                                               [&](uint32_t loop) { return partition.loops_in_kernel.contains(loop); })) {
      const uint32_t buffer = add_buffer(Role::Scratch, pack.type, "", "results of loops");
      for (const auto& [id, offset] : pack.arrays) places[id.v] = {buffer, offset};
    }
    std::vector<Wanted> copies;  // results that have a buffer already
    for (const Wanted& w : wanted) {
      const Node& n = g_[w.node];
      const bool elsewhere = n.op == Op::Param || (n.op == Op::Const && n.type.shape.rank() > 0);
      if (elsewhere || places.contains(w.node.v)) {
        copies.push_back(w);
      } else {
        places[w.node.v] = w.to;
      }
    }
    place_parts(
        g_, partition, [&](NodeId whole) { return scratch(whole); }, places);
    const std::function<BufferRef(NodeId)> constant = [&](NodeId id) { return constant_buffer(id); };
    for (NodeId id : partition.order) {
      const Node& n = g_[id];
      if (n.op == Op::Const && n.type.shape.rank() > 0) places[id.v] = constant_buffer(id);
      if (partition.loops_in_kernel.contains(id.v))
        for (NodeId array : arrays_inside(g_, id))
          if (!places.contains(array.v)) places[array.v] = g_[array].op == Op::Const ? constant(array) : scratch(array);
      const bool needs_place =
          (n.op == Op::Proj && !turned.contains(id.v)) || (n.op != Op::MapAccum && partition.roots.contains(id.v));
      if (needs_place && !places.contains(id.v)) places[id.v] = scratch(id);
    }
    for (const auto& [stack, transpose] : turned) places[stack] = places.at(transpose.v);
    note_kept_rows(plan_, g_, partition.order, places);
    ExtentWalk extent(g_, partition.roots);
    NodeSet computed_before;
    const Region region{g_,     target_, partition,       params,        places,       extent,
                        arms,   gates,   computed_before, draft.alone,   draft.single, draft.scans,
                        turned, rows,    draft.scatters,  draft.partial, constant,     limit};

    std::vector<Excess> excesses;
    std::vector<Compute> pending;
    const auto flush = [&] {
      emit(std::move(pending), region, name, excesses);
      pending.clear();
    };
    for (NodeId id : partition.order) {
      if (!partition.roots.contains(id.v) || stored_by_others.contains(id.v)) continue;
      const Node& n = g_[id];
      if (n.op == Op::MapAccum && !partition.loops_in_kernel.contains(id.v)) {
        flush();
        loop_of_dispatches(id, region, name, draft.turns.contains(id.v) ? "rows in turns, " : "loop of ");
        computed_before.insert(id.v);
        continue;
      }
      if (n.op == Op::ByKernel) {
        flush();
        add_own_dispatch(region, id, plan_);
        computed_before.insert(id.v);
        continue;
      }
      const std::optional<uint32_t> word = ir::is_scatter(n.op) ? 0 : filled_with(g_, id);
      if (word) fill_first_.push_back(fill_step(places.at(id.v), n.type, *word));
      if (!word || ir::is_scatter(n.op))
        for (Compute& s : computes_of(region, id)) pending.push_back(std::move(s));
      computed_before.insert(id.v);
    }
    flush();
    for (const Wanted& w : copies) add(copy_step(source_of(region, w.node), w.to, g_[w.node].type));
    return excesses;
  }

  void add(std::optional<Step> s) {
    if (s) plan_.steps.push_back(*std::move(s));
  }

  void emit(std::vector<Compute> computes, const Region& region, const std::string& name, std::vector<Excess>& excesses) {
    for (std::optional<Step>& s : fill_first_) add(std::move(s));
    fill_first_.clear();
    for (std::vector<Compute>& group : merge_computes(std::move(computes), target_, scheduler_)) {
      std::string label;
      for (const Compute& s : group) label += (label.empty() ? "" : "; ") + s.label;
      if (!group[0].gates.empty()) label += ", if taken";
      const std::set<uint32_t> computed = computed_roots(region, group);
      const std::optional<Likeness> like = likeness(g_, group, region.places, computed, region.params, region.arms);
      if (like) {
        if (std::optional<Step> step = made_before_.find(*like, region.loop_limit)) {
          step->label = std::move(label);
          plan_.steps.push_back(*std::move(step));
          continue;
        }
      }
      const std::string kernel_name = name + "_" + std::to_string(plan_.kernels.size());
      const auto made_with = [&](std::set<uint32_t> nodes) {
        return make_kernel(g_, group, region.places, std::move(nodes), region.params, region.arms, target_, scheduler_,
                           kernel_name);
      };
      MadeKernel made = made_with(computed);
      const bool views = made.bound.size() > kernel_buffers(target_);  // are computed, not read
      if (views) made = made_with(computed_roots_and_views(region, group));
      const uint64_t iterations = kernel::loop_iterations(made.kernel);
      if (made.too_large || iterations > region.loop_limit) {
        excesses.push_back({std::move(group), kernel_name, iterations, made.too_large, std::move(made.repeated)});
        continue;
      }
      Step step;
      step.groups = static_cast<uint32_t>((made.kernel.invocations + made.kernel.workgroup - 1) / made.kernel.workgroup);
      for (const Inliner::Bound& b : made.bound) {
        const bool writes = b.access != kernel::Access::Read;
        const bool reads = b.access != kernel::Access::Write;
        step.uses.push_back({b.buffer, b.offset, b.bytes, reads, writes});
      }
      step.label = std::move(label);
      const kernel::Executed each = kernel::executed(made.kernel);
      step.work = static_cast<double>(made.kernel.invocations) *
                  (each.operations + each.loads * target_.price.load + each.stores * target_.price.store);
      check_limits(made, step);
      step.kernel = kernel_number(std::move(made.kernel), schedule_lines(group, made, region.partial));
      if (like && !views)
        made_before_.add(*like, {step, iterations}, std::ranges::all_of(made.bound, &Inliner::Bound::exact));
      plan_.steps.push_back(std::move(step));
    }
  }

  // Equal kernels are made once: a program of a thousand equal statements has a few.
  uint32_t kernel_number(kernel::Kernel k, std::vector<ScheduleLine> lines) {
    const uint64_t hash = kernel::code_hash(k);
    const auto [from, to] = equal_code_.equal_range(hash);
    for (auto it = from; it != to; ++it)
      if (kernel::same_code(plan_.kernels[it->second], k)) return it->second;
    const auto number = static_cast<uint32_t>(plan_.kernels.size());
    equal_code_.emplace(hash, number);
    plan_.kernels.push_back(std::move(k));
    plan_.schedules.push_back(std::move(lines));
    return number;
  }

  void check_limits(const MadeKernel& made, const Step& step) const {
    const size_t most = kernel_buffers(target_);
    if (made.bound.size() > most)
      throw Error("SG0303", "kernel '" + made.kernel.name + "' (" + step.label + ") needs " +
                                std::to_string(made.bound.size()) + " buffers, the device allows " + std::to_string(most));
  }

  // Where a formal buffer lies, and how far it moves with each step of its loop.
  struct Moving {
    BufferRef ref;
    int64_t stride = 0;
  };

  // A loop whose steps are dispatches: the body is lowered once on formal buffers and repeated with the real ones.
  void loop_of_dispatches(NodeId id, const Region& outer, const std::string& name, const char* what) {
    const Node& n = g_[id];
    const ir::LoopParts parts = ir::loop_parts(g_, n);
    const ir::Function& f = g_.function(parts.function);
    const std::vector<Expr> projections = ir::projections(g_, id);
    const auto n_acc = static_cast<size_t>(parts.n_acc), n_es = static_cast<size_t>(parts.n_es);
    std::vector<BufferRef> given;
    for (NodeId in : n.in) given.push_back(source_of(outer, in));
    std::vector<BufferRef> result_place;
    for (Expr e : projections) {
      const auto it = outer.places.find(e.id.v);
      result_place.push_back(it == outer.places.end() ? scratch(e.id) : it->second);
    }
    if (parts.length == 0) {
      for (size_t j = 0; j < n_acc; ++j) add(copy_step(given[j], result_place[j], f.params[j]));
      return;
    }
    std::vector<BufferRef> other;  // accumulators alternate between their result's place and this one
    for (size_t j = 0; j < n_acc; ++j) other.push_back(parts.length > 1 ? scratch(projections[j].id) : result_place[j]);

    std::vector<ParamSource> body_params;
    for (size_t j = 0; j < f.params.size(); ++j) {
      const BufferRef ref = j < n_acc + n_es ? BufferRef{formal(j), 0} : given[j];
      body_params.push_back({ParamSource::Kind::Buffer, ref});
    }
    std::vector<Wanted> wanted;
    for (size_t j = 0; j < f.results.size(); ++j) wanted.push_back({f.results[j], {formal(f.params.size() + j), 0}});
    std::vector<Step> before = std::exchange(plan_.steps, {});
    const uint32_t outer_base = formal_base_;
    formal_base_ += static_cast<uint32_t>(f.params.size() + f.results.size());
    region(body_params, wanted, name + "_body", {with_joined_axes(g_, f.results), {}}, gates_of(outer, {&id, 1}));
    formal_base_ = outer_base;
    const std::vector<Step> body = std::exchange(plan_.steps, std::move(before));
    if (body.empty()) return;
    const uint64_t per_step = commands(body);
    if (commands(plan_.steps) + per_step * static_cast<uint64_t>(parts.length) > kCommandLimit)
      throw Error("SG0305", "a loop of " + std::to_string(parts.length) + " steps with " + std::to_string(per_step) +
                                " dispatches each is above the limit of " + std::to_string(kCommandLimit) + " dispatches");

    // Where formal buffer j lies in this step of the loop. The given accumulators are read by the first step only; the last
    // one leaves them in their result's place.
    const auto place = [&](size_t j, int64_t step) -> Moving {
      const bool result = j >= f.params.size();
      const size_t k = result ? j - f.params.size() : j;
      if (k < n_acc) {
        const int64_t left = parts.length - step - (result ? 1 : 0);
        return {!result && step == 0 ? given[k] : left % 2 == 0 ? result_place[k] : other[k], 0};
      }
      const uint64_t row_bytes = device_bytes(result ? g_[f.results[k]].type : f.params[k]);
      const int64_t row = parts.reverse ? parts.length - 1 - step : step, bytes = static_cast<int64_t>(row_bytes);
      const BufferRef whole = result ? result_place[k] : given[k];
      return {{whole.buffer, whole.offset + static_cast<uint64_t>(row) * row_bytes}, parts.reverse ? -bytes : bytes};
    };
    const size_t n_formal = f.params.size() + f.results.size();
    // One step of the loop, and in a Repeat those that are `apart`, twice `apart`, .. steps behind it.
    const auto append = [&](int64_t step, int64_t apart) {
      for (Step s : body) {
        for (BufferUse& u : s.uses) {
          Moving at = {{u.buffer, 0}, 0};
          if (u.buffer >= formal(0) && u.buffer < formal(n_formal)) at = place(u.buffer - formal(0), step);
          u.buffer = at.ref.buffer;
          u.offset += at.ref.offset;
          const int64_t stride = at.stride * apart;
          if (stride != 0 || (apart != 0 && !u.strides.empty())) u.strides.insert(u.strides.begin(), stride);
        }
        plan_.steps.push_back(std::move(s));
      }
    };
    // Places alternate, so two steps of the loop are one iteration of the Repeat; the first step is irregular.
    const int64_t period = n_acc == 0 ? 1 : 2;
    const int64_t before_repeat = n_acc == 0 ? 0 : 1 + (parts.length - 1) % 2;
    const int64_t count = (parts.length - before_repeat) / period;
    const int64_t single = count < 2 ? parts.length : before_repeat;
    for (int64_t step = 0; step < single; ++step) append(step, 0);
    if (single == parts.length) return;
    Step repeat;
    repeat.kind = Step::Kind::Repeat;
    repeat.count = static_cast<uint32_t>(count);
    repeat.body = static_cast<uint32_t>(body.size() * static_cast<size_t>(period));
    repeat.label = what + std::to_string(parts.length) + " steps";
    plan_.steps.push_back(std::move(repeat));
    for (int64_t step = single; step < single + period; ++step) append(step, period);
  }

  uint32_t formal(size_t j) const { return kFormal + formal_base_ + static_cast<uint32_t>(j); }

  Graph& g_;
  const Target& target_;
  const schedule::Scheduler& scheduler_;
  Plan plan_;
  std::unordered_map<uint32_t, uint32_t> constants_;
  std::unordered_multimap<uint64_t, uint32_t> equal_code_;  // hash of the code -> kernel
  MadeBefore made_before_;
  std::vector<std::optional<Step>> fill_first_;
  uint32_t formal_base_ = 0;
};

}  // namespace

Plan lower(const Program& p, const Target& target, const schedule::Scheduler& scheduler) {
  Program own = without_references(p);
  ir::Graph& g = *ir::make_graph_private(own);
  std::vector<NodeId> roots;
  for (const ProgramResult& r : own.results) roots.push_back({r.node});
  check_extents(g, roots);
  roots = with_joined_axes(g, roots);
  Plan plan = Lowering(g, target, scheduler).run(own, {roots, {}});
  if (!wants_turns(plan, target)) return plan;
  const Turns turns = rows_in_turns(g, roots, target);
  if (!turns.loop) return plan;
  Plan in_turns = Lowering(g, target, scheduler).run(own, turns);
  return 3 * in_turns.scratch_bytes <= 2 * plan.scratch_bytes ? in_turns : plan;
}

}  // namespace spirograd::lower
