// Remembered schedules as the contents of a file of the cache folder. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "spirograd/choices.h"

namespace spirograd::vk {

/// A line that says what it is, then two lines for each choice. What has no lines of its own is left out.
std::vector<uint8_t> encode_choices(const Choices& choices);
/// Nothing unless all of it is as encode_choices writes it.
std::optional<Choices> decode_choices(std::span<const uint8_t> bytes);

/// The known ones and the new ones, which count where both say something; the new ones alone where that were too many.
Choices joined(Choices known, const Choices& added);

}  // namespace spirograd::vk
