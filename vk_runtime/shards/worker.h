// A device with the programs of the pieces that it has done: each is compiled once for each extent.
#pragma once

#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "vk_runtime/clock.h"
#include "vk_runtime/shards/plan.h"

namespace spirograd::shards {

/// A piece of the axis.
struct Piece {
  int64_t first = 0, count = 0;
};

/// What became of it.
struct Done {
  std::vector<HostArray> results;
  double seconds = 0;
  bool warm = false;  // the session had run before: its time tells the speed
  std::optional<Error> error;
};

/// Steps that may be under way at once.
constexpr size_t kSlots = 2;

class Worker {
 public:
  Worker(std::shared_ptr<vk::Device> device, Plan& plan) : device_(std::move(device)), plan_(plan) {}
  /// Uploads what of the inputs has changed, runs, and waits. Pieces of one slot one after the other; those of two slots may
  /// be done by two threads at once.
  Done work(const Inputs& inputs, Piece piece, size_t slot);
  const std::string& name() const { return device_->info().name; }

  bool lost = false;

 private:
  struct Lane {
    int64_t count = 0;
    size_t slot = 0;
    std::unique_ptr<vk::Session> session;
    int64_t first = -1;              // of what the cut inputs hold
    std::vector<uint64_t> versions;  // of each input
    bool warm = false;
  };
  std::shared_ptr<Lane> lane_for(int64_t count, size_t slot);
  void upload(Lane& lane, const Inputs& inputs, Piece piece) const;

  std::shared_ptr<vk::Device> device_;
  Plan& plan_;
  std::mutex mutex_;                        // of what follows
  std::list<std::shared_ptr<Lane>> lanes_;  // the last used one first
  std::list<std::pair<int64_t, Executable>> compiled_;
  vk::Clock::time_point free_since_ = {};
};

}  // namespace spirograd::shards
