// What the operations on functions share: derivatives.cpp, batches.cpp.
#pragma once

#include <memory>

#include "frontend/text/builtins.h"

namespace spirograd::text {

using Values = std::vector<Value>;
using Function = std::shared_ptr<const Closure>;

/// A function that an operation has made. `params`: names that keywords may use.
Value function_value(Closure::Native native, std::vector<std::string_view> params);
/// The first argument of a call.
Function function_of(Call& c);
/// What is written behind a keyword, as it stands there; null without it.
const Ast* written_keyword(const Call& c, std::string_view word);

}  // namespace spirograd::text
