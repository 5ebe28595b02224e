// Pushes an index into the term that it reads: "element j of a sum" becomes "the sum of elements j". One table row per kind
// of term; every row keeps the value of reads out of range, which is 0, by a guard where the operation does not do so.
#pragma once

#include <functional>
#include <span>
#include <string_view>
#include <vector>

#include "frontend/rewrite/index_read.h"

namespace spirograd::rewrite {

/// How a read goes on: it is `done`, or the reads `below` come first and `then` continues with their values.
struct Step {
  ir::Expr done;
  std::vector<Slice> below;
  std::function<Step(std::span<const ir::Expr>)> then;
};

struct IndexRule {
  std::string_view name;
  bool (*applies)(const IndexContext&, const Slice&);
  Step (*push)(const IndexContext&, const Slice&);
  std::string_view before, after;  // an example: two whole programs with the same meaning
};

/// In order; the first row that applies wins. Every operation has a row.
std::span<const IndexRule> index_rules();

}  // namespace spirograd::rewrite
