// The programs of `check --suite`.
#pragma once

namespace spirograd::cli {

/// Each is checked at made-up inputs. All shapes are fixed, and odd; what is differentiated is smooth where inputs are.
extern const char* const kCheckedPrograms;

/// Each is measured: something that every device is asked for, large enough to tell its speed.
extern const char* const kMeasuredPrograms;

}  // namespace spirograd::cli
