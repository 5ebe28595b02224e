// The IR: interned immutable nodes in an append-only arena. Equal nodes have equal ids; sharing is identity, there is no
// let. Operands are always created before their users, so ids are a topological order. Ids depend on evaluation order of the
// host compiler: nothing that a user sees may be ordered by them (use postorder() of traverse.h).
#pragma once

#include <bitset>
#include <cstdint>
#include <deque>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "frontend/base/flat_index.h"
#include "frontend/base/inline_vector.h"
#include "frontend/ir/op.h"
#include "spirograd/result.h"
#include "spirograd/shape.h"

namespace spirograd::ir {

struct NodeId {
  uint32_t v = 0;  // 0: none
  explicit operator bool() const { return v != 0; }
  auto operator<=>(const NodeId&) const = default;
};

struct Node {
  Op op = Op::Const;
  Type type;  // of MapAccum: the type of result 0; read results through Proj
  InlineVector<NodeId, 4> in;
  InlineVector<int64_t, 3> attr;  // see op.h
  InlineVector<double, 1> data;   // Const only
  uint64_t free_vars = 0;         // bit l: uses the IndexVar of level l; not interned, derived
  bool has_var = false;           // uses a Var placeholder; derived
  bool operator==(const Node& o) const {
    return op == o.op && type == o.type && in == o.in && attr == o.attr && same_data(o);
  }

 private:
  bool same_data(const Node& o) const;  // bitwise: -0 differs from 0, NaN equals itself
};

/// A closed function: the body of a loop. Its parameters are the Param nodes 0.. of its own scope; nodes are shared with
/// other scopes of the same graph, so every pass keeps one memo per function.
struct Function {
  std::vector<Type> params;
  std::vector<NodeId> results;
  bool operator==(const Function&) const = default;
};

class Graph {
 public:
  Graph();
  /// The id of a node equal to `n`. Does not check it: use algebra.h to build nodes.
  NodeId intern(Node n);
  const Node& operator[](NodeId id) const { return nodes_[id.v]; }
  uint32_t size() const { return static_cast<uint32_t>(nodes_.size()); }
  /// Room for so many nodes in the index; saves time only.
  void reserve(size_t nodes) { index_.reserve(nodes); }

  int64_t intern(Function f);
  const Function& function(int64_t index) const { return functions_[static_cast<size_t>(index)]; }
  int64_t function_count() const { return static_cast<int64_t>(functions_.size()); }

  /// False: no node of that operation was ever made here, and passes for it may be left out.
  bool has(Op op) const { return made_[static_cast<size_t>(op)]; }

  /// First user place that made this node; empty if none was noted. For messages only.
  void note_loc(NodeId id, const Loc& loc);
  Loc loc(NodeId id) const;
  /// The place of `from`, of this graph or another, is that of `to`, too, unless it has one.
  void copy_loc(const Graph& g, NodeId from, NodeId to);

  /// A fresh number for a Var placeholder.
  int64_t fresh() { return ++last_uid_; }

 private:
  std::deque<Node> nodes_;  // a deque never moves its elements: `const Node&` stays valid while the graph grows
  std::deque<Function> functions_;
  FlatIndex index_;
  struct Place {
    uint32_t file = 0;
    int line = 0, column = 0;
  };
  std::vector<Place> places_;  // by node, as far as noted; those without have line 0
  std::vector<std::string> files_;
  std::bitset<kOpCount> made_;
  int64_t last_uid_ = 0;
};

/// An expression: two words, passed by value.
struct Expr {
  Graph* graph = nullptr;
  NodeId id;
  const Node& node() const { return (*graph)[id]; }
  const Type& type() const { return node().type; }
  const Shape& shape() const { return node().type.shape; }
  int rank() const { return shape().rank(); }
  DType dtype() const { return node().type.dtype; }
  Op op() const { return node().op; }
  Expr in(int j) const { return {graph, node().in[static_cast<size_t>(j)]}; }
  int64_t attr(int j) const { return node().attr[static_cast<size_t>(j)]; }
  bool operator==(const Expr&) const = default;
  explicit operator bool() const { return static_cast<bool>(id); }
};

}  // namespace spirograd::ir
