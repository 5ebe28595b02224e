#include "spirograd/check.h"

#include <algorithm>

#include "ad/measure.h"
#include "frontend/ir/own_graph.h"
#include "spirograd/grad.h"

namespace spirograd {
namespace {

using ad::Values;

constexpr double kDifferenceTolerance = 1e-5, kInnerProductTolerance = 1e-8;

Values evaluated(const Program& p, const Values& inputs) { return ad::values_of(ir::try_evaluate(p, inputs).value()); }

// "model.sg:3:12", or "somewhere"; "" if there is none.
std::string place_of_stop_gradient(const Program& program) {
  Program own = program;
  const ir::Graph& g = *ir::make_graph_private(own);
  for (uint32_t id = 1; id < g.size(); ++id)
    if (g[{id}].op == ir::Op::StopGradient) return g.loc({id}).str();
  return "";
}

// One line: how many directions agree, and the worst of them.
struct Tally {
  int64_t ok = 0, kinks = 0;
  double error = 0;
  std::string kink;

  void add(double e, double tolerance) {
    error = std::max(error, e);
    ok += e <= tolerance;
  }
  void add(const ad::Slope& slope) {
    add(slope.error, kDifferenceTolerance);
    if (slope.kinks > 0 && kinks++ == 0) kink = slope.kink;
  }
  DerivativeCheck line(std::string what, int64_t all) const {
    const std::string of = "of " + std::to_string(all) + " directions";
    DerivativeCheck out{std::move(what), ok == all, error, std::to_string(ok) + " " + of, ""};
    if (kinks > 0)
      out.note = "not comparable in " + std::to_string(kinks) + " " + of + ": a kink at " + kink +
                 ", where the differences to the two sides do not agree";
    return out;
  }
};

DerivativeCheck not_comparable(std::string what, std::string why) {
  return {std::move(what), true, 0, "not comparable", std::move(why)};
}

class Check {
 public:
  Check(const Program& p, std::span<const HostArray> at, const CheckOptions& options)
      : p_(p), rng_(options.seed), all_(std::max<int64_t>(1, options.directions)), start_(ad::values_of(at)) {
    for (const Param& q : p.params)
      if (is_float(q.type.dtype)) wrt_.push_back(q.name);
  }

  std::vector<DerivativeCheck> run() {
    const std::string stop = place_of_stop_gradient(p_);
    const std::string fixed =
        stop.empty() ? "" : "the stop_gradient at " + stop + " keeps its argument fixed, and differences move it";
    const Program backward = vjp(p_).value();
    Program slope = backward;  // without the values, which may have no forward derivative
    slope.results.erase(slope.results.begin(), slope.results.begin() + static_cast<std::ptrdiff_t>(p_.results.size()));
    const Result<Program> forward = jvp(p_), second = jvp(slope, wrt_);
    for (const Result<Program>* r : {&forward, &second})
      if (!*r && r->error().code != "SG0208") throw r->error();
    Tally differences, products, slopes;
    int64_t unbounded = 0;
    for (int64_t k = 0; k < all_; ++k) {
      const Values dots = ad::random_directions(rng_, p_.params), cts = ad::random_directions(rng_, p_.results);
      const auto moved = [&](double step) { return ad::moved(start_, p_.params, dots, step); };
      ad::Slope first;
      if (forward) {
        const Values tangents = ad::tail(evaluated(*forward, ad::joined(start_, dots)), p_.results.size());
        const Values gradients = ad::tail(evaluated(backward, ad::joined(start_, cts)), p_.results.size());
        if (fixed.empty()) {
          first = ad::best_slope([&](double h) { return evaluated(p_, moved(h)); }, p_.results, tangents);
          differences.add(first);
        }
        products.add(ad::inner_product_error(cts, tangents, gradients, dots), kInnerProductTolerance);
        unbounded += !ad::all_finite(tangents) || !ad::all_finite(gradients);
      }
      if (second && fixed.empty()) {
        const Values tangents =
            ad::tail(evaluated(*second, ad::joined(ad::joined(start_, cts), dots)), slope.results.size());
        const auto reverse = [&](double h) { return evaluated(slope, ad::joined(moved(h), cts)); };
        // Where values have a kink, gradients jump.
        slopes.add(first.kinks > 0 ? ad::Slope{0, first.kinks, first.kink}
                                   : ad::best_slope(reverse, slope.results, tangents));
      }
    }
    std::vector<DerivativeCheck> out;
    if (forward) {
      out.push_back(fixed.empty() ? differences.line("forward = differences", all_)
                                  : not_comparable("forward = differences", fixed));
      out.push_back(products.line("reverse = forward", all_));
      if (unbounded) out.back().note = "in " + std::to_string(unbounded) + " directions a derivative is NaN or infinite";
    } else {
      out.push_back(not_comparable("reverse = forward", forward.error().message));
    }
    if (!second || !fixed.empty())
      out.push_back(not_comparable("second = differences", second ? fixed : second.error().message));
    else
      out.push_back(slopes.line("second = differences", all_));
    return out;
  }

 private:
  const Program& p_;
  std::mt19937_64 rng_;
  int64_t all_;
  Values start_;
  std::vector<std::string> wrt_;
};

}  // namespace

Result<std::vector<DerivativeCheck>> check_derivatives(const Program& program, std::span<const HostArray> at,
                                                       const CheckOptions& options) {
  return guarded([&] {
    ir::require_made(program);
    if (at.size() != program.params.size())
      throw Error("SG0501", "check_derivatives: " + std::to_string(at.size()) + " inputs for " +
                                std::to_string(program.params.size()) + " parameters");
    for (size_t j = 0; j < at.size(); ++j)
      if (at[j].type != program.params[j].type)
        throw Error("SG0501", "check_derivatives: input '" + program.params[j].name + "' is " + to_string(at[j].type) +
                                  ", the program wants " + to_string(program.params[j].type));
    return Check(program, at, options).run();
  });
}

}  // namespace spirograd
