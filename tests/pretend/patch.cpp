#include "tests/pretend/patch.h"

#include <algorithm>
#include <initializer_list>
#include <map>
#include <set>
#include <spirv/unified1/spirv.hpp11>
#include <utility>

namespace spirograd::pretend {
namespace {

using spv::Op;
using Operands = std::initializer_list<uint32_t>;

constexpr size_t kHeader = 5, kBound = 3;  // words; the one that holds the bound of ids

struct Instruction {
  Op op;
  std::span<const uint32_t> operands;
  std::span<const uint32_t> words;
};

template <class Visit>
void each_instruction(std::span<const uint32_t> module, Visit visit) {
  for (size_t at = kHeader; at < module.size();) {
    const size_t length = std::max<size_t>(1, module[at] >> 16);
    const auto words = module.subspan(at, std::min(length, module.size() - at));
    visit(Instruction{static_cast<Op>(module[at] & 0xffff), words.subspan(1), words});
    at += length;
  }
}

void append(Words& to, Op op, std::span<const uint32_t> operands) {
  to.push_back(static_cast<uint32_t>(operands.size() + 1) << 16 | static_cast<uint32_t>(op));
  to.insert(to.end(), operands.begin(), operands.end());
}
void append(Words& to, Op op, Operands operands) { append(to, op, {operands.begin(), operands.size()}); }

bool is_type(Op op) { return op >= Op::OpTypeVoid && op <= Op::OpTypeForwardPointer; }

// Declarations of a module: finds those that are there, adds those that are not.
class Declarations {
 public:
  explicit Declarations(std::span<const uint32_t> module) : module_(module), next_(module[kBound]) {}

  uint32_t fresh() { return next_++; }

  uint32_t type(Op op, Operands operands) {
    uint32_t found = 0;
    each_instruction(module_, [&](const Instruction& i) {
      if (i.op == op && std::equal(operands.begin(), operands.end(), i.operands.begin() + 1, i.operands.end()))
        found = i.operands[0];
    });
    if (found) return found;
    Words all = {fresh()};
    all.insert(all.end(), operands);
    append(globals_, op, all);
    return all[0];
  }
  uint32_t u32() { return type(Op::OpTypeInt, {32, 0}); }
  uint32_t boolean() { return type(Op::OpTypeBool, {}); }
  uint32_t pointer(spv::StorageClass storage, uint32_t to) {
    return type(Op::OpTypePointer, {static_cast<uint32_t>(storage), to});
  }
  // Constants may stand twice.
  uint32_t constant(uint32_t of_type, uint32_t word) {
    const uint32_t id = fresh();
    append(globals_, Op::OpConstant, {of_type, id, word});
    return id;
  }
  // A variable that holds so many words of u32, and its being built in.
  uint32_t built_in(spv::BuiltIn which, uint32_t of_type) {
    uint32_t found = 0;
    each_instruction(module_, [&](const Instruction& i) {
      if (i.op == Op::OpDecorate && i.operands[1] == static_cast<uint32_t>(spv::Decoration::BuiltIn) &&
          i.operands[2] == static_cast<uint32_t>(which))
        found = i.operands[0];
    });
    if (found) return found;
    const uint32_t id = fresh();
    append(decorations_, Op::OpDecorate,
           {id, static_cast<uint32_t>(spv::Decoration::BuiltIn), static_cast<uint32_t>(which)});
    append(globals_, Op::OpVariable,
           {pointer(spv::StorageClass::Input, of_type), id, static_cast<uint32_t>(spv::StorageClass::Input)});
    interface_.push_back(id);
    return id;
  }

  // The module with what was added, its functions replaced.
  Words joined(std::span<const uint32_t> functions) const {
    Words out(module_.begin(), module_.begin() + kHeader);
    bool in_types = false, in_functions = false;
    each_instruction(module_, [&](const Instruction& i) {
      if (is_type(i.op) && !in_types) {
        in_types = true;
        out.insert(out.end(), decorations_.begin(), decorations_.end());
      }
      if (i.op == Op::OpFunction && !in_functions) {
        in_functions = true;
        out.insert(out.end(), globals_.begin(), globals_.end());
        out.insert(out.end(), functions.begin(), functions.end());
      }
      if (in_functions) return;
      if (i.op == Op::OpEntryPoint) {
        Words entry(i.operands.begin(), i.operands.end());
        entry.insert(entry.end(), interface_.begin(), interface_.end());
        append(out, i.op, entry);
      } else {
        out.insert(out.end(), i.words.begin(), i.words.end());
      }
    });
    out[kBound] = next_;
    return out;
  }

