#include "spirograd/shards.h"

#include <algorithm>
#include <deque>
#include <future>

#include "vk_runtime/shards/division.h"
#include "vk_runtime/shards/pieces.h"
#include "vk_runtime/shards/worker.h"

namespace spirograd {
namespace shards {

struct Task {
  size_t device = 0;
  Piece piece;
  std::future<Done> done;
};

struct ShardStep {
  uint64_t number = 0;
  size_t slot = 0;
  Inputs inputs;
  std::vector<int64_t> counts;
  std::vector<Task> tasks;
};

}  // namespace shards

namespace {

using shards::Done;
using shards::Piece;
using shards::ShardStep;
using shards::Task;

// Steps of one division after which another one may be chosen: more each time, so that it comes to rest.
constexpr size_t kMeasuredSteps = 3;

// A piece whose results are there.
struct Finished {
  Piece piece;
  std::vector<HostArray> results;
};

double median(std::vector<double> v) {
  std::nth_element(v.begin(), v.begin() + static_cast<std::ptrdiff_t>(v.size() / 2), v.end());
  return v[v.size() / 2];
}

}  // namespace

struct Shards::Impl {
  Impl(const std::vector<std::shared_ptr<vk::Device>>& devices, MakeProgram make, std::vector<Param> params,
       ShardOptions options)
      : plan(std::move(make), std::move(params), std::move(options)), inputs(plan.whole().params.size()) {
    if (devices.empty() || std::find(devices.begin(), devices.end(), nullptr) != devices.end())
      throw Error("SG0303", "there is no device to share the work among").hint("usable_devices() gives those that are here");
    const std::vector<double>& shares = plan.options().shares;
    if (!shares.empty() && shares.size() != devices.size())
      throw Error("SG0511", std::to_string(shares.size()) + " shares for " + std::to_string(devices.size()) + " devices");
    for (const auto& d : devices) {
      workers.push_back(std::make_unique<shards::Worker>(d, plan));
      states.push_back({d->info().name});
    }
    counts = shards::divided(plan.extent(), shares.empty() ? std::vector<double>(devices.size(), 1.0) : shares);
    times.resize(devices.size());
  }

  // Of the devices that are left, in proportion to these counts.
  std::vector<int64_t> among_the_living(int64_t count, std::span<const int64_t> like) const {
    std::vector<double> shares(workers.size());
    bool any = false;
    for (size_t d = 0; d < workers.size(); ++d) {
      if (!workers[d]->lost) shares[d] = static_cast<double>(like[d]);
      any |= shares[d] > 0;
    }
    for (size_t d = 0; d < workers.size() && !any; ++d) shares[d] = workers[d]->lost ? 0 : 1;
    return shards::divided(count, shares);
  }
  bool any_living() const {
    return std::any_of(workers.begin(), workers.end(), [](const auto& w) { return !w->lost; });
  }

  // One task per device with something to do. A whole without elements is the first one's.
  void start(ShardStep& step, std::span<const int64_t> how_many, int64_t first) {
    const bool none = std::all_of(how_many.begin(), how_many.end(), [](int64_t n) { return n == 0; });
    bool started = false;
    for (size_t d = 0; d < workers.size(); ++d) {
      if (how_many[d] == 0 && (!none || started || workers[d]->lost)) continue;
      const Piece piece{first, how_many[d]};
      first += how_many[d];
      started = true;
      step.tasks.push_back({d, piece, std::async(std::launch::async, [this, d, piece, in = step.inputs, slot = step.slot] {
                              return workers[d]->work(in, piece, slot);
                            })});
    }
  }

  void submit() {
    if (under_way.size() == shards::kSlots)
      throw Error("SG0501", "two steps are under way already").hint("wait() for the first of them");
    for (size_t i = 0; i < inputs.size(); ++i)
      if (!inputs[i].array) throw Error("SG0502", "input '" + plan.whole().params[i].name + "' was never set");
    if (!any_living()) throw Error("SG0310", "all devices were lost");
    // Who never has two steps under way needs one session for each device.
    const size_t slot = under_way.empty() ? 0 : 1 - under_way.back().slot;
    ShardStep step{steps, slot, inputs, counts, {}};
    ++steps;
    start(step, counts, 0);
    under_way.push_back(std::move(step));
  }

  // Waits for all tasks of the step, so that nothing of it runs when an error is told. Pieces of lost devices are left over.
  std::vector<Piece> collect(ShardStep& step, std::vector<Finished>& finished) {
    std::vector<Piece> left_over;
    std::optional<Error> error;
    for (Task& t : step.tasks) {
      Done done = t.done.get();
      ShardState& state = states[t.device];
      if (!done.error) {
        finished.push_back({t.piece, std::move(done.results)});
        if (state.count == 0) state.first = t.piece.first;
        state.count += t.piece.count;
        state.seconds += done.seconds;
        warm = warm && done.warm;
      } else if (done.error->code == "SG0310") {
        workers[t.device]->lost = state.lost = true;
        reason = std::move(*done.error);
        left_over.push_back(t.piece);
        say("'" + state.device + "' was lost in step " + std::to_string(step.number) + ": the others do its " +
            std::to_string(t.piece.count) + " of " + std::to_string(plan.extent()) + " elements");
      } else if (!error) {
        error = std::move(done.error);
      }
    }
    step.tasks.clear();
    if (error) throw *error;
    return left_over;
  }

