#include "frontend/ir/graph.h"

#include <algorithm>
#include <bit>

#include "frontend/base/hash.h"

namespace spirograd::ir {
namespace {

uint64_t hash(const Node& n) {
  uint64_t h = static_cast<uint64_t>(n.op) * 64 + static_cast<uint64_t>(n.type.dtype);
  for (int64_t d : n.type.shape) h = hash_with(h, static_cast<uint64_t>(d));
  for (NodeId i : n.in) h = hash_with(h, i.v);
  for (int64_t a : n.attr) h = hash_with(h, static_cast<uint64_t>(a));
  for (double x : n.data) h = hash_with(h, std::bit_cast<uint64_t>(x));
  return h;
}

// Operations of a program and all that is derived from it in one graph; about half a gigabyte. Functions that call each
// other twice per level, and derivatives of high order, grow exponentially: they end here instead of with the machine's
// memory.
constexpr uint32_t kMostNodes = 1'000'000;

}  // namespace

bool Node::same_data(const Node& o) const {
  if (data.size() != o.data.size()) return false;
  for (size_t i = 0; i < data.size(); ++i)
    if (std::bit_cast<uint64_t>(data[i]) != std::bit_cast<uint64_t>(o.data[i])) return false;
  return true;
}

Graph::Graph() { nodes_.emplace_back(); }  // id 0 is "none"

NodeId Graph::intern(Node n) {
  const uint64_t h = hash(n);
  if (const uint32_t known = index_.find(h, [&](uint32_t id) { return nodes_[id] == n; })) return {known};
  n.free_vars = 0;
  n.has_var = n.op == Op::Var;
  for (NodeId i : n.in) {
    n.free_vars |= nodes_[i.v].free_vars;
    n.has_var |= nodes_[i.v].has_var;
  }
  if (n.op == Op::IndexVar) n.free_vars |= uint64_t{1} << n.attr[0];
  if (n.op == Op::Build) n.free_vars &= ~(uint64_t{1} << n.attr[0]);
  const uint32_t id = size();
  if (id >= kMostNodes)
    throw Error("SG0603", "the program grows beyond " + std::to_string(kMostNodes) + " operations")
        .hint("compute what is used twice once, with let; use a loop for what is repeated");
  made_.set(static_cast<size_t>(n.op));
  nodes_.push_back(std::move(n));
  index_.insert(h, id);
  return {id};
}

int64_t Graph::intern(Function f) {
  for (size_t i = 0; i < functions_.size(); ++i)
    if (functions_[i] == f) return static_cast<int64_t>(i);
  functions_.push_back(std::move(f));
  return static_cast<int64_t>(functions_.size()) - 1;
}

Loc Graph::loc(NodeId id) const {
  if (id.v >= places_.size() || places_[id.v].line == 0) return {};
  const Place& p = places_[id.v];
  return {files_[p.file], p.line, p.column};
}

void Graph::note_loc(NodeId id, const Loc& loc) {
  if (loc.line == 0) return;
  if (id.v >= places_.size()) places_.resize(std::max<size_t>(id.v + 1, nodes_.size()));
  if (places_[id.v].line != 0) return;
  // Neighbours mostly come from one file: the last one is looked at first.
  const auto known = std::find(files_.rbegin(), files_.rend(), loc.file);
  const auto file = known == files_.rend() ? files_.size() : static_cast<size_t>(files_.rend() - known) - 1;
  if (file == files_.size()) files_.push_back(loc.file);
  places_[id.v] = {static_cast<uint32_t>(file), loc.line, loc.column};
}

void Graph::copy_loc(const Graph& g, NodeId from, NodeId to) {
  if (from.v < g.places_.size() && g.places_[from.v].line != 0) note_loc(to, g.loc(from));
}

}  // namespace spirograd::ir
