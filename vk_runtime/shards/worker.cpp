#include "vk_runtime/shards/worker.h"

#include <algorithm>

#include "vk_runtime/shards/pieces.h"

namespace spirograd::shards {
namespace {

// Of a device: that of the current division in both slots, and as many of what it did before.
constexpr size_t kMostLanes = 2 * kSlots;

}  // namespace

std::shared_ptr<Worker::Lane> Worker::lane_for(int64_t count, size_t slot) {
  const std::lock_guard lock(mutex_);
  const auto known = std::find_if(lanes_.begin(), lanes_.end(),
                                  [&](const std::shared_ptr<Lane>& l) { return l->count == count && l->slot == slot; });
  if (known != lanes_.end()) {
    lanes_.splice(lanes_.begin(), lanes_, known);
    return lanes_.front();
  }
  auto executable = std::find_if(compiled_.begin(), compiled_.end(), [&](const auto& c) { return c.first == count; });
  if (executable == compiled_.end()) {
    const bool deterministic = plan_.options().deterministic;
    CompileOptions how;
    how.form = device_->preferred_form();
    how.deterministic = deterministic;
    how.choices = device_->tuned();
    const Target target = deterministic ? spirograd::deterministic(device_->target()) : device_->target();
    compiled_.emplace_front(count, compile(plan_.program_for(count), target, how).value());
    if (compiled_.size() > kMostLanes) compiled_.pop_back();
    executable = compiled_.begin();
  }
  auto lane = std::make_shared<Lane>();
  lane->count = count;
  lane->slot = slot;
  lane->versions.resize(plan_.whole().params.size());
  lane->session = vk::Session::create(device_, executable->second).value();
  lanes_.push_front(lane);
  if (lanes_.size() > kMostLanes) lanes_.pop_back();  // whoever works with it keeps it
  return lane;
}

void Worker::upload(Lane& lane, const Inputs& inputs, Piece piece) const {
  for (size_t i = 0; i < inputs.size(); ++i) {
    const int axis = plan_.axis(i);
    if (lane.versions[i] == inputs[i].version && (axis < 0 || lane.first == piece.first)) continue;
    const std::string& name = plan_.whole().params[i].name;
    const HostArray& whole = *inputs[i].array;
    const bool all = axis < 0 || piece.count == plan_.extent();
    lane.session->write(name, all ? whole : piece_of(whole, axis, piece.first, piece.count)).value();
    lane.versions[i] = inputs[i].version;
  }
  lane.first = piece.first;
}

Done Worker::work(const Inputs& inputs, Piece piece, size_t slot) {
  Done out;
  const Result<void> worked = guarded([&] {
    const std::shared_ptr<Lane> lane = lane_for(piece.count, slot);
    const vk::Clock::time_point start = vk::Clock::now();
    upload(*lane, inputs, piece);
    lane->session->wait(lane->session->submit().value()).value();
    for (const ProgramResult& r : plan_.whole().results) out.results.push_back(lane->session->read(r.name).value());
    out.warm = std::exchange(lane->warm, true);
    // A step that was submitted while another was under way has waited for that one.
    const std::lock_guard lock(mutex_);
    out.seconds = vk::seconds_since(std::max(start, free_since_));
    free_since_ = vk::Clock::now();
  });
  if (!worked) out.error = Error(worked.error()).note("device: " + name());
  return out;
}

}  // namespace spirograd::shards
