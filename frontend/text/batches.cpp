// vmap: a function over the elements of its arguments, side by side. A build around it, which vectorisation takes away.
#include "frontend/ir/composite.h"
#include "frontend/text/functions.h"

namespace spirograd::text {

using ir::Expr;

namespace {

// One for all, or one for each; none for what is not split.
using BatchAxes = std::vector<std::optional<int64_t>>;

BatchAxes written_axes(Call& c, std::string_view word) {
  const Ast* written = written_keyword(c, word);
  if (!written) return {0};
  BatchAxes out;
  const std::vector<const Ast*> axes = written->form == Form::Tuple ? written->kids : std::vector<const Ast*>{written};
  for (const Ast* a : axes) {
    const bool is_whole = a->form == Form::Name && a->text == "None";
    if (!is_whole && (a->form != Form::Number || a->suffix != 'i'))
      c.fail("takes numbers of axes as " + std::string(word) + "=", "in_axes=(0, None): None for what is not split");
    out.push_back(is_whole ? std::nullopt : std::optional(static_cast<int64_t>(a->number)));
  }
  return out;
}

// An axis for each leaf of values.
BatchAxes leaf_axes(const BatchAxes& axes, const Values& values, std::string_view word, std::string_view which) {
  if (axes.size() != 1 && axes.size() != values.size())
    throw Error("SG0404", "vmap: " + std::string(word) + "= names " + std::to_string(axes.size()) + " axes for " +
                              std::to_string(values.size()) + " " + std::string(which));
  BatchAxes out;
  for (size_t j = 0; j < values.size(); ++j) {
    Values flat;
    leaves(values[j], flat);
    out.resize(out.size() + flat.size(), axes[axes.size() == 1 ? 0 : j]);
  }
  return out;
}

struct Batch {
  BatchAxes in, out;
};

Value batch(Elaborator& e, const Closure& f, Values args, const Batch& b, Place place) {
  const Expr i = ir::fresh_var(e.graph(), i32());
  const BatchAxes in = leaf_axes(b.in, args, "in_axes", "arguments");
  Values flat;
  for (const Value& arg : args) leaves(arg, flat);
  std::vector<Expr> arrays;
  BatchAxes split;
  for (size_t k = 0; k < flat.size(); ++k) {
    if (!in[k]) continue;
    arrays.push_back(e.array_of(flat[k], "vmap: an argument"));
    split.push_back(in[k]);
  }
  const ir::Parts parts = ir::parts_along("vmap", arrays, split, i);
  for (size_t k = 0, j = 0; k < flat.size(); ++k)
    if (in[k]) flat[k] = Value::array(parts.parts[j++]);
  size_t next = 0;
  for (Value& arg : args) arg = with_leaves(arg, flat, next);
  const Value result = e.apply(f, std::move(args), place);
  const bool several = result.kind == Value::Kind::Tuple && !result.record;
  const BatchAxes out = leaf_axes(b.out, several ? result.items : Values{result}, "out_axes", "results");
  flat.clear();
  leaves(result, flat);
  for (size_t k = 0; k < flat.size(); ++k)
    flat[k] = Value::array(ir::stacked("vmap", e.array_of(flat[k], "vmap: the result"), i, parts.extent, out[k]));
  next = 0;
  return with_leaves(result, flat, next);
}

Value vmap(Call& c) {
  const Function f = function_of(c);
  const Batch b{written_axes(c, "in_axes"), written_axes(c, "out_axes")};
  return function_value([f, b](Elaborator& e, Values args, Place place) { return batch(e, *f, std::move(args), b, place); },
                        c.elaborator.parameters_of(*f));
}

// clang-format off
constexpr Builtin kBatchRows[] = {
    {"vmap", 1, 1, "in_axes out_axes", "vmap(f)(xs), vmap(f, in_axes=(0, None), out_axes=1)(xs, w)", vmap, Follows::Nothing, false,
     "in_axes out_axes"},
};
// clang-format on

}  // namespace

std::span<const Builtin> batch_builtins() { return kBatchRows; }

}  // namespace spirograd::text
