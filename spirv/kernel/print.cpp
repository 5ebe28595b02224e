// The printer. Robust against kernels that the verifier rejects, so that it can show them.
#include "spirv/kernel/print.h"

#include <cstdio>

#include "spirv/kernel/scalar.h"

namespace spirograd::kernel {
namespace {

// Shortest text that reads back as the same number; floats always have a point, an exponent or a name.
template <class F>
std::string number(F x, int digits) {
  char text[40];
  for (int precision = 1; precision <= digits; ++precision) {
    std::snprintf(text, sizeof text, "%.*g", precision, static_cast<double>(x));
    if (static_cast<F>(std::strtod(text, nullptr)) == x) break;
  }
  const std::string s = text;
  return s.find_first_of(".eni") == std::string::npos ? s + ".0" : s;
}

std::string constant(const Inst& i) {
  switch (i.type) {
    case Scalar::Bool: return i.imm ? "true" : "false";
    case Scalar::I32: return std::to_string(as_i32(i.imm));
    case Scalar::U32: return std::to_string(as_u32(i.imm)) + "u";
    case Scalar::F16:  // no value is of it
    case Scalar::F32: return number(as_f32(i.imm), 9);
    case Scalar::F64: return number(as_f64(i.imm), 17) + "d";
  }
  return "?";
}

std::string operand(const Kernel& kernel, Value v) {
  if (v < kernel.body.size() && kernel.body[v].op == KOp::Const) return constant(kernel.body[v]);
  return "%" + std::to_string(v);
}

std::string binding(const Kernel& kernel, uint32_t b) {
  return b < kernel.bindings.size() ? kernel.bindings[b].name : "binding" + std::to_string(b);
}

std::string array(const std::vector<Array>& arrays, uint32_t a, const char* kind) {
  return a < arrays.size() ? arrays[a].name : kind + std::to_string(a);
}

// "name[": what an access is made to.
std::string place(const Kernel& kernel, const Inst& i) {
  switch (info(i.op).memory) {
    case Memory::Shared: return array(kernel.shared, i.in[0], "shared") + "[";
    case Memory::Local: return array(kernel.locals, i.in[0], "local") + "[";
    case Memory::Binding:
    case Memory::None: break;
  }
  return binding(kernel, i.in[0]) + "[";
}

std::string_view name(Access a) {
  switch (a) {
    case Access::Read: return "read";
    case Access::Write: return "write";
    case Access::ReadWrite: return "read_write";
    case Access::Atomic: return "atomic";
  }
  return "?";
}

}  // namespace

std::string to_string(const Kernel& kernel, Value v) {
  const Inst& i = kernel.body[v];
  const auto in = [&](size_t k) { return operand(kernel, i.in[k]); };
  const std::string op(name(i.op)), result = "%" + std::to_string(v) + ": " + std::string(name(i.type)) + " = ";
  if (i.op == KOp::Const) return result + "const " + constant(i);
  if (names_memory(i.op) && has_result(i.op)) return result + op + " " + place(kernel, i) + in(1) + "]";
  if (names_memory(i.op)) return op + " " + place(kernel, i) + in(1) + "], " + in(2);
  if (i.op == KOp::SubgroupReduce || i.op == KOp::SubgroupScan)
    return result + op + " " + std::string(name(combiner(i))) + ", " + in(0);
  std::string text = has_result(i.op) ? result + (is_exact(i) ? "exact " : "") + op : op;
  for (size_t k = 0; k < operand_count(i.op); ++k) text += (k ? ", " : " ") + in(k);
  return text;
}

std::string to_string(const Kernel& kernel) {
  std::string text = "kernel " + kernel.name + " workgroup(" + std::to_string(kernel.workgroup) + ")";
  if (kernel.subgroup != 0) text += " subgroup(" + std::to_string(kernel.subgroup) + ")";
  text += " invocations(" + std::to_string(kernel.invocations) + ")\n";
  for (const Binding& b : kernel.bindings)
    text += "  " + std::string(name(b.access)) + " " + b.name + ": " + std::string(name(b.type)) + "\n";
  const auto list = [&](const char* kind, const std::vector<Array>& arrays) {
    for (const Array& a : arrays)
      text +=
          std::string("  ") + kind + " " + a.name + ": " + std::string(name(a.type)) + "[" + std::to_string(a.count) + "]\n";
  };
  list("shared", kernel.shared);
  list("local", kernel.locals);
  size_t depth = 0;
  for (size_t v = 0; v < kernel.body.size(); ++v) {
    const KOp op = kernel.body[v].op;
    if (op == KOp::Const) continue;
    const bool closes = op == KOp::Else || op == KOp::EndIf || op == KOp::EndLoop;
    if (closes && depth > 0) --depth;
    text += std::string(2 * depth + 2, ' ') + to_string(kernel, static_cast<Value>(v)) + "\n";
    if (op == KOp::If || op == KOp::Else || op == KOp::Loop) ++depth;
  }
  return text;
}

}  // namespace spirograd::kernel
