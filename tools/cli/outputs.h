// Where results go: -o NAME=FILE.npy, -o FILE.npz for all, -o NAME=- for stdout.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "spirograd/host_array.h"
#include "tools/cli/options.h"

namespace spirograd::cli {

struct NamedArray {
  std::string name;
  std::string alias;  // a second name that -o may use; ""
  HostArray array;
};

class Outputs {
 public:
  /// Throws SG0505 for what can't be written and usage errors, before any work is done: two outputs never go to one file,
  /// whatever it is called, nor one to the file that stdout goes to. An output may replace an input, which is read by then.
  explicit Outputs(const Options& options);
  bool any() const { return !wishes_.empty(); }
  /// Throws SG0508 for names that are no results. `names`: pairs of name and alias.
  void check_names(const std::vector<std::pair<std::string, std::string>>& names) const;
  /// Prints what goes to stdout (not with --json, which shows all arrays without a file), then all files appear together.
  /// Tells on stderr what was written.
  void write(const std::vector<NamedArray>& results) const;
  /// The file that a result is written to, "" if none.
  std::string file_of(const NamedArray& result) const;

 private:
  struct Wish {
    std::string name, path;  // name "": the only result, or with .npz all of them
    std::string identity;    // see io::file_identity
  };
  std::vector<Wish> wishes_;
  bool json_;
};

/// "loss = 0.5", or a line with the type and then the elements.
std::string result_text(const NamedArray& result);
/// {"dtype": "f32", "shape": [2], "data": [1, 2]}; non-finite numbers are strings. With a file: its name instead of the
/// data.
nlohmann::json result_json(const HostArray& array, const std::string& file = "");
/// Finite numbers as they are, others as "nan", "inf", "-inf".
nlohmann::json json_number(double x);
/// Prints indented, with a newline.
void print_json(const nlohmann::json& value);

}  // namespace spirograd::cli
