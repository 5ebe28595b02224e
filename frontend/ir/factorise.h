// The arithmetic of factorisations and of triangular systems, without derivatives: by rows where matrices are small, by
// blocks of rows where they are large, most of whose work is products of matrices.
#pragma once

#include "frontend/ir/algebra.h"

namespace spirograd::ir {

/// x with t x = b of a lower (or upper) triangular matrix, of whose other half nothing is read. b: columns.
Expr triangular_solution(Expr t, Expr b, bool lower);
/// Lower triangular L with L L^T = s, which is symmetric; NaN from the first row on that makes it not positive definite.
Expr cholesky_factor(Expr s);

/// Whether a square matrix is so small that it is taken row by row; others go by blocks of rows.
bool goes_by_rows(Expr a);
/// Rows of a block: what a row of it needs is in registers, and so is a panel of columns, of which a workgroup of a GPU
/// keeps 4096 elements; but of large matrices each block takes its time to be read.
constexpr int64_t block_rows(int64_t n) { return n <= 512 ? 16 : 32; }
constexpr int64_t blocks_of(int64_t n) { return (n + block_rows(n) - 1) / block_rows(n); }
Expr padded(Expr a);                          // rows of the unit matrix behind the last one, to whole blocks
Expr columns_at(Expr a, Expr places);         // these columns
Expr with_block(Expr a, Expr k, Expr block);  // a with the rows of block k replaced
Expr rows_of(Expr k, int64_t size);           // numbers of the rows of block k
/// The solutions of t x = b for many b, one in each row, of a block.
Expr rows_solved(Expr t, Expr b, bool lower);

// For these and for elimination: row i, an element, x with row i replaced, and one number as an array.
Expr row_of(Expr a, Expr i);
Expr element(Expr a, Expr i, Expr j);
Expr with_row(Expr a, Expr i, Expr row);  // of a vector: element i
Expr spread(Expr scalar, const Shape& shape);

}  // namespace spirograd::ir
