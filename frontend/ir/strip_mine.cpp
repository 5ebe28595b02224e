#include "frontend/ir/strip_mine.h"

#include <bit>
#include <cmath>

#include "frontend/ir/algebra.h"

namespace spirograd::ir {

// Steps per chunk: as many as fit, or fewer where that divides the length.
int64_t chunk_length(int64_t length, int64_t most) {
  for (int64_t c = most; 2 * c > most; --c)
    if (length % c == 0) return c;
  return most;
}

StripMined strip_mine(Graph& g, NodeId loop, int64_t chunk, const RunLoop& inner) {
  StripMined out;
  const Node n = g[loop];
  const LoopParts parts = loop_parts(g, n);
  const auto n_acc = static_cast<size_t>(parts.n_acc), n_es = static_cast<size_t>(parts.n_es);
  const int64_t chunks = parts.length / chunk, whole = chunks * chunk, left = parts.length - whole;
  std::vector<Expr> acc, es, consts;
  for (size_t j = 0; j < n.in.size(); ++j) (j < n_acc ? acc : j < n_acc + n_es ? es : consts).push_back({&g, n.in[j]});

  const auto rows = [](Expr e, int64_t from, int64_t count) {
    return count == e.shape()[0] ? e : window(e, 0, from, count);
  };
  const auto run = [&](int64_t from, int64_t count, auto&& shaped) {
    Loop part{.function = parts.function, .reverse = parts.reverse, .length = count, .acc = acc, .es = {}, .consts = consts};
    for (Expr e : es) part.es.push_back(shaped(rows(e, from, count)));
    return part;
  };
  const auto keep_acc = [&](std::span<const Expr> results) {
    acc.assign(results.begin(), results.begin() + parts.n_acc);
    return std::vector<Expr>(results.begin() + parts.n_acc, results.end());
  };

  const auto run_whole = [&] {
    const auto in_chunks = [&](Expr e) { return reshape(e, e.shape().erased(0).inserted(0, chunk).inserted(0, chunks)); };
    Loop chunked = run(0, whole, in_chunks);
    chunked.length = chunks;
    Loop steps{.function = parts.function, .reverse = parts.reverse, .length = chunk, .acc = {}, .es = {}, .consts = {}};
    std::vector<Expr> vars;
    const auto given = [&](std::span<const Expr> operands, std::vector<Expr>& to, bool row) {
      for (Expr e : operands) {
        Type t = e.type();
        if (row) t.shape = t.shape.erased(0);
        to.push_back(fresh_var(g, t));
        vars.push_back(to.back());
      }
    };
    given(chunked.acc, steps.acc, false);
    given(chunked.es, steps.es, true);
    given(chunked.consts, steps.consts, false);
    const std::vector<Expr> results = inner(g, steps);
    chunked.function = close_function(g, vars, results);
    const std::vector<Expr> all = map_accum(g, chunked);
    out.outer = all[0].in(0).id;
    std::vector<Expr> stacks = keep_acc(all);
    for (Expr& s : stacks) s = reshape(s, s.shape().erased(0).erased(0).inserted(0, whole));
    return stacks;
  };
  const auto run_left = [&] { return keep_acc(inner(g, run(whole, left, [](Expr e) { return e; }))); };

  std::vector<Expr> low, high;  // stacked results of the whole chunks, which come first in position, and of what is left
  if (parts.reverse && left > 0) high = run_left();
  low = run_whole();
  if (!parts.reverse && left > 0) high = run_left();
  out.results = acc;
  for (size_t j = 0; j < low.size(); ++j)
    out.results.push_back(left == 0 ? low[j] : concat(std::vector<Expr>{low[j], high[j]}, 0));
  return out;
}

namespace {

int64_t most_levels(int64_t length) { return std::max<int64_t>(1, std::bit_width(static_cast<uint64_t>(length)) - 1); }

// Steps of a round, so that all levels have about as many, and what is left is less than there are rounds.
int64_t steps_inside(int64_t length, int64_t levels) {
  const double rounds = std::round(std::pow(static_cast<double>(length), 1.0 / static_cast<double>(levels)));
  return length / std::max<int64_t>(2, static_cast<int64_t>(rounds));
}

// Bytes of what a loop keeps: before each round its state, or what its steps keep where that is less. `all`: those of a
// round as well, which runs again where its state was kept.
struct KeptBytes {
  int64_t state, step;

  int64_t on_the_way(int64_t length, int64_t levels) const { return of(length, levels, false); }
  int64_t all(int64_t length, int64_t levels) const { return of(length, levels, true); }

 private:
  int64_t of(int64_t length, int64_t levels, bool again) const {
    if (levels < 2 || length < 4) return length * step;
    const int64_t inside = steps_inside(length, levels), steps = on_the_way(inside, levels - 1);
    return length / inside * std::min(state, steps) + (again && state <= steps ? all(inside, levels - 1) : 0) +
           of(length % inside, levels - 1, again);
  }
};

std::vector<Expr> in_levels(Graph& g, std::vector<Expr> results, int64_t levels) {
  const NodeId loop = results[0].in(0).id;
  const int64_t length = loop_parts(g, g[loop]).length;
  if (levels < 2 || length < 4) return results;
  const auto inner = [&](Graph&, const Loop& steps) { return in_levels(g, map_accum(g, steps), levels - 1); };
  return strip_mine(g, loop, steps_inside(length, levels), inner).results;
}

}  // namespace

std::vector<Expr> keeping(Graph& g, std::string_view what, const Keep& keep, std::vector<Expr> results,
                          BytesPerStep bytes_per_step) {
  const NodeId loop = results[0].in(0).id;
  const LoopParts parts = loop_parts(g, g[loop]);
  const int64_t most = most_levels(parts.length);
  if (keep.levels_ < 0)
    throw Error("SG0101", std::string(what) + ": a loop has one level or more, not " + std::to_string(keep.levels_));
  int64_t levels = keep.levels_ == 0 ? most : std::min(keep.levels_, most);
  if (keep.bytes_ >= 0) {
    KeptBytes kept = {0, bytes_per_step(g, loop)};
    for (int j = 0; j < parts.n_acc; ++j)
      if (const Type& t = results[static_cast<size_t>(j)].type(); is_float(t.dtype))
        kept.state += static_cast<int64_t>(device_bytes(t));
    kept.state = std::max(kept.state, kept.step);  // numbers of steps among it are kept as well
    int64_t least = kept.all(parts.length, 1);
    for (levels = 1; kept.all(parts.length, levels) > keep.bytes_; ++levels) {
      least = std::min(least, kept.all(parts.length, levels));
      if (levels == most)
        throw Error("SG0601",
                    std::string(what) + ": " + std::to_string(parts.length) + " steps over a state of " +
                        std::to_string(kept.state) + " bytes" +
                        (kept.step < kept.state ? ", of which each needs " + std::to_string(kept.step) + "," : "") +
                        " keep " + std::to_string(least) + " bytes at least; the budget is " + std::to_string(keep.bytes_))
            .hint("keep=budget(" + std::to_string(least) + ") is the smallest one that suffices");
    }
  }
  return in_levels(g, std::move(results), levels);
}

}  // namespace spirograd::ir
