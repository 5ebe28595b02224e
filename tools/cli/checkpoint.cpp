#include "tools/cli/checkpoint.h"

#include <algorithm>
#include <span>

#include "spirograd/array_text.h"
#include "spirograd/text.h"
#include "tools/io/files.h"
#include "tools/io/npz.h"

namespace spirograd::cli {
namespace {

constexpr const char* kMark = "spirograd_fit";  // holds the version of the format
constexpr double kVersion = 1;

// FNV-1a.
class Digest {
 public:
  void add(std::span<const uint8_t> bytes) {
    for (const uint8_t b : bytes) value_ = (value_ ^ b) * 0x100000001b3u;
  }
  void add(const std::string& text) {
    add(std::span(reinterpret_cast<const uint8_t*>(text.data()), text.size()));
    add(std::span(reinterpret_cast<const uint8_t*>("\n"), 1));
  }
  uint64_t value() const { return value_; }

 private:
  uint64_t value_ = 0xcbf29ce484222325u;
};

HostArray words_of(uint64_t x) {
  return HostArray(Type{DType::U32, {2}}, {static_cast<double>(x & 0xffffffffu), static_cast<double>(x >> 32)});
}

// The array of that name and type. Another program's archive has none, or another's.
HostArray member(const io::NpzReader& file, const std::string& path, const std::string& name, const Type& type) {
  HostArray a = io::to_host(file.read(name), path + ":" + name);
  if (a.type != type)
    throw Error("SG0510", path + ": '" + name + "' is " + to_string(a.type) + ", this fit has " + to_string(type));
  return a;
}

size_t param_of(const Descent& d, const Descent::Fed& f) {
  return static_cast<size_t>(std::ranges::find_if(d.program.params, [&](const Param& p) { return p.name == f.param; }) -
                             d.program.params.begin());
}

Error of_another(const std::string& path, const std::string& what) {
  return Error("SG0510", path + " is the checkpoint of another fit: " + what)
      .hint("begin anew with another --checkpoint file");
}

}  // namespace

FitIdentity identity_of(const Program& loss, const std::vector<HostArray>& inputs, const Descent& d,
                        const DescentOptions& how) {
  Digest program, given;
  program.add(text::print(loss));
  program.add(how.method + " of " + how.of);
  for (const size_t w : d.weights) program.add(loss.params[w].name);
  for (const Bounds& b : how.bounds) program.add(b.name + " " + std::to_string(b.low) + " " + std::to_string(b.high));
  const Batch& batch = how.batch;
  program.add(batch.variable + " " + std::to_string(batch.part) + " " + std::to_string(batch.seed));
  // Rates and bounds are inputs, which a person may change on the way; so are the weights, which the state replaces.
  for (size_t j = 0; j < inputs.size(); ++j) {
    if (std::ranges::find(d.weights, j) != d.weights.end()) continue;
    given.add(to_string(inputs[j].type));
    given.add(inputs[j].bytes);
  }
  return {program.value(), given.value()};
}

void write_checkpoint(const std::string& path, const FitIdentity& identity, const Descent& d,
                      const std::vector<HostArray>& state, const std::vector<double>& losses) {
  std::vector<std::pair<std::string, HostArray>> all = {{kMark, HostArray(Type{DType::I32, {}}, {kVersion})},
                                                        {"program", words_of(identity.program)},
                                                        {"inputs", words_of(identity.inputs)}};
  all.emplace_back("history", HostArray(Type{DType::F64, {static_cast<int64_t>(losses.size())}}, losses));
  for (size_t j = 0; j < state.size(); ++j)
    if (d.fed[j].result != d.losses.result) all.emplace_back(d.fed[j].param, state[j]);
  io::OutputFiles files;
  files.add(path, io::npz_bytes(all));
  files.commit();
}

std::vector<double> read_checkpoint(const std::string& path, const FitIdentity& identity, Descent& d) {
  const io::NpzReader file(io::read_file(path), path);
  const std::vector<std::string> names = file.names();
  if (std::ranges::find(names, kMark) == names.end())
    throw Error("SG0510", path + " is no checkpoint")
        .hint("spirograd fit .. --checkpoint writes them; --save files are inputs");
  const HostArray version = member(file, path, kMark, Type{DType::I32, {}});
  if (version.values()[0] != kVersion)
    throw Error("SG0510", path + " has version " + to_string(version) + " of checkpoints, this program reads 1");
  const Type words{DType::U32, {2}};
  if (member(file, path, "program", words).bytes != words_of(identity.program).bytes)
    throw of_another(path, "its program or its options differ")
        .note("--steps, --rate and --bound may change on the way, all else decides what the state means");
  if (member(file, path, "inputs", words).bytes != words_of(identity.inputs).bytes)
    throw of_another(path, "its inputs have other values");

  const HostArray stored = io::to_host(file.read("history"), path + ":history");
  const std::vector<double> losses = stored.values();
  std::vector<HostArray> state;
  for (const Descent::Fed& f : d.fed)
    state.push_back(f.result == d.losses.result ? HostArray(f.type) : member(file, path, f.param, f.type));
  for (size_t j = 0; j < state.size(); ++j) {
    const Descent::Fed& f = d.fed[j];
    if (f.result == d.count.result && state[j].values()[0] != static_cast<double>(losses.size()))
      throw Error("SG0501", path + " is damaged: it counts " + to_string(state[j]) + " losses and holds " +
                                std::to_string(losses.size()));
    if (f.result == d.losses.result) {
      std::vector<double> ring(static_cast<size_t>(f.type.shape.count()));
      const size_t kept = ring.size();
      for (size_t k = losses.size() - std::min(losses.size(), kept); k < losses.size(); ++k) ring[k % kept] = losses[k];
      state[j] = HostArray(f.type, ring);
    }
    d.inputs[param_of(d, f)] = state[j];
  }
  return losses;
}

}  // namespace spirograd::cli
