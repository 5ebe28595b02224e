#include "spirograd/tune.h"

#include <algorithm>
#include <optional>
#include <set>
#include <utility>

#include "spirv/assemble.h"
#include "vk_runtime/clock.h"
#include "vk_runtime/tune/compare.h"

namespace spirograd {
namespace {

using schedule::Asked;
using vk::Clock;
using vk::seconds_since;

constexpr size_t kFirstRounds = 5;      // after which most are out,
constexpr double kPromising = 0.97;     // in the median: whoever is not,
constexpr size_t kRounds = 15;          // and what decides: none of the rounds by which it came so far,
constexpr size_t kMostTimes = 4;        // again where that may be chance
constexpr double kRoundSeconds = 3e-3;  // at least, of several replays where one is short
constexpr double kMostReplays = 100;    // in a round
constexpr double kLong = 0.05;          // seconds from which one replay is a round
constexpr double kLeastShare = 0.04;    // of the time: whoever has less can't make the program clearly faster
constexpr double kHopeless = 3;         // times as long at the first replay

bool same_code(const Executable& a, const Executable& b) {
  const auto same_kernel = [](const KernelBinary& x, const KernelBinary& y) {
    return x.words == y.words && x.workgroup == y.workgroup;
  };
  const auto same_step = [](const Step& x, const Step& y) {
    return x.kind == y.kind && x.kernel == y.kernel && x.groups == y.groups && x.count == y.count;
  };
  return std::equal(a.kernels.begin(), a.kernels.end(), b.kernels.begin(), b.kernels.end(), same_kernel) &&
         std::equal(a.steps.begin(), a.steps.end(), b.steps.begin(), b.steps.end(), same_step);
}

// A program with certain choices, ready to be replayed.
struct Variant {
  Choices choices;
  Decided decided;
  std::unique_ptr<vk::Session> session;
  std::vector<HostArray> results;
};

// Of several replays the fastest: others share the machine.
double replay_seconds(Variant& v, size_t replays) {
  double least = v.session->replay().value().host;
  for (size_t j = 1; j < replays; ++j) least = std::min(least, v.session->replay().value().host);
  return least;
}

// In turns, each as often first as the other: what slows the machine down slows down both.
class Contest {
 public:
  Contest(Variant& before, Variant& after) : before_(before), after_(after) {
    const double once = std::max(1e-7, replay_seconds(before, 1));
    const double replays = std::max(kRoundSeconds / once, once < kLong ? 3.0 : 1.0);
    replays_ = static_cast<size_t>(std::min(replays, kMostReplays));
  }
  /// After so many more rounds.
  tuning::Comparison play(size_t rounds) {
    for (size_t j = 0; j < rounds; ++j) {
      const bool turned = times_before_.size() % 2 == 1;
      if (!turned) times_before_.push_back(replay_seconds(before_, replays_));
      times_after_.push_back(replay_seconds(after_, replays_));
      if (turned) times_before_.push_back(replay_seconds(before_, replays_));
    }
    return tuning::compared(times_before_, times_after_);
  }

 private:
  Variant &before_, &after_;
  size_t replays_ = 1;
  std::vector<double> times_before_, times_after_;
};

// More rounds as long as it may be chance.
tuning::Comparison decided(Variant& before, Variant& after) {
  Contest contest(before, after);
  tuning::Comparison c = contest.play(kRounds);
  for (size_t more = 1; more < kMostTimes && !c.faster && c.ratio < tuning::kClearly; ++more) c = contest.play(kRounds);
  return c;
}

// Something to try: another schedule for a question.
struct Move {
  std::string facts, schedule, before, what;
};

class Search {
 public:
  Search(const Program& program, const std::shared_ptr<vk::Device>& device, std::span<const HostArray> inputs,
         const TuneOptions& options)
      : program_(program), device_(device), inputs_(inputs), options_(options) {}

  Tuning run() {
    first_ = made(options_.compile.choices);
    best_ = &first_;
    look();
    std::optional<Move> move;
    while (seconds_since(start_) < options_.seconds && (move = next())) attempt(*move);
    out_.asked = best_->decided.asked.size();
    out_.complete = !next();
    settle();
    return std::move(out_);
  }

 private:
  Variant made(const Choices& choices) const {
    Variant v;
    v.choices = choices;
    CompileOptions how = options_.compile;
    how.choices = choices;
    v.decided = decide(program_, device_->target(), how);
    return v;
  }

  void start(Variant& v) const {
    v.session = vk::Session::create(device_, v.decided.executable).value();
    v.results = v.session->run(inputs_).value();
  }

  // What each question has to do with the time that the best takes: that of the dearest kernel that says its schedule.
  // Without timestamps all are as dear as the others.
  void look() {
    if (!best_->session) start(*best_);
    const Decided& d = best_->decided;
    std::vector<double> kernels(d.executable.kernels.size());
    double all = 0;
    if (const Result<std::vector<double>> steps = best_->session->profile())
      for (size_t j = 0; j < steps->size(); ++j) {
        if (d.executable.steps[j].kind == Step::Kind::Dispatch) kernels[d.executable.steps[j].kernel] += (*steps)[j];
        all += (*steps)[j];
      }
    queue_.clear();
    for (const Asked& a : d.asked) {
      Question q{&a, kind_of(a), all > 0 ? -1.0 : 1.0};
      for (size_t k = 0; k < kernels.size(); ++k) {
        const std::string what = work_of(d.schedules[k], a);
        if (what.empty() || (all > 0 && kernels[k] / all <= q.share)) continue;
        q.what = what;
        if (all > 0) q.share = kernels[k] / all;
      }
      if (q.share < 0 || q.share >= kLeastShare) queue_.push_back(std::move(q));
    }
    // What no kernel names, as the panels of operands, comes last.
    std::stable_sort(queue_.begin(), queue_.end(), [](const Question& a, const Question& b) { return a.share > b.share; });
  }

