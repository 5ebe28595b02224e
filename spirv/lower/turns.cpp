#include "spirv/lower/turns.h"

#include <algorithm>
#include <map>
#include <optional>
#include <unordered_map>
#include <unordered_set>

#include "frontend/ir/algebra.h"
#include "frontend/ir/close_loop.h"
#include "frontend/ir/strip_mine.h"
#include "frontend/ir/traverse.h"
#include "spirograd/executable.h"
#include "spirv/lower/contractions.h"
#include "spirv/lower/partition.h"
#include "spirv/lower/row_axis.h"

namespace spirograd::lower {

using ir::Expr;
using ir::Graph;
using ir::Kind;
using ir::Node;
using ir::NodeId;
using ir::Op;

namespace {

constexpr int64_t kMostParts = 256;
constexpr size_t kMostSeen =
    8;  // arrays, the largest first: what has rows in common with them is looked for in the whole region

int64_t bytes(const Type& t) { return static_cast<int64_t>(device_bytes(t)); }

// What has a buffer in any case, of which parts are read in turns.
bool is_given(const Node& n) {
  return n.op == Op::Param || n.op == Op::Proj || (n.op == Op::Const && n.type.shape.rank() > 0);
}

bool counts_along(const Node& n, int axis) { return n.op == Op::Iota && n.attr[0] == axis; }

using At = std::pair<uint32_t, int>;  // a node, and the axis that its rows lie along

// A region as turns see it.
struct Work {
  explicit Work(const Graph& graph, std::span<const NodeId> roots) : g(graph), order(ir::postorder(g, roots)) {
    for (NodeId id : order) {
      const Node& n = g[id];
      bool given = is_given(n);
      for (size_t j = 0; j < n.in.size(); ++j) {
        given = given || varies.contains(n.in[j].v);
        users[n.in[j].v].emplace_back(id, j);
      }
      if (given) varies.insert(id.v);
    }
  }
  const Graph& g;
  const std::vector<NodeId> order;
  std::unordered_set<uint32_t> varies;  // depends on what is given; all else costs little, and is made again in each part
  std::unordered_map<uint32_t, std::vector<std::pair<NodeId, size_t>>> users;
};

// All that has rows in common with one array. Rows of given arrays are only read: another use of the same array may be
// whole, or along another axis.
class Rows {
 public:
  static std::optional<Rows> along(const Work& work, NodeId array, int axis) {
    Rows rows(work);
    if (!rows.enter(array, axis) || !rows.follow() || !rows.end_once()) return {};
    return rows;
  }

  // Whether the number of a row is read.
  bool counts() const {
    return std::any_of(constant.begin(), constant.end(),
                       [&](const At& at) { return counts_along(work_->g[{at.first}], at.second); });
  }

  std::unordered_map<uint32_t, int> axis;    // of each array that is computed in turns
  std::unordered_map<uint32_t, int> summed;  // sums and scatters that add rows up: along which axis of their operands
  std::set<At> given, constant;              // what is read, and what is made again

 private:
  explicit Rows(const Work& work) : work_(&work) {}

  bool enter(NodeId id, int a) {
    const Node& n = work_->g[id];
    if (n.type.shape.rank() == kMaxRank) return false;  // parts have an axis of their own
    if (is_given(n)) return given.emplace(id.v, a), true;
    if (!work_->varies.contains(id.v)) {
      if (constant.emplace(id.v, a).second) waiting_.emplace_back(id, a);
      return true;
    }
    const auto [it, fresh] = axis.try_emplace(id.v, a);
    if (fresh) waiting_.emplace_back(id, a);
    return it->second == a;
  }

  bool follow() {
    while (!waiting_.empty()) {
      const auto [id, a] = waiting_.back();
      waiting_.pop_back();
      if (!enter_operands(id, a) || (axis.contains(id.v) && !enter_users(id, a))) return false;
    }
    return true;
  }

