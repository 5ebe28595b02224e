// Checks that the typed constructors share, and the making of nodes.
#include "frontend/ir/make_node.h"

#include <algorithm>

namespace spirograd::ir {
namespace {

constexpr int64_t kMaxCount = int64_t{1} << 62;

}  // namespace

void fail(std::string what) { throw Error("SG0101", std::move(what)); }

Shape checked(const Shape& s, std::string_view what) {
  int64_t n = 1;
  for (int64_t d : s) {
    if (d < 0) fail(std::string(what) + ": negative extent in " + to_string(s));
    if (d != 0 && n > kMaxCount / d) fail(std::string(what) + ": shape " + to_string(s) + " has too many elements");
    n *= std::max<int64_t>(d, 1);
  }
  return s;
}

void check_rank(int rank, std::string_view what) {
  if (rank > kMaxRank)
    fail(std::string(what) + ": rank " + std::to_string(rank) + " is above the limit of " + std::to_string(kMaxRank));
}

void check_axis(int64_t axis, int rank, std::string_view what) {
  if (axis < 0 || axis >= rank)
    fail(std::string(what) + ": axis " + std::to_string(axis) + " does not exist in an array of rank " +
         std::to_string(rank));
}

Expr make(Graph& g, Node n) { return {&g, g.intern(std::move(n))}; }

Expr make(Op op, Type type, std::span<const Expr> in, std::vector<int64_t> attr) {
  Node n;
  n.op = op;
  n.type = type;
  n.in.reserve(in.size());
  for (const Expr& e : in) n.in.push_back(e.id);
  n.attr = std::move(attr);
  return make(*in[0].graph, std::move(n));
}

Expr make1(Op op, Type type, Expr a, std::vector<int64_t> attr) { return make(op, type, {&a, 1}, std::move(attr)); }

void check_dtype(Op op, DType t) {
  const bool ok = t == DType::F16    ? false
                  : is_float(t)      ? !has_flag(op, kIntegerOnly) && (!has_flag(op, kBoolOk) || has_flag(op, kIntegerOk))
                  : t == DType::Bool ? has_flag(op, kBoolOk)
                                     : has_flag(op, kIntegerOk);
  if (!ok) fail(std::string(name(op)) + ": not defined for " + std::string(name(t)));
}

void require_float(Expr a, std::string_view what) {
  if (!is_float(a.dtype())) fail(std::string(what) + ": not defined for " + std::string(name(a.dtype())));
}

void require_numbers(Expr a, std::string_view what) {
  if (a.dtype() == DType::Bool)
    throw Error("SG0101", std::string(what) + ": not defined for " + to_string(a.type())).hint("cast to i32 first");
}

}  // namespace spirograd::ir
