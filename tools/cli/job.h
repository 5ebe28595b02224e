// The way of every command: load a file, match the inputs, transform, compile, run, write. Used by the demo too.
#pragma once

#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <span>
#include <string>
#include <unordered_set>
#include <vector>

#include "spirograd/compile.h"
#include "spirograd/host_array.h"
#include "spirograd/program.h"
#include "spirograd/text.h"
#include "spirograd/vk.h"
#include "tools/cli/options.h"

namespace spirograd::io {
class NpzReader;
}

namespace spirograd::cli {

/// A parsed file and the function that is meant.
struct Source {
  std::string path, text;  // with that of all files that it imports
  text::Module module;
  text::Signature signature;
};

/// Throws SG0504 (file), SG04xx (syntax), SG0403 (no such function).
Source load_source(const std::string& path, const std::string& function);

/// A program and the arrays it is to run on.
struct Job {
  Program program;
  std::vector<HostArray> inputs;  // one per parameter
};

/// Matches what was typed (name=value, N=5, a.npz) with names of parameters, in two steps: the parameters of the function,
/// which fix the shapes, and those that a derivative adds (dot_x).
class InputList {
 public:
  /// Loads what the function takes. Throws SG0503, SG0506, ...
  /// `element`: what type parameters stand for; if not given, what the inputs say. Throws SG0106 if none of them does.
  InputList(const Source& source, const std::vector<std::string>& arguments, bool cast,
            std::optional<DType> element = std::nullopt);

  /// The function for these inputs. Throws SG0502, SG0503, and what the language finds.
  Program instantiate() const;
  /// The same; without any input from the declared types and shape variables.
  Program instantiate_types() const;
  /// The same for `n` elements of the axis that `variable` names in the types of parameters. Usage errors: no such axis.
  Program instantiate_part(const std::string& variable, int64_t n) const;
  /// How many elements of it the inputs have, the fewest.
  int64_t extent_of(const std::string& variable) const;
  /// Whether there is any input, apart from shape variables.
  bool any() const { return !given_.empty(); }
  /// The inputs of `program`, which has the parameters of the function and maybe more. Throws SG0502, SG0503.
  std::vector<HostArray> match(const Program& program);
  /// Throws SG0503 if something was typed that names nothing.
  void check_all_used(const Program& program) const;

 private:
  struct Given {
    std::string name;
    HostArray array;
  };
  struct Open {
    std::string name, text;
  };
  struct Axis {
    size_t input = 0;  // of types()
    int axis = 0;
  };
  std::vector<Axis> axes_of(const std::string& variable) const;
  void add(const std::string& name, const std::string& text, const io::NpzReader* file = nullptr);
  void add_generic(const text::DeclaredParam& param, const std::string& text);
  void add_untyped();
  Program instantiate_as(const std::vector<text::NamedType>& types) const;
  void add_all_of(const std::string& npz);
  std::vector<text::NamedType> types() const;
  Error unknown(const std::string& name, std::vector<std::string> known) const;
  const Source& source_;
  bool cast_;
  std::vector<Given> given_;
  std::vector<Open> open_;  // names that the function does not have
  struct Untyped {
    text::DeclaredParam param;
    std::string text;
  };
  std::vector<Untyped> untyped_;  // inputs that follow the element type of others
  std::optional<DType> element_;
  text::ShapeVariables shapes_;
  std::unordered_set<std::string> taken_;
};

/// --dtype as typed. Throws a usage error.
std::optional<DType> element_type(const Options& options);

constexpr const char* kInterpreter = "interpreter";  // instead of a device

/// The device that --device or SPIROGRAD_DEVICE selects, or kInterpreter, and the folder of its caches.
vk::DeviceOptions device_wish(const Options& options);

/// Where programs run: the interpreter in double, or a Vulkan device.
class Engine {
 public:
  struct Outcome {
    std::vector<HostArray> results;
    double compile_seconds = 0;
    vk::Timing first, replay;  // of the first run, which is cold; medians of the replays, which copy nothing in or out
    size_t replays = 0, kernels = 0, dispatches = 0;
  };
  /// From --device and --form, or SPIROGRAD_DEVICE. Throws SG0301 to SG0304.
  explicit Engine(const Options& options);
  bool is_interpreter() const { return !device_; }
  /// Null for the interpreter.
  const std::shared_ptr<vk::Device>& device() const { return device_; }
  std::string name() const { return device_ ? device_->info().name : "interpreter"; }
  /// Facts of the device; for the interpreter those of a plain device with f64.
  Target target() const;
  BindingForm form() const;
  /// As --form, --deterministic and --tuned say.
  CompileOptions compile_options() const;
  /// For the device. An error names it.
  Executable compiled(const Program& program) const;
  /// With `measure`, devices replay the run a few times: the first tells little of the speed.
  Outcome run(const Program& program, std::span<const HostArray> inputs, bool measure = false) const;
  /// The same of what is compiled already. Throws SG0303 from the interpreter. `name`: of the program.
  Outcome run(const Executable& executable, const std::string& name, std::span<const HostArray> inputs,
              bool measure = false) const;

 private:
  std::shared_ptr<vk::Device> device_;
  std::optional<BindingForm> form_;
  bool deterministic_, tuned_;
};

/// Two lines: kernels, dispatches, times of the first run; medians of the replays.
std::string time_text(const Engine& engine, const Engine::Outcome& outcome);
nlohmann::json time_json(const Engine::Outcome& outcome);

/// A device with nothing special, for output that does not depend on the machine.
Target plain_target();

/// Folder for compiled kernels: SPIROGRAD_CACHE, else a folder of the user's caches, else "".
std::string cache_folder();

/// --form as typed. Throws a usage error.
std::optional<BindingForm> form_of(const Options& options);

/// Results in double precision, rounded to the program's types.
std::vector<HostArray> interpret(const Program& program, std::span<const HostArray> inputs);

}  // namespace spirograd::cli
