// x[...]: integers, index arrays, slices, None and ... in any mixture, by NumPy's rules. Reads out of range give 0.
#include "frontend/ir/composite.h"
#include "frontend/text/elaborate.h"

namespace spirograd::text {

using ir::Expr;

namespace {

struct Item {
  enum class Kind : uint8_t { Index, Slice, NewAxis } kind;
  Expr index;
  int64_t from = 0, to = 0;  // Slice
  Place place;
};

int64_t bound_of(Elaborator& el, const Ast& ast, const Env& env) {
  return static_integer(el.eval(ast, env), "the bound of a slice");
}

Expr index_of(Elaborator& el, const Ast& ast, const Env& env) {
  const Value v = el.eval(ast, env);
  if (v.is_weak() && v.is_float) throw el.source().error("SG0102", "an index must be a whole number", ast.place);
  const Expr e = v.is_weak() ? el.materialise(v, DType::I32) : el.array_of(v, "index");
  if (e.dtype() == DType::I32) return e;
  const std::string help = e.dtype() == DType::Bool ? "where(mask, x, 0) keeps the shape and zeroes the rest"
                           : is_float(e.dtype())    ? "write floor(x) or i32(x)"
                                                    : "write i32(x)";
  throw el.source().error("SG0102", "an index must be i32, not " + to_string(e.type()), ast.place).hint(help);
}

// The items with `...` replaced and missing trailing axes added: one Index or Slice per axis of `a`.
std::vector<Item> items_of(Elaborator& el, const Ast& ast, const Env& env, const Value& base) {
  const Shape& a = shape_of(base, "index");
  int used = 0, ellipses = 0;
  for (size_t j = 1; j < ast.kids.size(); ++j) {
    if (ast.kids[j]->form == Form::Ellipsis)
      ++ellipses;
    else if (ast.kids[j]->form != Form::NewAxis)
      ++used;
  }
  if (ellipses > 1) throw Error("SG0404", "an index holds '...' at most once");
  if (used > a.rank())
    throw Error("SG0101", std::to_string(used) + " indices into " + describe(base) + " of rank " + std::to_string(a.rank()));
  std::vector<Item> items;
  int axis = 0;
  const auto whole = [&](int n) {
    for (; n > 0; --n, ++axis) items.push_back({Item::Kind::Slice, {}, 0, a[axis], ast.place});
  };
  for (size_t j = 1; j < ast.kids.size(); ++j) {
    const Ast& kid = *ast.kids[j];
    if (kid.form == Form::Ellipsis) {
      whole(a.rank() - used);
    } else if (kid.form == Form::NewAxis) {
      items.push_back({Item::Kind::NewAxis, {}, 0, 0, kid.place});
    } else if (kid.form == Form::Slice) {
      const int64_t extent = a[axis++];
      const int64_t from = kid.kids[0] ? bound_of(el, *kid.kids[0], env) : 0;
      const int64_t to = kid.kids[1] ? bound_of(el, *kid.kids[1], env) : extent;
      if (from < 0 || to > extent || from > to) {
        const std::string text = std::to_string(from) + ":" + std::to_string(to);
        throw el.source()
            .error("SG0101", "the slice " + text + " does not lie within 0:" + std::to_string(extent), kid.place)
            .note("negative bounds do not count from the end")
            .hint("window(x, axis=.., lo=.., n=..) reads 0 outside");
      }
      items.push_back({Item::Kind::Slice, {}, from, to, kid.place});
    } else {
      ++axis;
      items.push_back({Item::Kind::Index, index_of(el, kid, env), 0, 0, kid.place});
    }
  }
  whole(a.rank() - axis);
  return items;
}

Expr permuted(Expr a, const std::vector<int64_t>& perm) {
  for (size_t j = 0; j < perm.size(); ++j)
    if (perm[j] != static_cast<int64_t>(j)) return ir::transpose(a, perm);
  return a;
}

Expr indexed(Expr a, const std::vector<Item>& items) {
  std::vector<Expr> index;
  std::vector<int64_t> addressed, rest;  // axes of a
  int first = -1, last = -1;             // positions among the items
  int64_t axis = 0;
  for (size_t j = 0; j < items.size(); ++j) {
    const Item& item = items[j];
    if (item.kind == Item::Kind::NewAxis) continue;
    if (item.kind == Item::Kind::Index) {
      index.push_back(item.index);
      addressed.push_back(axis++);
      if (first < 0) first = static_cast<int>(j);
      last = static_cast<int>(j);
    } else {
      const int64_t extent = a.shape()[static_cast<int>(axis)];
      if (item.from != 0 || item.to != extent) a = ir::window(a, static_cast<int>(axis), item.from, item.to - item.from);
      rest.push_back(axis++);
    }
  }
  int index_rank = 0, before = 0;  // axes of the result before the index axes
  if (!index.empty()) {
    std::vector<int64_t> perm = addressed;
    perm.insert(perm.end(), rest.begin(), rest.end());
    a = ir::gather_broadcast(permuted(a, perm), index);
    index_rank = a.rank() - static_cast<int>(rest.size());
    // Index axes stay where the indices stand, if these stand side by side; else they come first.
    const bool together = last - first + 1 == static_cast<int>(index.size());
    for (int j = 0; together && j < first; ++j) before += items[static_cast<size_t>(j)].kind == Item::Kind::Slice;
    std::vector<int64_t> order;
    for (int j = 0; j < before; ++j) order.push_back(index_rank + j);
    for (int j = 0; j < index_rank; ++j) order.push_back(j);
    for (int j = index_rank + before; j < a.rank(); ++j) order.push_back(j);
    a = permuted(a, order);
  }
  // New axes go in front of the slice that follows them.
  Shape shape;
  int at = 0;
  bool placed = index.empty(), changed = false;
  const auto place_index = [&] {
    if (placed) return;
    placed = true;
    for (int j = 0; j < index_rank; ++j) shape.push_back(a.shape()[at++]);
  };
  const bool together = last - first + 1 == static_cast<int>(index.size());
  if (!together) place_index();
  for (const Item& item : items) {
    if (shape.rank() >= kMaxRank) throw Error("SG0101", "index: the result has too many axes");
    switch (item.kind) {
      case Item::Kind::Index: place_index(); break;
      case Item::Kind::Slice: shape.push_back(a.shape()[at++]); break;
      case Item::Kind::NewAxis:
        shape.push_back(1);
        changed = true;
        break;
    }
  }
  return changed ? ir::reshape(a, shape) : a;
}

// t[0]: an item of a tuple. Which one has to be known, for items differ in type.
Value item_of(Elaborator& el, const Ast& ast, const Env& env, const Value& tuple) {
  const std::string whole = describe(tuple);
  if (tuple.record)
    throw Error("SG0102", whole + " has no items by number")
        .hint("read a field by its name, as in x." + std::string(tuple.record->fields.declared[0].name));
  if (ast.kids.size() != 2)
    throw Error("SG0404", whole + " takes one number, it is given " + std::to_string(ast.kids.size() - 1) + " indices")
        .hint("an item of an item is t[0][1], an element of an array in it t[0][i, j]");
  const Ast& at = *ast.kids[1];
  if (at.form == Form::Slice || at.form == Form::NewAxis || at.form == Form::Ellipsis)
    throw el.source().error("SG0102", whole + " has no axes", at.place).hint("t[0] is its first item; let (a, b) = t");
  const Value index = el.eval(at, env);
  if (!index.is_literal() || index.is_float || index.shape.rank() != 0)
    throw el.source()
        .error("SG0105",
               "the index into " + whole + " must be a whole number known before the program runs, not " +
                   (index.is_literal() && index.shape.rank() == 0 ? "a float" : describe(index)),
               at.place)
        .hint("items of a tuple may differ in type; stack(a, b)[i] chooses among arrays of one type");
  const int64_t j = static_integer(index, "an index");
  if (j < 0 || j >= static_cast<int64_t>(tuple.items.size()))
    throw el.source()
        .error("SG0101", "item " + std::to_string(j) + " of " + whole + " does not exist", at.place)
        .hint("items count from 0, and not from the end");
  return tuple.items[static_cast<size_t>(j)];
}

}  // namespace

Value index_value(Elaborator& el, const Ast& ast, const Env& env) {
  const Value base = el.eval(*ast.kids[0], env);
  if (base.kind == Value::Kind::Type) {
    Value v = base;
    for (size_t j = 1; j < ast.kids.size(); ++j)
      v.type.shape.push_back(static_integer(el.eval(*ast.kids[j], env), "an extent"));
    return v;
  }
  // x.shape[0]: one of a list of numbers that is known.
  if (base.is_literal() && base.shape.rank() == 1 && ast.kids.size() == 2 && ast.kids[1]->form != Form::Slice) {
    const Value at = el.eval(*ast.kids[1], env);
    if (at.is_literal() && !at.is_float && at.shape.rank() == 0) {
      const int64_t j = static_cast<int64_t>(at.numbers[0]);
      if (j < 0 || j >= base.shape[0]) throw Error("SG0101", "element " + std::to_string(j) + " of " + describe(base));
      return Value::literal(base.numbers[static_cast<size_t>(j)], base.is_float);
    }
  }
  if (base.kind == Value::Kind::Tuple) return item_of(el, ast, env, base);
  const std::vector<Item> items = items_of(el, ast, env, base);
  return el.lift({base}, "index", [items](std::span<const Expr> in) { return indexed(in[0], items); });
}

}  // namespace spirograd::text
