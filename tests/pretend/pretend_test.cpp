// Every slice on every pretended device is right, or refused by name; what is expected of each stands in expectations.cpp.
#include <algorithm>
#include <optional>

#include "spirograd/text.h"
#include "tests/pretend/fixture.h"
#include "tests/property/sizes.h"
#include "vk_runtime/instance.h"

namespace spirograd::pretend {
namespace pretend_test {

struct Outcome {
  std::string kind;  // kRight, kWrong, or the code of an error
  std::string text;
};

// Whether the self-test has told that numbers are wrong: sums reordered, or comparisons with NaN.
bool doubts_numbers(const vk::DeviceInfo& info) {
  return std::any_of(info.verdicts.begin(), info.verdicts.end(), [](const vk::Verdict& v) {
    return (v.number == 17 || v.number == 19) && v.outcome == vk::Outcome::Wrong;
  });
}

// Where a result is off; "" if nowhere.
std::string difference(const Task& t, const std::vector<HostArray>& results) {
  if (results.size() != t.expected.size()) return t.what + ": wrong number of results";
  for (size_t r = 0; r < results.size(); ++r) {
    const std::vector<double> have = results[r].values();
    for (size_t i = 0; i < have.size(); ++i) {
      const double want = t.expected[r][i];
      if (have[i] == want || (std::isnan(have[i]) && std::isnan(want))) continue;
      if (std::abs(have[i] - want) <= t.tolerance * std::max(1.0, std::abs(want))) continue;
      return t.what + ": result " + std::to_string(r) + "[" + std::to_string(i) + "] is " + std::to_string(have[i]) +
             ", expected " + std::to_string(want);
    }
  }
  return "";
}

// Each task in both forms as far as the device has them, all sessions alive together, each run again when all have run. What
// is wrong; "" if nothing is. Throws the first error, but not before everything else was tried.
std::string run_all(const std::shared_ptr<vk::Device>& device, const std::vector<Task>& tasks) {
  std::vector<std::pair<const Task*, std::unique_ptr<vk::Session>>> sessions;
  std::string wrong;
  std::optional<Error> refusal;
  const auto attempt = [&](auto step) {
    const Result<void> r = guarded(step);
    if (!r && !refusal) refusal = r.error();
  };
  for (const Task& t : tasks)
    for (BindingForm form : {BindingForm::Address, BindingForm::Descriptors})
      attempt([&] {
        if (form == BindingForm::Address && !device->target().device_address) return;
        const Executable executable = compile(t.program, device->target(), {.form = form}).value();
        sessions.emplace_back(&t, vk::Session::create(device, executable).value());
        if (wrong.empty()) wrong = difference(t, sessions.back().second->run(t.inputs).value());
      });
  for (const auto& [task, session] : sessions)
    attempt([&, &t = *task, &s = *session] {
      s.replay().value();
      if (wrong.empty()) wrong = difference(t, s.run(t.inputs).value());
    });
  if (wrong.empty() && refusal) throw *refusal;
  return wrong;
}

class EachDevice : public Pretended, public ::testing::WithParamInterface<PretendedDevice> {
 protected:
  size_t number() const { return static_cast<size_t>(find_device(GetParam().name) - pretended_devices().data()); }

