// Operands of operations: types of plain numbers.
#include <cmath>
#include <limits>
#include <sstream>

#include "frontend/dsl/tracer.h"

namespace spirograd::detail {
namespace {

std::string text(const Arg& number) {
  if (number.kind == Arg::Kind::Bool) return number.number != 0 ? "true" : "false";
  if (number.kind == Arg::Kind::Integer) return std::to_string(static_cast<int64_t>(number.number));
  std::ostringstream s;
  s << number.number;
  return s.str();
}

DType default_type(std::span<const Arg> numbers) {
  DType t = DType::Bool;
  for (const Arg& a : numbers) {
    if (a.kind == Arg::Kind::Real) return DType::F32;
    if (a.kind == Arg::Kind::Integer) t = DType::I32;
  }
  return t;
}

// The type of the first array, or what the numbers suggest themselves.
DType common_type(Tracer& tracer, std::span<const Arg> args) {
  for (const Arg& a : args)
    if (a.kind == Arg::Kind::Array) return tracer.expr(a.array).dtype();
  return default_type(args);
}

bool fits(const Arg& a, DType t) {
  using Limits32 = std::numeric_limits<int32_t>;
  switch (t) {
    case DType::Bool: return a.kind == Arg::Kind::Bool;
    case DType::I32: return a.kind == Arg::Kind::Integer && a.number >= Limits32::min() && a.number <= Limits32::max();
    case DType::U32:
      return a.kind == Arg::Kind::Integer && a.number >= 0 && a.number <= std::numeric_limits<uint32_t>::max();
    case DType::F16:
    case DType::F32:
    case DType::F64: return a.kind != Arg::Kind::Bool;
  }
  return false;
}

}  // namespace

double rounded(std::string_view what, const Arg& number, DType dtype) {
  if (!fits(number, dtype))
    throw Error("SG0101", std::string(what) + ": the number " + text(number) + " is no " + std::string(name(dtype)))
        .at(number.loc)
        .hint("plain numbers take the type of the array that they meet: cast the array, or write another number");
  if (dtype != DType::F32 || !std::isfinite(number.number)) return number.number;
  if (std::abs(number.number) > std::numeric_limits<float>::max())
    throw Error("SG0101", std::string(what) + ": the number " + text(number) + " is too large for f32").at(number.loc);
  return static_cast<double>(static_cast<float>(number.number));
}

ir::Expr literal(ir::Graph& g, std::string_view what, const Arg& number, DType dtype) {
  return ir::scalar(g, dtype, rounded(what, number, dtype));
}

std::vector<ir::Expr> resolve(Tracer& tracer, std::string_view what, std::span<const Arg> args, Numbers numbers) {
  const size_t together = numbers == Numbers::Together ? 0 : numbers == Numbers::MaskFirst ? 1 : args.size();
  const DType shared = together < args.size() ? common_type(tracer, args.subspan(together)) : DType::F32;
  std::vector<ir::Expr> out;
  for (size_t j = 0; j < args.size(); ++j) {
    if (args[j].kind == Arg::Kind::Array)
      out.push_back(tracer.expr(args[j].array));
    else
      out.push_back(literal(tracer.nodes(), what, args[j], j >= together ? shared : default_type({&args[j], 1})));
  }
  return out;
}

}  // namespace spirograd::detail
