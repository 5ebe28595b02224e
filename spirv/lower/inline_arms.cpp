// Loops of what only one arm of an `if` uses run no step where the other one is taken: the loop is left at once, and what it
// leaves behind is selected by nobody.
#include "spirv/lower/inline.h"
#include "spirv/lower/scalar_ops.h"

namespace spirograd::lower {

using ir::NodeId;
using kernel::KOp;
using kernel::Value;

// In the outermost scope, flags of arms that are worth it have a buffer. What is the same in all steps of a loop is computed
// before it, when nobody knows yet what a step will ask for.
ir::Conditions Inliner::conditions(int scope, NodeId id) {
  const Arms* arms = scopes_[static_cast<size_t>(scope)].arms;
  if (!arms) return {};
  ir::Conditions out = arms->of(id);
  std::erase_if(out, [&](const ir::Condition& c) {
    return scope == 0 ? !flags_.contains(c.flag.v) : varies(scope, c.flag) && !varies(scope, id);
  });
  return out;
}

std::optional<Value> Inliner::holds(int scope, const ir::Conditions& all) {
  std::optional<Value> out;
  for (const ir::Condition& c : all) {
    Value v = eval(scope, c.flag, Point{});
    if (!c.value) v = b_.op(KOp::Not, v);
    out = out ? b_.logical_and(*out, v) : v;
  }
  return out;
}

Value Inliner::trips(Value count, std::optional<Value> wanted, bool together) {
  if (!wanted || (together && !b_.uniform(*wanted))) return count;
  return b_.select(*wanted, count, b_.i32(0));
}

}  // namespace spirograd::lower
