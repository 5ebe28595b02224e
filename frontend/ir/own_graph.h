// Transformations never intern into the graph of the program that they are given: other programs share it, maybe on other
// threads. They work in a copy of what the program reaches.
#pragma once

#include <functional>
#include <initializer_list>

#include "frontend/ir/graph.h"
#include "spirograd/program.h"

namespace spirograd::ir {

/// Whether each result is a node of the program's graph; not so for Program{}.
bool is_made(const Program& program);
/// Throws SG0404 if it is not made.
void require_made(const Program& program);

/// Whether `holds` for any node that the results of `program` reach, loop bodies included.
bool reaches(const Program& program, const std::function<bool(const Node&)>& holds);
/// The same for any node of one of these operations; at once where the graph has none.
bool reaches(const Program& program, std::initializer_list<Op> ops);

/// Interns what the results of `program` reach, loop bodies included, with their places in the source; gives the nodes of
/// the results. Takes time and room in proportion to what is reached. In an empty graph, nodes and functions keep their
/// order.
std::vector<NodeId> copy_into(Graph& graph, const Program& program);

/// Gives `program` a graph that nobody else has, with what its results reach. Whatever follows the order of ids is the same
/// as before. Returns that graph, for program.graph is read-only.
std::shared_ptr<Graph> make_graph_private(Program& program);

/// The program with each node of one of these operations, in loop bodies too, replaced by what `f` makes of it, which has
/// the same type; its operands are replaced already.
Program with_replaced(const Program& program, std::initializer_list<Op> ops,
                      const std::function<NodeId(Graph& g, const Node& built)>& f);
/// The same in the program's own graph, which make_graph_private() gave it.
void replace(Program& program, Graph& own, std::initializer_list<Op> ops,
             const std::function<NodeId(Graph& g, const Node& built)>& f);

}  // namespace spirograd::ir
