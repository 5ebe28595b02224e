// spirograd grad: value and derivatives, in reverse, forward, or second order.
#include "spirograd/grad.h"

#include <cmath>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "frontend/base/near_name.h"
#include "tools/cli/job.h"
#include "tools/cli/outputs.h"
#include "tools/cli/several_devices.h"
#include "tools/cli/tool.h"
#include "tools/io/table.h"

namespace spirograd::cli {
namespace {

// The result `of` alone.
Program only(Program p, const std::string& of) {
  std::vector<ProgramResult> keep;
  std::vector<std::string> names;
  for (const ProgramResult& r : p.results) {
    names.push_back(r.name);
    if (r.name == of) keep.push_back(r);
  }
  if (keep.empty()) throw Error("SG0203", "jvp: there is no result '" + of + "'").hint(did_you_mean(of, names));
  p.results = std::move(keep);
  return p;
}

struct Derived {
  Program program;
  size_t values = 0;  // results that belong to the function itself
};

// Gradient along a direction: H v. Results: value, d_<param>, dot_d_<param>.
Derived hessian_product(const Program& p, const std::vector<std::string>& wrt, const std::string& of) {
  const Program gradient = value_and_grad(p, wrt, of).value();
  Program both = jvp(gradient, wrt).value();
  const size_t first = gradient.results.size();
  // Of the tangents only those of the gradient are wanted, not those of the values.
  std::vector<ProgramResult> results(both.results.begin(), both.results.begin() + static_cast<std::ptrdiff_t>(first));
  for (size_t j = first; j < both.results.size(); ++j)
    for (size_t k = p.results.size(); k < first; ++k)
      if (both.results[j].name == "dot_" + gradient.results[k].name) results.push_back(both.results[j]);
  both.results = std::move(results);
  return {std::move(both), p.results.size()};
}

Derived derive(const Program& p, const Options& options) {
  const std::vector<std::string> wrt = options.names("--wrt");
  const std::string of = options.value("--of").value_or("");
  if (options.has("--hvp")) return hessian_product(p, wrt, of);
  if (!options.has("--jvp")) return {value_and_grad(p, wrt, of).value(), p.results.size()};
  const Program kept = of.empty() ? p : only(p, of);
  const size_t n = kept.results.size();
  return {jvp(kept, wrt).value(), n};
}

struct Statistics {
  double norm = 0;
  int64_t nan = 0, inf = 0;
};

Statistics statistics_of(const HostArray& a) {
  Statistics s;
  double scale = 0, sum = 0;
  for (double x : a.values()) {
    s.nan += std::isnan(x);
    s.inf += std::isinf(x);
    if (!std::isfinite(x) || x == 0) continue;
    // The sum of squares in units of the largest element: no overflow.
    const double y = std::abs(x);
    if (y > scale) {
      sum = 1 + sum * (scale / y) * (scale / y);
      scale = y;
    } else {
      sum += (y / scale) * (y / scale);
    }
  }
  s.norm = s.nan > 0 ? std::nan("") : s.inf > 0 ? HUGE_VAL : scale * std::sqrt(sum);
  return s;
}

// -o w=gw.npy means the derivative that belongs to the parameter w.
std::string alias_of(const std::string& result, bool second_order) {
  const std::string prefix = second_order ? "dot_d_" : "d_";
  return result.starts_with(prefix) ? result.substr(prefix.size()) : "";
}

int grad(const Options& options) {
  if (options.has("--jvp") && options.has("--hvp")) throw usage_error("'--jvp' and '--hvp' exclude each other");
  const Outputs outputs(options);
  const Source source = load_source(options.positional()[0], options.value("--function").value_or(""));
  InputList list(source, options.inputs(), options.has("--cast"), element_type(options));
  const Derived derived = derive(list.instantiate(), options);
  const Program& program = derived.program;
  const std::vector<HostArray> inputs = list.match(program);
  std::vector<std::pair<std::string, std::string>> names;
  for (size_t j = 0; j < program.results.size(); ++j)
    names.emplace_back(program.results[j].name, j < derived.values || options.has("--jvp")
                                                    ? ""
                                                    : alias_of(program.results[j].name, options.has("--hvp")));
  outputs.check_names(names);

  std::optional<Engine> engine;  // none: several devices
  Engine::Outcome outcome;
  std::vector<ShardState> states;
  if (const auto several = SeveralDevices::asked(options)) {
    const auto piece_of = [&](int64_t n) { return derive(list.instantiate_part(several->axis, n), options).program; };
    SharedOutcome shared = run_on_several(*several, options, program, piece_of, inputs);
    outcome.results = std::move(shared.results);
    states = std::move(shared.states);
  } else {
    outcome = engine.emplace(options).run(program, inputs, options.has("--time"));
  }
  std::vector<NamedArray> results;
  for (size_t j = 0; j < outcome.results.size(); ++j)
    results.push_back({names[j].first, names[j].second, std::move(outcome.results[j])});

  nlohmann::json values = nlohmann::json::object(), derivatives = nlohmann::json::object();
  std::string text;
  io::Table table({"", "", "", ""});
  for (size_t j = 0; j < results.size(); ++j) {
    const NamedArray& r = results[j];
    const Statistics s = statistics_of(r.array);
    const bool value = j < derived.values;
    nlohmann::json entry = result_json(r.array, outputs.file_of(r));
    if (!value) entry.update({{"norm", json_number(s.norm)}, {"nan", s.nan}, {"inf", s.inf}});
    (value ? values : derivatives)[r.name] = std::move(entry);
    const std::string type = to_string(r.array.type);
    if (value && r.array.type.shape.rank() == 0)
      text += result_text(r);
    else if (!is_float(r.array.type.dtype))
      table.add({r.name, "", "", type});
    else
      table.add({"|" + r.name + "|", "= " + io::short_number(s.norm),
                 std::to_string(s.nan) + " NaN, " + std::to_string(s.inf) + " Inf", type});
  }
  outputs.write(results);
  if (options.has("--json")) {
    nlohmann::json out = {{"values", values}, {"derivatives", derivatives}};
    if (engine)
      out["device"] = engine->name();
    else
      out["devices"] = states_json(states);
    if (options.has("--time")) out["time"] = time_json(outcome);
    print_json(out);
  } else {
    print(text + table.str());
  }
  if (!engine) std::fputs(states_text(states).c_str(), stderr);
  if (options.has("--time")) std::fputs(time_text(*engine, outcome).c_str(), stderr);
  return kOk;
}

}  // namespace

Command grad_command() {
  return {"grad",
          "value and derivatives of a function",
          "FILE.sg --wrt a,b [name=value ...] [-o name=file.npy ...] [options]",
          {"Prints the value, and for each derivative its norm and how many elements are NaN or infinite.",
           "Results: those of the function by name; the gradient by w is d_w (-o w=FILE writes it too).",
           "--jvp needs a direction dot_w=... for each w and gives dot_<result>; --hvp needs it too and gives",
           "dot_d_w, the derivative of the gradient in that direction."},
          with_program_options({{"--wrt", "A,B", "parameters to differentiate by; all float parameters if not given"},
                                {"--of", "NAME", "the result to differentiate; the first scalar if not given"},
                                {"--jvp", "", "forward mode"},
                                {"--hvp", "", "Hessian times vector"},
                                output_option("write a value or derivative; '-' prints it; FILE.npz alone takes all")},
                               {time_option(), devices_option(), cut_option()}),
          {"spirograd grad model.sg --wrt w,b x=x.npy w=w.npy b=b.npy -o w=gw.npy -o loss=-",
           "spirograd grad model.sg --wrt w --hvp x=x.npy w=w.npy b=b.npy dot_w=random:1:64xf32"},
          grad};
}

}  // namespace spirograd::cli
