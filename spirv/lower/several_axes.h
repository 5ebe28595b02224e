// Contractions over several axes as sums of short ones over one: as many axes as may be written out, or parts of them, are
// joined, and each element of the others has a sum of its own. Arrays that are read at places which may lie beyond their
// ends, a few elements, are copied with zeros around them, so that nothing is asked where they are read.
#pragma once

#include <optional>
#include <set>
#include <span>

#include "spirv/lower/access.h"
#include "spirv/schedule/compute.h"

namespace spirograd::lower {

struct ShortSums {
  ir::Expr products;               // axes of the sums that are added up, of the results, and the one of the short sums
  int others = 0;                  // so many come first
  std::set<uint32_t> stored;       // copies
  std::optional<ir::Expr> inside;  // which sums count; none: all
};

/// Of a sum over several axes, of `most` elements at most; the axis `last` of its results becomes the last one. None: what
/// is read beyond its ends is computed, and no product.
std::optional<ShortSums> short_sums(ir::Graph& g, ir::NodeId id, const NodeSet& stored, int last, int64_t most);

/// The short sums of a contraction, and their sum. Of more than `most` elements some are stored and summed up before the
/// next ones, so many of each of the axes that come first.
class SumOfShortSums {
 public:
  SumOfShortSums(ir::Graph& g, ShortSums sums, const NodeSet& stored, int64_t most);

  /// Of the first of them that are stored together.
  schedule::MapFacts facts() const;
  /// Whether its lanes read no rows, not even of copies (near_reads.h).
  bool steps() const;
  /// How often some are stored.
  int64_t rounds() const;
  /// Of all of them: the results, the one along which lanes are neighbours last. Notes in `stored` what is to be stored.
  ir::Expr total(std::set<uint32_t>& stored);

 private:
  Shape counts() const { return sums_.products.shape().slice(0, sums_.others); }
  Shape results() const { return sums_.products.shape().slice(sums_.others, sums_.products.rank() - 1); }
  ir::Expr cut(ir::Expr x, std::span<const int64_t> from) const;
  ir::Expr partial(std::span<const int64_t> from) const;
  ir::Expr sum_from(std::span<const int64_t> from, std::set<uint32_t>& stored) const;

  ir::Graph& g_;
  ShortSums sums_;
  NodeSet stored_;  // with copies that are made for the sums
  Shape at_once_;
};

}  // namespace spirograd::lower
