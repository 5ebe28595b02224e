#include "spirograd/ravel.h"

#include "frontend/dsl/tracer.h"
#include "frontend/ir/algebra.h"
#include "frontend/ir/ravel.h"

namespace spirograd::detail {
namespace {

using Operands = std::span<const ir::Expr>;

// Plain numbers are floats, of the type of the arrays of floats.
std::vector<ir::Expr> with_numbers(std::span<const Arg> leaves, Operands in) {
  DType floats = DType::F32;
  for (size_t j = leaves.size(); j-- > 0;)
    if (leaves[j].kind == Arg::Kind::Array && is_float(in[j].dtype())) floats = in[j].dtype();
  std::vector<ir::Expr> out;
  for (size_t j = 0; j < leaves.size(); ++j)
    out.push_back(leaves[j].kind == Arg::Kind::Integer || leaves[j].kind == Arg::Kind::Real
                      ? literal(*in[j].graph, "ravel", leaves[j], floats)
                      : in[j]);
  return out;
}

}  // namespace

Array ravelled(const std::vector<Arg>& leaves, const Loc& loc) {
  return operation("ravel", leaves, Numbers::Alone, loc,
                   [&](ir::Graph&, Operands in) { return ir::ravel(with_numbers(leaves, in)); });
}

std::vector<Array> unravelled(std::vector<Arg> like, const Arg& v) {
  like.push_back(v);
  return operations("unravel", like, Numbers::Alone, v.loc, [&](ir::Graph&, Operands in) {
    const size_t n = like.size() - 1;
    return ir::unravel(with_numbers({like.data(), n}, in.subspan(0, n)), in[n]);
  });
}

std::vector<Array> leaves_of(const std::vector<Arg>& leaves, const Loc& loc) {
  return operations("map_fields", leaves, Numbers::Alone, loc,
                    [&](ir::Graph&, Operands in) { return with_numbers(leaves, in); });
}

std::vector<Array> leaves_like(const std::vector<Array>& form, const std::vector<Arg>& leaves, const Loc& loc) {
  std::vector<Array> out = operations("map_fields", leaves, Numbers::Alone, loc, [&](ir::Graph&, Operands in) {
    if (leaves.size() != form.size())
      throw Error("SG0404", "map_fields: bundles of " + std::to_string(form.size()) + " and of " +
                                std::to_string(leaves.size()) + " arrays do not have the same fields");
    std::vector<ir::Expr> own(in.begin(), in.end());
    for (size_t j = 0; j < own.size(); ++j)
      if (leaves[j].kind != Arg::Kind::Array) own[j] = literal(*in[j].graph, "map_fields", leaves[j], form[j].dtype());
    return own;
  });
  out.resize(form.size());  // without values after a mistake
  return out;
}

}  // namespace spirograd::detail
