// Loops over the values of the text language: which element types their states have, and the loop for these.
#pragma once

#include <functional>
#include <string>

#include "frontend/text/elaborate.h"
#include "spirograd/keep.h"

namespace spirograd::text {

// How a loop uses what its step returns: nothing but the state, the state twice (scan), or a pair of state and row.
enum class LoopRows { None, States, Second };

struct LoopShape {
  std::string name;  // for messages
  Value init, xs;
  bool reverse = false;
  int64_t length = 0;
  LoopRows rows = LoopRows::None;
  Keep keep = {};
};

struct LoopValues {
  Value state, rows;
};

/// `step` of (state, element) may run several times: what is weak in the start takes the element type that the step gives it
/// or wants of it, and the step then runs again on a state of that type. What meets no element type stays weak, and so does
/// the result of the loop.
LoopValues typed_loop(Elaborator& elaborator, const LoopShape& loop,
                      const std::function<Value(const Value& state, const Value& element)>& step);

}  // namespace spirograd::text
