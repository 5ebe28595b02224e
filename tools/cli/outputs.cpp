#include "tools/cli/outputs.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "frontend/base/near_name.h"
#include "spirograd/array_text.h"
#include "tools/cli/tool.h"
#include "tools/io/arguments.h"
#include "tools/io/array_file.h"
#include "tools/io/files.h"
#include "tools/io/table.h"

namespace spirograd::cli {
Outputs::Outputs(const Options& options) : json_(options.has("--json")) {
  for (const std::string& text : options.values("--output")) {
    const auto named = io::split_argument(text);
    Wish w = named ? Wish{named->name, named->text, ""} : Wish{"", text, ""};
    w.identity = io::file_identity(w.path);
    for (const Wish& other : wishes_) {
      if (w.identity == other.identity && !(w.path == "-" && other.path == "-" && w.name != other.name))
        throw usage_error("two outputs go to " + (w.path == other.path ? "" : "one file, '" + other.path + "' and ") + "'" +
                          w.path + "'");
      if (w.name == other.name && w.path != "-" && other.path != "-" && !w.name.empty())
        throw usage_error("output '" + w.name + "' is given twice");
    }
    if (w.path != "-") {
      io::check_writable(w.path);
      if (w.identity == io::file_identity("-") && !w.path.starts_with("/dev/"))
        throw usage_error("'" + w.path + "' is the file that stdout goes to");
      if (!io::takes_all_arrays(w.path) && !io::takes_one_array(w.path) && !w.path.starts_with("/dev/"))
        throw usage_error("'" + w.path + "' does not end in " + io::array_endings())
            .hint("-o " + (w.name.empty() ? "y" : w.name) + "=y.npy");
      if (io::takes_all_arrays(w.path) && !w.name.empty())
        throw usage_error("'" + w.path + "' takes all results").hint("-o " + w.path);
    }
    wishes_.push_back(std::move(w));
  }
}

void Outputs::check_names(const std::vector<std::pair<std::string, std::string>>& names) const {
  std::vector<std::string> known;
  std::string all;
  for (const auto& [name, alias] : names) {
    for (const std::string& n : {name, alias})
      if (!n.empty()) known.push_back(n);
    all += (all.empty() ? "" : ", ") + name;
  }
  for (const Wish& w : wishes_) {
    if (io::takes_all_arrays(w.path))
      for (const auto& [name, alias] : names)
        if (name.find_first_of("/\\") != std::string::npos || name == ".." || name == ".")
          throw Error("SG0508", "result '" + name + "' cannot be a member of " + w.path + ": its name is a path")
              .hint("-o '" + name + "=y.npy' writes it alone");
    if (w.name.empty()) {
      if (!io::takes_all_arrays(w.path) && names.size() != 1)
        throw Error("SG0508", "-o " + w.path + ": there are " + std::to_string(names.size()) + " results")
            .note("results: " + all)
            .hint("-o NAME=" + w.path + ", or -o FILE.npz for all of them");
    } else if (std::find(known.begin(), known.end(), w.name) == known.end()) {
      throw Error("SG0508", "there is no result '" + w.name + "'").note("results: " + all).hint(did_you_mean(w.name, known));
    }
  }
}

std::string Outputs::file_of(const NamedArray& r) const {
  for (const Wish& w : wishes_)
    if (w.path != "-" && (w.name.empty() || w.name == r.name || w.name == r.alias)) return w.path;
  return "";
}

void Outputs::write(const std::vector<NamedArray>& results) const {
  io::OutputFiles files;
  std::string shown, log;
  for (const Wish& w : wishes_) {
    if (io::takes_all_arrays(w.path)) {
      std::vector<std::pair<std::string, HostArray>> all;
      for (const NamedArray& r : results) all.emplace_back(r.name, r.array);
      files.add(w.path, io::array_file_bytes(w.path, all));
      log += "wrote " + w.path + "  " + std::to_string(all.size()) + " arrays\n";
      continue;
    }
    // A result's own name goes before an alias of another.
    auto it = std::find_if(results.begin(), results.end(),
                           [&](const NamedArray& r) { return w.name.empty() || r.name == w.name; });
    if (it == results.end())
      it = std::find_if(results.begin(), results.end(), [&](const NamedArray& r) { return r.alias == w.name; });
    if (it == results.end()) continue;
    if (w.path == "-") {
      if (!json_) shown += result_text(*it);
      continue;
    }
    files.add(w.path, io::array_file_bytes(w.path, it->array));
    log += "wrote " + w.path + "  " + to_string(it->array.type) + "\n";
  }
  if (!shown.empty()) print(shown);
  files.commit();
  tell(log);
}

std::string result_text(const NamedArray& r) {
  if (r.array.type.shape.rank() == 0) return io::printable(r.name) + " = " + to_string(r.array) + "\n";
  return io::printable(r.name) + ": " + to_string(r.array.type) + "\n" + to_string(r.array) + "\n";
}

nlohmann::json json_number(double x) {
  if (std::isfinite(x)) return x;
  return std::isnan(x) ? "nan" : x > 0 ? "inf" : "-inf";
}

nlohmann::json result_json(const HostArray& a, const std::string& file) {
  nlohmann::json out;
  out["dtype"] = std::string(name(a.type.dtype));
  out["shape"] = std::vector<int64_t>(a.type.shape.begin(), a.type.shape.end());
  if (!file.empty()) {
    out["file"] = file;
    return out;
  }
  nlohmann::json data = nlohmann::json::array();
  for (double x : a.values()) {
    if (a.type.dtype == DType::Bool)
      data.push_back(x != 0);
    else if (is_integer(a.type.dtype))
      data.push_back(static_cast<int64_t>(x));
    else
      data.push_back(json_number(x));
  }
  out["data"] = a.type.shape.rank() == 0 ? data[0] : data;
  return out;
}

void print_json(const nlohmann::json& value) {
  // Names from a user's file may be no UTF-8.
  print(value.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n");
}

}  // namespace spirograd::cli
