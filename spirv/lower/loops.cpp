// Which loops run inside one kernel.
#include "spirv/lower/loops.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <optional>
#include <set>
#include <unordered_map>

#include "frontend/ir/algebra.h"
#include "frontend/ir/traverse.h"
#include "spirv/lower/associative.h"
#include "spirv/lower/element_loops.h"
#include "spirv/lower/own_kernels.h"
#include "spirv/lower/partition.h"
#include "spirv/lower/shared_state.h"
#include "spirv/schedule/cost.h"

namespace spirograd::lower {

using ir::Graph;
using ir::Node;
using ir::NodeId;
using ir::Op;

namespace {

constexpr int64_t kWholeState = 32;   // elements of state of an invocation that keeps all of them
constexpr int64_t kOwnElements = 16;  // of one array, that an invocation of several keeps in registers,
constexpr int64_t kOwnState = 100;    // and of all
constexpr int64_t kOwnInMemory = 1024;
constexpr double kWakingThreads = 12;  // times what a dispatch takes without it, measured on lavapipe 25
constexpr double kTurn = 12;           // operations that each element of a loop over elements takes besides its own
constexpr double kBarrier = 200;       // operations that a barrier takes, about,
constexpr double kKept = 1;            // and a load of what is at hand
constexpr int64_t kMembers = 256;
// Elements that an invocation computes side by side for the others, where barriers are dear: drivers for processors make
// branches of each lane that stores one, and take time that grows with the square of their number.
constexpr int64_t kSharedSideBySide = 32;
constexpr double kTurnCode = 16;  // instructions of what is put into memory only so that it can be computed in turn
constexpr double kPartCode = 2;   // instructions that choose one of them

// A scatter of one element, or of one row: a choice at each place of the array.
bool is_single_update(const Graph& g, const Node& n) {
  return ir::is_scatter(n.op) && n.in.size() > 1 && g[n.in[1]].type.shape.rank() == 0;
}

double elements(const Graph& g, NodeId id) { return static_cast<double>(std::max<int64_t>(1, g[id].type.shape.count())); }

// Operations of one step if each element of each array is computed once; nothing but what moves elements is free.
double step_work(const Graph& g, NodeId id) {
  const ir::LoopParts parts = ir::loop_parts(g, g[id]);
  double work = 0;
  for (NodeId at : ir::postorder(g, g.function(parts.function).results)) {
    const Node& n = g[at];
    double count = elements(g, at);
    if (ir::info(n.op).kind == ir::Kind::Reduce) count = elements(g, n.in[0]);
    if (n.op == Op::Gather) count *= std::min<double>(elements(g, n.in[0]), static_cast<double>(kWholeState));
    work += op_cost(n) * count;
    if (n.op == Op::MapAccum) work += step_work(g, at);
  }
  return work;
}

// Whether one invocation may keep all of the state in registers: what reads it is unrolled.
bool fits_one_invocation(const Graph& g, NodeId id) {
  const ir::LoopParts parts = ir::loop_parts(g, g[id]);
  const ir::Function& f = g.function(parts.function);
  int64_t state = 0;
  for (NodeId r : f.results) state += g[r].type.shape.count();
  if (state > kWholeState) return false;
  for (NodeId at : ir::postorder(g, f.results)) {
    const Node& n = g[at];
    if (ir::is_scatter(n.op)) return false;
    if (n.op == Op::Proj && n.attr[0] >= ir::loop_parts(g, g[n.in[0]]).n_acc) return false;
    if (n.op == Op::MapAccum && (ir::loop_parts(g, n).length == 0 || !fits_one_invocation(g, at))) return false;
  }
  return true;
}

// Neighbouring invocations of one workgroup: where more would run one after another, as many as run at once.
int64_t members_for(int64_t largest, const Target& t) {
  const int64_t most = t.price.cooperates ? kMembers : t.price.lanes;
  const auto wanted = static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(largest)));
  return std::min<int64_t>({std::max<int64_t>(wanted, 2), most, t.max_invocations});
}

int64_t own_elements(const Graph& g, NodeId id, const LoopForm& form) {
  return schedule::divided_up(g[id].type.shape.count(), form.members);
}

