// A program: named parameters and named results over one graph. Value type; copies share the graph, which only grows.
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

/// A closed function from arrays to arrays. Made by trace(), parse() or a transformation; never changed in place.
struct Program {
  std::string name = "main";
  std::shared_ptr<ir::Graph> graph;
  std::vector<Param> params;
  std::vector<ProgramResult> results;
};

}  // namespace spirograd
