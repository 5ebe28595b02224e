// Walks over the graph. All of them are iterative: programs of tens of thousands of nodes in a chain are ordinary.
#pragma once

#include <functional>
#include <span>
#include <unordered_map>
#include <vector>

#include "frontend/ir/graph.h"

namespace spirograd::ir {

std::vector<NodeId> ids_of(std::span<const Expr> exprs);

/// Nodes reachable from `roots`, operands before users, in an order that depends on structure only. Does not enter loop
/// bodies.
std::vector<NodeId> postorder(const Graph& g, std::span<const NodeId> roots);

/// The same without looking below nodes that use neither a placeholder nor a free index: what stands at the end of a long
/// program is walked as fast as what stands at its start.
std::vector<NodeId> open_postorder(const Graph& g, std::span<const NodeId> roots);

/// Node id -> replacement, used by rebuild(). What is not in it stays as it is.
using Memo = std::unordered_map<uint32_t, NodeId>;

/// Rebuilds everything reachable from `roots`: `f` is given each node and the same node with its operands already replaced
/// (`built`, which is `old` if none of them is), and returns what takes its place, often `built`. That inherits the place in
/// the source. Entries already in `memo` are taken as they are; what has changed is added to it. Returns the new roots.
std::vector<NodeId> rebuild(Graph& g, std::span<const NodeId> roots, Memo& memo,
                            const std::function<NodeId(NodeId old, NodeId built)>& f);

/// The same where nothing but operands changes: those that are in `memo`, and what uses them. Looks neither below them nor
/// below what is older than all of them.
std::vector<NodeId> rebuild(Graph& g, std::span<const NodeId> roots, Memo& memo);

/// `roots` with each parameter replaced by the argument of its number.
std::vector<NodeId> with_arguments(Graph& g, std::span<const NodeId> roots, std::span<const NodeId> arguments);

/// Replaces the nodes that are keys of `memo` below `root`.
NodeId substitute(Graph& g, NodeId root, Memo memo);

/// The same for placeholders (Var nodes) alone; looks at nothing that uses none. Returns the new roots.
std::vector<NodeId> substitute_vars(Graph& g, std::span<const NodeId> roots, Memo memo);

/// How many operands refer to each reachable node; roots count once each.
std::unordered_map<uint32_t, int> count_uses(const Graph& g, std::span<const NodeId> roots);

}  // namespace spirograd::ir