  Outcome outcome(const Slice& slice) {
    try {
      const std::shared_ptr<vk::Device> device = open(GetParam().name).value();
      const std::vector<Task> tasks = slice.tasks(number());
      const std::string wrong = run_all(device, tasks);
      return {std::string(wrong.empty() ? kRight : doubts_numbers(device->info()) ? kTold : kWrong), wrong};
    } catch (const Error& e) {
      return {e.code, e.str()};
    }
  }
};

TEST_P(EachDevice, IsRightOrRefusesByName) {
  const PretendedDevice& is = GetParam();
  for (const Slice& slice : slices()) {
    SCOPED_TRACE(slice.name);
    if (slice.tasks(number()).empty()) {
      std::cout << slice.name << ": not for this device\n";
      continue;
    }
    const Expectation e = expected(is.name, slice.name);
    const Outcome o = outcome(slice);
    std::cout << slice.name << ": " << o.kind << (o.text.empty() ? "" : ", ") << o.text << "\n";
    EXPECT_EQ(o.kind, e.outcome) << o.text;
    // The compiler knows the device's target, and not its name.
    const bool named = o.text.find("pretended " + std::string(is.name)) != std::string::npos;
    EXPECT_TRUE(!o.kind.starts_with("SG03") || named || o.text.find("the device") != std::string::npos) << o.text;
  }
}

// Those that run programs, and whose numbers nothing doubts.
std::vector<PretendedDevice> sound_devices() {
  std::vector<PretendedDevice> out;
  for (const PretendedDevice& is : pretended_devices())
    if (std::none_of(exceptions().begin(), exceptions().end(),
                     [&](const Expectation& e) { return e.device == is.name && (e.slice == "*" || e.outcome == kTold); }))
      out.push_back(is);
  return out;
}

class SoundDevice : public EachDevice {};

// Programs that nobody has thought of, of another size class on each device. What may be refused, is; nothing is wrong.
TEST_P(SoundDevice, RandomProgramsMeanTheSame) {
  const PretendedDevice& is = GetParam();
  const std::shared_ptr<vk::Device> device = open(is.name).value();
  property::Engine engine{std::string(is.name), device->target(), {}};
  engine.loses_infinities = true;  // as the driver below does
  engine.device = [&](const Executable& executable, const std::vector<HostArray>& inputs) {
    return vk::Session::create(device, executable).value()->run(inputs).value();
  };
  property::check_sizes(engine, test::kSizeClasses[number() % test::kSizeClasses.size()].size_class, 3);
}

INSTANTIATE_TEST_SUITE_P(Of, EachDevice, ::testing::ValuesIn(pretended_devices().begin(), pretended_devices().end()),
                         [](const auto& of) { return std::string(of.param.name); });
INSTANTIATE_TEST_SUITE_P(Of, SoundDevice, ::testing::ValuesIn(sound_devices()),
                         [](const auto& of) { return std::string(of.param.name); });

// What one program could not get is there for the next one.
TEST_F(Pretended, ADeviceWithoutRoomLivesOn) {
  const auto memory = std::find_if(slices().begin(), slices().end(), [](const Slice& s) { return s.name == "memory"; });
  const std::vector<Task> tasks = memory->tasks(0);
  const std::shared_ptr<vk::Device> device = open("no_room_once").value();
  const Result<std::string> first = guarded([&] { return run_all(device, tasks); });
  ASSERT_FALSE(first);
  EXPECT_EQ(first.error().code, "SG0601");
  EXPECT_EQ(run_all(device, tasks), "");
}

// A host says that it has enabled all there is, on a device that has no addresses and no f64.
TEST_F(Pretended, AdoptedDevicesHaveWhatIsThereWhateverTheHostPromises) {
  ::setenv(kVariable, "least_limits", 1);
  const vk::Instance& instance = vk::process_instance({});
  const float priority = 1;
  VkDeviceQueueCreateInfo queue{VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO};
  queue.queueCount = 1;
  queue.pQueuePriorities = &priority;
  VkDeviceCreateInfo info{VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO};
  info.queueCreateInfoCount = 1;
  info.pQueueCreateInfos = &queue;
  vk::External host;
  host.get_instance_proc_addr = instance.get;
  host.instance = instance.handle;
  host.physical_device = vk::physical_devices(instance).at(0);
  host.api_version = instance.api_version;
  host.buffer_device_address = host.float64 = host.atomic_float_add = host.subgroup_size_control = true;
  ASSERT_EQ(instance.fns.vkCreateDevice(host.physical_device, &info, nullptr, &host.device), VK_SUCCESS);
  const vk::DeviceFns fns = vk::load_device(instance.fns.vkGetDeviceProcAddr, host.device);
  fns.vkGetDeviceQueue(host.device, 0, 0, &host.queue);
  {
    const std::shared_ptr<vk::Device> device = vk::Device::adopt(host).value();
    const Task task = slices().front().tasks(0).front();
    EXPECT_EQ(run_all(device, {task}), "");
    Target promised = device->target();
    promised.device_address = promised.float64 = true;
    const Program doubles = text::instantiate(text::parse("def main(x: f64[4]) = x + 1.0\n", "f64").value()).value();
    const auto session = vk::Session::create(device, compile(doubles, promised, {.form = BindingForm::Address}).value());
    ASSERT_FALSE(session);
    EXPECT_EQ(session.error().code, "SG0303");
    for (const char* what : {"shaderFloat64", "bufferDeviceAddress", "pretended least_limits"})
      EXPECT_NE(session.error().str().find(what), std::string::npos) << session.error().str();
  }
  fns.vkDestroyDevice(host.device, nullptr);
}

}  // namespace pretend_test

void PrintTo(const PretendedDevice& d, std::ostream* out) { *out << d.name; }

}  // namespace spirograd::pretend
