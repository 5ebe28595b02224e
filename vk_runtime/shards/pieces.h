// Arrays cut along an axis, and put together again. Throws Error.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "spirograd/host_array.h"
#include "spirograd/shards.h"

namespace spirograd::shards {

/// `count` elements of an axis from `first` on. Pre: they are there.
HostArray piece_of(const HostArray& whole, int axis, int64_t first, int64_t count);

/// The inputs that are cut, checked: each is a parameter, its axis is there, and all have the same extent, which is given
/// back. Throws SG0503, SG0511.
int64_t common_extent(const std::vector<Param>& params, const std::vector<Cut>& cut);

/// The parameters of a piece of that extent.
std::vector<Param> params_of_piece(std::vector<Param> params, const std::vector<Cut>& cut, int64_t count);

/// The program of a piece, checked: it has these parameters. Throws SG0511.
Program made_program(const MakeProgram& make, const std::vector<Param>& params);

/// The type that a result of the whole has in a piece. Throws SG0511 where it cannot be joined so.
Type type_in_piece(const ProgramResult& whole, const JoinedResult& how, int64_t extent, int64_t count);

/// What one device gave, and for how much of the axis.
struct Part {
  int64_t count = 0;
  const HostArray* result = nullptr;
};

/// The parts as one array of that type, in their order; sums in double, rounded once. Pre: one part at least.
HostArray joined(const Type& type, const JoinedResult& how, std::span<const Part> parts);

}  // namespace spirograd::shards
