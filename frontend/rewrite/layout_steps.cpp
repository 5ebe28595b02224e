// A step as a layout operation on the leading axes of an array, and its transpose.
#include "frontend/rewrite/layout_steps.h"

namespace spirograd::rewrite {

using namespace ir;

namespace {

Expr apply(Expr x, const LayoutStep& s, bool backward) {
  const Shape rest = x.shape().slice((backward ? s.to : s.from).rank(), x.rank());
  switch (s.kind) {
    case LayoutStep::Kind::Sum: return backward ? replicate(x, s.axis, s.from[s.axis]) : sum(x, s.axis);
    case LayoutStep::Kind::Window:
      return backward ? window(x, s.axis, -s.lo, s.from[s.axis]) : window(x, s.axis, s.lo, s.to[s.axis]);
    case LayoutStep::Kind::Reverse: return reverse(x, s.axis);
    case LayoutStep::Kind::Reshape: return reshape(x, (backward ? s.from : s.to) + rest);
    case LayoutStep::Kind::Transpose: {
      std::vector<int64_t> perm(static_cast<size_t>(x.rank()));
      for (size_t j = 0; j < perm.size(); ++j) {
        const int64_t p = j < s.perm.size() ? s.perm[j] : static_cast<int64_t>(j);
        if (backward)
          perm[static_cast<size_t>(p)] = static_cast<int64_t>(j);
        else
          perm[j] = p;
      }
      return transpose(x, perm);
    }
  }
  return {};
}

}  // namespace

Expr forward(Expr x, std::span<const LayoutStep> steps) {
  for (const LayoutStep& s : steps) x = apply(x, s, false);
  return x;
}

Expr transposed(Expr x, std::span<const LayoutStep> steps) {
  for (size_t k = steps.size(); k-- > 0;) x = apply(x, steps[k], true);
  return x;
}

}  // namespace spirograd::rewrite
