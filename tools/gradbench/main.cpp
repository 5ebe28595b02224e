// The benchmark suite GradBench asks on stdin, Spirograd answers on stdout.
#include <cstdio>
#include <cstdlib>
#include <iostream>

#include "tools/gradbench/protocol.h"

namespace {

using namespace spirograd;

constexpr int kUsage = 2, kOutputGone = 5;

std::string help() {
  std::string out =
      "spirograd-gradbench: the evaluations of the suite GradBench on a Vulkan device\n\n"
      "usage: spirograd-gradbench [options]\n\n"
      "Reads messages of GradBench's protocol from stdin, a JSON object in each line, and answers each by one line on "
      "stdout.\n\n"
      "options:\n"
      "  -d, --device D       number or part of the name of a Vulkan device (also SPIROGRAD_DEVICE)\n"
      "  --dtype f32|f64      element type; f64 if not given, f32 on devices without it\n"
      "  --programs FOLDER    programs in place of those that are built in (samples/gradbench)\n"
      "  --help               this text\n\n"
      "environment: SPIROGRAD_DEVICE, SPIROGRAD_CACHE (folder of compiled kernels; empty: none)\n\n"
      "evaluations:\n";
  for (const gradbench::Evaluation& e : gradbench::evaluations()) {
    out += "  " + e.name + ":";
    for (const gradbench::Function& f : e.functions) out += " " + f.name;
    out += "\n";
  }
  return out +
         "\nexamples:\n"
         "  gradbench run --eval 'gradbench eval gmm' --tool spirograd-gradbench\n"
         "  echo '{\"id\":0,\"kind\":\"evaluate\",\"module\":\"hello\",\"function\":\"double\",\"input\":3}' | "
         "spirograd-gradbench\n";
}

std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
}

std::string cache_folder() {
  if (std::getenv("SPIROGRAD_CACHE")) return environment("SPIROGRAD_CACHE");
  if (const std::string caches = environment("XDG_CACHE_HOME"); !caches.empty()) return caches + "/spirograd";
  if (const std::string home = environment("HOME"); !home.empty()) return home + "/.cache/spirograd";
  return "";
}

int usage_error(const std::string& what) {
  std::fprintf(stderr, "error: %s\n  help: spirograd-gradbench --help\n", what.c_str());
  return kUsage;
}

}  // namespace

int main(int argc, char** argv) {
  gradbench::Options options;
  options.device = environment("SPIROGRAD_DEVICE");
  options.cache = cache_folder();
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    if (word == "--help" || word == "-h") return std::fputs(help().c_str(), stdout), 0;
    if (word != "--device" && word != "-d" && word != "--dtype" && word != "--programs")
      return usage_error("there is no option '" + word + "'");
    if (++i == argc) return usage_error("'" + word + "' needs a value");
    const std::string value = argv[i];
    if (word == "--dtype") {
      if (value != "f32" && value != "f64") return usage_error("'--dtype' is f32 or f64, not '" + value + "'");
      options.element = value == "f32" ? DType::F32 : DType::F64;
    } else {
      (word == "--programs" ? options.programs : options.device) = value;
    }
  }
  std::ios::sync_with_stdio(false);
  gradbench::Engine engine(std::move(options));
  for (std::string line; std::getline(std::cin, line);) {
    std::cout << gradbench::answer(line, engine) << std::endl;
    if (!std::cout) return kOutputGone;
  }
}