  bool enter_operands(NodeId id, int a) {
    const Node& n = work_->g[id];
    for (size_t j = 0; j < n.in.size(); ++j) {
      const int b = row_axis_of_operand(work_->g, n, j, a);
      if (b == kMixed) return false;
      if (b >= 0 && !enter(n.in[j], b)) return false;
    }
    return true;
  }

  bool enter_users(NodeId id, int a) {
    const auto found = work_->users.find(id.v);
    if (found == work_->users.end()) return true;
    for (const auto& [user, j] : found->second) {
      const int up = row_axis_of_result(work_->g, work_->g[user], j, a);
      if (up == kMixed || (up >= 0 && !enter(user, up)) || (up == kSummed && !enter_sum(user, a))) return false;
    }
    return true;
  }

  // Sums have one operand; updates and indices of a scatter have their first axes in common.
  bool enter_sum(NodeId id, int b) {
    const auto [it, fresh] = summed.try_emplace(id.v, b);
    if (!fresh) return it->second == b;
    for (NodeId operand : work_->g[id].in)
      if (!enter(operand, b)) return false;
    return true;
  }

  // No row needs a sum over all rows: one pass over them is enough.
  bool end_once() const {
    std::unordered_set<uint32_t> later;
    for (NodeId id : work_->order) {
      const Node& n = work_->g[id];
      const bool behind = std::any_of(n.in.begin(), n.in.end(), [&](NodeId i) { return later.contains(i.v); });
      if (behind && (axis.contains(id.v) || summed.contains(id.v))) return false;
      if (behind || summed.contains(id.v)) later.insert(id.v);
    }
    return true;
  }

  const Work* work_;
  std::vector<std::pair<NodeId, int>> waiting_;
};

// Some of the rows: `count` of them, from `first`.
class Part {
 public:
  Part(Graph& g, const Work& work, const Rows& rows, int64_t count, Expr first, std::map<At, Expr> given)
      : g_(g), rows_(rows), count_(count), first_(first), made_(std::move(given)) {
    for (NodeId id : work.order) {
      for (auto at = rows.constant.lower_bound({id.v, 0}); at != rows.constant.end() && at->first == id.v; ++at)
        made_.emplace(*at, row(id, at->second));
      if (const auto at = rows.axis.find(id.v); at != rows.axis.end()) made_.emplace(*at, row(id, at->second));
      if (const auto at = rows.summed.find(id.v); at != rows.summed.end()) sums_.emplace(id.v, summed(id, at->second));
    }
  }
  Expr sum(NodeId id) const { return sums_.at(id.v); }
  Expr array(NodeId id) const { return made_.at({id.v, rows_.axis.at(id.v)}); }

 private:
  Expr row(NodeId id, int a) {
    Node n = g_[id];
    for (size_t j = 0; j < n.in.size(); ++j)
      if (const int b = row_axis_of_operand(g_, g_[id], j, a); b >= 0) n.in[j] = made_.at({n.in[j].v, b}).id;
    n.type.shape[a] = count_;
    const bool counts = counts_along(n, a);
    const Expr e{&g_, g_.intern(std::move(n))};
    g_.copy_loc(g_, id, e.id);
    return counts ? e + ir::broadcast(first_, e.shape(), std::vector<int64_t>{}) : e;
  }

  Expr summed(NodeId id, int b) {
    Node n = g_[id];
    for (NodeId& operand : n.in) operand = made_.at({operand.v, b}).id;
    const Expr e{&g_, g_.intern(std::move(n))};
    g_.copy_loc(g_, id, e.id);
    return e;
  }

