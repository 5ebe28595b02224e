// Elements of inputs, made by rule; and the decisions that programs are made of.
#include <limits>

#include "spirograd/result.h"
#include "support/sized_program.h"

namespace spirograd::test {
namespace {

constexpr std::array<std::string_view, 3> kKinds = {"ordinary", "integers", "extremes"};

uint64_t mixed(uint64_t x) {  // splitmix64
  x += 0x9e3779b97f4a7c15ull;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
  return x ^ (x >> 31);
}

// -2 to 2 in steps of 2^-10, never 0: exact in f32, sums are not.
double ordinary(uint64_t h) { return (static_cast<double>(h % 4096) - 2047.5) / 1024; }

double extreme(uint64_t h) {
  constexpr double inf = std::numeric_limits<double>::infinity(), nan = std::numeric_limits<double>::quiet_NaN();
  constexpr std::array<double, 16> few = {1, 2, nan, 2, -1, nan, 0.5, 2, -1, nan, inf, nan, -inf, nan, -3, 2};
  return few[h % few.size()];
}

// Between the extremes of i32, and the small numbers at which quotients and remainders go wrong.
double any_integer(uint64_t h) {
  constexpr std::array<double, 16> edges = {-2147483648.0, 2147483647.0, -1,           0, 1,  -2147483647.0, 2, -2, 3, 65535,
                                            65536,         65537,        1073741824.0, 7, -7, -1073741824.0};
  if (h % 3 != 0) return edges[(h >> 8) % edges.size()];
  return static_cast<double>(static_cast<int32_t>(h >> 16));
}

}  // namespace

std::string to_string(const Recipe& r) {
  return std::string(kKinds[static_cast<size_t>(r.kind)]) + " " + std::to_string(r.turn);
}

Recipe recipe_of(std::string_view kind, int turn) {
  for (size_t j = 0; j < kKinds.size(); ++j)
    if (kKinds[j] == kind) return {static_cast<Recipe::Kind>(j), turn};
  throw Error("SG0900", "there are no inputs of the kind '" + std::string(kind) + "'");
}

std::vector<double> recipe_values(const Recipe& r, const Type& t, size_t slot) {
  std::vector<double> out;
  const uint64_t start = mixed(static_cast<uint64_t>(r.turn) * 1000003 + slot);
  // In a third of the rows of extremes nothing is a number.
  const bool all_nan = r.kind == Recipe::Kind::Extremes && r.turn % 3 == 2;
  for (int64_t i = 0; i < t.shape.count(); ++i) {
    const uint64_t h = mixed(start + static_cast<uint64_t>(i));
    double integer = r.kind == Recipe::Kind::Integers ? any_integer(h) : static_cast<double>(h % 107) - 7;
    switch (t.dtype) {
      case DType::Bool: out.push_back(static_cast<double>(h % 2)); break;
      case DType::U32: integer += integer < 0 ? 4294967296.0 : 0; [[fallthrough]];
      case DType::I32: out.push_back(integer); break;
      case DType::F16:
      case DType::F32:
      case DType::F64:
        out.push_back(r.kind != Recipe::Kind::Extremes ? ordinary(h)
                      : all_nan && i % 64 < 40         ? std::numeric_limits<double>::quiet_NaN()
                                                       : extreme(h));
        break;
    }
  }
  return out;
}

std::vector<std::vector<double>> SizedProgram::inputs() const {
  std::vector<std::vector<double>> out;
  for (size_t j = 0; j < program.params.size(); ++j) out.push_back(recipe_values(recipe, program.params[j].type, j));
  return out;
}

}  // namespace spirograd::test
