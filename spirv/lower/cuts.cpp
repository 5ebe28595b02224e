#include "spirv/lower/cuts.h"

#include <algorithm>
#include <unordered_set>

#include "frontend/ir/algebra.h"
#include "frontend/ir/traverse.h"
#include "spirv/schedule/cost.h"

namespace spirograd::lower {

using ir::Graph;
using ir::Node;
using ir::NodeId;
using ir::Op;

namespace {

constexpr uint32_t kResultBuffers = 5;  // of the buffers of a kernel, kept for what it writes
constexpr size_t kCutCandidates = 200;  // places that are looked at when a kernel is too large,
constexpr double kGoodCut = 0.2;        // unless one is so good, as a part of the best that could be

}  // namespace

bool is_leaf(const Node& n) {
  return n.op == Op::Param || n.op == Op::Iota || (n.op == Op::Const && n.type.shape.rank() == 0);
}

Cuts::Cuts(const Graph& g, const Target& target, Partition& partition)
    : g_(g), target_(target), c_(partition), extent_(g, partition.roots) {
  const uint32_t buffers = kernel_buffers(target);
  leaf_limit_ = buffers > kResultBuffers + 2 ? buffers - kResultBuffers : std::max(2u, buffers - 1);
}

std::vector<NodeId> Cuts::limit_sizes() {
  made_.clear();
  for (NodeId id : c_.order) limit_size(id);
  return made_;
}

bool Cuts::fits(const Extent& e) const { return e.written_out <= schedule::kKernelCode && buffers_read(e) <= leaf_limit_; }

void Cuts::store(NodeId id) {
  c_.roots.insert(id.v);
  made_.push_back(id);
}

void Cuts::settle() {
  for (size_t before = 0; before != stored_to_read_less_;) {
    before = stored_to_read_less_;
    for (NodeId id : c_.order)
      if (c_.roots.contains(id.v) && !has_parts(g_[id])) limit_size(id);
  }
}

size_t Cuts::buffers_written(NodeId loop) {
  if (results_.empty())
    for (NodeId id : c_.order)
      if (g_[id].op == Op::Proj) results_[g_[id].in[0].v].push_back(id);
  std::set<int> packs;
  size_t others = 0;
  for (NodeId id : results_[loop.v]) {
    const auto it = c_.packed.find(id.v);
    it == c_.packed.end() ? void(++others) : void(packs.insert(it->second.number));
  }
  return packs.size() + others;
}

// Of the kernel that a loop would run in, beside its operands.
size_t Cuts::own_buffers(NodeId loop) { return buffers_written(loop) + arrays_inside(g_, loop).size(); }

// What operands are computed from is looked at only where there are too many of them.
bool Cuts::may_run_inside(NodeId loop) {
  const size_t own = own_buffers(loop), most = kernel_buffers(target_);
  return own + g_[loop].in.size() <= most || own + buffers_read(extent_(loop)) <= most;
}

void Cuts::limit_size(NodeId id) {
  const Node& n = g_[id];
  if (n.op == Op::MapAccum && c_.loops_in_kernel.contains(id.v)) {
    if (buffers_read(extent_(id)) + own_buffers(id) <= kernel_buffers(target_)) return;
    for (NodeId in : n.in) store_to_read_less(in);
    return;
  }
  if (is_leaf(n) || n.op == Op::MapAccum || n.op == Op::Proj) return;
  // Each part is a compute of its own, and was limited before.
  if (has_parts(n) && c_.roots.contains(id.v)) return;
  std::set<uint32_t> vain;  // what these read is read elsewhere, too
  for (int tries = 0; tries < 32; ++tries) {
    const Extent e = extent_(id, 2 * schedule::kKernelCode);
    if (fits(e)) return;
    const size_t read = buffers_read(e);
    const NodeId cut = best_cut(id, e, vain);
    if (!cut) break;
    store(cut);
    if (read <= leaf_limit_) continue;
    if (e.written_out > schedule::kKernelCode || buffers_read(extent_(id)) < read) {
      ++stored_to_read_less_;
    } else {
      c_.roots.erase(cut.v);
      made_.pop_back();
      vain.insert(cut.v);
    }
  }
  if (buffers_read(extent_(id)) > leaf_limit_) store_operands(id);
}

// What a node is made of is read instead of computed.
void Cuts::store_operands(NodeId id) {
  const Node& n = g_[id];
  if (has_parts(n)) return store_to_read_less(id);
  for (NodeId at : n.in) {
    while (ir::is_unary_layout(g_[at].op) && !c_.roots.contains(at.v)) at = g_[at].in[0];
    store_to_read_less(at);
  }
}

void Cuts::store_to_read_less(NodeId id) {
  if (is_leaf(g_[id]) || g_[id].op == Op::Const || g_[id].op == Op::Proj || c_.roots.contains(id.v)) return;
  store(id);
  ++stored_to_read_less_;
}

NodeId Cuts::best_cut(NodeId root, const Extent& whole, const std::set<uint32_t>& vain) {
  double largest = count(g_[root].type.shape);
  for (NodeId leaf : whole.leaves) largest = std::max(largest, count(g_[leaf].type.shape));
  NodeId best;
  double best_score = -1;
  const bool reads_too_much = buffers_read(whole) > leaf_limit_;  // what reads one buffer relieves nobody of it
  const double enough = kGoodCut * (static_cast<double>(schedule::kKernelCode) + 40.0 * static_cast<double>(leaf_limit_));
  std::vector<NodeId> stack(g_[root].in.begin(), g_[root].in.end());
  std::unordered_set<uint32_t> seen;
  while (!stack.empty() && seen.size() < kCutCandidates && best_score < enough) {
    const NodeId id = stack.back();
    stack.pop_back();
    const Node& n = g_[id];
    if (is_leaf(n) || n.op == Op::Const || n.op == Op::Proj || c_.roots.contains(id.v) || !seen.insert(id.v).second)
      continue;
    const bool candidate = ir::is_pointwise(n.op) || ir::info(n.op).kind == ir::Kind::Reduce || n.op == Op::Gather ||
                           (reads_too_much && has_parts(n));
    if (candidate && !vain.contains(id.v) && count(n.type.shape) <= 2 * largest) {
      const Extent e = extent_(id, 2 * schedule::kKernelCode);
      const double code =
          static_cast<double>(std::min(e.written_out, schedule::kKernelCode)) + 40.0 * static_cast<double>(e.leaves.size());
      // A large array is a dear cut.
      if (fits(e) && (!reads_too_much || buffers_read(e) > 1)) {
        const double score = code / (1 + count(n.type.shape) / largest);
        if (score > best_score) {
          best_score = score;
          best = id;
        }
      }
    }
    stack.insert(stack.end(), n.in.begin(), n.in.end());
  }
  return best;
}

}  // namespace spirograd::lower