  std::vector<HostArray> wait() {
    if (under_way.empty()) throw Error("SG0501", "no step was submitted");
    ShardStep step = std::move(under_way.front());
    under_way.pop_front();
    for (ShardState& s : states) s = {s.device, 0, 0, 0, s.lost};
    warm = true;
    std::vector<Finished> finished;
    std::vector<Piece> left_over = collect(step, finished);
    const bool whole = left_over.empty();
    while (!left_over.empty()) {
      if (!any_living()) throw Error(reason).note("no device is left");
      const Piece piece = left_over.back();
      left_over.pop_back();
      start(step, among_the_living(piece.count, counts), piece.first);
      for (const Piece& p : collect(step, finished)) left_over.push_back(p);
    }
    if (!whole) divide(among_the_living(plan.extent(), counts));
    if (whole && warm && step.counts == counts) measure();
    return joined(finished);
  }

  std::vector<HostArray> joined(std::vector<Finished>& finished) const {
    std::sort(finished.begin(), finished.end(),
              [](const Finished& a, const Finished& b) { return a.piece.first < b.piece.first; });
    std::vector<HostArray> out;
    for (size_t j = 0; j < plan.whole().results.size(); ++j) {
      std::vector<shards::Part> parts;
      for (const Finished& f : finished) parts.push_back({f.piece.count, &f.results[j]});
      out.push_back(shards::joined(plan.whole().results[j].type, plan.how(j), parts));
    }
    return out;
  }

  void divide(std::vector<int64_t> how) {
    counts = std::move(how);
    for (std::vector<double>& t : times) t.clear();
    ++divisions;
  }

  void measure() {
    if (!plan.options().measure) return;
    std::vector<double> seconds;
    for (size_t d = 0; d < workers.size(); ++d) {
      times[d].push_back(states[d].seconds);
      seconds.push_back(median(times[d]));
    }
    if (times[0].size() < wanted) return;
    std::optional<std::vector<int64_t>> better = shards::better_division(counts, seconds);
    if (!better || *better == counts) {
      for (std::vector<double>& t : times) t.clear();
      return;
    }
    divide(std::move(*better));
    wanted *= 2;
  }

  void say(const std::string& text) const {
    if (plan.options().tell) plan.options().tell(text);
  }

  shards::Plan plan;
  shards::Inputs inputs;
  uint64_t version = 0, steps = 0;
  std::vector<std::unique_ptr<shards::Worker>> workers;
  std::vector<ShardState> states;
  std::vector<int64_t> counts;
  std::vector<std::vector<double>> times;  // of each device, since the division was chosen or confirmed
  size_t wanted = kMeasuredSteps;
  int divisions = 0;
  bool warm = true;
  Error reason;
  std::deque<ShardStep> under_way;  // last: its tasks end before what they use goes
};

Shards::Shards(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Shards::~Shards() = default;

Result<std::unique_ptr<Shards>> Shards::create(std::vector<std::shared_ptr<vk::Device>> devices, MakeProgram make,
                                               std::vector<Param> params, ShardOptions options) {
  return guarded([&] {
    return std::unique_ptr<Shards>(
        new Shards(std::make_unique<Impl>(devices, std::move(make), std::move(params), std::move(options))));
  });
}

Result<void> Shards::write(std::string_view input, HostArray contents) {
  return guarded([&] {
    const size_t i = impl_->plan.input(input);
    const Type& type = impl_->plan.whole().params[i].type;
    const size_t bytes = static_cast<size_t>(type.shape.count()) * host_bytes(type.dtype);
    if (contents.type != type || contents.bytes.size() != bytes)
      throw Error("SG0501", "input '" + std::string(input) + "' is " + to_string(type) + ", given is " +
                                to_string(contents.type) + " of " + std::to_string(contents.bytes.size()) + " bytes");
    impl_->inputs[i] = {std::make_shared<const HostArray>(std::move(contents)), ++impl_->version};
  });
}

Result<void> Shards::submit() {
  return guarded([&] { impl_->submit(); });
}

Result<std::vector<HostArray>> Shards::wait() {
  return guarded([&] { return impl_->wait(); });
}

Result<std::vector<HostArray>> Shards::run() {
  return guarded([&] {
    if (!impl_->under_way.empty())
      throw Error("SG0501", "a step is under way, whose results nobody has asked for").hint("wait() for it");
    impl_->submit();
    return impl_->wait();
  });
}

Result<std::vector<HostArray>> Shards::run(std::span<const HostArray> inputs) {
  const std::vector<Param>& params = impl_->plan.whole().params;
  if (inputs.size() != params.size())
    return Error("SG0501", std::to_string(inputs.size()) + " inputs, the program has " + std::to_string(params.size()));
  for (size_t i = 0; i < inputs.size(); ++i)
    if (Result<void> set = write(params[i].name, inputs[i]); !set) return set.error();
  return run();
}

const std::vector<ShardState>& Shards::states() const { return impl_->states; }
int Shards::divisions() const { return impl_->divisions; }

}  // namespace spirograd
