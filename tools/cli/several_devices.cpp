#include "tools/cli/several_devices.h"

#include <algorithm>

#include "tools/cli/job.h"
#include "tools/cli/tool.h"
#include "tools/io/progress.h"
#include "tools/io/table.h"

namespace spirograd::cli {
namespace {

std::vector<std::shared_ptr<vk::Device>> opened(const SeveralDevices& how) {
  vk::DeviceOptions wish;
  wish.cache_dir = cache_folder();
  const io::Progress progress("looking for devices ...");
  if (how.devices == std::vector<std::string>{"all"}) return usable_devices(wish).value();
  std::vector<std::shared_ptr<vk::Device>> out;
  for (const std::string& name : how.devices) {
    wish.select = name;
    out.push_back(vk::Device::create(wish).value());
  }
  return out;
}

// The axes that differ between the program of the whole and that of a piece.
std::vector<Cut> cuts_between(const Program& whole, const Program& piece) {
  std::vector<Cut> out;
  for (size_t j = 0; j < whole.params.size(); ++j) {
    const Shape &all = whole.params[j].type.shape, &part = piece.params[j].type.shape;
    for (int axis = 0; axis < all.rank(); ++axis)
      if (all[axis] != part[axis]) out.push_back({whole.params[j].name, axis});
  }
  return out;
}

}  // namespace

OptionSpec devices_option() {
  return {"--devices", "all|D,E", "on several devices at once, a piece of the axis --cut on each; instead of --device"};
}
OptionSpec cut_option() { return {"--cut", "N", "the axis that --devices share, as the types of the inputs call it"}; }

std::optional<SeveralDevices> SeveralDevices::asked(const Options& options) {
  const bool several = options.has("--devices"), cut = options.has("--cut");
  if (!several && !cut) return std::nullopt;
  if (several != cut)
    throw usage_error(several ? "'--devices' needs '--cut', the axis that they share"
                              : "'--cut' is of no use without '--devices'")
        .hint("--devices all --cut N, where an input is x: f32[N, 2]");
  for (const char* of_one : {"--device", "--form", "--tuned", "--time"})
    if (options.has(of_one)) throw usage_error("'" + std::string(of_one) + "' is for one device, not beside '--devices'");
  return SeveralDevices{options.names("--devices"), *options.value("--cut")};
}

SharedOutcome run_on_several(const SeveralDevices& how, const Options& options, const Program& whole,
                             const std::function<Program(int64_t)>& piece_of, std::span<const HostArray> inputs) {
  // Of whatever length the whole is, one of these is another.
  const std::vector<Cut> by_one = cuts_between(whole, piece_of(1));
  const std::vector<Cut> cuts = by_one.empty() ? cuts_between(whole, piece_of(2)) : by_one;
  const auto make = [&](std::span<const Param> params) -> Result<Program> {
    const auto at = std::ranges::find(params, cuts.front().input, &Param::name);
    return guarded([&] { return piece_of(at->type.shape[cuts.front().axis]); });
  };
  ShardOptions shared;
  shared.cut = cuts;
  shared.results = how_joined(make, whole.params, cuts, inputs).value();
  shared.deterministic = options.has("--deterministic");
  shared.tell = [](std::string_view line) { tell(std::string(line) + "\n"); };
  const auto shards = Shards::create(opened(how), make, whole.params, std::move(shared)).value();
  SharedOutcome out;
  out.results = shards->run(inputs).value();
  out.states = shards->states();
  return out;
}

std::string states_text(const std::vector<ShardState>& states) {
  io::Table table({"device", ">elements", ">ms"});
  for (const ShardState& s : states)
    table.add({s.device + (s.lost ? " (lost)" : ""), std::to_string(s.count), io::short_number(1e3 * s.seconds)});
  return table.str();
}

nlohmann::json states_json(const std::vector<ShardState>& states) {
  nlohmann::json out = nlohmann::json::array();
  for (const ShardState& s : states)
    out.push_back({{"name", s.device}, {"first", s.first}, {"count", s.count}, {"seconds", s.seconds}, {"lost", s.lost}});
  return out;
}

}  // namespace spirograd::cli
