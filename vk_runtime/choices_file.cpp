#include "vk_runtime/choices_file.h"

#include <string_view>

namespace spirograd::vk {
namespace {

constexpr std::string_view kTitle = "spirograd schedules 1";
constexpr size_t kMostChoices = 10'000;

bool is_line(std::string_view text) { return !text.empty() && text.find('\n') == std::string_view::npos; }

}  // namespace

std::vector<uint8_t> encode_choices(const Choices& choices) {
  std::string text = std::string(kTitle) + "\n";
  for (const auto& [facts, schedule] : choices)
    if (is_line(facts) && is_line(schedule)) text += facts + "\n" + schedule + "\n";
  return {text.begin(), text.end()};
}

std::optional<Choices> decode_choices(std::span<const uint8_t> bytes) {
  std::string_view rest(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  const auto line = [&]() -> std::optional<std::string_view> {
    const size_t end = rest.find('\n');
    if (end == std::string_view::npos) return std::nullopt;
    const std::string_view out = rest.substr(0, end);
    rest.remove_prefix(end + 1);
    return out;
  };
  if (line() != kTitle) return std::nullopt;
  Choices out;
  while (!rest.empty()) {
    const auto facts = line(), schedule = line();
    if (!facts || !schedule || facts->empty() || schedule->empty()) return std::nullopt;
    if (!out.emplace(*facts, *schedule).second || out.size() > kMostChoices) return std::nullopt;
  }
  return out;
}

Choices joined(Choices known, const Choices& added) {
  for (const auto& [facts, schedule] : added) known.insert_or_assign(facts, schedule);
  return known.size() > kMostChoices ? added : known;
}

}  // namespace spirograd::vk
