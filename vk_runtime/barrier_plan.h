// Where a memory barrier is needed: pure, from the byte ranges that the steps declare.
#pragma once

#include <cstdint>
#include <vector>

#include "spirograd/executable.h"

namespace spirograd::vk {

/// A step that does nothing: a dispatch of no workgroups, a fill or copy of no bytes.
bool is_idle(const Step& step);

/// Ascending indices of the steps before which a memory barrier (all earlier writes and reads before all later ones) stands.
/// Every two steps with a dependency (read after write, write after read, write after write on common bytes) have one
/// between them, and no barrier can be taken away. Scratch buffers are ranges of one arena, so those that share bytes depend
/// on each other. In the Descriptors form a use counts as one of its whole array, for that is what the descriptor reaches
/// and what validation sees.
///
/// A barrier before a step of a body stands there in every iteration, one before a Repeat once, before its first iteration.
/// Where the bytes that iterations of a body have in common differ from one to the next, some iteration may get a barrier
/// that it could do without. The work does not depend on how many iterations there are. Pre: check_executable passes it.
std::vector<uint32_t> plan_barriers(const Executable& executable);

/// Barriers around all steps, for Session::record(), where the host promises only what concerns compute shaders.
struct OuterBarriers {
  /// Scratch memory may still be in use by the recording before, or a fill or copy touches an input or output.
  bool before = false;
  /// A fill or copy touched an input or output last.
  bool after = false;
};
OuterBarriers plan_outer_barriers(const Executable& executable, const std::vector<uint32_t>& barriers);

}  // namespace spirograd::vk
