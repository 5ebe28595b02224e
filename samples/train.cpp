// A line fitted by 1,000 gradient steps on the device: the weights never leave it, and nothing waits for the host.
#include <spirograd/compile.h>
#include <spirograd/derivatives.h>
#include <spirograd/ops.h>
#include <spirograd/trace.h>
#include <spirograd/vk.h>
#include <cstdio>
using namespace spirograd;

int main() try {
  const auto loss = [](Array w, Array x, Array y) { return mean(square(w(0) + w(1) * x - y)); };
  const auto step = [&](Array w, Array x, Array y) {
    const auto [l, g] = value_and_grad(loss)(w, x, y);
    return std::vector<Named>{{"loss", l}, {"next", w - 0.1 * g}};
  };
  const Program program = trace("step", {{"w", f32({2})}, {"x", f32({4})}, {"y", f32({4})}}, step).value();

  const auto device = vk::Device::create().value();
  CompileOptions options;
  options.form = device->preferred_form();
  const auto session = vk::Session::create(device, compile(program, device->target(), options).value()).value();

  auto weights = vk::DeviceArray::create(device, f32({2})).value();  // zeros
  session->bind("w", weights).value();
  session->feed("next", "w").value();
  session->write("x", HostArray::of<float>({0, 1, 2, 3})).value();
  session->write("y", HostArray::of<float>({1, 3, 5, 7})).value();

  const vk::Point half = session->submit(500).value();  // returns at once
  session->run(500).value();                            // behind them, and waits
  const std::vector<double> w = weights.download().value().values(), loss_now = session->read("loss").value().values();
  std::printf("line %.3f + %.3f x, loss below 1e-9: %d, first half done: %d\n", w[0], w[1], loss_now[0] < 1e-9,
              session->done(half).value());
} catch (const Error& error) {
  return std::fputs(error.str().c_str(), stderr), 1;
}