int64_t shared_bytes(const Graph& g, const LoopForm& form) {
  int64_t bytes = 0;
  for (const std::vector<NodeId>& level : form.shared)
    for (NodeId n : level)
      bytes += own_elements(g, n, form) * form.members * static_cast<int64_t>(device_bytes(g[n].type.dtype));
  return bytes;
}

// Of states in memory, each in two places.
int64_t state_bytes(const Graph& g, const ir::LoopParts& parts, const LoopForm& form) {
  int64_t bytes = 0;
  const ir::Function& f = g.function(parts.function);
  for (size_t j = 0; j < static_cast<size_t>(parts.n_acc); ++j)
    if (f.params[j].shape.rank() > 0)
      bytes +=
          2 * own_elements(g, f.results[j], form) * form.members * static_cast<int64_t>(device_bytes(f.params[j].dtype));
  return bytes;
}

// Has elements computed one after another whose code would be long, side by side.
void take_turns(const Graph& g, const SharedNodes& nodes, int64_t length, const Target& t, LoopForm& form) {
  int64_t written_out = 0;
  for (const std::vector<NodeId>& level : form.shared)
    for (NodeId n : level) written_out += own_elements(g, n, form);
  if (written_out <= kSharedSideBySide) return;
  LoopForm turns = form;
  turns.shared.push_back(nodes.from_memory(kTurnCode));
  if (turns.shared.back().empty() || shared_bytes(g, turns) > t.shared_bytes) turns.shared.pop_back();
  int64_t iterations = 0;
  for (const std::vector<NodeId>& level : turns.shared)
    for (NodeId n : level)
      if (own_elements(g, n, form) > 1 && nodes.code_from_memory(n)) {
        iterations += own_elements(g, n, form);
        turns.in_turn.insert(n.v);
      }
  if (iterations * length <= schedule::most_elements(t)) form = std::move(turns);
}

// By neighbouring invocations of one workgroup; more than usual where each would have more elements of one array than `own`.
LoopForm one_workgroup(const Graph& g, const ir::Function& f, int64_t own, const Target& t) {
  LoopForm form{LoopForm::Kind::Together};
  const int64_t largest = largest_result(g, f);
  form.members = members_for(largest, t);
  while (t.price.cooperates && own * form.members < largest && 2 * form.members <= t.max_invocations) form.members *= 2;
  return form;
}

// Instructions of a step that computes each node at so many places. None: a workgroup cannot run it.
template <class Places>
std::optional<double> code_of_step(const Graph& g, const ir::Function& f, const Places& places) {
  double code = 0;
  for (NodeId at : ir::postorder(g, f.results)) {
    const Node& n = g[at];
    if ((ir::is_scatter(n.op) && !is_single_update(g, n)) || n.op == Op::MapAccum) return std::nullopt;
    const size_t parts_of = has_parts(n) ? n.in.size() : 0;
    if (parts_of > kParts) return std::nullopt;
    code += (op_cost(n) + kPartCode * static_cast<double>(parts_of)) * static_cast<double>(places(at));
  }
  return code;
}

// With the state in registers.
std::optional<LoopForm> by_one_workgroup(const Graph& g, const ir::LoopParts& parts, LoopForm form, const Target& t) {
  if (!t.shared_memory) return std::nullopt;
  const ir::Function& f = g.function(parts.function);
  int64_t state = 0;
  const auto own = [&](NodeId n) { return own_elements(g, n, form); };
  for (NodeId r : f.results) {
    if (own(r) > kOwnElements) return std::nullopt;
    state += own(r);
  }
  const std::optional<double> code = code_of_step(g, f, [&](NodeId n) { return std::min(own(n), kOwnElements); });
  if (!code || state > kOwnState || *code > 2 * static_cast<double>(kStepCode)) return std::nullopt;
  SharedNodes nodes(g, parts, form.members, kOwnElements);
  std::optional<std::vector<std::vector<NodeId>>> shared = nodes.levels();
  if (!shared) return std::nullopt;
  form.shared = std::move(*shared);
  if (shared_bytes(g, form) > t.shared_bytes) return std::nullopt;
  if (!t.price.cooperates) take_turns(g, nodes, parts.length, t, form);
  return form;
}

