// The passes from a program as it is traced to the one that is lowered: rows of a table, and one driver that runs them,
// verifies what each makes, and tells whoever asks.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string_view>

#include "frontend/rewrite/simplify.h"
#include "spirograd/program.h"
#include "spirograd/result.h"

namespace spirograd::rewrite {

struct Pass {
  std::string_view name, does;
  Program (*run)(const Program&, RuleLog*);
  std::optional<Error> (*verify)(const Program&);  // what holds afterwards
};

/// In the order in which they run.
std::span<const Pass> lowering_passes();

struct PassReport {
  std::string_view name;
  double seconds = 0;
  size_t operations = 0;  // afterwards, loop bodies included
};

#ifdef NDEBUG
inline constexpr bool kVerifyPasses = false;
#else
inline constexpr bool kVerifyPasses = true;
#endif

struct PassOptions {
  bool verify = kVerifyPasses;  // SG0900 with the name of the pass if what it made is not well formed
  RuleLog* rules = nullptr;
  std::function<void(const PassReport&, const Program&)> after = nullptr;
};

/// The program that is lowered to kernels: the one that all passes make of `p`.
Program optimise_for_lowering(const Program& p, const PassOptions& options = {});

/// The first application of a rule after which `good` does not hold any more: its number from 1 on, and in `last` what it
/// was. Nothing if the simplified program is good. Pre: bulk, and good. About log2 of all applications are tried.
std::optional<RuleLog> first_bad_rule(const Program& bulk, const std::function<bool(const Program&)>& good);

/// Operations of a program, those of loop bodies once for each loop.
size_t operations(const Program& p);

}  // namespace spirograd::rewrite
