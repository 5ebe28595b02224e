// A minimal cut. Between the state and what the transposed step reads lie the values that follow from the state; each may be
// kept for as many bytes as it has, and every way from the state to a reader has to pass something that is kept. Values are
// pairs of points joined by a pipe as wide as they are large, uses are pipes without bound; as much water as flows at most
// is what the narrowest cut holds (Ford and Fulkerson), which lies where water still comes from the state.
#include "ad/kept.h"

#include <algorithm>
#include <functional>
#include <limits>
#include <optional>
#include <unordered_map>
#include <unordered_set>

#include "ad/scope.h"
#include "frontend/ir/algebra.h"
#include "frontend/ir/loop.h"
#include "frontend/ir/own_graph.h"
#include "frontend/ir/traverse.h"
#include "frontend/rewrite/vectorise.h"

namespace spirograd::ad {

using namespace ir;

namespace {

constexpr int64_t kUnbounded = std::numeric_limits<int64_t>::max() / 4;
constexpr size_t kMostVisits = size_t{1} << 24;  // of pipes: a tenth of a second

class Pipes {
 public:
  explicit Pipes(size_t points) : from_(points) {}

  void join(size_t a, size_t b, int64_t room) {
    from_[a].push_back(ends_.size());
    ends_.push_back({b, room});
    from_[b].push_back(ends_.size());
    ends_.push_back({a, 0});
  }

  /// Fills the pipes along shortest ways. False where that takes too long.
  bool fill(size_t source, size_t sink) {
    while (reach(source), visits_ <= kMostVisits) {
      if (!reached(sink)) return true;
      int64_t most = kUnbounded;
      for (size_t p = sink; p != source; p = ends_[by_[p] ^ 1].to) most = std::min(most, ends_[by_[p]].room);
      for (size_t p = sink; p != source; p = ends_[by_[p] ^ 1].to) {
        ends_[by_[p]].room -= most;
        ends_[by_[p] ^ 1].room += most;
      }
    }
    return false;
  }

  /// Whether more water could get there from the source.
  bool reached(size_t p) const { return by_[p] != kDry; }

 private:
  static constexpr size_t kDry = SIZE_MAX;
  struct End {
    size_t to;
    int64_t room;
  };

  void reach(size_t source) {
    by_.assign(from_.size(), kDry);
    by_[source] = 0;
    std::vector<size_t> wet = {source};
    for (size_t next = 0; next < wet.size(); ++next)
      for (const size_t e : from_[wet[next]]) {
        ++visits_;
        if (ends_[e].room == 0 || reached(ends_[e].to)) continue;
        by_[ends_[e].to] = e;
        wet.push_back(ends_[e].to);
      }
  }

  std::vector<std::vector<size_t>> from_;
  std::vector<End> ends_;   // of pipe e; e ^ 1 runs the other way
  std::vector<size_t> by_;  // the pipe by which water gets there
  size_t visits_ = 0;
};

int64_t bytes(const Type& t) { return static_cast<int64_t>(device_bytes(t)); }

// A value of a step becomes a row of a stack.
bool may_be_row(const Node& n) { return n.op != Op::MapAccum && n.type.shape.rank() < kMaxRank; }

// What lies between values that are there and cotangents that meet what is computed of them.
class Between {
 public:
  /// Water comes from `starts`, and from nodes below `results` of which `is_start` says so.
  Between(Graph& g, std::span<const Expr> starts, std::span<const Expr> results,
          const std::function<bool(const Node&)>& is_start)
      : g_(g) {
    const std::vector<NodeId> roots = ids_of(results), order = postorder(g, roots);
    std::vector<bool> wanted(g.size(), false);
    for (NodeId id : order) wanted[id.v] = true;
    for (Expr s : starts)
      if (wanted[s.id.v]) enter(s.id, true);
    for (NodeId id : order) {
      const auto& in = g[id].in;
      if (g[id].has_var) {
        for (NodeId operand : in) meet(operand);
      } else if (!number_.contains(id.v)) {
        const bool start = is_start(g[id]);
        if (start || std::any_of(in.begin(), in.end(), [&](NodeId operand) { return number_.contains(operand.v); }))
          enter(id, start);
      }
    }
    for (NodeId id : roots) meet(id);
    mark();
  }

  std::vector<Expr> starts() const { return those(starts_); }
  /// Where a cotangent meets one: what has to be known if nothing is computed again.
  std::vector<Expr> met() const { return those(met_); }

  /// Whether the user has said what to keep.
  bool is_marked() const { return !preferred_.empty() || !unwanted_.empty(); }

  /// Of those that are computed.
  bool any(const std::function<bool(const Node&)>& holds) const {
    for (size_t j = 0; j < values_.size(); ++j)
      if (!starts_[j] && holds(g_[values_[j]])) return true;
    return false;
  }

