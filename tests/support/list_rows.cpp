// The names of all rows that SPIROGRAD_BROKEN_ROW can break, a line each.
#include <iostream>

#include "ad/deriv_rules.h"
#include "frontend/rewrite/build_rules.h"
#include "frontend/rewrite/index_rules.h"
#include "frontend/rewrite/simplify_rules.h"

using namespace spirograd;

int main() {
  for (const rewrite::BuildRule& r : rewrite::build_rules()) std::cout << "build " << r.name << "\n";
  for (const rewrite::IndexRule& r : rewrite::index_rules()) std::cout << "index " << r.name << "\n";
  for (const auto* table : {&rewrite::algebra_rules(), &rewrite::layout_rules(), &rewrite::reduction_rules(),
                            &rewrite::gather_rules(), &rewrite::scatter_rules()})
    for (const rewrite::Rule& r : *table) std::cout << "simplify " << r.name << "\n";
  for (const ad::DerivRule& r : ad::rules()) {
    for (size_t j = 0; r.kind == ad::RuleKind::Partials && j < r.partial.size(); ++j)
      if (r.partial[j]) std::cout << "partial " << ir::name(r.op) << " " << j << "\n";
    if (r.kind == ad::RuleKind::Linear) std::cout << "transpose " << ir::name(r.op) << "\n";
    if (ir::is_pointwise(r.op)) std::cout << "scalar " << ir::name(r.op) << "\n";
  }
}