  static std::string kind_of(const Asked& a) { return a.facts.substr(0, a.facts.find(' ')); }

  // What the lines of a kernel call the work that runs as the answer says; "": nothing of theirs does.
  static std::string work_of(const std::vector<lower::ScheduleLine>& lines, const Asked& a) {
    const bool map = a.facts.starts_with("map ") || a.facts.starts_with("scan ") || a.facts.starts_with("scatter ");
    std::string compute;
    for (const lower::ScheduleLine& line : lines) {
      const bool inner = line.what.starts_with("  ");
      if (!inner) compute = line.what;
      const bool same = line.how == a.schedule || line.how.starts_with(a.schedule + "; ");
      if (same && inner == !map) return inner ? compute + ":" + line.what.substr(1) : compute;
    }
    return "";
  }

  std::optional<Move> next() const {
    for (const Question& q : queue_)
      for (const std::string& s : q.asked->neighbours)
        if (!seen_.contains({q.asked->facts, s})) return Move{q.asked->facts, s, q.asked->schedule, q.what};
    return std::nullopt;
  }

  void attempt(const Move& move) {
    seen_.emplace(move.facts, move.schedule);
    if (options_.progress)
      options_.progress(move.what + ": " + move.schedule + " (" + std::to_string(out_.tried) + " tried)");
    try {
      Choices choices = best_->choices;
      choices[move.facts] = move.schedule;
      auto v = std::make_unique<Variant>(made(choices));
      if (same_code(v->decided.executable, best_->decided.executable)) return;
      if (!tuning::may_run(v->decided.iterations, first_.decided.iterations, device_->target())) return;
      ++out_.tried;
      start(*v);
      if (!std::equal(v->results.begin(), v->results.end(), first_.results.begin(), first_.results.end(), tuning::agree)) {
        ++out_.refused;
        return;
      }
      if (replay_seconds(*v, 1) > kHopeless * replay_seconds(*best_, 1)) return;
      if (Contest(*best_, *v).play(kFirstRounds).ratio > kPromising) return;
      const tuning::Comparison c = decided(*best_, *v);
      if (c.faster) take(std::move(v), move, c);
    } catch (const Error& e) {
      ++out_.refused;
      if (e.code == "SG0310" || e.code == "SG0311") throw;  // the device is gone
    }
  }

  void take(std::unique_ptr<Variant> v, const Move& move, const tuning::Comparison& c) {
    // Whoever is left for another is not tried again.
    seen_.emplace(move.facts, move.before);
    const auto known = std::find_if(found_.begin(), found_.end(), [&](const Found& f) { return f.facts == move.facts; });
    if (known != found_.end()) {
      known->compute.after = move.schedule;
      known->compute.seconds_after *= c.ratio;  // the machine may be faster or slower by now
    } else {
      found_.push_back({move.facts, {move.what, move.before, move.schedule, c.before, c.ratio * c.before}});
    }
    taken_ = std::move(v);
    best_ = taken_.get();
    look();
  }

  // Only what still shows in the best, and only if the whole is clearly faster than what the search began with.
  void settle() {
    tuning::Comparison c{.before = replay_seconds(first_, kFirstRounds)};
    if (best_ != &first_) c = decided(first_, *best_);
    out_.seconds_before = c.before;
    out_.seconds_after = c.faster ? c.ratio * c.before : c.before;
    if (c.faster) {
      for (const Asked& a : best_->decided.asked)
        if (best_->choices.contains(a.facts)) out_.choices[a.facts] = a.schedule;
      for (Found& f : found_)
        if (out_.choices.contains(f.facts)) out_.computes.push_back(std::move(f.compute));
    }
    if (options_.remember) remember((c.faster ? *best_ : first_).decided.asked);
  }

  // What an earlier search has left for the same work was not found again: the answer of this one takes its place.
  void remember(const std::vector<Asked>& asked) {
    Choices kept = out_.choices;
    const Choices known = device_->tuned();
    for (const Asked& a : asked)
      if (known.contains(a.facts)) kept[a.facts] = a.schedule;
    out_.remembered = !kept.empty() && device_->remember(kept);
  }

  struct Question {
    const Asked* asked;
    std::string what;
    double share;
  };
  struct Found {
    std::string facts;
    TunedCompute compute;
  };

  const Program& program_;
  const std::shared_ptr<vk::Device>& device_;
  std::span<const HostArray> inputs_;
  const TuneOptions& options_;
  const Clock::time_point start_ = Clock::now();
  Variant first_;
  std::unique_ptr<Variant> taken_;
  Variant* best_ = nullptr;
  std::vector<Question> queue_;
  std::set<std::pair<std::string, std::string>> seen_;  // facts and schedules that were tried
  std::vector<Found> found_;
  Tuning out_;
};

}  // namespace

Result<Tuning> tune(const Program& program, const std::shared_ptr<vk::Device>& device, std::span<const HostArray> inputs,
                    const TuneOptions& options) {
  return guarded([&] { return Search(program, device, inputs, options).run(); });
}

}  // namespace spirograd
