// The interpreter's kernels, one per family of operations: pure functions from views to an output buffer.
#pragma once

#include <cstdint>
#include <span>

#include "frontend/ir/graph.h"

namespace spirograd::ir {

/// An operand: its type and its elements, row-major.
struct View {
  const Type* type;
  const double* data;
};

/// x modulo 2^32, read as a value of the integer dtype `t`.
inline double wrap(uint64_t x, DType t) {
  const auto low = static_cast<uint32_t>(x);
  return t == DType::I32 ? static_cast<double>(static_cast<int32_t>(low)) : static_cast<double>(low);
}

/// The two's complement bits of an integer held as double.
inline uint64_t bits(double x) { return static_cast<uint64_t>(static_cast<int64_t>(x)); }

/// What sums, products and extremes of no element are: 0, 1, the least or the greatest value of the type.
double reduction_of_nothing(Op op, DType t);

// Each fills `out`, which has n.type.shape.count() elements. Pre: the node's kind is that of the name.
void eval_pointwise(const Node& n, std::span<const View> in, double* out);
void eval_layout(const Node& n, std::span<const View> in, double* out);
void eval_reduce(const Node& n, const View& in, double* out);
void eval_gather(std::span<const View> in, double* out);
void eval_scatter(const Node& n, std::span<const View> in, double* out);
void eval_iota(const Node& n, double* out);

}  // namespace spirograd::ir
