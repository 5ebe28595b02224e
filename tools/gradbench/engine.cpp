#include "tools/gradbench/engine.h"

#include <algorithm>
#include <chrono>
#include <fstream>
#include <iterator>

#include "spirograd/compile.h"
#include "tools/gradbench/program_sources.h"

namespace spirograd::gradbench {
namespace {

// Sessions that have more device memory than this together make room for new ones. The suite asks for shapes in order of
// size and for each function of a shape in turn, so that little is compiled twice.
constexpr uint64_t kKeptBytes = uint64_t{1} << 30;

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

std::string source_of(const std::string& name, const std::string& folder) {
  if (folder.empty()) {
    for (const ProgramSource& p : program_sources())
      if (p.name == name) return std::string(p.source);
    throw Error("SG0900", "internal: no program '" + name + "'");
  }
  const std::string path = folder + "/" + name + ".sg";
  std::ifstream file(path, std::ios::binary);
  if (!file) throw Error("SG0504", "cannot read '" + path + "'");
  return {std::istreambuf_iterator<char>(file), {}};
}

std::string key_of(const std::string& program, const std::string& definition, const Inputs& inputs) {
  std::string key = program + "/" + definition;
  for (const text::NamedType& t : inputs.types) key += " " + t.name + ":" + to_string(t.type);
  for (const auto& [name, value] : inputs.sizes) key += " " + name + "=" + std::to_string(value);
  return key;
}

}  // namespace

const vk::DeviceInfo& Engine::device() {
  if (!device_) {
    vk::DeviceOptions wish;
    wish.select = options_.device;
    wish.cache_dir = options_.cache;
    device_ = vk::Device::create(wish).value();
  }
  return device_->info();
}

DType Engine::element() {
  const vk::DeviceInfo& d = device();
  if (options_.element == DType::F64 && !d.target.float64)
    throw Error("SG0303", "'" + d.name + "' computes no f64").hint("--dtype f32");
  return options_.element.value_or(d.target.float64 ? DType::F64 : DType::F32);
}

const text::Module& Engine::program(const std::string& name) {
  const auto known = std::find_if(parsed_.begin(), parsed_.end(), [&](const Parsed& p) { return p.name == name; });
  if (known != parsed_.end()) return known->module;
  parsed_.push_back({name, text::parse(source_of(name, options_.programs), name + ".sg").value()});
  return parsed_.back().module;
}

void Engine::forget_old() {
  uint64_t bytes = 0;
  for (const Compiled& c : compiled_) bytes += c.session->device_bytes();
  while (bytes > kKeptBytes) {
    bytes -= compiled_.front().session->device_bytes();
    compiled_.erase(compiled_.begin());
  }
  if (device_) device_->trim();
}

Engine::Compiled Engine::compiled(std::string key, const std::string& program_name, const std::string& definition,
                                  const Inputs& inputs) {
  device();
  const Program program = text::instantiate(this->program(program_name), definition, inputs.types, inputs.sizes).value();
  CompileOptions how;
  how.form = device_->preferred_form();
  const Executable executable = compile(program, device_->target(), how).value();
  Compiled out{std::move(key), {}, {}, nullptr};
  for (const Param& p : program.params) out.params.push_back(p.name);
  for (const ProgramResult& r : program.results) out.results.push_back(r.name);
  forget_old();
  auto session = vk::Session::create(device_, executable);
  if (!session && session.error().code == "SG0601" && !compiled_.empty()) {
    compiled_.clear();
    device_->trim();
    session = vk::Session::create(device_, executable);
  }
  out.session = std::move(session).value();
  return out;
}

Outcome Engine::measured(const Compiled& c, const Inputs& inputs, const Repeats& repeats) {
  std::vector<HostArray> arguments;
  for (const std::string& param : c.params)
    for (size_t i = 0; i < inputs.types.size(); ++i)
      if (inputs.types[i].name == param) arguments.push_back(inputs.arrays[i]);
  Outcome out;
  vk::Timing first;
  std::vector<HostArray> arrays = c.session->run(arguments, &first).value();
  out.first_seconds = first.host;
  for (size_t i = 0; i < arrays.size(); ++i) out.results.push_back({c.results[i], std::move(arrays[i])});
  double spent = 0;
  for (int64_t i = 0; i < repeats.runs || spent < repeats.seconds; ++i) {
    out.run_seconds.push_back(c.session->replay().value().host);
    spent += std::max(out.run_seconds.back(), 1e-9);
  }
  return out;
}

Outcome Engine::run(const std::string& program, const std::string& definition, const Inputs& inputs,
                    const Repeats& repeats) try {
  std::string key = key_of(program, definition, inputs);
  const auto start = std::chrono::steady_clock::now();
  const auto known = std::find_if(compiled_.begin(), compiled_.end(), [&](const Compiled& c) { return c.key == key; });
  const bool is_new = known == compiled_.end();
  if (is_new)
    compiled_.push_back(compiled(std::move(key), program, definition, inputs));
  else
    std::rotate(known, known + 1, compiled_.end());
  const double compile_seconds = is_new ? seconds_since(start) : 0;
  Outcome out = measured(compiled_.back(), inputs, repeats);
  out.compile_seconds = compile_seconds;
  return out;
} catch (const Error& e) {
  if (e.code == "SG0310") {  // lost: nothing that is left of it can be used
    compiled_.clear();
    device_.reset();
  }
  throw;
}

}  // namespace spirograd::gradbench