  /// The fewest bytes that hold back all water; nothing where finding them would take long.
  std::optional<std::vector<Expr>> narrowest(const std::function<bool(const Node&)>& may_be_kept) const {
    const size_t source = 2 * values_.size(), sink = source + 1;
    Pipes pipes(sink + 1);
    for (size_t j = 0; j < values_.size(); ++j) {
      const Node& n = g_[values_[j]];
      pipes.join(2 * j, 2 * j + 1, starts_[j] || may_be_kept(n) ? price(j) : kUnbounded);
      if (starts_[j]) pipes.join(source, 2 * j, kUnbounded);
      if (met_[j]) pipes.join(2 * j + 1, sink, kUnbounded);
      if (starts_[j]) continue;
      for (NodeId operand : n.in)
        if (const auto it = number_.find(operand.v); it != number_.end()) pipes.join(2 * it->second + 1, 2 * j, kUnbounded);
    }
    if (!pipes.fill(source, sink)) return std::nullopt;
    std::vector<bool> kept(values_.size());
    for (size_t j = 0; j < values_.size(); ++j) kept[j] = pipes.reached(2 * j) && !pipes.reached(2 * j + 1);
    return those(kept);
  }

 private:
  void enter(NodeId id, bool start) {
    number_[id.v] = values_.size();
    values_.push_back(id);
    starts_.push_back(start);
    met_.push_back(false);
  }
  // What keeping a value costs: its bytes, unless the user has said what to do.
  int64_t price(size_t j) const {
    const NodeId id = values_[j];
    return preferred_.contains(id.v) ? 0 : !starts_[j] && unwanted_.contains(id.v) ? kUnbounded : bytes(g_[id].type);
  }
  // Marks belong to the value below them, which cotangents may need where they do not need the mark.
  void mark() {
    if (!g_.has(Op::PreferStore) && !g_.has(Op::PreferRecompute)) return;
    for (uint32_t id = 0; id < g_.size(); ++id) {
      const Node& n = g_[NodeId{id}];
      if (n.op == Op::PreferStore) preferred_.insert(n.in[0].v);
      if (n.op == Op::PreferRecompute) unwanted_.insert({id, n.in[0].v});
    }
  }
  void meet(NodeId id) {
    if (const auto it = number_.find(id.v); it != number_.end()) met_[it->second] = true;
  }
  std::vector<Expr> those(const std::vector<bool>& wanted) const {
    std::vector<Expr> out;
    for (size_t j = 0; j < values_.size(); ++j)
      if (wanted[j]) out.push_back({&g_, values_[j]});
    return out;
  }

  Graph& g_;
  std::unordered_map<uint32_t, size_t> number_;
  std::unordered_set<uint32_t> preferred_, unwanted_;  // to be kept
  std::vector<NodeId> values_;
  std::vector<bool> starts_, met_;
};

}  // namespace

std::vector<Expr> least_kept(Graph& g, std::span<const Expr> state, std::span<const Expr> results) {
  const Between between(g, state, results, [](const Node&) { return false; });
  std::vector<Expr> all = between.starts();
  int64_t all_bytes = 0;
  for (Expr e : all) all_bytes += bytes(e.type());
  const auto is_worth_it = [&](const Node& n) { return may_be_row(n) && bytes(n.type) < all_bytes; };
  if (!between.any(is_worth_it) && !between.is_marked()) return all;
  return between.narrowest(may_be_row).value_or(all);
}

std::vector<Expr> least_passed(Graph& g, std::span<const Expr> results) {
  const auto is_start = [](const Node& n) {
    return n.op == Op::Param || n.op == Op::Proj || ir::is_scatter(n.op) || kind(n.op) == Kind::Reduce;
  };
  const Between between(g, {}, results, is_start);
  return between.narrowest([](const Node& n) { return n.op != Op::MapAccum; }).value_or(between.met());
}

namespace {

// A program of one step.
Program step_of(const Graph& g, const Function& f) {
  // Only read, and only while the trace is here.
  Program p = {.name = "step", .graph = {std::shared_ptr<const Graph>(), &g}, .params = {}, .results = {}};
  for (const Type& t : f.params) p.params.push_back({"", t});
  for (NodeId r : f.results) p.results.push_back({"", r.v, g[r].type});
  return p;
}

int64_t bytes_of_step(Program step, size_t n_state) {
  step = rewrite::vectorise(step);
  Graph& g = *make_graph_private(step);
  std::vector<Expr> params, inputs, roots, cotangents;
  std::vector<Zeros> zeros;
  for (const Param& p : step.params) {
    params.push_back(param(g, static_cast<int64_t>(params.size()), p.type));
    if (is_float(p.type.dtype)) inputs.push_back(params.back());
  }
  for (const ProgramResult& r : step.results) {
    roots.push_back({&g, {r.node}});
    cotangents.push_back(is_float(r.type.dtype) ? fresh_var(g, r.type) : Expr{});
    zeros.push_back(cotangents.back() ? Zeros::None : Zeros::Absent);
  }
  std::vector<Expr> transposed = pull_back(g, roots, inputs, cotangents, zeros).linear;
  std::erase_if(transposed, [](Expr e) { return !e; });
  int64_t sum = 0;
  for (Expr e : least_kept(g, std::span(params).first(n_state), transposed)) sum += bytes(e.type());
  return sum;
}

}  // namespace

int64_t bytes_per_step(Graph& g, NodeId map_accum) {
  const auto n_acc = static_cast<size_t>(loop_parts(g, g[map_accum]).n_acc);
  const Function& f = g.function(g[map_accum].attr[0]);
  const Result<int64_t> known = guarded([&] { return bytes_of_step(step_of(g, f), n_acc); });
  if (known) return known.value();
  // A step without a derivative keeps nothing, and is no mistake as long as nobody asks for one.
  int64_t state = 0;
  for (size_t j = 0; j < n_acc; ++j) state += bytes(f.params[j]);
  return state;
}

}  // namespace spirograd::ad
