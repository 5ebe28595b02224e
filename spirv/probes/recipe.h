// How the probes of the self-test are made: kernels by the kernel builder, emitted as those of programs are, with results
// that plain loops here have computed.
#pragma once

#include <bit>
#include <string>
#include <utility>
#include <vector>

#include "spirv/executable/probe.h"
#include "spirv/kernel/builder.h"

namespace spirograd::probes {

/// A probe whose kernels are not emitted yet, so that they run on the host as well.
struct Recipe {
  Probe probe;
  std::vector<kernel::Kernel> kernels;
  bool native_atomics = false;
};

/// Puts a recipe together. Outputs are declared before other arrays.
class Draft {
 public:
  explicit Draft(std::string name);

  /// Arrays of words, of f64 or f16; all are filled with `word` 0 first where `fill` is called.
  uint32_t output(uint64_t count, DType dtype = DType::U32);
  uint32_t constant(const std::vector<uint32_t>& words);
  uint32_t scratch(uint64_t count);
  uint32_t kernel(kernel::Kernel kernel);

  struct Use {
    uint32_t buffer = 0;
    uint64_t offset = 0;  // bytes
  };
  void fill(uint32_t buffer, uint32_t word);
  /// One dispatch; `groups` 0: as many workgroups as the kernel asks for.
  void run(uint32_t kernel, const std::vector<Use>& uses, uint32_t groups = 0);
  /// One dispatch that is taken to be too long for fewer submissions than these.
  void run_in_parts(uint32_t parts, uint32_t kernel, const std::vector<Use>& uses);
  /// The next `body` steps run `count` times.
  void repeat(uint32_t count, uint32_t body);

  /// All of the output, or `words.size()` words from `first` on.
  Expectation& expect(uint32_t number, std::string what, uint32_t output, std::vector<uint32_t> words, uint32_t first = 0);
  /// Word i of the output is first + i step.
  Expectation& expect_steps(uint32_t number, std::string what, uint32_t output, uint32_t first, uint32_t step);

  void thorough() { recipe_.probe.thorough = true; }
  void native_atomics() { recipe_.native_atomics = true; }
  Recipe take() && { return std::move(recipe_); }

 private:
  uint32_t array(Role role, uint64_t count, DType dtype);
  Recipe recipe_;
};

inline uint32_t bits_of(float x) { return std::bit_cast<uint32_t>(x); }
inline kernel::Value word(kernel::Builder& b, uint32_t x) { return b.constant_word(kernel::Scalar::U32, x); }
inline kernel::Value as_word(kernel::Builder& b, kernel::Value x) { return b.bitcast(kernel::Scalar::U32, x); }

// By topic; each appends its recipes.
using Recipes = std::vector<Recipe>;
void add_memory(Recipes& out);       // 1, 2, 3, 4, 10
void add_loops(Recipes& out);        // 5, 27
void add_sums(Recipes& out);         // 6, 7, 8, 9
void add_integers(Recipes& out);     // 12, 13, 24
void add_floats(Recipes& out);       // 14 to 22
void add_doubles(Recipes& out);      // 25
void add_functions(Recipes& out);    // 23
void add_groups(Recipes& out);       // 30
void add_f16_storage(Recipes& out);  // 31

/// All of them. Probes that measure with the program of another one, or none (26, 28), or need a host (11, 29) have none.
Recipes recipes();

/// With the binaries of its kernels in both forms; they declare every float control.
Probe emitted(const Recipe& recipe);

}  // namespace spirograd::probes
