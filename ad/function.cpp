#include "ad/function.h"

#include <functional>
#include <optional>

#include "frontend/ir/close_loop.h"
#include "frontend/ir/composite.h"
#include "frontend/ir/own_graph.h"
#include "frontend/ir/traverse.h"
#include "spirograd/grad.h"

namespace spirograd::ad {

using ir::Expr;
using ir::NodeId;

namespace {

// A program over the function's parameters, which are named by their numbers.
Program program_of(const ir::Graph& g, const ir::Function& f) {
  Program p;
  // Only read, and only while the trace is here.
  p.graph = std::shared_ptr<const ir::Graph>(std::shared_ptr<const ir::Graph>(), &g);
  for (size_t j = 0; j < f.params.size(); ++j) p.params.push_back({std::to_string(j), f.params[j]});
  for (size_t j = 0; j < f.results.size(); ++j)
    p.results.push_back({std::to_string(j), f.results[j].v, g[f.results[j]].type});
  return p;
}

}  // namespace

FunctionAt::FunctionAt(ir::Graph& g, const TracedFunction& f, std::vector<Expr> at, Mode mode) : g_(g), at_(std::move(at)) {
  std::vector<Expr> operands = f.vars;
  for (Expr e : ir::captured_terms(g, f.vars, f.results)) {
    operands.push_back(e);
    at_.push_back(e);
  }
  const Program primal = program_of(g, g.function(ir::close_function(g, operands, f.results)));
  std::vector<std::string> names;
  for (size_t j = 0; j < f.vars.size(); ++j) names.push_back(std::to_string(j));
  const Program both = (mode == Mode::Forward ? jvp(primal, names) : vjp(primal, names)).value();
  for (size_t j = at_.size(); j < both.params.size(); ++j) directions_.push_back(both.params[j].type);
  const std::vector<NodeId> nodes = ir::copy_into(g, both);
  values_.assign(nodes.begin(), nodes.begin() + static_cast<std::ptrdiff_t>(f.results.size()));
  linear_.assign(nodes.begin() + static_cast<std::ptrdiff_t>(f.results.size()), nodes.end());
}

std::vector<Expr> FunctionAt::with_params(std::span<const NodeId> nodes, std::span<const Expr> direction) const {
  std::vector<NodeId> arguments = ids_of(at_);
  // Values do not depend on a direction, but the loops that they are results of do.
  for (size_t j = 0; j < directions_.size(); ++j)
    arguments.push_back((direction.empty() ? ir::zeros(g_, directions_[j]) : direction[j]).id);
  std::vector<Expr> out;
  for (NodeId id : ir::with_arguments(g_, nodes, arguments)) out.push_back({&g_, id});
  return out;
}

std::vector<Expr> FunctionAt::values(std::span<const Expr> direction) const { return with_params(values_, direction); }

std::vector<Expr> FunctionAt::derivative(std::span<const Expr> direction) const { return with_params(linear_, direction); }

std::vector<Expr> value_and_gradient(ir::Graph& g, std::string_view what, const TracedFunction& f, std::vector<Expr> at) {
  const bool single = f.results.size() == 1;
  const std::string gives = std::string(what) + ": the function gives " +
                            (single ? to_string(f.results[0].type()) : std::to_string(f.results.size()) + " arrays");
  if (!single || f.results[0].rank() != 0)
    throw Error("SG0204", gives + ", not a scalar").hint("sum it to a scalar, or use vjp with a cotangent of its shape");
  if (!is_float(f.results[0].dtype())) throw Error("SG0205", gives + ", which has no derivative");
  const FunctionAt here(g, f, std::move(at), Mode::Reverse);
  const Expr one = ir::full(g, f.results[0].type(), 1);
  std::vector<Expr> out = here.values();
  for (Expr d : here.derivative({&one, 1})) out.push_back(d);
  return out;
}

namespace {

// The i-th of all arrays of this type that hold one 1.
Expr unit(ir::Graph& g, Type type, Expr i) {
  const Type flat{type.dtype, {type.shape.count()}};
  const Expr here = ir::binary_broadcast(ir::Op::Eq, ir::iota(g, flat.shape, 0), i);
  return ir::reshape(ir::select(here, ir::full(g, flat, 1), ir::zeros(g, flat)), type.shape);
}

Shape joined(std::string_view what, const Shape& a, const Shape& b) {
  std::vector<int64_t> all(a.begin(), a.end());
  all.insert(all.end(), b.begin(), b.end());
  if (all.size() > static_cast<size_t>(kMaxRank))
    throw Error("SG0101", std::string(what) + ": a derivative for each pair of " + to_string(a) + " and " + to_string(b) +
                              " has " + std::to_string(all.size()) + " axes, the limit is " + std::to_string(kMaxRank))
        .hint("reshape the argument to a vector");
  return Shape(std::span<const int64_t>(all));
}

using Along = std::function<Expr(Expr direction)>;

// A row for each direction of this type, `count` of them from number `first` on: those behind the last are zero.
Expr rows_of(ir::Graph& g, Type type, const std::optional<Expr>& first, int64_t count, const Along& along) {
  const Expr i = ir::fresh_var(g, i32());
  return ir::build(count, i, along(unit(g, type, first ? *first + i : i)));
}

Expr rows_in_chunks(ir::Graph& g, Type type, int64_t chunk, const Along& along) {
  const int64_t all = type.shape.count(), chunks = (all + chunk - 1) / chunk;
  // The number of a chunk's first direction is a state: what no step waits for may be computed for all steps at once.
  const Expr first = ir::fresh_var(g, i32()), start = ir::zeros(g, i32());
  const Expr rows = rows_of(g, type, first, chunk, along);
  const Expr results[] = {first + ir::full(g, i32(), static_cast<double>(chunk)), rows};
  const Expr stacked = ir::close_loop(g, {&start, 1}, {}, {&first, 1}, results, false, chunks)[1];
  const Shape row = rows.shape().erased(0);
  return ir::window(ir::reshape(stacked, Shape{chunks * chunk} + row), 0, 0, all);
}

}  // namespace

Expr jacobian(ir::Graph& g, std::string_view what, const TracedFunction& f, const std::vector<Expr>& at, int64_t chunk) {
  if (at.size() != 1)
    throw Error("SG0404", std::string(what) + ": takes derivatives by one array, not by " + std::to_string(at.size()))
        .hint("join them by concat");
  if (f.results.size() != 1)
    throw Error("SG0404",
                std::string(what) + ": the function gives " + std::to_string(f.results.size()) + " arrays, not one")
        .hint("join them by concat");
  const Type x = at[0].type(), y = f.results[0].type();
  if (!is_float(y.dtype))
    throw Error("SG0205", std::string(what) + ": the function gives " + to_string(y) + ", which has no derivative");
  const bool forward = x.shape.count() <= y.shape.count();
  const Type &from = forward ? x : y, &to = forward ? y : x;
  const Shape shape = joined(what, from.shape, to.shape);
  const FunctionAt here(g, f, at, forward ? Mode::Forward : Mode::Reverse);
  const auto along = [&](Expr direction) { return here.derivative({&direction, 1})[0]; };
  const int64_t directions = from.shape.count();
  const Expr rows = chunk > 0 && chunk < directions ? rows_in_chunks(g, from, chunk, along)
                                                    : rows_of(g, from, std::nullopt, directions, along);
  const Expr all = ir::reshape(rows, shape);
  if (!forward) return all;
  std::vector<int64_t> axes;
  for (int k = 0; k < shape.rank(); ++k) axes.push_back((from.shape.rank() + k) % shape.rank());
  return axes.empty() ? all : ir::transpose(all, axes);
}

}  // namespace spirograd::ad
