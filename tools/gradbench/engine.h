// A device, the programs of the suite, and what was compiled of them: once for each shape.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "spirograd/text.h"
#include "spirograd/vk.h"
#include "tools/gradbench/inputs.h"
#include "tools/gradbench/outputs.h"

namespace spirograd::gradbench {

struct Options {
  std::string device;            // as vk::DeviceOptions::select
  std::string cache;             // folder of compiled kernels; "": none
  std::string programs;          // folder of other programs; "": those that are built in
  std::optional<DType> element;  // f64 where the device has it, if not given
};

struct Outcome {
  std::vector<NamedArray> results;
  double compile_seconds = 0;       // 0: it was there
  double first_seconds = 0;         // a run with the arguments copied in and the results copied out
  std::vector<double> run_seconds;  // runs with both left on the device
};

/// Makes the device when it is first asked for, and another one when that is lost.
class Engine {
 public:
  explicit Engine(Options options) : options_(std::move(options)) {}

  /// Throws what vk::Device::create answers, SG0303 where f64 is wished for and missing.
  const vk::DeviceInfo& device();
  DType element();

  /// Throws SG0504 for a folder without such a program, SG04xx for one that is not in the language.
  const text::Module& program(const std::string& name);

  /// Throws what keeps it from running.
  Outcome run(const std::string& program, const std::string& definition, const Inputs& inputs, const Repeats& repeats);

 private:
  struct Compiled {
    std::string key;
    std::vector<std::string> params, results;  // names
    std::unique_ptr<vk::Session> session;
  };
  struct Parsed {
    std::string name;
    text::Module module;
  };

  Compiled compiled(std::string key, const std::string& program, const std::string& definition, const Inputs& inputs);
  Outcome measured(const Compiled& c, const Inputs& inputs, const Repeats& repeats);
  void forget_old();

  Options options_;
  std::shared_ptr<vk::Device> device_;
  std::vector<Parsed> parsed_;
  std::vector<Compiled> compiled_;  // the last one used is the last
};

}  // namespace spirograd::gradbench
