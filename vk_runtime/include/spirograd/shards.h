// One program over several devices, of any vendors, in one process: inputs that are data are cut along an axis, a piece for
// each device, parameters are given to all, and what the pieces give is put together. docs/several-devices.md.
//
//   auto make = [&](std::span<const Param> params) { return value_and_grad(trace("loss", {..}, loss).value(), {"w"}); };
//   auto shards = Shards::create(usable_devices().value(), make, {{"w", f32({2})}, {"x", f32({1000})}, {"y", f32({1000})}},
//                                {.cut = {{"x", 0}, {"y", 0}}, .results = {{"loss", Joined::Mean}, {"d_w", Joined::Mean}}});
//   (*shards)->write("x", x);       // and y; what is not written again is not uploaded again
//   (*shards)->run({w, x, y});      // Result<std::vector<HostArray>>, as of one device
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "spirograd/compile.h"
#include "spirograd/host_array.h"
#include "spirograd/program.h"
#include "spirograd/result.h"
#include "spirograd/vk.h"

namespace spirograd {

/// The program for inputs of these types: those of a piece, which differ from those of the whole in the extents that are
/// cut. Called from one thread at a time. The program has these parameters, in this order.
using MakeProgram = std::function<Result<Program>(std::span<const Param> params)>;

/// An input that is cut, and along which axis.
struct Cut {
  std::string input;
  int axis = 0;
};

/// How the whole's result comes from those of the pieces.
enum class Joined : uint8_t {
  Sum,         // the sum over the pieces
  Mean,        // their mean, each with the weight of its extent: what a mean over the axis is, and its gradient
  Concatenate  // one after the other along an axis
};

constexpr std::string_view name(Joined j) { return j == Joined::Sum ? "sum" : j == Joined::Mean ? "mean" : "concatenated"; }

struct JoinedResult {
  std::string result;
  Joined how = Joined::Sum;
  int axis = 0;  // Concatenate: along which
};

struct ShardOptions {
  std::vector<Cut> cut;               // at least one; inputs that do not stand here are given to each device whole
  std::vector<JoinedResult> results;  // each result of the program
  /// How much of the axis each device gets at first, in any unit, 0 for nothing. Empty: as much as the others.
  std::vector<double> shares;
  /// Then in proportion to what was measured, where that makes a step clearly shorter. Off: as `shares` say, always.
  bool measure = true;
  bool deterministic = false;  // as CompileOptions has it
  /// Hears what a user wants to know: that a device was lost, and who does its part. From within wait() and run().
  std::function<void(std::string_view)> tell = {};
};

/// What a device does.
struct ShardState {
  std::string device;
  int64_t first = 0, count = 0;  // of the axis, in the last step
  double seconds = 0;            // that this took, copies included
  bool lost = false;
};

/// Every device that can be used, best first. `options.select` is ignored. Errors SG0301, SG0302; SG0303 if none is usable.
Result<std::vector<std::shared_ptr<vk::Device>>> usable_devices(const vk::DeviceOptions& options = {});

/// How each result of a program comes from pieces, found by evaluating the program on a few elements of the given inputs, on
/// the host in double: whole and in two pieces. Errors: SG0511 where a result is neither a sum, nor a mean, nor
/// concatenated, or where these inputs do not tell (it is 0 in all of them); those of `make`. `told`: not asked about.
Result<std::vector<JoinedResult>> how_joined(const MakeProgram& make, const std::vector<Param>& params,
                                             const std::vector<Cut>& cut, std::span<const HostArray> inputs,
                                             std::vector<JoinedResult> told = {});

/// A program made ready for several devices. Sums are taken in double, in the order of the pieces: the same pieces on the
/// same devices give the same bits, as far as each device does. Not for use from two threads at once.
class Shards {
 public:
  /// `params`: of the whole. Errors: SG0511 what cannot be cut or joined as the options say, SG0503 a name that is none, or
  /// stands twice, SG0303 no device, those of `make` and compile. Where the axis is shorter than there are devices, some
  /// have nothing to do.
  static Result<std::unique_ptr<Shards>> create(std::vector<std::shared_ptr<vk::Device>> devices, MakeProgram make,
                                                std::vector<Param> params, ShardOptions options);
  ~Shards();

  /// Sets an input, whole, until it is set again. Steps that were submitted keep what they have. Errors SG0503, SG0501.
  Result<void> write(std::string_view input, HostArray contents);
  /// One step: submit() and wait().
  Result<std::vector<HostArray>> run();
  /// The same with all inputs set, in the order of the parameters.
  Result<std::vector<HostArray>> run(std::span<const HostArray> inputs);

  /// Starts a step with what is set. A second one may be submitted before the first is waited for: its inputs are uploaded
  /// while devices work on that one. Errors: SG0502 an input that was never set, SG0501 two steps are under way.
  Result<void> submit();
  /// The results of the step that was submitted first. A device that is lost leaves its part to the others, in the same
  /// call. Errors: SG0501 nothing was submitted, SG0310 all devices are lost, those of vk::Session.
  Result<std::vector<HostArray>> wait();

  /// Of the last step that was waited for, per device.
  const std::vector<ShardState>& states() const;
  /// How often another division of the axis was chosen than that before.
  int divisions() const;

 private:
  struct Impl;
  explicit Shards(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace spirograd
