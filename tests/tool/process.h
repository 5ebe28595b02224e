// Runs the tool as a user does: a process of its own, in a folder of its own.
#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json_fwd.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "tools/io/npy.h"

namespace spirograd::tool_test {

namespace fs = std::filesystem;
using Words = std::vector<std::string>;
using Json = nlohmann::json;

struct Finished {
  int status = -1;  // 1000 + number: ended by a signal
  std::string out, err;
};

/// A folder that goes away with the test.
class Folder {
 public:
  Folder() {
    std::string name = (fs::temp_directory_path() / "spirograd_tool_XXXXXX").string();
    if (!mkdtemp(name.data())) throw std::runtime_error("no temporary folder");
    path_ = name;
  }
  ~Folder() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  fs::path path(const std::string& name) const { return path_ / name; }

  void write(const std::string& name, const std::string& text) const { std::ofstream(path(name), std::ios::binary) << text; }
  void write(const std::string& name, const std::vector<uint8_t>& bytes) const {
    write(name, std::string(bytes.begin(), bytes.end()));
  }
  std::string read(const std::string& name) const {
    std::stringstream s;
    s << std::ifstream(path(name), std::ios::binary).rdbuf();
    return s.str();
  }
  HostArray array(const std::string& name) const {
    const std::string s = read(name);
    return io::to_host(io::parse_npy({s.begin(), s.end()}, name), name);
  }
  /// Names and sizes of all files.
  std::vector<std::string> files() const {
    std::vector<std::string> out;
    for (const auto& e : fs::recursive_directory_iterator(path_))
      out.push_back(e.path().string() + (e.is_regular_file() ? " " + std::to_string(e.file_size()) : ""));
    std::sort(out.begin(), out.end());
    return out;
  }

  /// Starts the tool and does not wait for it.
  pid_t start(const Words& arguments, const Words& environment = {}, const std::string& out_file = "/dev/null",
              const std::string& err_file = "/dev/null") const {
    const pid_t child = fork();
    if (child != 0) return child;
    const int o = open(out_file.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600),
              e = open(err_file.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
    dup2(o, 1);
    dup2(e, 2);
    if (chdir(path_.c_str()) != 0) _exit(126);
    unsetenv("SPIROGRAD_DEVICE");
    setenv("SPIROGRAD_CACHE", "", 1);
    Words variables = environment, words = arguments;
    for (std::string& v : variables) putenv(v.data());
    words.insert(words.begin(), SPIROGRAD_TOOL);
    std::vector<char*> argv;
    for (std::string& w : words) argv.push_back(w.data());
    argv.push_back(nullptr);
    execv(SPIROGRAD_TOOL, argv.data());
    _exit(127);
  }

  /// `environment`: "NAME=value". Output that goes to `out` instead of a pipe can be /dev/full.
  Finished run(const Words& arguments, const Words& environment = {}, const std::string& out = "") const {
    const std::string stem = path_.string() + ".log";  // beside the folder, so that files() does not see it
    const std::string out_file = out.empty() ? stem + ".out" : out, err_file = stem + ".err";
    const pid_t child = start(arguments, environment, out_file, err_file);
    int status = 0;
    waitpid(child, &status, 0);
    Finished f;
    f.status = WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
    const auto slurp = [](const std::string& name) {
      std::stringstream s;
      s << std::ifstream(name, std::ios::binary).rdbuf();
      return s.str();
    };
    if (out.empty()) f.out = slurp(out_file);
    f.err = slurp(err_file);
    std::error_code ignored;
    fs::remove(stem + ".out", ignored);
    fs::remove(err_file, ignored);
    return f;
  }

  bool has_device() const { return run({"devices"}).status == 0; }

 private:
  fs::path path_;
};

/// A .npy file with this header text, version 1.0.
inline std::string raw_npy(std::string header, const std::string& data) {
  header += "\n";
  return std::string("\x93NUMPY\x01\x00", 8) + static_cast<char>(header.size() & 255) +
         static_cast<char>(header.size() >> 8) + header + data;
}
inline std::string npy_of(const std::string& descr, const std::string& shape, size_t bytes,
                          const std::string& order = "False") {
  return raw_npy("{'descr': '" + descr + "', 'fortran_order': " + order + ", 'shape': " + shape + ", }",
                 std::string(bytes, '\0'));
}

constexpr const char* kModel = R"(def model(w: f32[N], x: f32[M, N], k: i32) -> (loss: f32, rows: f32[M], count: i32) {
  let rows = for i: M => sum(for j: N => x[i, j] * w[j])
  (sum(rows * rows), tanh(rows), k + 1)
}
)";

}  // namespace spirograd::tool_test