  Graph& g_;
  const Rows& rows_;
  const int64_t count_;
  const Expr first_;
  std::map<At, Expr> made_;
  std::unordered_map<uint32_t, Expr> sums_;
};

// The loop over the parts, and behind it the rows that are left.
class LoopOfTurns {
 public:
  LoopOfTurns(Graph& g, const Work& work, const Rows& rows, std::span<const NodeId> roots, int64_t extent, int64_t count)
      : g_(g), work_(work), rows_(rows), extent_(extent), count_(count), parts_(extent / count) {
    std::unordered_set<uint32_t> seen;
    for (NodeId id : work.order)
      if (rows.summed.contains(id.v)) sums_.push_back(id);
    for (NodeId id : roots)
      if (rows.axis.contains(id.v) && seen.insert(id.v).second) arrays_.push_back(id);
  }

  // What becomes of sums and of results with rows; the loop itself.
  std::pair<ir::Memo, NodeId> run() {
    std::vector<Expr> acc, es, vars, results;
    const auto variable = [&](std::vector<Expr>& operands, Expr operand, const Type& t) {
      operands.push_back(operand);
      return vars.emplace_back(ir::fresh_var(g_, t));
    };
    std::vector<Expr> states;
    for (NodeId id : sums_) states.push_back(variable(acc, ir::zeros(g_, g_[id].type), g_[id].type));
    Expr first;  // row of each part
    if (rows_.counts()) {
      const Expr numbers = ir::iota(g_, {parts_}, 0);
      const Expr firsts = numbers * ir::full(g_, {DType::I32, {parts_}}, static_cast<double>(count_));
      first = variable(es, firsts, {DType::I32, {}});
    }
    std::map<At, Expr> given;
    for (const At& at : rows_.given) {
      Type t = g_[{at.first}].type;
      t.shape[at.second] = count_;
      given[at] = variable(es, in_parts({&g_, {at.first}}, at.second), t);
    }
    const Part part(g_, work_, rows_, count_, first, std::move(given));
    for (size_t j = 0; j < sums_.size(); ++j) results.push_back(states[j] + part.sum(sums_[j]));
    for (NodeId id : arrays_) results.push_back(part.array(id));
    std::vector<Expr> all = ir::close_loop(g_, acc, es, vars, results, false, parts_);
    const NodeId loop = all[0].in(0).id;
    for (size_t j = 0; j < arrays_.size(); ++j)
      all[sums_.size() + j] = joined(all[sums_.size() + j], rows_.axis.at(arrays_[j].v));
    if (parts_ * count_ < extent_) add_rest(all);
    ir::Memo memo;
    for (size_t j = 0; j < all.size(); ++j) memo[(j < sums_.size() ? sums_[j] : arrays_[j - sums_.size()]).v] = all[j].id;
    return {std::move(memo), loop};
  }

 private:
  Expr rows(Expr e, int a, int64_t from, int64_t count) const { return windowed(e, a, from, count); }

  // Axis `a` as parts, which come first.
  Expr in_parts(Expr e, int a) const {
    const Expr whole = rows(e, a, 0, parts_ * count_);
    Shape shape = whole.shape().inserted(a, parts_);
    shape[a + 1] = count_;
    std::vector<int64_t> front = {a};
    for (int b = 0; b < shape.rank(); ++b)
      if (b != a) front.push_back(b);
    return ir::transpose(ir::reshape(whole, shape), front);
  }

  // The other way around.
  Expr joined(Expr stack, int a) const {
    std::vector<int64_t> back;
    for (int b = 1; b < stack.rank(); ++b) back.push_back(b);
    back.insert(back.begin() + a, 0);
    Shape shape = stack.shape().erased(0);
    shape[a] = parts_ * count_;
    return ir::reshape(ir::transpose(stack, back), shape);
  }

  void add_rest(std::vector<Expr>& all) const {
    const int64_t from = parts_ * count_, left = extent_ - from;
    std::map<At, Expr> given;
    for (const At& at : rows_.given) given[at] = rows({&g_, {at.first}}, at.second, from, left);
    const Part rest(g_, work_, rows_, left, ir::scalar(g_, DType::I32, static_cast<double>(from)), std::move(given));
    for (size_t j = 0; j < sums_.size(); ++j) all[j] = all[j] + rest.sum(sums_[j]);
    for (size_t j = 0; j < arrays_.size(); ++j) {
      Expr& array = all[sums_.size() + j];
      array = ir::concat(std::vector<Expr>{array, rest.array(arrays_[j])}, rows_.axis.at(arrays_[j].v));
    }
  }

