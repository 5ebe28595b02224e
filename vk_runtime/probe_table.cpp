#include "vk_runtime/probe_table.h"

#include <array>

namespace spirograd::vk {
namespace {

constexpr auto kDecides = Weight::Decides;
constexpr auto kRecorded = Weight::Recorded;

// clang-format off
constexpr std::array<ProbeRow, 31> kRows = {{
    {1,  "elementwise arithmetic",        kDecides,  "this binding form is not used"},
    {2,  "many pointers, odd offsets",    kDecides,  "this binding form is not used"},
    {3,  "large arrays",                  kDecides,  "arrays stay below 2 GiB"},
    {4,  "folded grids",                  kDecides,  "grids are not folded, or dispatches not cut"},
    {5,  "long loops",                    kDecides,  "longer loops are cut into several dispatches"},
    {6,  "f32 sums by compare-exchange",  kDecides,  "scatters use native sums, or add in order"},
    {7,  "native f32 sums",               kDecides,  "scatters use compare-exchange"},
    {8,  "integer sums",                  kDecides,  "scatters of integers add in order"},
    {9,  "sums of NaN and infinity",      kDecides,  "compare-exchange is not used"},
    {10, "dependent dispatches",          kDecides,  "every command waits for all before it"},
    {11, "replays without a wait",        kRecorded, "hosts wait between two submissions of what was recorded"},
    {12, "quotients and remainders",      kDecides,  "the device is not used"},
    {13, "shifts and products of words",  kDecides,  "the device is not used"},
    {14, "integers of floats",            kDecides,  "the device is not used"},
    {15, "floats of integers",            kRecorded, "large integers are not rounded to the nearest float"},
    {16, "contraction",                   kRecorded, "products and sums are contracted: results differ in the last bits; "
                                                     "with MoltenVK set MVK_CONFIG_FAST_MATH_ENABLED=0"},
    {17, "reassociation",                 kRecorded, "sums are reordered: elementary functions and long sums lose digits; "
                                                     "with MoltenVK set MVK_CONFIG_FAST_MATH_ENABLED=0"},
    {18, "rounding",                      kRecorded, "results are not rounded to nearest"},
    {19, "comparisons with NaN",          kRecorded, "NaN may compare as a number; with MoltenVK set "
                                                     "MVK_CONFIG_FAST_MATH_ENABLED=0"},
    {20, "signed zeros",                  kRecorded, "the sign of zero is lost; with MoltenVK set "
                                                     "MVK_CONFIG_FAST_MATH_ENABLED=0"},
    {21, "denormals",                     kRecorded, "numbers below 1.2e-38 become 0"},
    {22, "accuracy of quotients, roots",  kRecorded, "elementary functions may be less accurate than documented"},
    {23, "accuracy of functions",         kRecorded, "they are less accurate than documented"},
    {24, "truth values in memory",        kDecides,  "the device is not used"},
    {25, "f64 arithmetic",                kDecides,  "f64 is not used"},
    {26, "speed of loops",                kRecorded, ""},
    {27, "speed of compiling",            kRecorded, ""},
    {28, "speed of copies",               kRecorded, "the host reads this memory without a cache"},
    {29, "recording for a host",          kRecorded, "do not record into a host's commands on this device"},
    {30, "workgroups and subgroups",      kDecides,  "what is wrong is not used"},
    {31, "f16 in memory",                 kDecides,  "arrays of f16 are not used"},
}};
// clang-format on

}  // namespace

std::span<const ProbeRow> probe_table() { return kRows; }

}  // namespace spirograd::vk
