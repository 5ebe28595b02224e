#include "tools/gradbench/protocol.h"

#include <cmath>
#include <nlohmann/json.hpp>

namespace spirograd::gradbench {
namespace {

using nlohmann::json;

json failure(const std::string& error) { return {{"success", false}, {"error", error}}; }

std::string word(const json& message, const char* field) {
  const auto found = message.find(field);
  if (found == message.end()) throw Error("SG0502", "the message has no '" + std::string(field) + "'");
  if (!found->is_string())
    throw Error("SG0501", "'" + std::string(field) + "' of the message is a " + found->type_name() + ", not a string");
  return *found;
}

json timing(const char* name, double seconds) { return {{"name", name}, {"nanoseconds", std::llround(seconds * 1e9)}}; }

// Empty where all is in f64, as the suite expects.
std::string doubt(Engine& engine) {
  if (engine.element() == DType::F64) return "";
  const bool able = engine.device().target.float64;
  return "computed in f32, as '" + engine.device().name + "' " + (able ? "was asked to" : "has no f64");
}

json start(Engine& engine) {
  json out = {{"tool", "spirograd"}};
  const Result<json> config = guarded([&]() -> json {
    return {{"device", engine.device().name}, {"driver", engine.device().driver}, {"element", name(engine.element())}};
  });
  if (config) out["config"] = *config;
  return out;  // what is wrong with a device is told by the answer to "define", which has a place for it
}

json define(const json& message, Engine& engine) {
  const Evaluation e = evaluation(word(message, "module"));
  engine.program(e.name);
  engine.element();
  return {{"success", true}};
}

json evaluate(const json& message, Engine& engine) {
  const Evaluation e = evaluation(word(message, "module"));
  const Function f = function(e, word(message, "function"));
  const auto input = message.find("input");
  if (input == message.end()) throw Error("SG0502", "the message has no 'input'");
  const Repeats repeats = read_repeats(*input);
  const Inputs inputs = read_inputs(e, *input, engine.element());
  const Outcome o = engine.run(e.name, inputs.with_option ? f.with_option : f.definition, inputs, repeats);
  json timings = json::array();
  if (o.compile_seconds > 0) timings.push_back(timing("compile", o.compile_seconds));
  timings.push_back(timing("first", o.first_seconds));
  for (double s : o.run_seconds) timings.push_back(timing("evaluate", s));
  json out = {{"success", true}, {"output", write_output(f.form, o.results, inputs)}, {"timings", timings}};
  if (const std::string d = doubt(engine); !d.empty()) out["note"] = d;
  return out;
}

json answer_to(const json& message, Engine& engine) {
  const std::string kind = word(message, "kind");
  if (kind == "start") return start(engine);
  if (kind == "define") return define(message, engine);
  if (kind == "evaluate") return evaluate(message, engine);
  if (kind == "analysis") return json::object();
  throw Error("SG0503", "there is no kind of message '" + kind + "'").note("there are: start, define, evaluate, analysis");
}

}  // namespace

std::string answer(const std::string& line, Engine& engine) {
  json id;
  json out;
  try {
    const json message = json::parse(line);
    if (!message.is_object())
      throw Error("SG0501", "the line is a JSON " + std::string(message.type_name()) + ", not an object");
    const auto given = message.find("id");
    if (given == message.end() || !given->is_number_integer())
      throw Error("SG0502", "the message has no whole number as its 'id'");
    id = *given;
    out = answer_to(message, engine);
  } catch (const Error& e) {
    out = failure(e.str());
  } catch (const json::exception& e) {
    out = failure("the line is not JSON: " + std::string(e.what()));
  } catch (const std::bad_alloc&) {
    out = failure("the host ran out of memory");
  } catch (const std::exception& e) {
    out = failure(std::string("internal: ") + e.what());
  }
  out["id"] = id;
  return out.dump(-1, ' ', false, json::error_handler_t::replace);
}

}  // namespace spirograd::gradbench
