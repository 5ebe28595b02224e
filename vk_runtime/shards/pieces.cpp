#include "vk_runtime/shards/pieces.h"

#include <algorithm>
#include <cstring>

#include "frontend/base/near_name.h"

namespace spirograd::shards {
namespace {

std::string on_axis(const std::string& what, int axis) { return "'" + what + "' along axis " + std::to_string(axis); }

// How many bytes lie together in a piece of one element, and how many such runs there are.
struct Runs {
  size_t count, bytes;
  Runs(const Type& t, int axis)
      : count(static_cast<size_t>(t.shape.slice(0, axis).count())),
        bytes(static_cast<size_t>(t.shape.slice(axis + 1, t.shape.rank()).count()) * host_bytes(t.dtype)) {}
};

template <class T>
void add(std::vector<double>& sums, const HostArray& a, double weight) {
  for (size_t i = 0; i < sums.size(); ++i) {
    T x;
    std::memcpy(&x, a.bytes.data() + i * sizeof(T), sizeof(T));
    sums[i] += weight * static_cast<double>(x);
  }
}

HostArray summed(const Type& type, const JoinedResult& how, std::span<const Part> parts) {
  if (parts.size() == 1) return *parts[0].result;
  int64_t all = 0;
  for (const Part& p : parts) all += p.count;
  std::vector<double> sums(static_cast<size_t>(type.shape.count()));
  for (const Part& p : parts) {
    const double weight = how.how == Joined::Mean ? static_cast<double>(p.count) / static_cast<double>(all) : 1;
    switch (type.dtype) {
      case DType::Bool: break;  // type_in_piece refuses it
      case DType::I32: add<int32_t>(sums, *p.result, weight); break;
      case DType::U32: add<uint32_t>(sums, *p.result, weight); break;
      case DType::F16: add<Half>(sums, *p.result, weight); break;
      case DType::F32: add<float>(sums, *p.result, weight); break;
      case DType::F64: add<double>(sums, *p.result, weight); break;
    }
  }
  return HostArray(type, sums);
}

}  // namespace

HostArray piece_of(const HostArray& whole, int axis, int64_t first, int64_t count) {
  Type type = whole.type;
  const Runs runs(type, axis);
  const size_t from = static_cast<size_t>(type.shape[axis]) * runs.bytes, to = static_cast<size_t>(count) * runs.bytes;
  type.shape[axis] = count;
  HostArray out(type);
  for (size_t r = 0; r < runs.count && to > 0; ++r)
    std::memcpy(out.bytes.data() + r * to, whole.bytes.data() + r * from + static_cast<size_t>(first) * runs.bytes, to);
  return out;
}

int64_t common_extent(const std::vector<Param>& params, const std::vector<Cut>& cut) {
  if (cut.empty())
    throw Error("SG0511", "no input is cut: each device would do the whole").hint("name the inputs that are data");
  std::vector<std::string> names;
  for (const Param& p : params) names.push_back(p.name);
  int64_t extent = -1;
  for (size_t c = 0; c < cut.size(); ++c) {
    const auto at = std::find_if(params.begin(), params.end(), [&](const Param& p) { return p.name == cut[c].input; });
    if (at == params.end())
      throw Error("SG0503", "there is no input '" + cut[c].input + "' to cut").hint(did_you_mean(cut[c].input, names));
    for (size_t b = 0; b < c; ++b)
      if (cut[b].input == cut[c].input) throw Error("SG0503", "input '" + cut[c].input + "' is cut twice");
    if (cut[c].axis < 0 || cut[c].axis >= at->type.shape.rank())
      throw Error("SG0511", "cannot cut " + on_axis(at->name, cut[c].axis) + ": it is " + to_string(at->type));
    const int64_t n = at->type.shape[cut[c].axis];
    if (extent >= 0 && n != extent)
      throw Error("SG0511", on_axis(cut[0].input, cut[0].axis) + " has " + std::to_string(extent) + " elements, " +
                                on_axis(at->name, cut[c].axis) + " has " + std::to_string(n))
          .hint("cut inputs along the axis that they have in common; leave those uncut that have none of it");
    extent = n;
  }
  return extent;
}

std::vector<Param> params_of_piece(std::vector<Param> params, const std::vector<Cut>& cut, int64_t count) {
  for (Param& p : params)
    for (const Cut& c : cut)
      if (c.input == p.name) p.type.shape[c.axis] = count;
  return params;
}

Program made_program(const MakeProgram& make, const std::vector<Param>& params) {
  Program out = make(params).value();
  const auto same = [](const Param& a, const Param& b) { return a.name == b.name && a.type == b.type; };
  if (std::equal(out.params.begin(), out.params.end(), params.begin(), params.end(), same)) return out;
  std::string has, asked;
  for (const Param& p : out.params) has += (has.empty() ? "" : ", ") + p.name + ": " + to_string(p.type);
  for (const Param& p : params) asked += (asked.empty() ? "" : ", ") + p.name + ": " + to_string(p.type);
  throw Error("SG0511", "the program of a piece takes (" + has + "), not (" + asked + ")");
}

Type type_in_piece(const ProgramResult& whole, const JoinedResult& how, int64_t extent, int64_t count) {
  Type type = whole.type;
  if (how.how != Joined::Concatenate) {
    if (type.dtype == DType::Bool || (how.how == Joined::Mean && !is_float(type.dtype)))
      throw Error("SG0511", "result '" + whole.name + "' is " + to_string(type) + ", of which there is no " +
                                std::string(name(how.how)))
          .hint("convert it in the program: f32(..)");
    return type;
  }
  if (how.axis < 0 || how.axis >= type.shape.rank() || type.shape[how.axis] != extent)
    throw Error("SG0511", "cannot concatenate " + on_axis(whole.name, how.axis) + ": it is " + to_string(type) +
                              ", and the inputs are cut in " + std::to_string(extent));
  type.shape[how.axis] = count;
  return type;
}

HostArray joined(const Type& type, const JoinedResult& how, std::span<const Part> parts) {
  if (how.how != Joined::Concatenate) return summed(type, how, parts);
  HostArray out(type);
  const Runs runs(type, how.axis);
  const size_t whole = static_cast<size_t>(type.shape[how.axis]) * runs.bytes;
  size_t at = 0;
  for (const Part& p : parts) {
    const size_t bytes = static_cast<size_t>(p.count) * runs.bytes;
    for (size_t r = 0; r < runs.count && bytes > 0; ++r)
      std::memcpy(out.bytes.data() + r * whole + at, p.result->bytes.data() + r * bytes, bytes);
    at += bytes;
  }
  return out;
}

}  // namespace spirograd::shards