// Whether what is only added to is kept with what additions rounded away, which memory has no place for.
bool is_running_sum(const Graph& g, const ir::LoopParts& parts, int slot) {
  const ir::Function& f = g.function(parts.function);
  const Type& type = f.params[static_cast<size_t>(slot)];
  if (type.dtype != DType::F32 || type.shape.rank() == 0) return false;  // a scalar is an invocation's own
  const std::optional<AssociativeStep> step = associative_step(g, f, slot);
  return step && step->op == Op::Add;
}

// With the state in memory: any size, little code.
std::optional<LoopForm> by_one_workgroup_in_memory(const Graph& g, const ir::LoopParts& parts, LoopForm form,
                                                   const Target& t) {
  if (!t.shared_memory) return std::nullopt;
  const ir::Function& f = g.function(parts.function);
  form.in_memory = true;
  for (NodeId r : f.results)
    if (own_elements(g, r, form) > kOwnInMemory || g[r].type.dtype == DType::Bool) return std::nullopt;
  for (int slot = 0; slot < parts.n_acc; ++slot)
    if (is_running_sum(g, parts, slot)) return std::nullopt;
  const std::optional<double> code = code_of_step(g, f, [](NodeId) { return 1; });
  if (!code || *code > static_cast<double>(kStepCode)) return std::nullopt;
  std::optional<std::vector<std::vector<NodeId>>> shared = SharedNodes(g, parts, form.members, kOwnInMemory).levels();
  if (!shared) return std::nullopt;
  form.shared = std::move(*shared);
  for (std::vector<NodeId>& level : form.shared) {
    std::erase_if(level, [&](NodeId n) { return g[n].op == Op::Param; });  // state is there anyway
    for (NodeId n : level)
      if (own_elements(g, n, form) > 1) form.in_turn.insert(n.v);
  }
  std::erase_if(form.shared, [](const std::vector<NodeId>& level) { return level.empty(); });
  return shared_bytes(g, form) + state_bytes(g, parts, form) <= t.shared_bytes ? std::optional(form) : std::nullopt;
}

// What a member of the workgroup does in one step.
struct MemberWork {
  double operations = 0;
  bool keeps = false;  // it reads some array in all steps alike, and has it at hand
};

// What all have to know, each computes for itself.
MemberWork member_work(const Graph& g, NodeId id, const LoopForm& form, const Target& t) {
  const ir::LoopParts parts = parts_of(g, g[id], form);
  const std::vector<NodeId> results = g.function(parts.function).results;
  const std::vector<NodeId> order = ir::postorder(g, results);
  std::unordered_map<uint32_t, double> times;
  std::set<uint32_t> shared;
  const auto own = [&](NodeId n) { return std::ceil(elements(g, n) / static_cast<double>(form.members)); };
  for (NodeId r : results) times[r.v] = own(r);
  for (const std::vector<NodeId>& level : form.shared)
    for (NodeId n : level) times[n.v] = own(n), shared.insert(n.v);
  MemberWork out = {kBarrier * static_cast<double>(form.shared.size() + 1)};
  double& work = out.operations;
  if (form.in_memory)
    for (const auto& [computed, count] : times) work += count * (kTurn + t.price.shared_load);
  const bool keeps = is_subgroup(form, t);
  const auto is_kept = [&](const Node& n, double count) {
    return keeps && n.op == Op::Param && n.attr[0] >= parts.n_acc + parts.n_es && n.type.shape.rank() > 0 && count > 1 &&
           count <= static_cast<double>(schedule::kMostKept);
  };
  for (auto at = order.rbegin(); at != order.rend(); ++at) {
    const Node& n = g[*at];
    const double here = times[at->v];
    const bool kept = is_kept(n, here);
    out.keeps = out.keeps || kept;
    work += here * (kept ? kKept : n.op == Op::Param ? t.price.load : op_cost(n));
    for (NodeId in : n.in) {
      double there = here;
      if (ir::info(n.op).kind == ir::Kind::Reduce) there *= elements(g, in) / elements(g, *at);
      if (shared.contains(in.v)) {
        work += there * t.price.shared_load;
      } else {
        times[in.v] = std::max(times[in.v], std::min(there, elements(g, in)));
      }
    }
  }
  return out;
}

