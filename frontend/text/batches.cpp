// vmap: a function over the elements of its arguments, side by side. A build around it, which vectorisation takes away.
#include "frontend/ir/composite.h"
#include "frontend/text/functions.h"

namespace spirograd::text {

using ir::Expr;

namespace {

constexpr int64_t kWhole = -1;  // an argument that all elements of the batch share

std::vector<int64_t> written_axes(Call& c) {
  const Ast* written = written_keyword(c, "in_axes");
  if (!written) return {};
  std::vector<int64_t> out;
  const std::vector<const Ast*> axes = written->form == Form::Tuple ? written->kids : std::vector<const Ast*>{written};
  for (const Ast* a : axes) {
    const bool whole = a->form == Form::Name && a->text == "None";
    if (!whole && (a->form != Form::Number || a->suffix != 'i'))
      c.fail("takes numbers of axes as in_axes=", "in_axes=(0, None): None for what is not split");
    out.push_back(whole ? kWhole : static_cast<int64_t>(a->number));
  }
  return out;
}

Value batch(Elaborator& e, const Closure& f, Values args, const std::vector<int64_t>& axes, Place place) {
  if (axes.size() > 1 && axes.size() != args.size())
    throw Error("SG0404", "vmap: in_axes= names " + std::to_string(axes.size()) + " axes for " +
                              std::to_string(args.size()) + " arguments");
  const Expr i = ir::fresh_var(e.graph(), i32());
  int64_t extent = -1;
  for (size_t j = 0; j < args.size(); ++j) {
    const int64_t axis = axes.empty() ? 0 : axes.size() == 1 ? axes[0] : axes[j];
    if (axis == kWhole) continue;
    Values flat;
    leaves(args[j], flat);
    std::vector<Expr> arrays;
    for (const Value& v : flat) arrays.push_back(e.array_of(v, "vmap: an argument"));
    const ir::Parts split = ir::parts_along("vmap", arrays, axis, i);
    if (extent >= 0 && split.extent != extent)
      throw Error("SG0101",
                  "vmap: arguments are split into " + std::to_string(extent) + " and into " + std::to_string(split.extent));
    extent = split.extent;
    for (size_t k = 0; k < flat.size(); ++k) flat[k] = Value::array(split.parts[k]);
    size_t next = 0;
    args[j] = with_leaves(args[j], flat, next);
  }
  if (extent < 0) throw Error("SG0404", "vmap: no argument is split");
  const Value result = e.apply(f, std::move(args), place);
  Values flat;
  leaves(result, flat);
  for (Value& v : flat) v = Value::array(ir::build(extent, i, e.array_of(v, "vmap: the result")));
  size_t next = 0;
  return with_leaves(result, flat, next);
}

Value vmap(Call& c) {
  const Function f = function_of(c);
  const std::vector<int64_t> axes = written_axes(c);
  return function_value(
      [f, axes](Elaborator& e, Values args, Place place) { return batch(e, *f, std::move(args), axes, place); },
      c.elaborator.parameters_of(*f));
}

// clang-format off
constexpr Builtin kRows[] = {
    {"vmap", 1, 1, "in_axes", "vmap(f)(xs), vmap(f, in_axes=(0, None))(xs, w)", vmap, Follows::Nothing, false, "in_axes"},
};
// clang-format on

}  // namespace

std::span<const Builtin> batch_builtins() { return kRows; }

}  // namespace spirograd::text
