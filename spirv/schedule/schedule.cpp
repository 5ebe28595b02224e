#include "spirv/schedule/schedule.h"

#include <algorithm>
#include <array>
#include <charconv>

#include "spirograd/result.h"

namespace spirograd::schedule {
namespace {

constexpr std::array<std::string_view, 6> kBinds = {"grid", "local", "lane", "serial", "unroll", "register"};
constexpr std::string_view kMapAxes = "ijklmnopqrst", kReducedAxes = "kabcdefghuvw";
constexpr std::array<std::string_view, 6> kMapWords = {"tail", "outer", "group", "team", "staged", "half"};
constexpr std::string_view kLeaves = "ABCDEFGHIJKLMNOPQRSTUVWXYZ";

std::string to_string(const Split& s) {
  std::string out;
  for (const Part& p : s) out += " " + std::string(name(p.bind)) + " " + std::to_string(p.extent);
  return out;
}

// The words of a schedule, one after the other.
class Reader {
 public:
  explicit Reader(std::string_view text) : text_(text) { next(); }

  std::string_view word() const { return word_; }
  bool take(std::string_view wanted) {
    if (word_ != wanted) return false;
    next();
    return true;
  }
  void expect(std::string_view wanted, const std::string& where) {
    if (!take(wanted)) fail("'" + std::string(wanted) + "' expected " + where);
  }
  int64_t number() {
    int64_t value = 0;
    const auto [end, error] = std::from_chars(word_.data(), word_.data() + word_.size(), value);
    if (error != std::errc() || end != word_.data() + word_.size() || value < 1) fail("a number of at least 1 expected");
    next();
    return value;
  }
  Split split() {
    Split out;
    for (;;) {
      const auto bind = std::find(kBinds.begin(), kBinds.end(), word_);
      if (bind == kBinds.end()) break;
      next();
      out.push_back({static_cast<Bind>(bind - kBinds.begin()), number()});
    }
    if (out.empty()) fail("one of grid, local, lane, serial, unroll and register expected");
    return out;
  }
  int axis() {
    const size_t number = word_.size() == 1 ? kMapAxes.find(word_[0]) : std::string_view::npos;
    if (number == std::string_view::npos) fail("the name of an axis expected");
    next();
    return static_cast<int>(number);
  }
  Split reduced_axis(size_t number) {
    expect(std::string(kReducedAxes.substr(std::min(number, kReducedAxes.size()), 1)), "as the name of the next axis");
    expect("=", "after the name of an axis");
    return split();
  }
  Stage stage() {
    const size_t leaf = word_.size() == 1 ? kLeaves.find(word_[0]) : std::string_view::npos;
    if (leaf == std::string_view::npos) fail("an array, A to Z, expected");
    next();
    return {leaf, take("pad") ? number() : 0};
  }
  [[noreturn]] void fail(const std::string& why) const {
    const std::string at = word_.empty() ? "at the end" : "at '" + std::string(word_) + "'";
    throw Error("SG0306", "schedule '" + std::string(text_) + "': " + why + ", " + at);
  }

 private:
  void next() {
    const auto is_space = [](char c) { return c == ' ' || c == '\n' || c == '\t'; };
    while (at_ < text_.size() && is_space(text_[at_])) ++at_;
    const size_t from = at_;
    const auto is_mark = [](char c) { return c == ';' || c == '=' || c == ','; };
    if (at_ < text_.size() && is_mark(text_[at_])) {
      ++at_;
    } else {
      while (at_ < text_.size() && !is_space(text_[at_]) && !is_mark(text_[at_])) ++at_;
    }
    word_ = text_.substr(from, at_ - from);
  }

