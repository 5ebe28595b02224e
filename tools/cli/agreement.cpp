#include "tools/cli/agreement.h"

#include <random>

#include "ad/measure.h"
#include "frontend/ir/eval.h"
#include "frontend/rewrite/passes.h"
#include "frontend/rewrite/simplify.h"
#include "frontend/rewrite/vectorise.h"
#include "spirograd/check.h"
#include "spirograd/grad.h"
#include "spirv/assemble.h"
#include "spirv/lower/evaluate.h"
#include "spirv/lower/own_kernels.h"
#include "tools/io/arguments.h"
#include "tools/io/table.h"

namespace spirograd::cli {
namespace {

using ad::deviation;
using ad::Deviation;
using ad::element_name;
using ad::Values;
using ad::values_of;

// Float results differ by rounding only; what the interpreter computes twice agrees to double precision.
constexpr double kDeviceTolerance = 1e-4, kHalfTolerance = 4e-3, kDoubleTolerance = 1e-9;

class Checks {
 public:
  Checks(const Job& job, const Engine& engine, const AgreementOptions& options)
      : job_(job), engine_(engine), options_(options), rng_(options.seed), start_(values_of(job.inputs)) {
    for (const Param& p : job.program.params) differentiable_ += is_float(p.type.dtype);
    for (const ProgramResult& r : job.program.results) float_results_ += is_float(r.type.dtype);
  }

  std::vector<Agreement> run(const std::function<void(std::string_view)>& stage) {
    if (stage) stage("checking " + job_.program.name);
    reference_ = values_of(interpret_exactly(job_.program, start_));
    stages();
    on_devices("", job_.program, job_.inputs, reference_);
    if (differentiable_ == 0 || float_results_ == 0) {
      lines_.push_back({true, "derivatives", differentiable_ == 0 ? "none: no float parameter" : "none: no float result"});
      return lines_;
    }
    if (stage) stage("checking derivatives of " + job_.program.name);
    for (DerivativeCheck& c : check_derivatives(job_.program, job_.inputs, {options_.seed, options_.samples}).value())
      lines_.push_back({c.ok, std::move(c.what), std::move(c.detail), c.error, std::move(c.note)});
    backward_ = vjp(job_.program).value();
    gradient_on_devices();
    return lines_;
  }

 private:
  static std::vector<ir::Array> interpret_exactly(const Program& p, const Values& inputs) {
    return ir::try_evaluate(p, inputs).value();
  }

  void compare(std::string what, const Program& p, const Values& have, const Values& want, double tolerance) {
    Agreement line{true, std::move(what), ""};
    for (size_t j = 0; j < want.size(); ++j) {
      const Deviation d = deviation(have[j], want[j]);
      if (d.error > line.error || !(d.error == d.error)) {
        line.error = d.error;
        line.detail = "worst: " + p.results[j].name + element_name(p.results[j].type.shape, d.at);
        if (!(d.error <= tolerance)) line.note = io::short_number(d.have, 9) + " instead of " + io::short_number(d.want, 9);
      }
    }
    line.ok = line.error <= tolerance;
    lines_.push_back(std::move(line));
  }

  void stages() {
    const Program bulk = rewrite::vectorise(job_.program);
    compare("bulk = traced", bulk, values_of(interpret_exactly(bulk, start_)), reference_, kDoubleTolerance);
    const Program simple = rewrite::simplify(bulk);
    compare("simple = traced", simple, values_of(interpret_exactly(simple, start_)), reference_, kDoubleTolerance);
    if (lines_.back().ok) return;
    const auto same = [&](const Program& p) {
      const Values have = values_of(interpret_exactly(p, start_));
      for (size_t j = 0; j < have.size(); ++j)
        if (!(deviation(have[j], reference_[j]).error <= kDoubleTolerance)) return false;
      return true;
    };
    if (const auto rule = rewrite::first_bad_rule(bulk, same))
      lines_.back().note += "; first after rule " + std::to_string(rule->total) + ", " + rule->last;
  }

  // Devices round to f16, the interpreter does not.
  static double device_tolerance(const Program& p) {
    const ir::Graph& g = *p.graph;
    for (uint32_t id = 0; id < g.size(); ++id)
      if (g[ir::NodeId{id}].op == ir::Op::Cast && g[ir::NodeId{id}].type.dtype == DType::F16) return kHalfTolerance;
    return kDeviceTolerance;
  }

  void on_devices(const std::string& prefix, const Program& p, std::span<const HostArray> inputs, const Values& want) {
    // As in compile().
    const Program simple = rewrite::optimise_for_lowering(p);
    // Kernels of somebody's own run on devices only.
    const lower::Plan plan = lower::lower(lower::without_own_kernels(simple), in_form(engine_.target(), engine_.form()));
    const double tolerance = device_tolerance(simple);
    compare(prefix + "kernels = interpreter", p, values_of(lower::evaluate(plan, inputs)), want, tolerance);
    if (engine_.is_interpreter()) return;
    compare(prefix + "device = interpreter", p, values_of(engine_.run(p, inputs).results), want, tolerance);
  }

  void gradient_on_devices() {
    const Values cts = ad::random_directions(rng_, job_.program.results);
    std::vector<HostArray> inputs = job_.inputs;
    for (const Values::value_type& ct : cts) inputs.emplace_back(backward_.params[inputs.size()].type, ct);
    on_devices("gradient: ", backward_, inputs, values_of(interpret_exactly(backward_, values_of(inputs))));
  }

  const Job& job_;
  const Engine& engine_;
  const AgreementOptions options_;
  std::mt19937_64 rng_;
  Values start_, reference_;
  int differentiable_ = 0, float_results_ = 0;
  Program backward_;
  std::vector<Agreement> lines_;
};

}  // namespace

std::vector<Agreement> agreements(const Job& job, const Engine& engine, const AgreementOptions& options,
                                  const std::function<void(std::string_view)>& stage) {
  return Checks(job, engine, options).run(stage);
}

Job random_job(Program program, uint64_t seed) {
  Job job{std::move(program), {}};
  for (const Param& p : job.program.params) {
    std::vector<double> values(static_cast<size_t>(p.type.shape.count()));
    for (size_t j = 0; j < values.size() && is_float(p.type.dtype); ++j)
      values[j] = io::random_element(seed + job.inputs.size(), j, p.type.dtype);
    job.inputs.emplace_back(p.type, values);
  }
  return job;
}

}  // namespace spirograd::cli
