#include "tools/cli/element_type.h"

#include "tools/cli/job.h"
#include "tools/io/arguments.h"
#include "tools/io/array_file.h"
#include "tools/io/files.h"
#include "tools/io/npy.h"
#include "tools/io/system.h"

namespace spirograd::cli {
namespace {

std::optional<DType> dtype_named(const std::string& word) {
  for (DType t : kDTypes)
    if (word == name(t)) return t;
  return std::nullopt;
}

// Of a type that the language lacks the message says how to go on.
HostArray as_it_is(io::FileArray a, const std::string& where) {
  try {
    return io::to_host(std::move(a), where);
  } catch (const Error& e) {
    throw Error(e).hint("choose the element type and convert: --dtype f32 --cast");
  }
}

}  // namespace

std::optional<DType> element_type(const Options& options) {
  const auto word = options.value("--dtype");
  if (!word) return std::nullopt;
  const auto t = dtype_named(*word);
  if (!t) throw usage_error("'--dtype' is f32 or f64 (or f16, i32, u32, bool), not '" + *word + "'");
  return t;
}

std::optional<HostArray> load_typed(const std::string& name, const std::string& text) {
  const size_t colon = text.find(':', io::drive_length(text));
  const std::string head = text.substr(0, colon), where = "input '" + name + "': " + text;
  for (const char* maker : {"zeros", "ones", "iota", "random"})
    if (head == maker) {
      const auto t = dtype_named(text.substr(text.find_last_of(":x") + 1));
      return t ? std::optional(io::load_argument(name, text, *t, false)) : std::nullopt;
    }
  if (std::optional<io::StoredArray> stored = io::read_array_file(name, text))
    return stored->typed ? std::optional(as_it_is(std::move(stored->array), where)) : std::nullopt;
  const bool number = text.find_first_not_of("+-.0123456789[") != 0;
  if (!number && io::exists(text)) return as_it_is(io::parse_npy(io::read_file(text), text), where);
  return std::nullopt;
}

}  // namespace spirograd::cli
