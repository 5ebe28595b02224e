// Kernels of one's own: a compute shader in SPIR-V that computes a value of a program where it runs on a device. What it
// has to compute is said by an ordinary expression, too: that is what the interpreter computes, what is differentiated and
// vectorised, and what tests hold the kernel to.
//
// The contract of a module, whose entry point is "main" and whose workgroups are one-dimensional (LocalSize x 1 1):
//
//   made for descriptors (GLSL: buffer blocks)           set 0, binding j is argument j, and behind the arguments the
//   result;
//                                                        push constants hold one u32 for each: the number of the element
//                                                        of that buffer where the array begins
//   made for addresses (GLSL: buffer_reference)          push constants hold one 64-bit address for each, in that order
//
// Arrays lie in row-major order; elements are f32, i32, u32, f64, and of bool u32, 0 or 1. The result is written only, as a
// whole; arguments are read only. At least `invocations` run, in a row of whole workgroups: those behind have to be guarded.
// Which of both a module is made for is seen from its capabilities. Given for one of them, all kernels of the program are
// in that form; hosts that take either may give both.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "spirograd/result.h"

namespace spirograd {

struct OwnKernel {
  struct Module {
    std::string name;             // for people: of the file
    std::vector<uint32_t> words;  // SPIR-V
    bool operator==(const Module&) const = default;
  };
  std::vector<Module> modules;  // one or two, for different binding forms
  int64_t invocations = 1;
  bool operator==(const OwnKernel&) const = default;
};

/// The module in the bytes of a file. SG0308 if they are no SPIR-V.
Result<OwnKernel::Module> module_of(std::string name, const std::string& bytes);

}  // namespace spirograd