  std::string_view text_, word_;
  size_t at_ = 0;
};

}  // namespace

std::string_view name(Bind b) { return kBinds[static_cast<size_t>(b)]; }

int64_t extent(const Split& s) {
  int64_t n = 1;
  for (const Part& p : s) n *= p.extent;
  return n;
}

std::vector<StridedPart> strided(const Split& s) {
  std::vector<StridedPart> out;
  int64_t stride = extent(s);
  for (const Part& p : s) out.push_back({p, stride /= p.extent});
  return out;
}

int64_t extent(const Split& s, Bind b) {
  int64_t n = 1;
  for (const Part& p : s) n *= p.bind == b ? p.extent : 1;
  return n;
}

int64_t invocations(const MapSchedule& s) {
  int64_t n = 1;
  if (s.group > 0) {
    for (const Split& axis : s.axes) n *= extent(axis, Bind::Grid);
    return n * s.group;
  }
  for (const Split& axis : s.axes)
    for (Bind b : {Bind::Grid, Bind::Local, Bind::Lane}) n *= extent(axis, b);
  return n;
}

int64_t tile(const MapSchedule& s) {
  int64_t n = 1;
  for (const Split& axis : s.axes) n *= extent(axis, Bind::Register);
  return n;
}

int64_t partial_results(const PartialSchedule& s) {
  int64_t n = 1;
  for (const Split& axis : s.axes) n *= extent(axis, Bind::Grid);
  return n;
}

bool of_whole_rows(const PartialSchedule& s) {
  const auto is = [](const Split& axis, Bind b) { return axis.size() == 1 && axis[0].bind == b; };
  return s.axes.size() > 1 && is(s.axes.back(), Bind::Serial) &&
         std::all_of(s.axes.begin(), s.axes.end() - 1, [&](const Split& axis) { return is(axis, Bind::Grid); });
}
int64_t chunks(const ScanSchedule& s) { return extent(s.steps, Bind::Grid); }
int64_t chunk_length(const ScanSchedule& s) { return extent(s.steps) / chunks(s); }
int64_t group(const ScanSchedule& s) { return s.steps.size() > 2 ? extent(s.steps, Bind::Local) : 0; }
bool is_serial(const ScanSchedule& s) { return chunks(s) == 1 && group(s) == 0; }
int64_t copies(const ScatterSchedule& s) { return s.atomic ? s.among : extent(s.updates, Bind::Grid); }
int64_t invocations(const ScatterSchedule& s) {
  return extent(s.updates, Bind::Grid) * (s.atomic ? 1 : extent(s.places, Bind::Grid));
}
int64_t team(const ScatterSchedule& s) {
  const int64_t lanes = extent(s.updates, Bind::Lane);
  return lanes > 1 ? lanes : 0;
}
int64_t apart(const ScatterSchedule& s, int64_t row) {
  if (team(s) > 0) return 1;
  return s.row.empty() ? row : extent(s.row, Bind::Grid) * extent(s.row, Bind::Lane);
}
bool is_straight(const ReduceSchedule& s) {
  return std::ranges::all_of(s.axes, [](const Split& a) { return a.size() == 1 && a[0].bind == Bind::Unroll; });
}

int64_t staged_elements(const ReduceSchedule& s) {
  int64_t n = 1;
  for (auto part = s.axes.back().rbegin(); part != s.axes.back().rend(); ++part) {
    n *= part->extent;
    if (part->bind == Bind::Serial) break;
  }
  return n;
}

std::string to_string(const MapSchedule& s) {
  std::string out;
  for (size_t a = 0; a < s.axes.size(); ++a) {
    const char axis = s.flat ? 'e' : kMapAxes[a];
    out += (out.empty() ? "" : "; ") + std::string(1, axis) + " =" + to_string(s.axes[a]);
  }
  if (s.axes.empty()) out = "once";
  if (s.tail == Tail::Recompute) out += "; tail recompute";
  if (s.outer >= 0) out += "; outer " + std::string(kMapAxes.substr(static_cast<size_t>(s.outer), 1));
  if (s.group > 0) out += "; group " + std::to_string(s.group);
  if (s.team > 0) out += "; team " + std::to_string(s.team);
  if (s.staged) out += "; staged";
  if (s.half) out += "; half";
  return out;
}

std::string to_string(const PartialSchedule& s) {
  std::string out;
  for (size_t a = 0; a < s.axes.size(); ++a)
    out += (out.empty() ? "" : "; ") + std::string(1, kReducedAxes[a]) + " =" + to_string(s.axes[a]);
  return out;
}

std::string to_string(const ReduceSchedule& s) {
  std::string out = to_string(PartialSchedule{s.axes});
  if (s.accumulators > 1) out += "; accumulators " + std::to_string(s.accumulators);
  if (s.lanes > 1) out += "; lanes " + std::to_string(s.lanes);
  if (s.broadcast > 1) out += "; broadcast " + std::to_string(s.broadcast);
  for (size_t j = 0; j < s.stages.size(); ++j) {
    const size_t leaf = s.stages[j].leaf;
    out += (j == 0 ? "; stage " : ", ") + std::string(leaf < kLeaves.size() ? kLeaves.substr(leaf, 1) : "?");
    if (s.stages[j].pad > 0) out += " pad " + std::to_string(s.stages[j].pad);
  }
  return out;
}

std::string to_string(const ScanSchedule& s) { return "k =" + to_string(s.steps); }

std::string to_string(const PackSchedule& s) { return s.panel == 0 ? "in place" : "panels of " + std::to_string(s.panel); }
std::string to_string(const ScatterSchedule& s) {
  std::string atomic = s.among > 1 ? "; atomic among " + std::to_string(s.among) : "; atomic";
  if (s.lanes > 1) atomic += "; lanes " + std::to_string(s.lanes);
  const std::string row = s.row.empty() ? "" : "; r =" + to_string(s.row);
  return "u =" + to_string(s.updates) + (s.atomic ? atomic : "; p =" + to_string(s.places) + row);
}

MapSchedule parse_map(std::string_view text) {
  Reader in(text);
  MapSchedule s;
  if (!in.take("once")) {
    s.flat = in.word() == "e";
    do {
      const bool axis = s.axes.size() < (s.flat ? 1 : kMapAxes.size());
      const std::string wanted = !axis ? "" : s.flat ? "e" : std::string(1, kMapAxes[s.axes.size()]);
      if (std::ranges::find(kMapWords, in.word()) != kMapWords.end()) break;
      in.expect(wanted, "as the name of the next axis");
      in.expect("=", "after the name of an axis");
      s.axes.push_back(in.split());
    } while (in.take(";"));
  } else {
    in.take(";");
  }
  if (in.take("tail")) {
    in.expect("recompute", "after 'tail'");
    s.tail = Tail::Recompute;
    in.take(";");
  }
  if (in.take("outer")) {
    s.outer = in.axis();
    in.take(";");
  }
  if (in.take("group")) {
    s.group = in.number();
    in.take(";");
  }
  if (in.take("team")) {
    s.team = in.number();
    in.take(";");
  }
  s.staged = in.take("staged");
  if (s.staged) in.take(";");
  s.half = in.take("half");
  if (!in.word().empty()) in.fail("nothing more expected");
  return s;
}

ReduceSchedule parse_reduction(std::string_view text) {
  Reader in(text);
  ReduceSchedule s;
  do {
    if (in.word() == "accumulators" || in.word() == "lanes" || in.word() == "broadcast" || in.word() == "stage") break;
    s.axes.push_back(in.reduced_axis(s.axes.size()));
  } while (in.take(";"));
  if (in.take("accumulators")) {
    s.accumulators = in.number();
    in.take(";");
  }
  if (in.take("lanes")) {
    s.lanes = in.number();
    in.take(";");
  }
  if (in.take("broadcast")) {
    s.broadcast = in.number();
    in.take(";");
  }
  if (in.take("stage")) {
    do s.stages.push_back(in.stage());
    while (in.take(","));
  }
  if (!in.word().empty()) in.fail("nothing more expected");
  return s;
}

PartialSchedule parse_partial(std::string_view text) {
  Reader in(text);
  PartialSchedule s;
  do s.axes.push_back(in.reduced_axis(s.axes.size()));
  while (in.take(";"));
  if (!in.word().empty()) in.fail("nothing more expected");
  return s;
}

ScanSchedule parse_scan(std::string_view text) {
  Reader in(text);
  in.expect("k", "as the name of the axis");
  in.expect("=", "after the name of an axis");
  ScanSchedule s{in.split()};
  if (!in.word().empty()) in.fail("nothing more expected");
  return s;
}

PackSchedule parse_pack(std::string_view text) {
  Reader in(text);
  PackSchedule s;
  if (in.take("panels")) {
    in.expect("of", "after 'panels'");
    s.panel = in.number();
  } else {
    in.expect("in", "or 'panels'");
    in.expect("place", "after 'in'");
  }
  if (!in.word().empty()) in.fail("nothing more expected");
  return s;
}

ScatterSchedule parse_scatter(std::string_view text) {
  Reader in(text);
  in.expect("u", "as the name of the updates");
  in.expect("=", "after the name of an axis");
  ScatterSchedule s{.updates = in.split()};
  in.expect(";", "after the updates");
  s.atomic = in.take("atomic");
  if (s.atomic && in.take("among")) s.among = in.number();
  if (s.atomic && in.take(";")) {
    in.expect("lanes", "after ';'");
    s.lanes = in.number();
  }
  if (!s.atomic) {
    in.expect("p", "as the name of the places, or 'atomic'");
    in.expect("=", "after the name of an axis");
    s.places = in.split();
    if (in.take(";")) {
      in.expect("r", "as the name of the elements of a row");
      in.expect("=", "after the name of an axis");
      s.row = in.split();
    }
  }
  if (!in.word().empty()) in.fail("nothing more expected");
  return s;
}

}  // namespace spirograd::schedule
