#include "spirv/lower/column_sums.h"

#include "frontend/ir/algebra.h"
#include "spirv/lower/contractions.h"
#include "spirv/schedule/legal.h"

namespace spirograd::lower {

using ir::Expr;
using ir::Op;

Expr sum_of_columns(Expr x, std::set<uint32_t>& stored) {
  const int64_t n = x.shape()[0], columns = x.shape().count() / n;
  int64_t rows = schedule::kPlainSum;
  while (n % rows != 0) --rows;
  if (n <= schedule::kPlainSum) return ir::reduce(Op::Sum, x, {0});
  if (rows * rows < schedule::kPlainSum) rows = schedule::kPlainSum;  // and a few are left over
  const int64_t whole = n / rows * rows;
  const Expr sums = ir::reduce(Op::Sum, ir::reshape(windowed(x, 0, 0, whole), {n / rows, rows, columns}), {1});
  stored.insert(sums.id.v);
  const Expr sum = sum_of_columns(ir::reshape(sums, x.shape().erased(0).inserted(0, n / rows)), stored);
  return whole == n ? sum : sum + ir::reduce(Op::Sum, windowed(x, 0, whole, n - whole), {0});
}

}  // namespace spirograd::lower
