#include "tools/gradbench/inputs.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

namespace spirograd::gradbench {
namespace {

using nlohmann::json;

// More than a program here takes, and less than what lets a machine swap.
constexpr int64_t kMostElements = int64_t{1} << 28;
constexpr int64_t kMostSize = (int64_t{1} << 31) - 1;
constexpr int64_t kMostPower = 24;

Error wrong(const std::string& path, const std::string& what) {
  return {"SG0501", path.empty() ? "the input " + what : "field '" + path + "' " + what};
}

// What stands there instead of what should: "a string", "-3".
std::string seen(const json& j) {
  if (j.is_number()) return j.dump();
  return (j.is_array() || j.is_object() ? "an " : "a ") + std::string(j.type_name());
}

const json* find(const json& input, const std::string& path) {
  const json* at = &input;
  for (size_t begin = 0; begin < path.size();) {
    const size_t end = std::min(path.find('.', begin), path.size());
    if (!at->is_object()) throw wrong(path.substr(0, begin ? begin - 1 : 0), "is " + seen(*at) + ", not an object");
    const auto member = at->find(path.substr(begin, end - begin));
    if (member == at->end()) return nullptr;
    at = &*member;
    begin = end + 1;
  }
  return at;
}

const json& get(const json& input, const std::string& path) {
  const json* found = find(input, path);
  if (!found) throw Error("SG0502", "field '" + path + "' is missing");
  return *found;
}

int64_t whole(const json& j, const std::string& path, int64_t least, int64_t most) {
  const auto range = [&] { return "a whole number from " + std::to_string(least) + " to " + std::to_string(most); };
  const double x = j.is_number() ? j.get<double>() : 0.5;
  if (!(x >= static_cast<double>(least) && x <= static_cast<double>(most) && x == std::floor(x)))
    throw wrong(path, "is " + seen(j) + ", not " + range());
  return static_cast<int64_t>(x);
}

struct Numbers {
  Shape shape;
  std::vector<double> values;
};

// Appends the elements of `j` below axis `axis`; the first part of each axis says how long the others are.
void collect(const json& j, const std::string& path, int rank, int axis, bool integers, Numbers& out) {
  if (axis == rank) {
    if (integers) return out.values.push_back(static_cast<double>(whole(j, path, INT32_MIN, INT32_MAX)));
    if (!j.is_number()) throw wrong(path, "holds " + seen(j) + " where a number is expected");
    return out.values.push_back(j.get<double>());
  }
  if (!j.is_array())
    throw wrong(path, "has " + seen(j) + " where a list is expected: it is nested " + std::to_string(rank) + " deep");
  const auto length = static_cast<int64_t>(j.size());
  if (out.shape.rank() == axis) out.shape.push_back(length);
  if (out.shape[axis] != length)
    throw wrong(path, "has parts of " + std::to_string(out.shape[axis]) + " and of " + std::to_string(length) + " elements");
  for (const json& part : j) collect(part, path, rank, axis + 1, integers, out);
}

Numbers numbers(const json& input, const std::string& path, int rank, bool integers) {
  Numbers out;
  collect(get(input, path), path, rank, 0, integers, out);
  while (out.shape.rank() < rank) out.shape.push_back(0);  // of [] nothing tells more
  return out;
}

int64_t size_of(const json& input, const std::string& path) { return whole(get(input, path), path, 1, kMostSize); }

Numbers repeated(const json& input, const Field& f) {
  const Numbers once = numbers(input, f.path, f.rank - 1, false);
  const int64_t n = size_of(input, f.count);
  if (n * std::max<int64_t>(once.shape.count(), 1) > kMostElements)
    throw wrong(f.path, "repeated '" + f.count + "' = " + std::to_string(n) + " times has more than 2^28 elements");
  Numbers out{once.shape.inserted(0, n), {}};
  out.values.reserve(static_cast<size_t>(out.shape.count()));
  for (int64_t i = 0; i < n; ++i) out.values.insert(out.values.end(), once.values.begin(), once.values.end());
  return out;
}

Numbers positions(const json& input, const Field& f) {
  const int64_t modulo = size_of(input, f.path), n = size_of(input, f.count);
  if (n > kMostElements) throw wrong(f.count, "is " + std::to_string(n) + ", more than 2^28");
  Numbers out{{n}, {}};
  out.values.reserve(static_cast<size_t>(n));
  for (int64_t i = 0; i < n; ++i) out.values.push_back(static_cast<double>(i % modulo));
  return out;
}

bool is_left_out(const json& input, const Field& f) {
  const json* found = f.optional ? find(input, f.path) : nullptr;
  return f.optional && (!found || (found->is_array() && found->empty()));
}

}  // namespace

Inputs read_inputs(const Evaluation& e, const json& input, DType element) {
  Inputs out;
  const auto add = [&](const Field& f, DType dtype, const Numbers& n) {
    out.types.push_back({f.param, {dtype, n.shape}});
    out.arrays.emplace_back(out.types.back().type, n.values);
  };
  for (const Field& f : e.fields) {
    if (is_left_out(input, f)) continue;
    out.with_option |= f.optional;
    switch (f.kind) {
      case Kind::Floats: add(f, element, numbers(input, f.path, f.rank, false)); break;
      case Kind::Integers: add(f, DType::I32, numbers(input, f.path, f.rank, true)); break;
      case Kind::Truth: {
        const json& truth = get(input, f.path);
        if (!truth.is_boolean()) throw wrong(f.path, "is " + seen(truth) + ", not true or false");
        add(f, DType::Bool, {{}, {truth.get<bool>() ? 1.0 : 0.0}});
        break;
      }
      case Kind::Size: out.sizes.emplace_back(f.param, size_of(input, f.path)); break;
      case Kind::PowerOfTwo:
        out.sizes.emplace_back(f.param, int64_t{1} << whole(get(input, f.path), f.path, 1, kMostPower));
        break;
      case Kind::Repeated: add(f, element, repeated(input, f)); break;
      case Kind::Positions: add(f, DType::I32, positions(input, f)); break;
    }
  }
  return out;
}

Repeats read_repeats(const json& input) {
  Repeats out;
  if (!input.is_object()) return out;
  if (const json* runs = find(input, "min_runs")) out.runs = whole(*runs, "min_runs", 1, kMostSize);
  if (const json* seconds = find(input, "min_seconds")) {
    if (!seconds->is_number() || !(seconds->get<double>() >= 0))
      throw wrong("min_seconds", "is " + seen(*seconds) + ", not a number from 0");
    out.seconds = seconds->get<double>();
  }
  return out;
}

}  // namespace spirograd::gradbench
