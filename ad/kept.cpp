// A minimal cut. Between the state and what the transposed step reads lie the values that follow from the state; each may be
// kept for as many bytes as it has, and every way from the state to a reader has to pass something that is kept. Values are
// pairs of points joined by a pipe as wide as they are large, uses are pipes without bound; as much water as flows at most
// is what the narrowest cut holds (Ford and Fulkerson), which lies where water still comes from the state.
#include "ad/kept.h"

#include <algorithm>
#include <limits>
#include <unordered_map>

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
bool may_be_kept(const Node& n) { return n.op != Op::MapAccum && n.type.shape.rank() < kMaxRank; }

}  // namespace

std::vector<Expr> least_kept(Graph& g, std::span<const Expr> state, std::span<const Expr> results) {
  const std::vector<NodeId> roots = ids_of(results);
  // Values that follow from the state and not from a cotangent, by number, and which of them cotangents meet.
  std::unordered_map<uint32_t, size_t> number;
  std::vector<NodeId> values;
  std::vector<bool> read;
  const auto enter = [&](NodeId id) {
    number[id.v] = values.size();
    values.push_back(id);
    read.push_back(false);
  };
  const std::vector<NodeId> order = postorder(g, roots);
  std::vector<bool> wanted(g.size(), false);
  for (NodeId id : order) wanted[id.v] = true;
  for (Expr s : state)
    if (wanted[s.id.v]) enter(s.id);
  const size_t n_state = values.size();
  const auto follows = [&](NodeId id) { return number.contains(id.v); };
  for (NodeId id : order) {
    const std::vector<NodeId>& in = g[id].in;
    if (g[id].has_var) {
      for (NodeId operand : in)
        if (const auto it = number.find(operand.v); it != number.end()) read[it->second] = true;
    } else if (!follows(id) && std::any_of(in.begin(), in.end(), follows)) {
      enter(id);
    }
  }
  for (NodeId id : roots)
    if (const auto it = number.find(id.v); it != number.end()) read[it->second] = true;

  std::vector<Expr> all;
  int64_t all_bytes = 0;
  for (size_t j = 0; j < n_state; ++j) all.push_back({&g, values[j]}), all_bytes += bytes(g[values[j]].type);
  const auto smaller = [&](NodeId id) { return may_be_kept(g[id]) && bytes(g[id].type) < all_bytes; };
  if (std::none_of(values.begin() + static_cast<std::ptrdiff_t>(n_state), values.end(), smaller)) return all;

  const size_t source = 2 * values.size(), sink = source + 1;
  Pipes pipes(sink + 1);
  for (size_t j = 0; j < values.size(); ++j) {
    const Node& n = g[values[j]];
    pipes.join(2 * j, 2 * j + 1, j < n_state || may_be_kept(n) ? bytes(n.type) : kUnbounded);
    if (j < n_state) pipes.join(source, 2 * j, kUnbounded);
    if (read[j]) pipes.join(2 * j + 1, sink, kUnbounded);
    for (NodeId operand : n.in)
      if (const auto it = number.find(operand.v); it != number.end()) pipes.join(2 * it->second + 1, 2 * j, kUnbounded);
  }
  if (!pipes.fill(source, sink)) return all;
  std::vector<Expr> kept;
  for (size_t j = 0; j < values.size(); ++j)
    if (pipes.reached(2 * j) && !pipes.reached(2 * j + 1)) kept.push_back({&g, values[j]});
  return kept;
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
