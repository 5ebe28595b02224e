#include "tools/exhaustive/runner.h"

#include <cstring>
#include <vector>

#include "frontend/rewrite/passes.h"
#include "spirograd/compile.h"
#include "spirograd/grad.h"
#include "spirograd/ops.h"
#include "spirograd/trace.h"
#include "spirv/lower/evaluate.h"
#include "tools/cli/job.h"

namespace spirograd::exhaustive {
namespace {

// Arrays that live as long as the runner: what is allocated anew for every batch costs page faults.
class Inputs {
 public:
  Inputs(int arity, int64_t batch) : arrays_(static_cast<size_t>(arity), HostArray(f32(Shape{batch}))) {}
  std::span<const HostArray> filled(std::span<const float> x, std::span<const float> y) {
    std::memcpy(arrays_[0].bytes.data(), x.data(), x.size_bytes());
    if (arrays_.size() == 2) std::memcpy(arrays_[1].bytes.data(), y.data(), y.size_bytes());
    return arrays_;
  }

 private:
  std::vector<HostArray> arrays_;
};

void copy_to(std::span<float> out, const HostArray& a) { std::memcpy(out.data(), a.bytes.data(), out.size_bytes()); }

class HostRunner : public Runner {
 public:
  HostRunner(const Program& program, int arity, int64_t batch)
      : plan_(lower::lower(rewrite::optimise_for_lowering(program), cli::plain_target())), inputs_(arity, batch) {}
  void run(std::span<const float> x, std::span<const float> y, std::span<float> out) override {
    copy_to(out, lower::evaluate(plan_, inputs_.filled(x, y))[0]);
  }

 private:
  lower::Plan plan_;
  Inputs inputs_;
};

class DeviceRunner : public Runner {
 public:
  DeviceRunner(const Program& program, int arity, int64_t batch, const std::shared_ptr<vk::Device>& device)
      : session_(vk::Session::create(device, compile(program, device->target()).value()).value()), inputs_(arity, batch) {}
  void run(std::span<const float> x, std::span<const float> y, std::span<float> out) override {
    copy_to(out, session_->run(inputs_.filled(x, y)).value()[0]);
  }

 private:
  std::unique_ptr<vk::Session> session_;
  Inputs inputs_;
};

Program program_of(const Function& f, int derivative, int64_t batch) {
  const Type type = f32(Shape{batch});
  const auto whole = [&](Array x, Array y) {
    const Array values = f.build(x, y);
    return derivative < 0 ? values : sum(values);
  };
  const Program p = f.arity == 1 ? trace(f.name, {{"x", type}}, [&](Array x) { return whole(x, x); }).value()
                                 : trace(f.name, {{"x", type}, {"y", type}}, whole).value();
  if (derivative < 0) return p;
  return grad(p, {derivative == 0 ? "x" : "y"}).value();
}

}  // namespace

std::unique_ptr<Runner> make_runner(const Function& function, int derivative, int64_t batch,
                                    const std::shared_ptr<vk::Device>& device) {
  const Program p = program_of(function, derivative, batch);
  if (device) return std::make_unique<DeviceRunner>(p, function.arity, batch, device);
  return std::make_unique<HostRunner>(p, function.arity, batch);
}

}  // namespace spirograd::exhaustive
