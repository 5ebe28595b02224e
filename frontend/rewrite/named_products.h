// Products of arrays of named axes, and their sums.
#pragma once

#include <functional>
#include <map>

#include "frontend/rewrite/named_axes.h"

namespace spirograd::rewrite {

struct Factor : Named {
  bool alone = false;  // nothing but the product reads it
};

struct Product {
  std::vector<Factor> factors;  // left to right
  bool negative = false;
};

/// The factors of `x`. `in_repeated`: those of products that it repeats, too. `read_once`: whether a node has one reader;
/// without it no factor is said to be alone.
Product factors_of(const Named& x, bool in_repeated, const std::function<bool(ir::Expr)>& read_once = {});

/// The extents of named axes.
class Extents {
 public:
  void note(const Named& x);
  Shape shape(const Axes& names) const;
  double size(const Axes& names) const { return static_cast<double>(shape(names).count()); }

 private:
  std::map<int64_t, int64_t> extent_;
};

/// The product over all of `names`, left to right.
Named product(std::span<const Named> factors, const Axes& names, const Extents& extents);

/// Factors with the same product: small ones first, multiplied with others of `most` elements at most that have all of their
/// axes. What few axes have is not multiplied for each element, and no large array is worth storing.
std::vector<Named> gathered(std::vector<Named> factors, const Extents& extents, double most);

/// The sum over those axes of `x` that are among `removed`.
Named summed(const Named& x, std::span<const int64_t> removed);

bool depends(const Named& x, std::span<const int64_t> axes);

}  // namespace spirograd::rewrite
