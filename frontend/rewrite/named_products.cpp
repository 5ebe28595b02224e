#include "frontend/rewrite/named_products.h"

#include <algorithm>

namespace spirograd::rewrite {

using namespace ir;

Product factors_of(const Named& x, bool in_repeated, const std::function<bool(Expr)>& read_once) {
  constexpr size_t kMost = 12;
  Product out;
  std::vector<Factor> stack = {{x, static_cast<bool>(read_once)}};
  while (!stack.empty()) {
    Factor f = std::move(stack.back());
    stack.pop_back();
    f.alone = f.alone && read_once(f.e);
    const Op op = f.e.op();
    if (op == Op::Neg) {
      out.negative = !out.negative;
      stack.push_back({{f.e.in(0), f.axes}, f.alone});
    } else if (op == Op::Broadcast) {
      Factor repeated = {{f.e.in(0), names_below(f.e, f.axes)}, f.alone};
      (in_repeated ? stack : out.factors).push_back(std::move(repeated));
    } else if (op == Op::Mul && out.factors.size() + stack.size() + 2 <= kMost) {
      stack.push_back({{f.e.in(1), f.axes}, f.alone});
      stack.push_back({{f.e.in(0), f.axes}, f.alone});
    } else {
      out.factors.push_back(std::move(f));
    }
  }
  return out;
}

void Extents::note(const Named& x) {
  for (size_t t = 0; t < x.axes.size(); ++t) extent_[x.axes[t]] = x.e.shape()[static_cast<int>(t)];
}

Shape Extents::shape(const Axes& names) const {
  Shape out;
  for (int64_t t : names) out.push_back(extent_.at(t));
  return out;
}

Named product(std::span<const Named> factors, const Axes& names, const Extents& extents) {
  Expr out;
  for (const Named& f : factors) {
    const Expr x = spread(f, names, extents.shape(names));
    out = out ? out * x : x;
  }
  return {out, names};
}

std::vector<Named> gathered(std::vector<Named> factors, const Extents& extents, double most) {
  std::stable_sort(factors.begin(), factors.end(),
                   [&](const Named& a, const Named& b) { return extents.size(a.axes) < extents.size(b.axes); });
  std::vector<Named> out;
  for (auto f = factors.begin(); f != factors.end(); ++f) {
    const auto wider = std::find_if(f + 1, factors.end(), [&](const Named& o) {
      return extents.size(o.axes) <= most &&
             std::all_of(f->axes.begin(), f->axes.end(), [&](int64_t t) { return contains(o.axes, t); });
    });
    if (wider == factors.end()) {
      out.push_back(std::move(*f));
    } else {
      wider->e = wider->e * spread(*f, wider->axes, extents.shape(wider->axes));
    }
  }
  return out;
}

Named summed(const Named& x, std::span<const int64_t> removed) {
  Axes positions, left;
  for (size_t t = 0; t < x.axes.size(); ++t) {
    if (contains(removed, x.axes[t])) {
      positions.push_back(static_cast<int64_t>(t));
    } else {
      left.push_back(x.axes[t]);
    }
  }
  return {reduce(Op::Sum, x.e, positions), left};
}

bool depends(const Named& x, std::span<const int64_t> axes) {
  return std::any_of(x.axes.begin(), x.axes.end(), [&](int64_t t) { return contains(axes, t); });
}

}  // namespace spirograd::rewrite