// What a step costs as dispatches besides its work: one, and one for each reduction and each scatter. Drivers for processors
// are asked to run little work without waking their threads, which is most of the price of a dispatch there.
double dispatches_of_little_work(const Graph& g, NodeId id, const Target& t) {
  double count = 1;
  for (NodeId at : ir::postorder(g, g.function(ir::loop_parts(g, g[id]).function).results)) {
    const Node& n = g[at];
    count += ir::is_scatter(n.op) || (ir::info(n.op).kind == ir::Kind::Reduce && elements(g, n.in[0]) > 4 * elements(g, at));
  }
  return count * t.price.dispatch / (t.price.cooperates ? 1 : kWakingThreads);
}

// A workgroup for each block of rows, as few as fill a subgroup, if that takes less than `least` operations of a busy device
// for each step. Where barriers are dear its dispatches are as fast, unless members have at hand what all steps read.
std::optional<LoopForm> by_blocks(Graph& g, NodeId id, const Target& t, double least) {
  const ir::LoopParts whole = ir::loop_parts(g, g[id]);
  const std::optional<int64_t> rows = rows_of_state(g, whole);
  const bool may_pay = t.price.cooperates || schedule::tiles_by_lanes(t);  // else none keeps anything
  if (!rows || *rows < 2 || !may_pay || !t.shared_memory) return std::nullopt;
  const int64_t row = std::max<int64_t>(1, largest_result(g, g.function(whole.function)) / *rows);
  int64_t block = std::clamp<int64_t>(t.price.lanes / row, 1, *rows / 2);
  while (*rows % block != 0) --block;
  std::optional<RowBlocks> blocks = in_row_blocks(g, id, block);
  if (!blocks) return std::nullopt;
  const ir::Function& f = g.function(blocks->parts.function);
  std::optional<LoopForm> form = by_one_workgroup(g, blocks->parts, one_workgroup(g, f, kOwnElements, t), t);
  if (!form) form = by_one_workgroup_in_memory(g, blocks->parts, one_workgroup(g, f, kOwnInMemory, t), t);
  if (!form) return std::nullopt;
  form->blocks = std::move(blocks);
  const double at_once = std::max<double>(t.price.busy, static_cast<double>(invocations(*form)));
  const MemberWork work = member_work(g, id, *form, t);
  return (t.price.cooperates || work.keeps) && work.operations * at_once <= least ? form : std::nullopt;
}

int64_t code_with_loops_inside(const Graph& g, NodeId loop) {
  int64_t code = 0;
  for (NodeId at : ir::postorder(g, g.function(ir::loop_parts(g, g[loop]).function).results))
    code += op_cost(g[at]) + (g[at].op == Op::MapAccum ? code_with_loops_inside(g, at) : 0);
  return code;
}

// Elements of the state that an invocation computes side by side: they wait for one another less than for themselves.
int64_t elements_per_invocation(const Graph& g, NodeId id, const Shape& state, const Target& t) {
  constexpr int64_t kMost = 4;
  const int64_t code = code_with_loops_inside(g, id);
  int64_t own = 1;
  while (own < kMost && 2 * own * t.price.busy <= state.count() && 2 * own * code <= schedule::kSideBySideCode) own *= 2;
  return own;
}

}  // namespace

