#include "frontend/ir/associative_scan.h"

#include <algorithm>
#include <string>

#include "frontend/ir/arguments.h"
#include "frontend/ir/close_loop.h"

namespace spirograd::ir {

namespace {

using Rows = std::vector<Expr>;

constexpr int64_t kFewRows = 256;    // are scanned in order,
constexpr int64_t kWideRows = 4096;  // and rows of so many elements, which give a device enough to do
constexpr int64_t kPart = 32;        // rows that are scanned in order beside other parts
constexpr int64_t kFewParts = 32;

class Grouped {
 public:
  Grouped(std::string_view what, const Combine& combine, Rows* seen) : what_(what), combine_(combine), seen_(seen) {}

  Rows in_parts(const Rows& rows) const {
    const int64_t n = extent(rows), parts = n / kPart, whole = parts * kPart;
    if (n <= kFewParts) return in_order(rows);
    const Rows within = each_part(rows, parts);  // [parts, kPart, ..]
    if (seen_) seen_->insert(seen_->end(), within.begin(), within.end());
    Rows totals;
    for (Expr e : within) totals.push_back(reshape(window(e, 1, kPart - 1, 1), e.shape().erased(1)));
    const Rows up_to = in_parts(totals);
    Rows out = behind(up_to, within, parts);
    for (Expr& e : out) e = reshape(e, e.shape().erased(0).erased(0).inserted(0, whole));
    if (whole == n) return out;
    Rows last, rest;
    for (Expr e : up_to) last.push_back(row(e, parts - 1));
    for (Expr e : rows) rest.push_back(window(e, 0, whole, n - whole));
    return joined(out, states(last, rest));
  }

  Rows in_order(const Rows& rows) const {
    if (extent(rows) < 2) return rows;
    Rows first, rest, begins;
    for (Expr e : rows) {
      first.push_back(row(e, 0));
      begins.push_back(window(e, 0, 0, 1));
      rest.push_back(window(e, 0, 1, e.shape()[0] - 1));
    }
    return joined(begins, states(first, rest));
  }

 private:
  static int64_t extent(const Rows& rows) { return rows[0].shape()[0]; }
  static Expr row(Expr e, int64_t j) { return reshape(window(e, 0, j, 1), e.shape().erased(0)); }

  static Rows joined(const Rows& a, const Rows& b) {
    Rows out;
    for (size_t k = 0; k < a.size(); ++k) {
      const Expr both[] = {a[k], b[k]};
      out.push_back(concat(both, 0));
    }
    return out;
  }

  Rows combined(const Rows& earlier, const Rows& later) const {
    Rows out = combine_(earlier, later);
    const auto types = [](const Rows& all) {
      std::string text;
      for (Expr e : all) text += (text.empty() ? "" : ", ") + to_string(e.type());
      return text;
    };
    if (!std::ranges::equal(out, earlier, {}, &Expr::type, &Expr::type))
      throw Error("SG0101", std::string(what_) + ": rows of " + types(earlier) + " are combined to " + types(out))
          .hint("combine two rows to one of the same types");
    return out;
  }

  // Those after each of `rows`, from the one after `start` on.
  Rows states(const Rows& start, const Rows& rows) const {
    Graph& g = *rows[0].graph;
    Rows state, element;
    for (Expr e : start) state.push_back(fresh_var(g, e.type())), element.push_back(fresh_var(g, e.type()));
    const Rows next = combined(state, element);
    Rows vars = state, results = next;
    vars.insert(vars.end(), element.begin(), element.end());
    results.insert(results.end(), next.begin(), next.end());
    const Rows out = close_loop(g, start, rows, vars, results, false, extent(rows));
    return {out.begin() + static_cast<std::ptrdiff_t>(start.size()), out.end()};
  }

  Rows each_part(const Rows& rows, int64_t parts) const {
    const Expr part = fresh_var(*rows[0].graph, i32());
    Rows own;
    for (Expr e : rows) {
      const Expr cut = reshape(window(e, 0, 0, parts * kPart), e.shape().erased(0).inserted(0, kPart).inserted(0, parts));
      own.push_back(gather(cut, {&part, 1}));
    }
    Rows out = in_order(own);
    for (Expr& e : out) e = build(parts, part, e);
    return out;
  }

  // What the rows within parts are with all that comes before: of the first part, nothing.
  Rows behind(const Rows& up_to, const Rows& within, int64_t parts) const {
    Graph& g = *within[0].graph;
    const Expr part = fresh_var(g, i32()), place = fresh_var(g, i32());
    const Expr next_place[] = {part + scalar(g, DType::I32, 1), place};
    Rows before, here, first;
    for (size_t k = 0; k < within.size(); ++k) {
      before.push_back(gather(up_to[k], {&part, 1}));
      here.push_back(gather(within[k], next_place));
      first.push_back(window(within[k], 0, 0, 1));
    }
    Rows out = combined(before, here);
    for (Expr& e : out) e = build(parts - 1, part, build(kPart, place, e));
    return joined(first, out);
  }

  std::string_view what_;
  const Combine& combine_;
  Rows* seen_;
};

}  // namespace

bool goes_in_parts(std::span<const Type> rows) {
  return rows[0].shape[0] > kFewRows && std::ranges::all_of(rows, [](const Type& t) {
           return t.shape.rank() < kMaxRank && t.shape.count() < kWideRows * t.shape[0];
         });
}

std::vector<Expr> associative_scan(std::string_view what, std::span<const Expr> rows, const Combine& combine, bool reverse,
                                   std::vector<Expr>* within) {
  std::vector<Type> types;
  for (Expr e : rows) types.push_back(e.type());
  common_length(what, types);
  const auto turned = [&](Rows all) {
    for (Expr& e : all)
      if (reverse) e = ir::reverse(e, 0);
    return all;
  };
  const Rows all = turned({rows.begin(), rows.end()});
  const Grouped scan(what, combine, within);
  return turned(goes_in_parts(types) ? scan.in_parts(all) : scan.in_order(all));
}

}  // namespace spirograd::ir
