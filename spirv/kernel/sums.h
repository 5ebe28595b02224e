// Integers of a kernel as sums of multiples of its values.
#pragma once

#include <optional>
#include <utility>
#include <vector>

#include "spirv/kernel/kernel.h"

namespace spirograd::kernel {

/// Multiples of values, which do not repeat, in their order, and a constant; modulo 2^32, as the machine adds.
struct Sum {
  std::vector<std::pair<Value, uint32_t>> terms;
  uint32_t constant = 0;
};

/// Those of a body, found as they are asked for. Operands come before their users: who asks for the integers in order never
/// goes down long chains.
class Sums {
 public:
  explicit Sums(const std::vector<Inst>& body) : body_(body), known_(body.size()) {}

  /// What is no sum, or one of too many terms, is a term itself.
  const Sum& operator[](Value v);

 private:
  std::optional<uint32_t> constant(Value v);
  Sum sum_of(Value v);

  const std::vector<Inst>& body_;
  std::vector<std::optional<Sum>> known_;
};

}  // namespace spirograd::kernel