 private:
  std::span<const uint32_t> module_;
  uint32_t next_;
  Words decorations_, globals_, interface_;
};

// The module with each instruction of its functions replaced by what rewrite(instruction, functions) appends.
template <class Rewrite>
Words rewritten(std::span<const uint32_t> module, const Declarations& declarations, const Rewrite& rewrite) {
  Words functions;
  bool in_functions = false;
  each_instruction(module, [&](const Instruction& i) {
    in_functions = in_functions || i.op == Op::OpFunction;
    if (in_functions) rewrite(i, functions);
  });
  return declarations.joined(functions);
}

// Each `op` gets, in unlucky invocations, for its operand number `spoilt` what instead_of(instruction) gives.
template <class Instead>
Words spoil(std::span<const uint32_t> module, Op op, size_t spoilt, uint32_t one_in, Instead instead_of) {
  bool any = false;
  each_instruction(module, [&](const Instruction& i) { any = any || i.op == op; });
  if (!any) return {module.begin(), module.end()};
  Declarations d(module);
  const uint32_t u32 = d.u32(), vector = d.type(Op::OpTypeVector, {u32, 3}), boolean = d.boolean();
  const uint32_t place = d.built_in(spv::BuiltIn::GlobalInvocationId, vector);
  const uint32_t divisor = d.constant(u32, one_in), unlucky = d.constant(u32, one_in - 1);
  return rewritten(module, d, [&](const Instruction& i, Words& out) {
    Words operands(i.operands.begin(), i.operands.end());
    if (i.op == op) {
      const uint32_t all = d.fresh(), x = d.fresh(), rest = d.fresh(), hit = d.fresh(), chosen = d.fresh();
      const uint32_t instead = instead_of(d, i);
      append(out, Op::OpLoad, {vector, all, place});
      append(out, Op::OpCompositeExtract, {u32, x, all, 0});
      append(out, Op::OpUMod, {u32, rest, x, divisor});
      append(out, Op::OpIEqual, {boolean, hit, rest, unlucky});
      append(out, Op::OpSelect, {operands[0], chosen, hit, instead, operands[spoilt]});
      operands[spoilt] = chosen;
    }
    append(out, i.op, operands);
  });
}

}  // namespace

Words lose_additions(std::span<const uint32_t> module, uint32_t one_in) {
  return spoil(module, Op::OpAtomicFAddEXT, 5, one_in,
               [](Declarations& d, const Instruction& i) { return d.constant(i.operands[0], 0); });
}

Words lose_exchanges(std::span<const uint32_t> module, uint32_t one_in) {
  return spoil(module, Op::OpAtomicCompareExchange, 6, one_in,
               [](Declarations&, const Instruction& i) { return i.operands[7]; });
}

Words assume_no_nan(std::span<const uint32_t> module) {
  return rewritten(module, Declarations(module), [](const Instruction& i, Words& out) {
    const auto as = [&](Op op) { append(out, op, i.operands); };
    switch (i.op) {
      case Op::OpFOrdEqual: return as(Op::OpFUnordEqual);
      case Op::OpFUnordNotEqual: return as(Op::OpFOrdNotEqual);
      case Op::OpFUnordLessThan: return as(Op::OpFOrdLessThan);
      case Op::OpFUnordLessThanEqual: return as(Op::OpFOrdLessThanEqual);
      case Op::OpFUnordGreaterThan: return as(Op::OpFOrdGreaterThan);
      case Op::OpFUnordGreaterThanEqual: return as(Op::OpFOrdGreaterThanEqual);
      case Op::OpIsNan: return append(out, Op::OpFOrdNotEqual, {i.operands[0], i.operands[1], i.operands[2], i.operands[2]});
      default: return as(i.op);
    }
  });
}

Words reassociate(std::span<const uint32_t> module, bool free_only) {
  std::set<uint32_t> kept;
  each_instruction(module, [&](const Instruction& i) {
    if (free_only && i.op == Op::OpDecorate && i.operands[1] == static_cast<uint32_t>(spv::Decoration::NoContraction))
      kept.insert(i.operands[0]);
  });
  Declarations d(module);
  const uint32_t f32 = d.type(Op::OpTypeFloat, {32}), minus_zero = d.constant(f32, 0x80000000);
  std::map<uint32_t, std::pair<uint32_t, uint32_t>> sums, differences;  // by result
  bool any = false;
  const Words out = rewritten(module, d, [&](const Instruction& i, Words& functions) {
    const bool add = i.op == Op::OpFAdd, subtract = i.op == Op::OpFSub;
    if ((!add && !subtract) || i.operands[0] != f32 || kept.contains(i.operands[1]))
      return append(functions, i.op, i.operands);
    const uint32_t id = i.operands[1], a = i.operands[2], b = i.operands[3];
    (add ? sums : differences)[id] = {a, b};
    uint32_t same = 0;
    const auto parts = [&](const auto& of, uint32_t x) {
      const auto found = of.find(x);
      return found == of.end() ? std::pair{0u, 0u} : found->second;
    };
    if (subtract) {
      const auto [x, y] = parts(sums, a);
      const auto [p, q] = parts(differences, b);
      same = b == y ? x : b == x ? y : a == p ? q : 0;
    } else {
      const auto [x, y] = parts(differences, a);
      same = b == y ? x : 0;
    }
    any = any || same;
    // x - 0 is x whatever x is, and what is decorated stays arithmetic.
    if (same)
      append(functions, Op::OpFAdd, {f32, id, same, minus_zero});
    else
      append(functions, i.op, i.operands);
  });
  return any ? out : Words(module.begin(), module.end());
}

// A counter per function, and "or the counter is used up" at each branch that may leave a loop. No edge between blocks is
// added, so that OpPhi stays right.
Words cut_loops(std::span<const uint32_t> module, uint32_t iterations) {
  std::set<uint32_t> merges;
  each_instruction(module, [&](const Instruction& i) {
    if (i.op == Op::OpLoopMerge) merges.insert(i.operands[0]);
  });
  if (merges.empty()) return {module.begin(), module.end()};
  Declarations d(module);
  const uint32_t u32 = d.u32(), boolean = d.boolean(), pointer = d.pointer(spv::StorageClass::Function, u32);
  const uint32_t zero = d.constant(u32, 0), one = d.constant(u32, 1), all = d.constant(u32, iterations);
  uint32_t counter = 0;
  return rewritten(module, d, [&](const Instruction& i, Words& out) {
    Words operands(i.operands.begin(), i.operands.end());
    if (i.op == Op::OpFunction) counter = 0;
    if (i.op == Op::OpBranchConditional && (merges.contains(operands[1]) || merges.contains(operands[2]))) {
      const uint32_t left = d.fresh(), some = d.fresh(), less = d.fresh(), next = d.fresh(), decided = d.fresh();
      append(out, Op::OpLoad, {u32, left, counter});
      append(out, Op::OpINotEqual, {boolean, some, left, zero});
      append(out, Op::OpISub, {u32, less, left, one});
      append(out, Op::OpSelect, {u32, next, some, less, zero});
      append(out, Op::OpStore, {counter, next});
      if (merges.contains(operands[1])) {
        const uint32_t none = d.fresh();
        append(out, Op::OpLogicalNot, {boolean, none, some});
        append(out, Op::OpLogicalOr, {boolean, decided, operands[0], none});
      } else {
        append(out, Op::OpLogicalAnd, {boolean, decided, operands[0], some});
      }
      operands[0] = decided;
    }
    append(out, i.op, operands);
    if (i.op == Op::OpLabel && counter == 0) {
      counter = d.fresh();
      append(out, Op::OpVariable, {pointer, counter, static_cast<uint32_t>(spv::StorageClass::Function), all});
    }
  });
}

}  // namespace spirograd::pretend