  Graph& g_;
  const Work& work_;
  const Rows& rows_;
  const int64_t extent_, count_, parts_;
  std::vector<NodeId> sums_, arrays_;
};

struct RowsInTurns {
  std::optional<Rows> rows;
  int64_t extent = 0, count = 0;  // rows, and those of a part
  int64_t saved = 0;              // bytes
};

// `saved` is 0 if it is not worth it: sums are read and written in each turn.
RowsInTurns in_turns(const Work& work, const std::vector<NodeId>& stored, Rows rows, int64_t extent, int64_t resident) {
  int64_t all = 0, sums = 0;
  for (NodeId id : stored)
    if (rows.axis.contains(id.v)) all += bytes(work.g[id].type);
  for (const auto& [id, axis] : rows.summed) sums += bytes(work.g[{id}].type);
  // An operation is a few commands at most, in each turn.
  const auto most = static_cast<int64_t>(kCommandLimit / (8 * work.order.size()));
  const int64_t parts = std::min({extent, kMostParts, most, all / resident + 1});
  if (parts < 2) return {};
  // Half as many again are no harm if no rows are left.
  const int64_t count = ir::chunk_length(extent, std::min(extent / 2, extent / parts * 3 / 2));
  if (2 * sums * (extent / count) > all) return {};
  return {std::move(rows), extent, count, all - all * count / extent - 2 * sums};
}

// The axis along which turns save most of what is stored.
RowsInTurns best_turns(const Work& work, std::vector<NodeId> stored, int64_t resident) {
  const auto size = [&](NodeId id) { return bytes(work.g[id].type); };
  std::stable_sort(stored.begin(), stored.end(), [&](NodeId a, NodeId b) { return size(a) > size(b); });
  RowsInTurns best;
  for (NodeId array : std::span(stored).first(std::min(stored.size(), kMostSeen))) {
    const Shape& shape = work.g[array].type.shape;
    for (int a = 0; a < shape.rank(); ++a) {
      std::optional<Rows> rows = shape[a] < 2 ? std::nullopt : Rows::along(work, array, a);
      if (!rows) continue;
      RowsInTurns turns = in_turns(work, stored, *std::move(rows), shape[a], resident);
      if (turns.saved > best.saved) best = std::move(turns);
    }
  }
  return best;
}

}  // namespace

bool wants_turns(const Plan& plan, const Target& target) {
  uint64_t outside = 0;
  for (const BufferDesc& b : plan.buffers)
    if (b.role == Role::Input || b.role == Role::Output) outside += b.bytes;
  const uint64_t resident = target.price.resident;
  return resident > 0 && plan.scratch_bytes > std::max(2 * resident, outside);
}

Turns rows_in_turns(Graph& g, std::span<const NodeId> roots, const Target& target) {
  Turns out{.roots = {roots.begin(), roots.end()}, .loop = {}};
  const Partition partition = choose_partition(g, roots, {}, {}, {}, {}, target);
  std::vector<NodeId> stored;
  for (NodeId id : partition.order)
    if (partition.roots.contains(id.v) && g[id].op != Op::MapAccum &&
        std::find(roots.begin(), roots.end(), id) == roots.end())
      stored.push_back(id);
  const Work work(g, roots);
  const RowsInTurns turns = best_turns(work, std::move(stored), static_cast<int64_t>(target.price.resident));
  if (!turns.rows) return out;
  auto [memo, loop] = LoopOfTurns(g, work, *turns.rows, roots, turns.extent, turns.count).run();
  out.loop = loop;
  out.roots = ir::rebuild(g, roots, memo);
  return out;
}

}  // namespace spirograd::lower
