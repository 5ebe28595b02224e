#include "tools/exhaustive/runner.h"

#include <cstring>

#include "frontend/rewrite/passes.h"
#include "spirograd/compile.h"
#include "spirograd/grad.h"
#include "spirograd/ops.h"
#include "spirograd/trace.h"
#include "spirv/lower/evaluate.h"
#include "tools/cli/job.h"

namespace spirograd::exhaustive {
namespace {

HostArray array_of(std::span<const float> values) {
  HostArray a(f32(Shape{static_cast<int64_t>(values.size())}));
  std::memcpy(a.bytes.data(), values.data(), values.size_bytes());
  return a;
}

std::vector<float> values_of(const HostArray& a) {
  std::vector<float> out(a.bytes.size() / sizeof(float));
  std::memcpy(out.data(), a.bytes.data(), a.bytes.size());
  return out;
}

std::vector<HostArray> inputs_of(int arity, std::span<const float> x, std::span<const float> y) {
  std::vector<HostArray> in{array_of(x)};
  if (arity == 2) in.push_back(array_of(y));
  return in;
}

class HostRunner : public Runner {
 public:
  HostRunner(const Program& program, int arity)
      : plan_(lower::lower(rewrite::optimise_for_lowering(program), cli::plain_target())), arity_(arity) {}
  std::vector<float> run(std::span<const float> x, std::span<const float> y) override {
    return values_of(lower::evaluate(plan_, inputs_of(arity_, x, y))[0]);
  }

 private:
  lower::Plan plan_;
  int arity_;
};

class DeviceRunner : public Runner {
 public:
  DeviceRunner(const Program& program, int arity, const std::shared_ptr<vk::Device>& device)
      : session_(vk::Session::create(device, compile(program, device->target()).value()).value()), arity_(arity) {}
  std::vector<float> run(std::span<const float> x, std::span<const float> y) override {
    return values_of(session_->run(inputs_of(arity_, x, y)).value()[0]);
  }

 private:
  std::unique_ptr<vk::Session> session_;
  int arity_;
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
  if (device) return std::make_unique<DeviceRunner>(p, function.arity, device);
  return std::make_unique<HostRunner>(p, function.arity);
}

}  // namespace spirograd::exhaustive
