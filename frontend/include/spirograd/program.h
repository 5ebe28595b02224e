// A program: named parameters and named results over a graph of operations. A value: once made it never changes, neither its
// own members nor the graph, which copies share. So threads may read, transform, print, interpret and compile one program at
// the same time without a lock; only assigning to a Program object that another thread reads needs one.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "spirograd/shape.h"

namespace spirograd {

namespace ir {
class Graph;
struct NodeId;
}  // namespace ir

struct Param {
  std::string name;
  Type type;
};

/// `node` is an ir::NodeId's value; the IR stays out of public headers.
struct ProgramResult {
  std::string name;
  uint32_t node = 0;
  Type type;
};

/// A closed function from arrays to arrays. Made by trace(), text::instantiate() or a transformation, each of which works in
/// a graph of its own. One that was only default-constructed is empty: every function that takes it answers SG0404.
struct Program {
  std::string name = "main";
  std::shared_ptr<const ir::Graph> graph;
  std::vector<Param> params;
  std::vector<ProgramResult> results;
};

}  // namespace spirograd
