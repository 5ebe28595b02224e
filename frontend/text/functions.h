// What the operations on functions share: derivatives.cpp, batches.cpp.
#pragma once

#include <memory>

#include "frontend/text/builtins.h"

namespace spirograd::text {

using Values = std::vector<Value>;

/// A function that an operation has made. `params`: names that keywords may use.
Value function_value(Closure::Native native, std::vector<std::string_view> params);
/// The first argument of a call.
Function function_of(Call& c);
/// Tangents or cotangents that the user gives, for arrays of these types; fields of structs that are no floats are left out.
/// `what`: their name in errors.
std::vector<ir::Expr> directions(Elaborator& e, const Value& given, const std::vector<Type>& types, const std::string& what);
std::vector<Type> types_of(std::span<const ir::Expr> list);
/// What is written behind a keyword, as it stands there; null without it.
const Ast* written_keyword(const Call& c, std::string_view word);

}  // namespace spirograd::text
