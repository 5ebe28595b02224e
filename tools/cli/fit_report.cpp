#include "tools/cli/fit_report.h"

#include <cmath>
#include <nlohmann/json.hpp>

#include "tools/cli/tool.h"
#include "tools/io/files.h"
#include "tools/io/npz.h"
#include "tools/io/plot.h"
#include "tools/io/sparkline.h"
#include "tools/io/system.h"
#include "tools/io/table.h"

namespace spirograd::cli {
namespace {

nlohmann::json outcome_json(const Minimum& o, const DescentOptions& how, const std::string& device, const Places& places) {
  nlohmann::json weights = nlohmann::json::object();
  for (const NamedArray& w : o.weights) weights[w.name] = result_json(w.array, places.save);
  nlohmann::json out = {{"device", device},
                        {"method", how.method},
                        {"rate", how.rate},
                        {"seconds", o.seconds},
                        {"ended", o.interrupted ? "interrupted" : "steps"},
                        {"inputs", weights}};
  if (o.good() == 0) return out;
  out["steps"] = o.good() - 1;
  out["first_loss"] = json_number(o.losses.front());
  out["loss"] = json_number(o.losses[o.good() - 1]);
  return out;
}

}  // namespace

void write_files(const Places& places, const Minimum& o, const std::string& title) {
  io::OutputFiles files;
  std::string log;
  if (!places.save.empty() && !o.weights.empty()) {
    std::vector<std::pair<std::string, HostArray>> all;
    for (const NamedArray& w : o.weights) all.emplace_back(w.name, w.array);
    files.add(places.save, io::npz_bytes(all));
    log += "wrote " + places.save + "  " + std::to_string(all.size()) + " arrays\n";
  }
  if (!places.history.empty() && !o.losses.empty()) {
    const HostArray history(Type{o.real, {static_cast<int64_t>(o.losses.size())}}, o.losses);
    files.add(places.history, io::npy_bytes(history));
    log += "wrote " + places.history + "  " + to_string(history.type) + "\n";
  }
  if (!places.plot.empty() && o.good() > 0) {
    io::Plot plot{title, "step", "loss", {o.losses.begin(), o.losses.begin() + static_cast<std::ptrdiff_t>(o.good())}};
    files.add(places.plot, places.plot.ends_with(".svg") ? io::plot_svg(plot) : io::plot_png(plot));
    log += "wrote " + places.plot + "\n";
  }
  files.commit();
  tell(log);
}

void print_report(const Minimum& o, const Places& places) {
  if (o.good() == 0) return;
  std::string text = "loss = " + loss_text(o.losses.back()) + " after " + std::to_string(o.losses.size() - 1) +
                     " steps, from " + loss_text(o.losses.front()) + "\n";
  if (places.save.empty())
    for (const NamedArray& w : o.weights) text += result_text(w);
  print(text);
  if (io::stderr_is_terminal() && o.good() > 1) {
    const io::Sparkline line = io::sparkline(o.losses, 60);
    tell("loss  " + line.text + (line.logarithmic ? "  logarithmic" : "") + "\n");
  }
}

void print_json_report(const Minimum& o, const DescentOptions& how, const Watch& watch, const std::string& device,
                       const Places& places) {
  const nlohmann::json out = outcome_json(o, how, device, places);
  if (watch.every > 0)
    print(out.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n");
  else
    print_json(out);
}

Error divergence(const Minimum& o, const DescentOptions& how) {
  const double bad = o.losses.back();
  const std::string what = std::isnan(bad)   ? "is not a number"
                           : std::isinf(bad) ? "is infinite"
                                             : "is " + loss_text(bad) + ", beyond the bound of " + loss_text(how.bound);
  if (o.good() == 0)
    return Error("SG0209", "fit: the loss " + what + " before the first step").hint("other inputs to start from");
  return Error("SG0209", "fit: the loss " + what + " after step " + std::to_string(o.good()) + "; after step " +
                             std::to_string(o.good() - 1) + " it was " + loss_text(o.losses[o.good() - 1]))
      .hint("smaller steps: --rate " + io::short_number(how.rate / 10));
}

}  // namespace spirograd::cli
