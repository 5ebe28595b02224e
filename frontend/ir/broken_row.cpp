#include "frontend/ir/broken_row.h"

#ifdef SPIROGRAD_BREAK_ROWS
#include <cstdlib>
#include <string>

#include "frontend/ir/algebra.h"

namespace spirograd::ir {

bool is_broken(std::string_view table, std::string_view row) {
  static const char* const named = std::getenv("SPIROGRAD_BROKEN_ROW");
  return named && std::string_view(named) == std::string(table) + " " + std::string(row);
}

bool is_broken(std::string_view table, std::string_view row, size_t operand) {
  return is_broken(table, std::string(row) + " " + std::to_string(operand));
}

Expr wrong(Expr e) {
  Graph& g = *e.graph;
  if (e.op() == Op::MapAccum) {
    Node n = e.node();
    n.attr[1] = n.attr[1] == 0;
    return {&g, g.intern(std::move(n))};
  }
  return e.dtype() == DType::Bool ? unary(Op::Not, e) : e + full(g, e.type(), 1);
}

}  // namespace spirograd::ir
#endif
