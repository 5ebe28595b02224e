#include "spirv/kernel/iterations.h"

#include <limits>

namespace spirograd::kernel {
namespace {

constexpr uint64_t kMost = std::numeric_limits<uint64_t>::max();

uint64_t saturating_add(uint64_t a, uint64_t b) { return a > kMost - b ? kMost : a + b; }
uint64_t saturating_mul(uint64_t a, uint64_t b) { return b != 0 && a > kMost / b ? kMost : a * b; }

uint64_t largest_count(const Inst& loop) {
  return loop.imm == 0 ? static_cast<uint64_t>(std::numeric_limits<int32_t>::max()) : loop.imm;
}

// Both arms of every If; what has no known bound counts once.
template <class F>
void for_each_executed(const Kernel& k, F&& f) {
  double times = 1;
  std::vector<double> outer;
  for (const Inst& i : k.body) {
    if (i.op == KOp::Loop) {
      outer.push_back(times);
      times *= i.imm == 0 ? 1 : static_cast<double>(i.imm);
    } else if (i.op == KOp::EndLoop) {
      times = outer.back();
      outer.pop_back();
    } else {
      f(i, times);
    }
  }
}

constexpr double kDivision = 8;  // other operations that a quotient or a square root takes as long as

double operations_of(KOp op) {
  const bool divides = op == KOp::Div || op == KOp::Sqrt || op == KOp::Quot || op == KOp::Rem;
  return divides ? kDivision : op == KOp::MulAdd ? 2 : 1;
}

}  // namespace

uint64_t loop_iterations(const Kernel& k) {
  struct Open {
    uint64_t count, inside;
  };
  std::vector<Open> open = {{1, 0}};
  for (const Inst& i : k.body) {
    if (i.op == KOp::Loop) open.push_back({largest_count(i), 0});
    if (i.op != KOp::EndLoop) continue;
    const Open loop = open.back();
    open.pop_back();
    const uint64_t all = saturating_add(1, saturating_mul(loop.count, saturating_add(1, loop.inside)));
    open.back().inside = saturating_add(open.back().inside, all);
  }
  return open.back().inside;
}

double float_operations(const Kernel& k) {
  double total = 0;
  for_each_executed(k, [&](const Inst& i, double times) {
    if ((kind(i.op) == Kind::Arithmetic || kind(i.op) == Kind::Float) && is_float(i.type))
      total += times * (i.op == KOp::MulAdd ? 2 : 1);
  });
  return total;
}

Executed executed(const Kernel& k) {
  Executed out;
  for_each_executed(k, [&](const Inst& i, double times) {
    switch (kind(i.op)) {
      case Kind::Leaf:
      case Kind::Variable:
      case Kind::Control: break;  // registers and jumps
      case Kind::Memory: (i.op == KOp::Load ? out.loads : has_result(i.op) ? out.operations : out.stores) += times; break;
      case Kind::Float:
      case Kind::Integer:
      case Kind::Arithmetic:
      case Kind::Bitwise:
      case Kind::Comparison:
      case Kind::Select:
      case Kind::Conversion:
      case Kind::Subgroup: out.operations += times * operations_of(i.op); break;
    }
  });
  return out;
}

}  // namespace spirograd::kernel
