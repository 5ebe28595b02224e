#include "frontend/rewrite/index_runs.h"

#include <cstdlib>
#include <optional>
#include <span>
#include <vector>

#include "frontend/rewrite/known_elements.h"

namespace spirograd::rewrite {

using namespace ir;

namespace {

constexpr size_t kMostRuns = 4;
constexpr int64_t kLeastOfRun = 8;  // of a run, on average

// Positions `at` to `at + length - 1` of an index array, which holds `first`, `first + step`, and so on.
struct Run {
  int64_t at = 0, length = 0, first = 0, step = 1;

  int64_t lowest() const { return step < 0 ? first - length + 1 : first; }
};

// None: they are many, or short.
std::vector<Run> runs_of(std::span<const double> index) {
  std::vector<Run> runs;
  const auto n = static_cast<int64_t>(index.size());
  const auto element = [&](int64_t k) { return static_cast<int64_t>(index[static_cast<size_t>(k)]); };
  for (int64_t at = 0; at < n; at += runs.back().length) {
    if (runs.size() == kMostRuns) return {};
    Run run{at, 1, element(at), 1};
    if (at + 1 < n && std::abs(element(at + 1) - run.first) <= 1) run.step = element(at + 1) - run.first;
    while (at + run.length < n && element(at + run.length) == run.first + run.length * run.step) ++run.length;
    runs.push_back(run);
  }
  return n >= kLeastOfRun * static_cast<int64_t>(runs.size()) ? runs : std::vector<Run>{};
}

// Of the only index array of a scatter; one run alone is an affine index, which others deal with.
std::vector<Run> runs_of_index(Expr e) {
  if (e.node().in.size() != 2 || e.in(1).rank() != 1 || e.in(0).shape().count() == 0) return {};
  const std::optional<std::vector<double>> index = known_elements(e.in(1));
  std::vector<Run> runs = index ? runs_of(*index) : std::vector<Run>{};
  return runs.size() > 1 ? runs : std::vector<Run>{};
}

}  // namespace

// What falls beyond the result is dropped, by a window as by a scatter.
Expr scatter_runs(Facts&, Expr e) {
  Expr total = no();
  for (const Run& r : runs_of_index(e)) {
    Expr rows = window(e.in(0), 0, r.at, r.length);
    if (r.step < 0) rows = reverse(rows, 0);
    if (r.step == 0) rows = reshape(sum(rows, 0), rows.shape().erased(0).inserted(0, 1));
    const Expr placed = window(rows, 0, -r.lowest(), e.shape()[0]);
    total = total ? total + placed : placed;
  }
  return total;
}

}  // namespace spirograd::rewrite
