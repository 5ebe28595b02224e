// Programs written as text in tests, and their values by the interpreter.
#pragma once

#include <string>
#include <vector>

#include "frontend/ir/eval.h"
#include "frontend/rewrite/passes.h"
#include "spirograd/text.h"
#include "support/simplified.h"

namespace spirograd::test {

using Values = std::vector<double>;

/// The last function of the text. Throws Error.
inline Program program(const std::string& text, const text::ShapeVariables& shapes = {}) {
  return text::instantiate(text::parse(text, "test.sg").value(), "", shapes).value();
}

/// All results, one after another.
inline Values run(const Program& p, const std::vector<Values>& inputs = {}) {
  Values out;
  for (const ir::Array& r : ir::evaluate(p, inputs)) out.insert(out.end(), r.data.begin(), r.data.end());
  return out;
}
inline Values run(const std::string& text, const std::vector<Values>& inputs = {}) { return run(program(text), inputs); }

/// Operations of that kind in what is lowered, loop bodies included.
inline int count_lowered(const Program& p, ir::Op op) { return count_ops(rewrite::optimise_for_lowering(p), op); }

}  // namespace spirograd::test
