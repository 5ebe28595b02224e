// What the runtime is expected to do on each pretended device: to be right, or to refuse by name.
#pragma once

#include <span>
#include <string_view>

namespace spirograd::pretend {

/// An outcome is kRight, kTold, the code of the first error, or kWrong.
inline constexpr std::string_view kRight = "right", kWrong = "wrong";
/// A number is wrong, and a probe of the self-test says that numbers are: nothing can be done on such a device but tell.
inline constexpr std::string_view kTold = "told";

struct Expectation {
  std::string_view device, slice;  // slice "*": all that have no row of their own
  std::string_view outcome = kRight;
};

/// What is not plainly right.
std::span<const Expectation> exceptions();
/// The row in exceptions(), or that all is right.
Expectation expected(std::string_view device, std::string_view slice);

}  // namespace spirograd::pretend
