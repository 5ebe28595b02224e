#include "spirv/kernel/unroll.h"

namespace spirograd::kernel {
namespace {

constexpr int64_t kLongBody = 100, kLongLoop = 16;  // instructions, iterations: compilers take minutes over longer ones
constexpr int64_t kWholeLoop = 32;                  // iterations of loops that compilers unroll as a whole, at most
// Accesses with checked bounds that a kernel gains by what is unrolled, at most; none where barriers are not cheap: llvmpipe
// makes several branches of each, for bounds, and for each lane where the processor does not gather, and its compilers take
// time that grows with the second to third power of their number.
constexpr int64_t kMoreAccesses = 80;

struct Loop {
  size_t at = 0;
  int64_t instructions = 0, accesses = 0;  // of its body; accesses: after unrolling
  bool breaks = false, waits = false;
};

}  // namespace

std::vector<bool> unrollable(const Kernel& k, bool checks_bounds, bool cheap_barriers) {
  std::vector<bool> out(k.body.size(), false);
  std::vector<Loop> open(1);
  const int64_t most = cheap_barriers ? kMoreAccesses : 0;
  int64_t gained = 0;
  for (size_t at = 0; at < k.body.size(); ++at) {
    const Inst& i = k.body[at];
    ++open.back().instructions;
    open.back().accesses += (checks_bounds || !cheap_barriers) && info(i.op).memory == Memory::Binding;
    if (i.op == KOp::Loop) open.push_back({at});
    if (i.op == KOp::Break) open.back().breaks = true;
    if (i.op == KOp::Barrier) open.back().waits = true;
    if (i.op != KOp::EndLoop) continue;
    Loop loop = open.back();
    open.pop_back();
    const Inst& count = k.body[k.body[loop.at].in[0]];
    const int64_t times = count.op == KOp::Const ? static_cast<int64_t>(count.imm) : kWholeLoop + 1;
    const int64_t more = times <= kWholeLoop ? loop.accesses * (times - 1) : 0;
    if (!loop.breaks && !loop.waits && (times <= kLongLoop || loop.instructions <= kLongBody) && gained + more <= most) {
      out[loop.at] = true;
      gained += more;
      loop.accesses += more;
    }
    open.back().instructions += loop.instructions;
    open.back().accesses += loop.accesses;
    open.back().waits |= loop.waits;
  }
  if (open.back().waits && !cheap_barriers) out.assign(out.size(), false);
  return out;
}

}  // namespace spirograd::kernel
