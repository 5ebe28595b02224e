#include "tools/cli/chrome_trace.h"

#include <nlohmann/json.hpp>

namespace spirograd::cli {
namespace {

using Json = nlohmann::json;

constexpr double kMicroseconds = 1e6;

Json name_of(const char* what, int row, const std::string& name) {
  return {{"name", what}, {"ph", "M"}, {"pid", 1}, {"tid", row}, {"args", {{"name", name}}}};
}

Json complete(const std::string& name, int row, double begin, double end, Json arguments = Json::object()) {
  return {{"name", name},
          {"ph", "X"},
          {"pid", 1},
          {"tid", row},
          {"ts", begin * kMicroseconds},
          {"dur", (end - begin) * kMicroseconds},
          {"args", std::move(arguments)}};
}

}  // namespace

Json chrome_trace(const std::string& device, std::span<const Traced> programs) {
  Json events = {name_of("process_name", 0, device)};
  int row = 0;
  for (const Traced& p : programs) {
    const Speed& s = *p.speed;
    events.push_back(name_of("thread_name", ++row, p.what + ", first call"));
    double now = 0;
    for (const auto& [name, seconds] :
         {std::pair("compile", s.compile), std::pair("pipelines", s.session), std::pair("first run", s.first)}) {
      events.push_back(complete(name, row, now, now + seconds));
      now += seconds;
    }
    events.push_back(name_of("thread_name", ++row, p.what + ", a replay"));
    for (const StepEvent& e : s.events)
      events.push_back(complete(e.label, row, e.begin, e.end, {{"bytes", e.bytes}, {"operations", e.operations}}));
  }
  return {{"displayTimeUnit", "ns"}, {"traceEvents", std::move(events)}};
}

}  // namespace spirograd::cli
