#include "tests/property/schedules.h"

#include <array>

#include "spirograd/grad.h"
#include "spirv/schedule/cost.h"
#include "spirv/schedule/legal.h"

namespace spirograd::property {

using schedule::Bind;
using schedule::MapSchedule;
using schedule::Part;
using schedule::ReduceSchedule;
using schedule::Split;
using schedule::Tail;

namespace {

// N, M and K are drawn; each line is a function of its own.
constexpr std::array<std::string_view, 36> kPrograms = {
    "def f(x: f32[N, M]) -> f32[N, M] = exp(sin(x)) + x * 2.0",
    "def f(x: f32[N, M]) -> f32[M, N] = transpose(x * x, [1, 0])",
    "def f(x: f32[N, M, K], y: f32[N, K]) -> f32[K, M, N] = for k: K, j: M, i: N => x[i, M - 1 - j, k] * y[i, k - 1]",
    "def f(x: f32[N], y: f32[N]) -> (a: f32[N], b: bool[N]) = (max(x, y) * 0.5, x < y)",
    "def f(x: f32[N, M], i: i32[K]) -> f32[K, M] = x[i] + 1.0",
    "def f(x: f32[N]) -> f32[N] = for i: N => x[i - 1] - 2.0 * x[i] + x[i + 1]",
    "def f(x: i32[N, M]) -> i32[N] = sum(x, axis=1)",
    "def f(x: f32[N, M, K]) -> f32[M] = max(max(x, axis=2), axis=0)",
    "def f(x: f32[N, M]) -> i32[N] = argmax(x, axis=1)",
    "def f(x: f32[N, M, K], w: f32[M]) -> f32[N] = "
    "for i: N => max(for j: M, k: K => x[i, j, k] * w[j]) - min(for j: M, k: K => x[i, j, k] * w[j])",
    "def f(x: f32[N, M]) -> f32[N] = sum(x, axis=1)",
    "def f(x: f32[N, M]) -> f32[M] = sum(square(x), axis=0)",
    "def f(x: f32[N, M, K]) -> f32 = sum(x * x)",
    "def f(a: f32[N, K], b: f32[K, M]) -> f32[N, M] = a @ b",
    "def f(a: f32[N, K], b: f32[M, K]) -> f32 = sum(square(for i: N, j: M => sum(for k: K => a[i, k] * b[j, k])))",
    "def f(a: f32[N, K], b: f32[K, M], c: f32[M]) -> f32[N, M] = relu(relu(a) @ b + c)",
    "def f(a: f32[3, K, N], b: f32[3, M, K]) -> f32[3, N, M] = transpose(a, [0, 2, 1]) @ transpose(b, [0, 2, 1])",
    "def f(a: f32[N, K], w: f32[K, K]) -> f32[N, N] = a @ w @ transpose(a, [1, 0])",
    "def f(x: f32[N, K], y: f32[M, K]) -> f32[N, M] = for i: N, j: M => max(for k: K => abs(x[i, k] - y[j, k]))",
    "def f(x: f32[N, M]) -> f32[M, M] = transpose(x, [1, 0]) @ x",
    "def f(x: f32[N, K, M]) -> f32[K, N, N] = for k: K, i: N, j: N => min(for m: M => square(x[i, k, m] - x[j, k, m]))",
    "def f(x: i32[N, K], y: i32[K, M]) -> i32[N, M] = x @ y",
    "def f(x: f32[N, K], y: f32[M, K]) -> f32[N, M] = for i: N, j: M => sum(for k: K => x[i + 1, K - 1 - k] * y[j, k - 2])",
    "def f(x: f32[N], w: f32[M, K]) -> f32[N, M] = for i: N, j: M => sum(for k: K => x[i + k - 2] * w[j, k])",
    "def f(x: f32[N, 3], w: f32[M, K]) -> f32[N, M] = for i: N, j: M => sum(for c: 3, k: K => x[2 * i - 3 * k, c] * w[j, "
    "k])",
    "def f(x: f32[N, M]) -> f32[N, M] = softmax(x)",
    "def f(c: f32[K, M], x: f32[N, M]) -> f32 = sum(for i: N => min(for k: K => sum(square(x[i] - c[k]))))",
    "def f(a: f32[M], s: f32[M], xs: f32[K, M]) -> f32[M] = fold(fn(s, x) => tanh(s * a + x), s, xs)",
    "def f(x: f32[N, M]) -> f32 = sum(square(cumsum(x)))",
    "def f(x: f32[N, M]) -> f32[N, M] = cumsum(x * x, axis=1)",
    "def f(x: f32[N], y: f32) -> (s: f32, b: f32[N]) = map_accum_r(fn(s, e) => (max(e, s), s - e), y, x)",
    "def f(x: i32[N, M], y: i32[M]) -> (s: i32[M], b: i32[N, M]) = map_accum_l(fn(s, e) => (s + e, s), y, x)",
    "def f(x: i32[N], i: i32[N]) -> i32[M] = scatter([M], x, i)",
    "def f(x: f32[N, M], i: i32[N, M]) -> f32[K] = scatter([K], exp(x), i)",
    "def f(x: f32[N, M], i: i32[N], j: i32[N]) -> f32[K, 3, M] = scatter([K, 3], x, i, j)",
    "def f(x: f32[M, K], i: i32[N]) -> f32 = sum(square(x[i]))",
};

// Of the loops of one invocation, at most: those around its points, and for each of them the reductions.
double iterations(const MapSchedule& s, const schedule::MapFacts& facts) {
  double points = 1, each = 1;
  for (const Split& axis : s.axes) points *= static_cast<double>(schedule::extent(axis, Bind::Serial));
  for (const schedule::Reduction& r : facts.reductions) each += r.length * (1 + r.inner);
  return points * each * static_cast<double>(schedule::tile(s));
}

}  // namespace

Drawn& Drawn::operator+=(const Drawn& d) {
  maps += d.maps, reductions += d.reductions, shared += d.shared;
  exchanged += d.exchanged, staged += d.staged, broadcast += d.broadcast, packed += d.packed, partial += d.partial;
  halves += d.halves, teams += d.teams, turned += d.turned, scans += d.scans, copies += d.copies, ranges += d.ranges,
      runs += d.runs, by_lanes += d.by_lanes, of_rows += d.of_rows, by_teams += d.by_teams;
  return *this;
}

std::ostream& operator<<(std::ostream& out, const Drawn& d) {
  return out << d.maps << " schedules of maps (" << d.halves << " of half, " << d.teams << " by teams, " << d.turned
             << " in shared memory), " << d.reductions << " of reductions, " << d.shared << " shared by workgroups ("
             << d.exchanged << " among lanes), " << d.staged << " in shared memory, " << d.broadcast << " broadcast, "
             << d.packed << " operands in panels, " << d.partial << " in partial results, " << d.scans << " of scans, "
             << d.copies << " of scatters to copies, " << d.ranges << " to ranges, " << d.runs << " in runs, " << d.by_lanes
             << " by lanes, " << d.of_rows << " of several elements of a row, " << d.by_teams << " by teams";
}

// Random divisors, bound at random; what is left over goes to the first part.
Split RandomScheduler::split(int64_t n, const std::vector<Bind>& binds, int most_parts) const {
  Split out;
  const int parts = 1 + static_cast<int>(below(most_parts));
  for (int p = 1; p < parts; ++p) {
    std::vector<int64_t> divisors;
    for (int64_t d = 1; d <= std::min<int64_t>(n, 16); ++d)
      if (n % d == 0) divisors.push_back(d);
    const int64_t d = divisors[static_cast<size_t>(below(static_cast<int64_t>(divisors.size())))];
    out.insert(out.begin(), {binds[static_cast<size_t>(below(static_cast<int64_t>(binds.size())))], d});
    n /= d;
  }
  out.insert(out.begin(), {below(4) ? binds[0] : binds[static_cast<size_t>(below(static_cast<int64_t>(binds.size())))], n});
  return out;
}

// Up to two axes spread over the group, each with elements of an invocation's own inside, outside or on both sides.
void RandomScheduler::draw_group_tile(MapSchedule& s, const std::vector<int64_t>& extents) const {
  const size_t first = static_cast<size_t>(below(static_cast<int64_t>(extents.size()))),
               second = static_cast<size_t>(below(static_cast<int64_t>(extents.size())));
  int64_t rest = s.group;
  for (const size_t a : {first, second}) {
    int64_t local = a == second ? rest : std::min<int64_t>(rest, int64_t{1} << below(6));
    if (a == first && a == second) local = s.group;
    rest /= local;
    Split parts = {{Bind::Local, local}};
    if (below(2)) parts.push_back({Bind::Register, 1 + below(4)});
    if (below(2)) parts.insert(parts.begin(), {Bind::Register, 1 + below(3)});
    const int64_t tile = schedule::extent(parts);
    if (extents[a] % tile != 0) s.tail = Tail::Recompute;
    const int64_t tiles = (extents[a] + tile - 1) / tile;
    // Devices end long loops.
    parts.insert(parts.begin(), {below(3) || tiles > 8 ? Bind::Grid : Bind::Serial, tiles});
    s.axes[a] = parts;
  }
}

// A subgroup for each point, or for each row of an axis along which its lanes have elements of their own.
void RandomScheduler::draw_teams(MapSchedule& s, const std::vector<int64_t>& extents, int64_t lanes) const {
  const int64_t teams = int64_t{1} << below(4);
  const auto axes = static_cast<int64_t>(extents.size());
  const auto by_teams = static_cast<size_t>(below(axes)), by_lanes = static_cast<size_t>(below(axes));
  s.group = teams * lanes, s.team = lanes, s.tail = Tail::Recompute;
  for (size_t a = 0; a < extents.size(); ++a) {
    Split parts;
    if (a == by_teams) parts.push_back({Bind::Local, teams});
    if (a == by_lanes && below(3)) parts.push_back({Bind::Lane, lanes});
    if (below(3) == 0 || parts.empty()) parts.insert(parts.begin(), {Bind::Register, 1 + below(3)});
    const int64_t tile = schedule::extent(parts);
    parts.insert(parts.begin(), {Bind::Grid, schedule::divided_up(extents[a], tile)});
    s.axes[a] = parts;
  }
}

// A subgroup along one axis, elements of an invocation's own along any.
void RandomScheduler::draw_lanes(MapSchedule& s, const std::vector<int64_t>& extents, int64_t lanes) const {
  const auto by_lanes = static_cast<size_t>(below(static_cast<int64_t>(extents.size())));
  s.tail = Tail::Exact;
  for (size_t a = 0; a < extents.size(); ++a) {
    Split parts;
    if (a == by_lanes) parts.push_back({Bind::Lane, lanes});
    if (below(2) || parts.empty()) parts.insert(parts.begin(), {Bind::Register, 1 + below(4)});
    const int64_t tile = schedule::extent(parts), tiles = (extents[a] + tile - 1) / tile;
    if (extents[a] % tile != 0) s.tail = Tail::Recompute;
    parts.insert(parts.begin(), {below(4) || tiles > 8 ? Bind::Grid : Bind::Serial, tiles});
    s.axes[a] = parts;
  }
  s.outer = static_cast<int>(below(static_cast<int64_t>(extents.size()) + 1)) - 1;
}

// Copies of the body, each for an element of a lane; what is left of the axis, and of blocks of several, is a loop.
void RandomScheduler::draw_broadcast(ReduceSchedule& s, const schedule::ReduceFacts& facts) const {
  const int64_t n = facts.extents.back(), length = 1 + below(2 * facts.lanes), together = 1 + below(4);
  const int64_t blocks = (n + length - 1) / length;
  s.axes.back() = {{Bind::Serial, (blocks + together - 1) / together}, {Bind::Serial, together}, {Bind::Unroll, length}};
  if (together == 1) s.axes.back().erase(s.axes.back().begin());
  if (together == 1) s.axes.back()[0].extent = blocks;
  s.broadcast = facts.lanes;
}

// Blocks of the last axis, perhaps with shorter ones at the end, and any of the arrays.
void RandomScheduler::draw_stages(ReduceSchedule& s, const schedule::ReduceFacts& facts) const {
  const int64_t n = facts.extents.back(), length = 1 + below(20), together = 1 + below(4), unroll = 1 + below(3);
  const int64_t blocks = (n + length - 1) / length;
  s.axes.back() = {{Bind::Serial, (blocks + together - 1) / together}, {Bind::Serial, together}, {Bind::Serial, length}};
  if (length % unroll == 0 && n % (length * together) == 0) {
    s.axes.back().back().extent /= unroll;
    s.axes.back().push_back({Bind::Unroll, unroll});
  }
  if (blocks == 1 || below(4) == 0) s.axes.back() = {{Bind::Serial, n}};
  for (size_t leaf = 0; leaf < facts.leaves.size(); ++leaf)
    if (below(3)) s.stages.push_back({leaf, below(3)});
}

MapSchedule RandomScheduler::map(const schedule::MapFacts& facts, const Target& target) const {
  ++counts_.maps;
  for (int tries = 0; tries < 50; ++tries) {
    MapSchedule s;
    const bool by_lanes = facts.domain.rank() > 0 && facts.reduces && facts.alone && below(3) == 0;
    s.flat = facts.domain.rank() > 0 && !by_lanes && below(3) == 0;
    if (below(2)) s.tail = Tail::Recompute;
    if (facts.alone && !by_lanes && below(facts.reduces ? 8 : 2)) s.group = int64_t{1} << below(8);
    std::vector<int64_t> extents(facts.domain.begin(), facts.domain.end());
    if (s.flat) extents = {facts.domain.count()};
    for (int64_t n : extents) {
      const int64_t surplus = s.tail == Tail::Recompute ? below(6) : 0;
      std::vector<Bind> binds = {Bind::Grid, Bind::Lane, Bind::Register, Bind::Serial, Bind::Local};
      if (s.group > 0) binds = {Bind::Grid, Bind::Register, Bind::Serial};
      s.axes.push_back(split(n + surplus, binds, 4));
    }
    if (s.group > 0 && !s.axes.empty() && below(3)) draw_group_tile(s, extents);
    if (by_lanes) draw_lanes(s, extents, target.subgroup_size);
    if (s.group > 0 && !s.flat && !s.axes.empty() && exchanges_lanes(target) && below(3) == 0)
      draw_teams(s, extents, target.subgroup_size);
    s.staged = s.group > 0 && s.team == 0 && below(2);
    s.half = facts.symmetric && below(2);
    if (schedule::tile(s) * facts.code > most_code_ || check(facts, s, target)) continue;
    if (iterations(s, facts) > static_cast<double>(target.max_loop_iterations)) continue;  // such a kernel is refused
    counts_.halves += s.half;
    counts_.teams += s.team > 0;
    counts_.turned += s.staged && facts.domain.rank() > 1;
    drawn_ += schedule::to_string(s) + "\n";
    return s;
  }
  return schedule::plain_map(facts);
}

ReduceSchedule RandomScheduler::reduction(const schedule::ReduceFacts& facts, const Target& target) const {
  ++counts_.reductions;
  for (int tries = 0; tries < 50; ++tries) {
    ReduceSchedule s;
    for (int64_t n : facts.extents) s.axes.push_back(split(n, {Bind::Serial}, 3));
    Split& last = s.axes.back();
    const int64_t n = facts.extents.back(), b = 1 + below(64);
    if (below(4) == 0 && n > b)
      last = {{Bind::Serial, (n + b - 1) / b}, {Bind::Serial, b}};  // the last block may be shorter
    if (below(2)) last.back().bind = Bind::Unroll;
    if (facts.group > 0 && below(3)) {
      const int64_t own = (n + facts.group - 1) / facts.group, unroll = std::min<int64_t>(own, 1 + below(4));
      last = {{Bind::Serial, (own + unroll - 1) / unroll}, {Bind::Unroll, unroll}, {Bind::Local, facts.group}};
      if (facts.team || below(2)) s.lanes = target.subgroup_size;
    } else if (!facts.leaves.empty() && below(4)) {
      draw_stages(s, facts);
    }
    if (facts.common > 0 && below(6)) draw_broadcast(s, facts);
    const std::array<int64_t, 4> accumulators = {1, 2, 4, 8};
    s.accumulators = accumulators[static_cast<size_t>(below(4))];
    if (schedule::extent(last, Bind::Unroll) * facts.points * facts.code > most_code_ || check(facts, s, target)) continue;
    counts_.shared += schedule::extent(last, Bind::Local) > 1;
    counts_.staged += !s.stages.empty();
    counts_.broadcast += s.broadcast > 1;
    counts_.exchanged += s.lanes > 1;
    drawn_ += "  " + schedule::to_string(s) + "\n";
    return s;
  }
  return Scheduler::reduction(facts, target);
}

schedule::PartialSchedule RandomScheduler::partial(const schedule::PartialFacts& facts, const Target& target) const {
  for (int tries = 0; tries < 50 && below(3); ++tries) {
    schedule::PartialSchedule s;
    for (int64_t n : facts.extents) {
      const int64_t first = 1 + below(std::min<int64_t>(n, 40));
      Split axis = {{Bind::Grid, first}, {Bind::Serial, (n + first - 1) / first}};
      if (below(2)) std::swap(axis[0].bind, axis[1].bind);
      if (below(3) == 0) axis = {{below(2) ? Bind::Grid : Bind::Serial, n}};
      s.axes.push_back(axis);
    }
    if (check(facts, s, target)) continue;
    counts_.partial += schedule::partial_results(s) > 1;
    drawn_ += "  partial results: " + schedule::to_string(s) + "\n";
    return s;
  }
  return schedule::whole(facts);
}

schedule::PackSchedule RandomScheduler::pack(const schedule::PackFacts& facts, const Target&) const {
  const int64_t panel = below(3) ? (below(2) ? facts.width : 1 + below(40)) : 0;
  counts_.packed += panel > 0;
  if (panel > 0) drawn_ += "  panels of " + std::to_string(panel) + "\n";
  return {panel};
}

schedule::ScanSchedule RandomScheduler::scan(const schedule::ScanFacts& facts, const Target& target) const {
  for (int tries = 0; tries < 50; ++tries) {
    schedule::ScanSchedule s;
    const int64_t local = int64_t{1} << below(7), own = 1 + below(5), tile = below(2) ? 1 : local * own;
    const int64_t tiles = (facts.length + tile - 1) / tile, serial = 1 + below(std::min<int64_t>(tiles, 12));
    s.steps = {{Bind::Grid, (tiles + serial - 1) / serial}, {Bind::Serial, serial}};
    if (tile > 1) s.steps.insert(s.steps.end(), {{Bind::Local, local}, {Bind::Register, own}});
    if (own * facts.code > most_code_ || check(facts, s, target)) continue;
    counts_.scans += !schedule::is_serial(s);
    drawn_ += "  " + schedule::to_string(s) + "\n";
    return s;
  }
  return schedule::serial_scan(facts);
}

schedule::ScatterSchedule RandomScheduler::scatter(const schedule::ScatterFacts& facts, const Target& target) const {
  for (int tries = 0; tries < 50; ++tries) {
    schedule::ScatterSchedule s;
    s.atomic = below(2) == 0;
    const int64_t serial = 1 + below(std::min<int64_t>(facts.updates, 40)), unroll = s.atomic ? 1 : 1 + below(4);
    const int64_t parts = (facts.updates + serial * unroll - 1) / (serial * unroll) + (below(4) ? 0 : below(3));
    s.updates = {{Bind::Grid, parts}, {Bind::Serial, serial}};
    if (below(3) == 0) std::swap(s.updates[0], s.updates[1]);
    if (unroll > 1) s.updates.push_back({Bind::Unroll, unroll});
    if (!s.atomic && (parts == 1 || below(3) == 0)) s.updates = {{Bind::Serial, facts.updates}};
    const int64_t range = 1 + below(facts.places), ranges = (facts.places + range - 1) / range;
    s.places = {{Bind::Serial, facts.places}};
    if (!s.atomic && below(2)) s.places = {{Bind::Grid, ranges}, {Bind::Serial, range}};
    if (s.atomic) s.among = 1 + below(3);
    if (s.atomic && below(3)) {
      s.updates = {{Bind::Grid, schedule::divided_up(facts.updates, schedule::kLaneGroup) * schedule::kLaneGroup}};
      s.lanes = target.subgroup_size;
    }
    if (!s.atomic && s.places.size() == 1 && below(2)) {
      const int64_t own = 1 + below(3), lanes = 1 + below(4), neighbours = 1 + below(2);
      s.row = {{Bind::Grid, schedule::divided_up(facts.row, own * lanes * neighbours)},
               {Bind::Register, own},
               {Bind::Lane, lanes},
               {Bind::Register, neighbours}};
      if (below(2)) s.row.pop_back();
    }
    if (!s.atomic && !target.price.coalesces && below(2)) {
      s.updates = {{Bind::Grid, 2 + below(3)}, {Bind::Serial, 1 + below(40)}, {Bind::Lane, target.subgroup_size}};
      s.updates[1].extent *= facts.row;
      if (unroll > 1) s.updates.insert(s.updates.end() - 1, {Bind::Unroll, unroll});
      s.places = {{Bind::Serial, facts.places}}, s.row = {};
    }
    const int64_t own = unroll * schedule::extent(s.row, Bind::Register);
    if (own * facts.code > most_code_ || check(facts, s, target)) continue;
    counts_.of_rows += schedule::extent(s.row, Bind::Register) > 1;
    counts_.by_lanes += s.lanes > 1;
    counts_.by_teams += schedule::team(s) > 0;
    counts_.copies += schedule::copies(s) > 1;
    counts_.ranges += !s.atomic && s.places.size() > 1;
    counts_.runs += s.atomic && s.updates.size() > 1 && serial > 1;
    drawn_ += "  " + schedule::to_string(s) + "\n";
    return s;
  }
  return Scheduler::scatter(facts, target);
}

RandomProgram scheduled_program(uint64_t seed) {
  std::mt19937_64 random(seed);
  const std::array<int64_t, 12> sizes = {1, 2, 3, 5, 8, 12, 16, 31, 33, 64, 70, 130};
  text::ShapeVariables shapes;
  for (const char* name : {"N", "M", "K"}) shapes.emplace_back(name, sizes[random() % sizes.size()]);
  const std::string source(kPrograms[random() % kPrograms.size()]);
  RandomProgram r;
  text::ShapeVariables used;
  for (const auto& [name, n] : shapes)
    if (source.find("[" + name) != std::string::npos || source.find(" " + name + "]") != std::string::npos ||
        source.find(" " + name + ",") != std::string::npos)
      used.emplace_back(name, n);
  r.program = text::instantiate(text::parse(source, "schedules").value(), "f", used).value();
  const bool scalar = r.program.results[0].type.shape.rank() == 0;
  if (const uint64_t drawn = random() % 3; scalar && drawn > 0)
    r.program = (drawn == 1 ? grad(r.program) : value_and_grad(r.program)).value();
  for (const Param& p : r.program.params) {
    Values v;
    for (int64_t j = 0; j < p.type.shape.count(); ++j) {
      const auto x = static_cast<double>(static_cast<int>(random() % 33) - 16);
      v.push_back(is_float(p.type.dtype) ? x / 8 : x);
    }
    r.inputs.push_back(std::move(v));
  }
  return r;
}

bool is_exact(const Program& simple) {
  for (ir::NodeId id : ir::postorder(*simple.graph, roots_of(simple))) {
    const ir::Node& n = (*simple.graph)[id];
    const bool rounds = n.op == ir::Op::Sum || n.op == ir::Op::Prod || n.op == ir::Op::Scatter || n.op == ir::Op::MapAccum;
    if (rounds && is_float(n.type.dtype)) return false;
  }
  return true;
}

}  // namespace spirograd::property
