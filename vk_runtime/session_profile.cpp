// Where the time of a run goes: the same commands once more, with a timestamp behind each.
#include <algorithm>

#include "vk_runtime/errors.h"
#include "vk_runtime/session_impl.h"

namespace spirograd::vk {
namespace {

constexpr uint32_t kStamps = 1024;  // of one submission; longer runs are profiled in parts

// Timestamps and the commands that write them, for as long as a profile takes.
struct Stamps {
  explicit Stamps(Session::Impl& of) : s(of) {
    VkQueryPoolCreateInfo info{VK_STRUCTURE_TYPE_QUERY_POOL_CREATE_INFO};
    info.queryType = VK_QUERY_TYPE_TIMESTAMP;
    info.queryCount = kStamps;
    s.d.check(s.d.fns.vkCreateQueryPool(s.d.device, &info, nullptr, &pool), "vkCreateQueryPool");
  }
  ~Stamps() {
    if (!s.d.may_destroy()) return;
    s.forget(commands);
    s.d.fns.vkDestroyQueryPool(s.d.device, pool, nullptr);
  }
  Stamps(const Stamps&) = delete;
  Stamps& operator=(const Stamps&) = delete;

  void write(VkPipelineStageFlagBits stage, uint32_t number) {
    s.d.fns.vkCmdWriteTimestamp(commands.back(), stage, pool, number);
  }

  Session::Impl& s;
  VkQueryPool pool = VK_NULL_HANDLE;
  std::vector<VkCommandBuffer> commands;
};

}  // namespace

std::vector<StepRun> Session::Impl::profile_runs() {
  if (!queries)
    throw Error("SG0303", "the queue of '" + d.name() + "' has no timestamps, which profiles are made of")
        .hint("Session::replay tells the time of a whole run");
  d.check_alive();
  finish();
  come_here();
  const std::shared_ptr<Bound> at = commands_for(1, false).even;
  std::vector<StepRun> out;
  double now = 0;
  PartLimit limit = part_limit;
  limit.commands = std::min<uint64_t>(limit.commands > 0 ? limit.commands : kStamps, kStamps - 1);
  Progress progress(e.steps);
  while (!progress.done()) {
    Stamps stamps(*this);
    stamps.commands.push_back(begin(VK_COMMAND_BUFFER_USAGE_ONE_TIME_SUBMIT_BIT));
    const VkCommandBuffer commands = stamps.commands.back();
    memory_barrier(d.fns, commands, kOurUses, kOurUses);  // after the run, or the part, before
    d.fns.vkCmdResetQueryPool(commands, stamps.pool, 0, kStamps);
    stamps.write(VK_PIPELINE_STAGE_TOP_OF_PIPE_BIT, 0);
    std::vector<size_t> stamped;
    record_steps(d, commands, e, *pipelines, barriers, at->places, at->sets.get(), progress, limit, [&](size_t step) {
      stamped.push_back(step);
      stamps.write(VK_PIPELINE_STAGE_BOTTOM_OF_PIPE_BIT, static_cast<uint32_t>(stamped.size()));
    });
    memory_barrier(d.fns, commands, kOurUses, kHostReads);
    end(commands);
    submit(commands);
    finish();
    std::vector<uint64_t> ticks(stamped.size() + 1);
    d.check(d.fns.vkGetQueryPoolResults(d.device, stamps.pool, 0, static_cast<uint32_t>(ticks.size()),
                                        ticks.size() * sizeof ticks[0], ticks.data(), sizeof ticks[0],
                                        VK_QUERY_RESULT_64_BIT | VK_QUERY_RESULT_WAIT_BIT),
            "vkGetQueryPoolResults");
    for (size_t k = 0; k < stamped.size(); ++k) {
      const double begin = now;
      now += seconds_of_ticks(ticks[k + 1] - ticks[k]);
      out.push_back({stamped[k], begin, now});
    }
  }
  return out;
}

Result<std::vector<StepRun>> Session::profile_runs() {
  return guarded([&] { return impl_->profile_runs(); });
}

Result<std::vector<double>> Session::profile() {
  return guarded([&] {
    std::vector<double> seconds(impl_->e.steps.size());
    for (const StepRun& r : impl_->profile_runs()) seconds[r.step] += r.end - r.begin;
    return seconds;
  });
}

}  // namespace spirograd::vk
