// How the C++ programs of the conformance tables are written: shapes of the parameters and a lambda over arrays.
#pragma once

#include "spirograd/build.h"
#include "spirograd/loops.h"
#include "spirograd/ops.h"
#include "spirograd/trace.h"
#include "tests/conformance/conformance.h"

namespace spirograd::conformance {

template <class F>
Make over(std::vector<Shape> shapes, F f) {
  return [=](DType t) {
    std::vector<Param> params;
    char name = 'a';
    for (const Shape& s : shapes) params.push_back({std::string(1, name++), {t, s}});
    return trace("f", params, f);
  };
}

}  // namespace spirograd::conformance
