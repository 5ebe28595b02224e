// What can be said of a kernel without looking closely.
#include "spirv/kernel/kernel.h"

#include <algorithm>

namespace spirograd::kernel {
namespace {

bool same_arrays(const std::vector<Array>& a, const std::vector<Array>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](const Array& x, const Array& y) { return x.type == y.type && x.count == y.count; });
}

}  // namespace

uint64_t shared_bytes(const Kernel& k) {
  uint64_t bytes = 0;
  for (const Array& a : k.shared) bytes += (uint64_t{a.count} * bytes_of(a.type) + 15) / 16 * 16;
  return bytes;
}

bool cooperates(const Kernel& k) {
  return !k.shared.empty() || std::any_of(k.body.begin(), k.body.end(),
                                          [](const Inst& i) { return i.op == KOp::Barrier || needs_all_lanes(i.op); });
}

bool same_code(const Kernel& a, const Kernel& b) {
  if (a.workgroup != b.workgroup || a.subgroup != b.subgroup || a.invocations != b.invocations) return false;
  if (!same_arrays(a.shared, b.shared) || !same_arrays(a.locals, b.locals)) return false;
  if (a.bindings.size() != b.bindings.size()) return false;
  for (size_t j = 0; j < a.bindings.size(); ++j)
    if (a.bindings[j].type != b.bindings[j].type || a.bindings[j].access != b.bindings[j].access) return false;
  return a.body == b.body;
}

size_t InstHash::operator()(const Inst& i) const {
  uint64_t h = static_cast<uint64_t>(i.op) << 8 | static_cast<uint64_t>(i.type);
  for (uint64_t x : {uint64_t{i.in[0]}, uint64_t{i.in[1]}, uint64_t{i.in[2]}, i.imm}) {
    h = (h ^ x) * 0x9e3779b97f4a7c15u;
    h ^= h >> 29;
  }
  return static_cast<size_t>(h);
}

uint64_t code_hash(const Kernel& k) {
  uint64_t h = k.invocations;
  for (const Inst& i : k.body) h = h * 0x9e3779b97f4a7c15u + InstHash{}(i);
  return h;
}

}  // namespace spirograd::kernel
