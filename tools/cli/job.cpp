#include "tools/cli/job.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <nlohmann/json.hpp>

#include "frontend/base/near_name.h"
#include "frontend/ir/eval.h"
#include "tools/cli/device_text.h"
#include "tools/cli/element_type.h"
#include "tools/cli/speed.h"
#include "tools/cli/tool.h"
#include "tools/cli/warnings.h"
#include "tools/io/arguments.h"
#include "tools/io/files.h"
#include "tools/io/npz.h"
#include "tools/io/progress.h"
#include "tools/io/table.h"

namespace spirograd::cli {
namespace {

// Whether `word` stands anywhere in the text as a name.
bool mentions(const std::string& text, const std::string& word) {
  const auto letter = [&](size_t i) {
    return i < text.size() && (std::isalnum(static_cast<unsigned char>(text[i])) || text[i] == '_');
  };
  for (size_t at = text.find(word); at != std::string::npos; at = text.find(word, at + 1))
    if ((at == 0 || !letter(at - 1)) && !letter(at + word.size())) return true;
  return false;
}

// What stands between the commas of "f32[N, D]".
std::vector<std::string> axis_names(const std::string& type) {
  std::vector<std::string> out;
  const size_t open = type.find('[');
  if (open == std::string::npos) return out;
  out.emplace_back();
  for (const char c : type.substr(open + 1))
    if (c == ',')
      out.emplace_back();
    else if (c != ' ' && c != ']')
      out.back() += c;
  return out;
}

Program warned(Program program) {
  for (const std::string& line : constant_indices_out_of_range(program)) tell("warning: " + line + "\n");
  return program;
}

}  // namespace

Source load_source(const std::string& path, const std::string& function) {
  const std::vector<uint8_t> bytes = io::read_file(path);
  std::string text(bytes.begin(), bytes.end());
  text::Module module = text::parse(text, path, text::read_file).value();
  const std::vector<text::Signature> functions = module.functions();
  std::vector<std::string> names;
  for (const text::Signature& s : functions) names.push_back(s.name);
  if (functions.empty()) throw Error("SG0403", "the file defines no function").at({path, 0, 0});
  auto it = functions.end() - 1;
  if (!function.empty()) {
    it = std::find_if(functions.begin(), functions.end(), [&](const text::Signature& s) { return s.name == function; });
    if (it == functions.end())
      throw Error("SG0403", "no function '" + function + "' in this file")
          .at({path, 0, 0})
          .note("functions: " + io::listed(names))
          .hint(did_you_mean(function, names));
  }
  for (const text::SourceFile& file : module.files())
    if (file.name != path) text += '\n' + file.text;
  return {path, std::move(text), std::move(module), *it};
}

InputList::InputList(const Source& source, const std::vector<std::string>& arguments, bool cast,
                     std::optional<DType> element)
    : source_(source), cast_(cast), element_(element) {
  if (element && source.signature.type_parameters.empty())
    throw usage_error("'--dtype' chooses a type parameter, '" + source.signature.name + "' has none")
        .note(source.signature.str())
        .hint("declare one in place of the element type, as in x: T[N]");
  for (const std::string& a : arguments) {
    if (const auto named = io::split_argument(a))
      add(named->name, named->text);
    else if (a.ends_with(".npz"))
      add_all_of(a);
    else
      throw usage_error("'" + a + "' is no input")
          .hint("inputs are written name=value; this function takes: " + source.signature.str());
  }
  add_untyped();
}

// `file`: where the array is a member of one that has been read.
void InputList::add(const std::string& name, const std::string& text, const io::NpzReader* file) {
  if (!taken_.insert(name).second) throw Error("SG0503", "input '" + name + "' is given twice");
  for (const text::DeclaredParam& p : source_.signature.params)
    if (p.name == name) {
      if (!p.type_parameter.empty()) return add_generic(p, file ? text + ":" + name : text);
      const DType wanted = *text::element_type(source_.signature, p, {});
      given_.push_back(
          {name, file ? io::load_member(name, *file, wanted, cast_, text) : io::load_argument(name, text, wanted, cast_)});
      return;
    }
  if (file) {
    open_.push_back({name, text + ":" + name});
    return;
  }
  if (const auto n = io::whole_number(text); n && mentions(source_.text, name))
    shapes_.emplace_back(name, *n);
  else
    open_.push_back({name, text});
}

void InputList::add_generic(const text::DeclaredParam& param, const std::string& text) {
  if (element_)
    given_.push_back({param.name, io::load_argument(param.name, text, *element_, cast_)});
  else if (std::optional<HostArray> array = load_typed(param.name, text))
    given_.push_back({param.name, *std::move(array)});
  else
    untyped_.push_back({param, text});
}

// Numbers as they are typed have no element type: that of an input with the same type parameter.
void InputList::add_untyped() {
  const std::vector<text::NamedType> typed = types();
  for (const Untyped& u : untyped_) {
    const std::optional<DType> t = text::element_type(source_.signature, u.param, typed);
    if (!t)
      throw Error("SG0106", "input '" + u.param.name + "' is declared " + u.param.type + ", and no input says what " +
                                u.param.type_parameter + " stands for")
          .hint("choose it: --dtype f64");
    given_.push_back({u.param.name, io::load_argument(u.param.name, u.text, *t, cast_)});
  }
  untyped_.clear();
}

void InputList::add_all_of(const std::string& npz) {
  const io::NpzReader reader(io::read_file(npz), npz);
  for (const std::string& name : reader.names()) add(name, npz, &reader);
}

std::vector<text::NamedType> InputList::types() const {
  std::vector<text::NamedType> out;
  for (const Given& g : given_) out.push_back({g.name, g.array.type});
  return out;
}

Program InputList::instantiate() const { return instantiate_as(types()); }

Program InputList::instantiate_as(const std::vector<text::NamedType>& types) const {
  // A mistyped name is told as such, not as the input that is missing then. Names of directions are known later only.
  std::vector<std::string> names;
  for (const text::DeclaredParam& p : source_.signature.params) names.push_back(p.name);
  for (const Open& o : open_)
    if (!o.name.starts_with("dot_")) throw unknown(o.name, names);
  return warned(text::instantiate(source_.module, source_.signature.name, types, shapes_, nullptr, element_).value());
}

std::vector<InputList::Axis> InputList::axes_of(const std::string& variable) const {
  std::vector<Axis> out;
  std::vector<std::string> names;
  const std::vector<text::NamedType> all = types();
  for (size_t i = 0; i < all.size(); ++i)
    for (const text::DeclaredParam& p : source_.signature.params) {
      if (p.name != all[i].name) continue;
      const std::vector<std::string> axes = axis_names(p.type);
      for (size_t j = 0; j < axes.size() && j < static_cast<size_t>(all[i].type.shape.rank()); ++j) {
        names.push_back(axes[j]);
        if (axes[j] == variable) out.push_back({i, static_cast<int>(j)});
      }
    }
  if (!out.empty()) return out;
  throw usage_error("no input has an axis '" + variable + "'")
      .note(source_.signature.str())
      .hint(did_you_mean(variable, names));
}

Program InputList::instantiate_part(const std::string& variable, int64_t n) const {
  std::vector<text::NamedType> part = types();
  for (const Axis& a : axes_of(variable)) part[a.input].type.shape[a.axis] = n;
  return instantiate_as(part);
}

int64_t InputList::extent_of(const std::string& variable) const {
  const std::vector<text::NamedType> all = types();
  int64_t least = INT64_MAX;
  for (const Axis& a : axes_of(variable)) least = std::min(least, all[a.input].type.shape[a.axis]);
  return least;
}

Program InputList::instantiate_types() const {
  if (any()) return instantiate();
  return warned(text::instantiate(source_.module, source_.signature.name, shapes_, nullptr, element_).value());
}

Error InputList::unknown(const std::string& name, std::vector<std::string> known) const {
  for (const auto& s : shapes_) known.push_back(s.first);
  return Error("SG0503", "'" + source_.signature.name + "' has no parameter '" + name + "'")
      .note("parameters: " + io::listed(known))
      .hint(did_you_mean(name, known));
}

std::vector<HostArray> InputList::match(const Program& program) {
  std::vector<HostArray> out;
  for (const Param& p : program.params) {
    const auto given = std::find_if(given_.begin(), given_.end(), [&](const Given& g) { return g.name == p.name; });
    if (given != given_.end()) {
      out.push_back(given->array);
      continue;
    }
    const auto open = std::find_if(open_.begin(), open_.end(), [&](const Open& o) { return o.name == p.name; });
    if (open == open_.end()) {
      std::string spec;
      for (int64_t d : p.type.shape) spec += std::to_string(d) + "x";
      throw Error("SG0502", "input '" + p.name + "' is missing")
          .note("it is " + to_string(p.type))
          .hint(p.name + "=FILE.npy, or " + p.name + "=random:1:" + spec + std::string(name(p.type.dtype)));
    }
    HostArray array = io::load_argument(p.name, open->text, p.type.dtype, cast_);
    if (array.type != p.type)
      throw Error("SG0103", "input '" + p.name + "' must be " + to_string(p.type) + ", given is " + to_string(array.type));
    out.push_back(std::move(array));
  }
  check_all_used(program);
  return out;
}

void InputList::check_all_used(const Program& program) const {
  std::vector<std::string> names;
  for (const Param& p : program.params) names.push_back(p.name);
  for (const Open& o : open_)
    if (std::find(names.begin(), names.end(), o.name) == names.end()) throw unknown(o.name, names);
}

Target plain_target() {
  Target t;
  t.price = software_prices(1, 2);
  t.quirks = kSlowLocalIndex;
  t.float64 = t.float16_storage = t.float16_addresses = true;
  t.max_invocations = 256;
  t.max_buffers = 30;
  return t;
}

std::string cache_folder() {
  if (const char* own = std::getenv("SPIROGRAD_CACHE")) return own;
  if (const char* caches = std::getenv("XDG_CACHE_HOME"); caches && *caches) return std::string(caches) + "/spirograd";
  if (const char* home = std::getenv("HOME"); home && *home) return std::string(home) + "/.cache/spirograd";
  if (const char* local = std::getenv("LOCALAPPDATA"); local && *local) return std::string(local) + "/spirograd";  // Windows
  return "";
}

std::optional<BindingForm> form_of(const Options& options) {
  const auto form = options.value("--form");
  if (!form) return std::nullopt;
  if (*form == "address") return BindingForm::Address;
  if (*form == "descriptors") return BindingForm::Descriptors;
  throw usage_error("'--form' is 'address' or 'descriptors', not '" + *form + "'");
}

vk::DeviceOptions device_wish(const Options& options) {
  const char* environment = std::getenv("SPIROGRAD_DEVICE");
  vk::DeviceOptions out;
  out.select = options.value("--device").value_or(environment ? environment : "");
  out.cache_dir = cache_folder();
  return out;
}

Engine::Engine(const Options& options)
    : form_(form_of(options)), deterministic_(options.has("--deterministic")), tuned_(options.has("--tuned")) {
  const vk::DeviceOptions wish = device_wish(options);
  if (wish.select == kInterpreter) return;
  auto device = [&] {
    const io::Progress progress("looking for a device ...", !options.has("--in-process"));
    return vk::Device::create(wish);
  }();
  if (!device) {
    Error e = device.error();
    e.notes.push_back("without a device: --device interpreter");
    throw e;
  }
  device_ = *std::move(device);
  for (const std::string& doubt : doubts_of(device_->info())) tell("warning: " + doubt + "\n");
}

Target Engine::target() const {
  const Target t = device_ ? device_->target() : plain_target();
  return deterministic_ ? deterministic(t) : t;
}

BindingForm Engine::form() const { return form_ ? *form_ : device_ ? device_->preferred_form() : BindingForm::Address; }

CompileOptions Engine::compile_options() const {
  CompileOptions how;
  how.form = form();
  how.deterministic = deterministic_;
  if (tuned_ && device_) how.choices = device_->tuned();
  return how;
}

Executable Engine::compiled(const Program& program) const {
  Result<Executable> made = compile(program, target(), compile_options());
  if (!made) throw Error(made.error()).note("device: " + name());
  if (const std::string much = much_memory(*made); !much.empty()) tell("warning: " + much + "\n");
  return *std::move(made);
}

namespace {

// At least one, and as many more as fit half a second.
constexpr size_t kMostReplays = 25;
constexpr double kReplaySeconds = 0.5;

}  // namespace

Engine::Outcome Engine::run(const Program& program, std::span<const HostArray> inputs, bool measure) const {
  const auto start = std::chrono::steady_clock::now();
  if (!device_) {
    Outcome out;
    const io::Progress progress("interpreting " + program.name + " ...");
    out.results = interpret(program, inputs);
    out.first.host = seconds_since(start);
    return out;
  }
  const Executable executable = [&] {
    const io::Progress progress("compiling " + program.name + " ...");
    return compiled(program);
  }();
  const double seconds = seconds_since(start);
  Outcome out = run(executable, program.name, inputs, measure);
  out.compile_seconds += seconds;
  return out;
}

Engine::Outcome Engine::run(const Executable& executable, const std::string& program, std::span<const HostArray> inputs,
                            bool measure) const {
  if (!device_)
    throw Error("SG0303", "a bundle holds kernels for devices, which the interpreter does not run").hint("--device 0");
  Outcome out;
  const auto start = std::chrono::steady_clock::now();
  out.kernels = executable.kernels.size();
  out.dispatches = static_cast<size_t>(runs(executable.steps, Step::Kind::Dispatch));
  io::Progress progress("compiling " + std::to_string(out.kernels) + " kernels for " + name() + " ...");
  const auto session = vk::Session::create(device_, executable).value();
  out.compile_seconds = seconds_since(start);
  progress.say("running " + program + " on " + name() + " ...");
  out.results = session->run(inputs, &out.first).value();
  if (measure) {
    const Replays replays = replay_for(*session, kReplaySeconds, kMostReplays);
    out.replays = replays.runs;
    out.replay = replays.median;
  }
  return out;
}

std::string time_text(const Engine& engine, const Engine::Outcome& o) {
  const auto run = [&](const vk::Timing& t) {
    return io::ms(t.host) + (t.device > 0 ? ", of that " + io::ms(t.device) + " on the device\n" : "\n");
  };
  std::string out = engine.name() + ": ";
  if (engine.is_interpreter()) return out + "one run in " + run(o.first);
  out += std::to_string(o.kernels) + " kernels, " + std::to_string(o.dispatches) + " dispatches, compiled in " +
         io::ms(o.compile_seconds) + "\nfirst run, cold: " + run(o.first);
  if (o.replays > 0) out += "median of " + std::to_string(o.replays) + " warm replays: " + run(o.replay);
  return out;
}

nlohmann::json time_json(const Engine::Outcome& o) {
  nlohmann::json out = {{"compile", o.compile_seconds},
                        {"first", {{"host", o.first.host}, {"device", o.first.device}}},
                        {"kernels", o.kernels},
                        {"dispatches", o.dispatches}};
  if (o.replays > 0) out["replay"] = {{"runs", o.replays}, {"host", o.replay.host}, {"device", o.replay.device}};
  return out;
}

std::vector<HostArray> interpret(const Program& program, std::span<const HostArray> inputs) {
  std::vector<std::vector<double>> values;
  for (const HostArray& a : inputs) values.push_back(a.values());
  std::vector<HostArray> out;
  for (const ir::Array& a : ir::try_evaluate(program, values).value()) out.emplace_back(a.type, a.data);
  return out;
}

}  // namespace spirograd::cli
