// spirograd fit: minimises a function by some of its inputs, which stay on the device from the first step to the last.
#include <algorithm>
#include <limits>

#include "tools/cli/fit_options.h"
#include "tools/cli/fit_report.h"
#include "tools/cli/job.h"
#include "tools/cli/minimise.h"
#include "tools/cli/tool.h"
#include "tools/io/arguments.h"
#include "tools/io/table.h"

namespace spirograd::cli {
namespace {

struct FitWork {
  Program program;  // of one step
  std::vector<HostArray> inputs;
  Batch batch;
};

// What differs between the type of an input and that of the program is the axis that batches are taken of.
Batch batch_of(const Program& part, const std::vector<HostArray>& inputs, const std::string& variable, uint64_t seed) {
  Batch out;
  out.variable = variable;
  out.seed = seed;
  for (size_t j = 0; j < inputs.size(); ++j)
    for (int a = 0; a < part.params[j].type.shape.rank(); ++a) {
      const int64_t all = inputs[j].type.shape[a], some = part.params[j].type.shape[a];
      if (all == some) continue;
      if (out.part > 0 && all != out.all)
        throw Error("SG0104", "inputs have " + std::to_string(out.all) + " and " + std::to_string(all) +
                                  " elements along '" + variable + "'");
      out.all = all;
      out.part = some;
      out.axes.push_back({j, a});
    }
  if (out.part > 0 && out.all > std::numeric_limits<int32_t>::max() / 2)
    throw usage_error("'--batch' counts to " + std::to_string(std::numeric_limits<int32_t>::max() / 2) + " elements");
  return out;
}

FitWork fit_work(const Options& options, InputList& list) {
  const uint64_t seed = static_cast<uint64_t>(options.number("--seed", 1, 0));
  const auto text = options.value("--batch");
  if (!text) {
    if (options.has("--seed")) throw usage_error("'--seed' is that of the order of batches").hint("--batch N=64");
    Program program = list.instantiate();
    std::vector<HostArray> inputs = list.match(program);
    return {std::move(program), std::move(inputs), {}};
  }
  const auto named = io::split_argument(*text);
  const auto n = named ? io::whole_number(named->text) : std::nullopt;
  if (!n || *n < 1)
    throw usage_error("'--batch' needs an axis of the inputs and a number of elements, not '" + *text + "'")
        .hint("--batch N=64 for x: f32[N, 3]");
  if (const int64_t all = list.extent_of(named->name); *n > all)
    throw usage_error("a part of " + std::to_string(*n) + " elements of '" + named->name + "' is more than the " +
                      std::to_string(all) + " that there are");
  Program program = list.instantiate_part(named->name, *n);
  std::vector<HostArray> inputs = list.match(program);
  Batch batch = batch_of(program, inputs, named->name, seed);
  return {std::move(program), std::move(inputs), std::move(batch)};
}

int fit(const Options& options) {
  DescentOptions how = descent_options(options);
  const Places where = places(options);
  const Watch watch = watch_of(options);
  const Source source = load_source(options.positional()[0], options.value("--function").value_or(""));
  InputList list(source, options.inputs(), options.has("--cast"), element_type(options));
  const FitWork work = fit_work(options, list);
  how.batch = work.batch;
  const Engine engine(options);
  const Minimum o = minimise(engine, work.program, work.inputs, how, watch);
  write_files(where, o, source.signature.name + " by " + how.method + ", rate " + io::short_number(how.rate));
  if (o.diverged) throw divergence(o, how);
  if (watch.json)
    print_json_report(o, how, watch, engine.name(), where);
  else
    print_report(o, where);
  if (!o.interrupted) return kOk;
  tell("stopped as asked, " + std::to_string(std::max<size_t>(o.losses.size(), 1) - 1) + " of " + std::to_string(how.steps) +
       " steps done\n");
  return kInterrupted;
}

}  // namespace

Command fit_command() {
  return {
      "fit",
      "minimise a function by some of its inputs",
      "FILE.sg --by a,b [name=value ...] [options]",
      {"Steps against the gradient of the first scalar result. The inputs that change stay on the device meanwhile.",
       "A loss that is NaN, infinite or beyond --bound ends the work with an error. Ctrl-C ends it after the steps that",
       "run. Whatever ends it, --save gets the inputs that belong to the last good loss, to start from again.",
       "The first Ctrl-C waits for that, the second does not.",
       "--checkpoint keeps the state of the steps too, as they go, for what ends without a word: the same command with",
       "--resume goes on from it, to the same numbers. It begins anew where there is no such file yet.",
       "--batch N=64 lets each step see 64 elements of the axis that the types of inputs call N, in an order that --seed",
       "shuffles once; losses are those of the batches then."},
      with_program_options(
          {{"--by", "A,B", "the inputs to change; the name of a struct means its floats"},
           {"--of", "NAME", "the result to minimise; the first scalar if not given"},
           {"--steps", "N", "how many (1000)"},
           {"--rate", "R", "the length of a step (0.01)"},
           {"--method", "NAME", "one of the library's optimisers: " + io::listed(descent_methods())},
           {"--bound", "L", "a loss beyond it, above or below 0, ends the work"},
           {"--bounds", "NAME:A..B", "what an input may become: each step ends within; A or B alone too", "", true},
           {"--batch", "N=SIZE", "elements of the axis N that a step sees; all if not given"},
           {"--seed", "S", "of the order of batches (1)"},
           {"--every", "K", "print the loss every K steps; with --json a line of JSON each"},
           {"--save", "FILE.npz", "write what the inputs have become, by name"},
           {"--history", "FILE.npy", "write the loss before the first step and after each"},
           {"--plot", "FILE.svg", "draw the loss; .png too"},
           {"--checkpoint", "FILE.npz", "keep the state of the steps there, to resume from"},
           {"--checkpoint-every", "K", "between two of them: 500 steps, or 30s (30s)"},
           {"--resume", "", "go on from the checkpoint, if there is one"}}),
      {"spirograd fit model.sg --by w,b x=x.npy y=y.npy w=zeros:64 b=0 --steps 5000 --save fitted.npz",
       "spirograd fit net.sg --by net data.npz net.npz --batch N=128 --checkpoint state.npz --resume --plot loss.svg"},
      fit};
}

}  // namespace spirograd::cli