LoopForm loop_form(Graph& g, NodeId id, const Target& t) {
  const ir::LoopParts parts = ir::loop_parts(g, g[id]);
  if (parts.length == 0 || calls_kernels(g, parts.function)) return {};
  for (NodeId r : g.function(parts.function).results)
    if (g[r].type.shape.count() == 0) return {};
  LoopForm form;
  if (const std::optional<Shape> state = state_of_elements(g, id)) {
    form.kind = LoopForm::Kind::Elements;
    form.state = *state;
    form.own = elements_per_invocation(g, id, form.state, t);
    // On processors those of a subgroup: what a step reads lies on few pages, and each line of a cache is read to its end.
    const bool few = !t.price.coalesces && form.own > 1;
    form.beside = few ? t.price.lanes : schedule::divided_up(form.state.count(), form.own);
    return form;
  }
  if (const std::optional<Shape> rows = state_of_rows(g, id)) {
    form.kind = LoopForm::Kind::Rows;
    form.state = *rows;
    form.beside = form.state.count();
    return form;
  }
  // A step's work where few invocations share it, against the dispatch that it would be at least.
  const double work = step_work(g, id);
  std::optional<LoopForm> best;
  double least = t.price.dispatch;
  if (work <= static_cast<double>(kStepCode) && work * schedule::idle(1, t) <= least && fits_one_invocation(g, id)) {
    best = LoopForm{LoopForm::Kind::Together};
    least = work * schedule::idle(1, t);
  }
  const ir::Function& f = g.function(parts.function);
  if (std::optional<LoopForm> group = by_one_workgroup(g, parts, one_workgroup(g, f, kOwnElements, t), t)) {
    const double time = member_work(g, id, *group, t).operations * schedule::idle(1, t);
    if (time <= least) best = std::move(group), least = time;
  } else if (std::optional<LoopForm> in_memory =
                 by_one_workgroup_in_memory(g, parts, one_workgroup(g, f, kOwnInMemory, t), t)) {
    const double time = member_work(g, id, *in_memory, t).operations * schedule::idle(1, t);
    if (time <= std::min(least, dispatches_of_little_work(g, id, t))) best = std::move(in_memory), least = time;
  }
  if (!best) least = work + dispatches_of_little_work(g, id, t);
  if (std::optional<LoopForm> blocks = by_blocks(g, id, t, least)) return *std::move(blocks);
  return best.value_or(LoopForm{});
}

bool is_subgroup(const LoopForm& form, const Target& t) {
  return schedule::tiles_by_lanes(t) && form.members == t.subgroup_size;
}

ir::LoopParts parts_of(const Graph& g, const Node& map_accum, const LoopForm& form) {
  return form.blocks ? form.blocks->parts : ir::loop_parts(g, map_accum);
}

int64_t invocations(const LoopForm& form) {
  if (form.kind == LoopForm::Kind::Together) return form.members * (form.blocks ? form.blocks->count() : 1);
  return schedule::divided_up(form.state.count(), form.own * form.beside) * form.beside;
}

std::vector<double> loads_of_operands(const Graph& g, NodeId id, const LoopForm& form) {
  const ir::LoopParts parts = ir::loop_parts(g, g[id]);
  const std::vector<bool> anywhere = read_anywhere(g, id);
  const int axes = form.state.rank();
  const bool rows = form.kind == LoopForm::Kind::Rows;
  std::vector<double> out;
  for (size_t j = 0; j < g[id].in.size(); ++j) {
    const Shape& s = g[g[id].in[j]].type.shape;
    const auto begins = [&](int from) { return s.rank() >= from + axes && s.slice(from, from + axes) == form.state; };
    const bool state = j < static_cast<size_t>(parts.n_acc);
    const bool of_step = !state && j < static_cast<size_t>(parts.n_acc + parts.n_es);
    const double all = elements(g, g[id].in[j]);
    const double own = std::max(1.0, all / static_cast<double>(std::max<int64_t>(1, form.state.count())));
    if (s.rank() == 0 || (state && !rows)) {
      out.push_back(1);
    } else if (state || (of_step && begins(1))) {
      out.push_back(own);
    } else if (!of_step && begins(0) && (rows || s == form.state)) {
      out.push_back(anywhere[j] ? own * static_cast<double>(parts.length) : own);
    } else {
      out.push_back(all);
    }
  }
  return out;
}

bool is_stack(const Graph& g, const Node& n) { return n.op == Op::Proj && n.attr[0] >= ir::loop_parts(g, g[n.in[0]]).n_acc; }

std::vector<NodeId> arrays_inside(const Graph& g, NodeId loop) {
  std::vector<NodeId> out;
  for (NodeId id : ir::postorder(g, g.function(ir::loop_parts(g, g[loop]).function).results)) {
    const Node& n = g[id];
    if ((n.op == Op::Const && n.type.shape.rank() > 0) || is_stack(g, n)) out.push_back(id);
    if (n.op != Op::MapAccum) continue;
    const std::vector<NodeId> further = arrays_inside(g, id);
    out.insert(out.end(), further.begin(), further.end());
  }
  return out;
}

}  // namespace spirograd::lower
