#include "spirv/executable/quirks.h"

#include <array>

namespace spirograd {
namespace {

constexpr std::array<QuirkInfo, 12> kQuirks = {{
    {kSlowLocalIndex, "slow-local-index", "llvmpipe, SwiftShader", "2026-11",
     "LocalInvocationIndex is computed by scalar divisions in every invocation",
     "subgroup id * subgroup size + lane, where workgroups consist of whole subgroups", "emit_test, emit_group_test"},
    {kCostlyExactness, "costly-exactness", "MoltenVK, by SPIRV-Cross", "2026-11",
     "what has NoContraction becomes a call of a function that Metal must not optimise; products lose the sign of zero",
     "only what our own formulas depend on is decorated", "emit_test, translate_test, free_arithmetic_test"},
    {kGatheredLoads, "gathered-loads", "llvmpipe", "2026-11",
     "what the lanes of a subgroup load beside each other is gathered one by one, unless the place is made of push "
     "constants "
     "and constants alone, outside of branches and loops",
     "a row is loaded as vectors, of which each lane selects its own: one load of the processor; the numbers of workgroups "
     "and subgroups are made of numbers among the push constants",
     "lane_rows_test, row_loads_test"},
    {kScatteredStores, "scattered-stores", "llvmpipe", "2026-11",
     "what the lanes of a subgroup store beside each other is scattered one by one; through a storage buffer, what all of "
     "them store at one place is one store, outside of branches and loops",
     "a row is stored as numbers of 64 bits by all lanes, through descriptors that are pushed beside the addresses",
     "lane_rows_test, row_stores_test"},
    {kTruncatesByLane, "truncates-by-lane", "llvmpipe of Mesa 25.0.7 with LLVM 15; not of 22.3.6", "2026-11",
     "f32 become integers one lane after the other, sixty instructions for eight: the driver asks for conversions that "
     "saturate, which its compiler does not know of vectors",
     "the significand is shifted to where the exponent says", "emit_test, emitted_kernels_test"},
    {0, "loops-end-early", "llvmpipe of Mesa 22.3.6; not of 25.0.7", "2026-11",
     "an invocation leaves its loops after 65,535 iterations, all loops together, and goes on",
     "the self-test proves how many run; lowering keeps kernels below", "long_loops_test, device_sizes_test"},
    {0, "zero-products", "llvmpipe", "2026-11", "x * 0, x - x and 0 / x give 0, and x / 0 anything, whatever x is",
     "no float instruction has a zero as factor or divisor", "kernel_builder_test"},
    {0, "negation", "RADV before Mesa 25.3", "2026-11", "the optimiser of its front end mistreats FAbs and FNegate",
     "f32 are negated through their sign bit", "emitted_kernels_test"},
    {0, "integer-extremes", "SwiftShader (Subzero)", "2026-11",
     "a variable that holds a constant stays as it is where a loop takes its SMin or SMax with another constant",
     "a comparison and a selection", "device_sizes_test"},
    {0, "least-divisor", "SwiftShader, and what else runs the optimiser of SPIRV-Tools", "2026-11",
     "-(x / -2147483648) becomes x / -2147483648, for the negative of this divisor is itself",
     "such quotients are a comparison and a selection", "kernel_builder_test, device_sizes_test"},
    {0, "u32-to-f32", "llvmpipe", "2026-11", "u32 from 2^31 on are rounded twice",
     "halved, with the lost bit kept in the last place, and doubled", "emitted_kernels_test"},
    {0, "large-kernels", "llvmpipe, SwiftShader", "2026-11", "compiling takes more than linear time in the size of a kernel",
     "fusion ends at about 400 instructions; kernels above 6,000 are cut or refused", "growth_test"},
}};

}  // namespace

std::span<const QuirkInfo> known_quirks() { return kQuirks; }

}  // namespace spirograd
