// A line fitted by all processes of an MPI job, each with a part of the data on a device of its own:
//   mpirun -n 4 --bind-to none ./ranks
// Every rank has the same weights at every step, and the line is that of one process.
#include <spirograd/compile.h>
#include <spirograd/derivatives.h>
#include <spirograd/ops.h>
#include <spirograd/ranks.h>
#include <spirograd/trace.h>
#include <spirograd/vk.h>
#include <cstdio>
using namespace spirograd;

int main() try {
  const auto ranks = Ranks::world().value();
  constexpr int64_t kPoints = 10000;
  const Piece piece = ranks->piece(kPoints);
  const auto loss = [](Array w, Array x, Array y) { return mean(square(w(0) + w(1) * x - y)); };
  const auto step = [&](Array w, Array x, Array y) {
    const auto [l, g] = value_and_grad(loss)(w, x, y);
    return std::vector<Named>{{"loss", l}, {"d_w", g}};
  };
  const Type data = f32({piece.count});
  const Program program = trace("line", {{"w", f32({2})}, {"x", data}, {"y", data}}, step).value();

  const auto device = vk::Device::create().value();
  CompileOptions options;
  options.form = device->preferred_form();
  const auto session = vk::Session::create(device, compile(program, device->target(), options).value()).value();
  std::vector<double> x, y;
  for (int64_t i = 0; i < kPoints; ++i) {
    x.push_back(static_cast<double>(i % 100) / 100);
    y.push_back(1 + 2 * x.back());
  }
  session->write("x", ranks->piece_of(HostArray(f32({kPoints}), x))).value();
  session->write("y", ranks->piece_of(HostArray(f32({kPoints}), y))).value();

  // Both are means over the data, so those of the pieces are averaged, with the weights of their numbers of points.
  const std::vector<JoinedResult> how = {{"loss", Joined::Mean}, {"d_w", Joined::Mean}};
  std::vector<double> w = {0, 0};
  double last_loss = 0;
  for (int n = 0; n < 300; ++n) {
    session->write("w", HostArray(f32({2}), w)).value();
    session->run(1).value();
    const std::vector<HostArray> mine = {session->read("loss").value(), session->read("d_w").value()};
    const std::vector<HostArray> all = ranks->join(mine, how, piece.count, {.fixed_order = true}).value();
    last_loss = all[0].values()[0];
    for (size_t j = 0; j < 2; ++j) w[j] -= 0.5 * all[1].values()[j];
  }
  if (ranks->rank() == 0)
    std::printf("line %.3f + %.3f x, loss below 1e-6: %d, by %d ranks\n", w[0], w[1], last_loss < 1e-6, ranks->size());
} catch (const Error& error) {
  return std::fputs(error.str().c_str(), stderr), 1;
}
