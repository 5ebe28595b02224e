#include "vk_runtime/shards/plan.h"

#include <algorithm>
#include <cmath>

#include "frontend/base/near_name.h"
#include "vk_runtime/shards/pieces.h"

namespace spirograd::shards {
namespace {

std::vector<JoinedResult> in_order(const Program& program, const std::vector<JoinedResult>& told) {
  std::vector<std::string> names;
  for (const ProgramResult& r : program.results) names.push_back(r.name);
  std::vector<JoinedResult> out;
  for (const ProgramResult& r : program.results) {
    const auto named = [&](const JoinedResult& j) { return j.result == r.name; };
    const auto at = std::find_if(told.begin(), told.end(), named);
    if (at == told.end())
      throw Error("SG0511", "nothing says how result '" + r.name + "' comes from pieces")
          .hint("it is a sum over them, a mean, or they are concatenated along an axis");
    if (std::find_if(at + 1, told.end(), named) != told.end())
      throw Error("SG0503", "result '" + r.name + "' is joined twice");
    out.push_back(*at);
  }
  for (const JoinedResult& j : told)
    if (std::find(names.begin(), names.end(), j.result) == names.end())
      throw Error("SG0503", "there is no result '" + j.result + "' to join").hint(did_you_mean(j.result, names));
  return out;
}

}  // namespace

Plan::Plan(MakeProgram make, std::vector<Param> params, ShardOptions options)
    : make_(std::move(make)),
      options_(std::move(options)),
      extent_(common_extent(params, options_.cut)),
      whole_(made_program(make_, params)),
      how_(in_order(whole_, options_.results)),
      axes_(params.size(), -1) {
  for (size_t i = 0; i < params.size(); ++i)
    for (const Cut& c : options_.cut)
      if (c.input == params[i].name) axes_[i] = c.axis;
  for (const double share : options_.shares)
    if (!(share >= 0) || std::isinf(share)) throw Error("SG0511", "a share is " + std::to_string(share));
  for (size_t j = 0; j < how_.size(); ++j) type_in_piece(whole_.results[j], how_[j], extent_, extent_);
}

Program Plan::program_for(int64_t count) {
  if (count == extent_) return whole_;
  const std::lock_guard lock(mutex_);
  const auto known = programs_.find(count);
  if (known != programs_.end()) return known->second;
  Program program = made_program(make_, params_of_piece(whole_.params, options_.cut, count));
  if (program.results.size() != whole_.results.size())
    throw Error("SG0511", "the program of a piece has " + std::to_string(program.results.size()) +
                              " results, that of the whole " + std::to_string(whole_.results.size()));
  for (size_t j = 0; j < how_.size(); ++j) {
    const ProgramResult& r = program.results[j];
    const Type wanted = type_in_piece(whole_.results[j], how_[j], extent_, count);
    if (r.name != whole_.results[j].name || r.type != wanted)
      throw Error("SG0511", "result '" + whole_.results[j].name + "' is " + to_string(wanted) + " for " +
                                std::to_string(count) + " of " + std::to_string(extent_) +
                                " elements, but the program gives '" + r.name + "', " + to_string(r.type));
  }
  return programs_.emplace(count, std::move(program)).first->second;
}

size_t Plan::input(std::string_view name) const {
  std::vector<std::string> names;
  for (size_t i = 0; i < whole_.params.size(); ++i) {
    if (whole_.params[i].name == name) return i;
    names.push_back(whole_.params[i].name);
  }
  throw Error("SG0503", "there is no input '" + std::string(name) + "'").hint(did_you_mean(name, names));
}

}  // namespace spirograd::shards
