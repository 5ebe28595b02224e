// Every place at which a call of a life can fail, tried one at a time in processes of their own, so that what crashes or
// hangs is one bad place and not the end.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "tests/faults/lives.h"

namespace spirograd::faults {

struct Place {
  size_t life = 0, call = 0;  // of lives(), of fallible_calls()
  int number = 0;             // of the call in that life, from 1
  int code = 0;               // VkResult
  bool for_good = false;
  bool operator==(const Place&) const = default;
};
std::string to_string(const Place& place);

enum class Kind : uint8_t {
  Refused,     // one clear error, and nothing is left
  Survived,    // no error, right results
  Kept,        // the device is lost for good, and said to be: nobody knows what it still uses, so that is kept
  NotReached,  // the call was not made so often this time
  Bad
};
struct Tried {
  Place place;
  Kind kind = Kind::Bad;
  std::string text;  // the error, or what is bad
};

/// Of one life, or of all if none is named. Bounds are seconds without a sign of life; `told` hears of each place as it has
/// been tried. Throws Error where a life fails with nothing failing.
std::vector<Place> all_places(const Settings& settings, std::string_view only, int seconds);
std::vector<Tried> try_places(const std::vector<Place>& places, const Settings& settings, int seconds,
                              const std::function<void(const Tried&)>& told);

/// For tests: of each call one, in the middle of a life, with one code; lives and codes take turns.
std::vector<Place> sample(const std::vector<Place>& places);

}  // namespace spirograd::faults
