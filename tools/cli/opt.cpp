// spirograd opt: a program at any stage as text. What is printed for the stages traced to simple parses back.
#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "frontend/rewrite/passes.h"
#include "spirograd/compile.h"
#include "spirv/assemble.h"
#include "spirv/emit/emit.h"
#include "spirv/kernel/print.h"
#include "spirv/lower/plan.h"
#include "tools/cli/job.h"
#include "tools/cli/outputs.h"
#include "tools/cli/parallelism.h"
#include "tools/cli/passes.h"
#include "tools/cli/speed.h"
#include "tools/cli/tool.h"
#include "tools/cli/transforms.h"
#include "tools/io/table.h"

namespace spirograd::cli {
namespace {

const char* role_name(Role r) {
  switch (r) {
    case Role::Input: return "input";
    case Role::Output: return "output";
    case Role::Constant: return "constant";
    case Role::Scratch: return "scratch";
  }
  return "?";
}

const char* kind_name(Step::Kind k) {
  switch (k) {
    case Step::Kind::Dispatch: return "dispatch";
    case Step::Kind::Fill: return "fill";
    case Step::Kind::Copy: return "copy";
    case Step::Kind::Repeat: return "repeat";
  }
  return "?";
}

// "%3+64-8i+4j": from byte 64 on, in iteration i of the outer Repeat and j of the inner one.
std::string place_text(const BufferUse& u) {
  std::string out = "%" + std::to_string(u.buffer) + (u.offset ? "+" + std::to_string(u.offset) : "");
  for (size_t d = 0; d < u.strides.size(); ++d)
    if (u.strides[d] != 0)
      out += (u.strides[d] > 0 ? "+" : "") + std::to_string(u.strides[d]) + static_cast<char>('i' + d % 18);
  return out;
}

std::string uses_text(const Step& s) {
  std::string reads, writes;
  for (const BufferUse& u : s.uses) {
    const std::string b = " " + place_text(u);
    if (u.read) reads += b;
    if (u.written) writes += b;
  }
  return (reads.empty() ? "" : "reads" + reads) + (reads.empty() || writes.empty() ? "" : ", ") +
         (writes.empty() ? "" : "writes" + writes);
}

std::string schedule_text(const Executable& e) {
  io::Table buffers({">buffer", "role", "name", "type", ">bytes", ">scratch offset", "what"});
  for (size_t j = 0; j < e.buffers.size(); ++j) {
    const BufferDesc& b = e.buffers[j];
    buffers.add({"%" + std::to_string(j), role_name(b.role), b.name, to_string(b.type), std::to_string(b.bytes),
                 b.role == Role::Scratch ? std::to_string(b.scratch_offset) : "", b.what});
  }
  io::Table steps({">step", "kind", "kernel", ">groups", "uses", "what"});
  std::vector<size_t> ends;  // of the bodies that the step is in
  for (size_t j = 0; j < e.steps.size(); ++j) {
    const Step& s = e.steps[j];
    while (!ends.empty() && ends.back() == j) ends.pop_back();
    const bool dispatch = s.kind == Step::Kind::Dispatch, repeat = s.kind == Step::Kind::Repeat;
    const std::string kind = std::string(2 * ends.size(), ' ') + kind_name(s.kind);
    if (repeat) ends.push_back(j + 1 + s.body);
    steps.add({std::to_string(j), kind + (repeat ? " " + std::to_string(s.count) + " times" : ""),
               dispatch ? e.kernels[s.kernel].name : "", dispatch ? std::to_string(s.groups) : "", uses_text(s), s.label});
  }
  const Traffic bytes = traffic(e);
  return buffers.str() + "\n" + steps.str() + "\nscratch: " + std::to_string(e.scratch_bytes) +
         " bytes, kernels: " + std::to_string(e.kernels.size()) + "\nmoved: " + std::to_string(bytes.moved) +
         " bytes by all steps; inputs and outputs are " + std::to_string(bytes.least) + "\n";
}

std::string kernels_text(const lower::Plan& plan) {
  std::string out;
  for (const kernel::Kernel& k : plan.kernels) out += (out.empty() ? "" : "\n") + kernel::to_string(k);
  return out;
}

std::string loops_text(const lower::Plan& plan) {
  std::string out;
  for (size_t j = 0; j < plan.kernels.size(); ++j) {
    const kernel::Kernel& k = plan.kernels[j];
    io::Table table({"", ""});
    for (const lower::ScheduleLine& line : plan.schedules[j]) table.add({"  " + line.what, line.how});
    out += (out.empty() ? "" : "\n") + k.name + ": " + std::to_string(k.invocations) + " invocations in workgroups of " +
           std::to_string(k.workgroup) + "\n" + table.str();
  }
  return out;
}

// Bytes of scratch in which the rows lie; those that are not kept at the same time may share them.
uint64_t bytes_taken(const lower::Plan& plan) {
  std::vector<std::pair<uint64_t, uint64_t>> ranges;
  for (const lower::KeptRows& r : plan.kept) {
    const uint64_t from = plan.buffers[r.place.buffer].scratch_offset + r.place.offset;
    ranges.emplace_back(from, from + device_bytes(r.type));
  }
  std::sort(ranges.begin(), ranges.end());
  uint64_t sum = 0, end = 0;
  for (const auto& [from, to] : ranges)
    if (to > end) sum += to - std::max(from, end), end = to;
  return sum;
}

std::string stored_text(const lower::Plan& plan) {
  io::Table table({">bytes", "type", "value", "from", "kept"});
  uint64_t sum = 0;
  for (const lower::KeptRows& r : plan.kept) {
    sum += device_bytes(r.type);
    table.add(
        {std::to_string(device_bytes(r.type)), to_string(r.type), r.value, r.at.str(),
         (r.rounds ? "before each of " : "in each of ") + std::to_string(r.times) + (r.rounds ? " rounds" : " steps")});
  }
  const uint64_t taken = bytes_taken(plan);
  return (plan.kept.empty() ? "" : table.str() + "\n") + "kept for the way back: " + std::to_string(sum) + " bytes" +
         (taken == sum ? "" : ", in " + std::to_string(taken) + " bytes, as not all are kept at the same time") +
         "; scratch: " + std::to_string(plan.scratch_bytes) + " bytes\n";
}

std::string spirv_text(const Executable& e) {
  std::string out;
  for (const KernelBinary& k : e.kernels)
    out += (out.empty() ? "; " : "\n; ") + k.name + ": " + std::to_string(k.workgroup) + " invocations per workgroup, " +
           std::to_string(k.words.size() * 4) + " bytes\n" + spirv::disassemble(k.words);
  return out;
}

// The device is looked at only where one is named: without, the text is the same on every machine.
Executable compiled(const Program& p, const Options& options, const Target& target, BindingForm suits) {
  CompileOptions how;
  how.form = form_of(options).value_or(suits);
  return compile(p, target, how).value();
}

// Of the program as it is written, and of what was made of it.
std::string parallelism_of(const Program& traced, const Program& p, const std::string& made, const Options& options,
                           const Target& target, BindingForm suits) {
  std::vector<std::pair<std::string, Parallelism>> rows;
  if (made != "traced") rows.emplace_back("traced", parallelism(compiled(traced, options, target, suits)));
  rows.emplace_back(made, parallelism(compiled(p, options, target, suits)));
  return parallelism_text(rows);
}

std::string program_text(const Program& traced, const Program& p, const Options& options, std::string& stage) {
  Target target = options.has("--deterministic") ? deterministic(plain_target()) : plain_target();
  BindingForm suits = BindingForm::Address;
  if (options.has("--device")) {
    const Engine engine(options);
    target = engine.target();
    suits = engine.form();
  }
  const bool loops = options.has("--loops"), kernels = options.has("--kernels"), stored = options.has("--stored");
  if (loops || kernels || stored || wants_passes(options)) {
    stage = loops ? "loops" : kernels ? "kernels" : stored ? "stored" : "passes";
    std::string text;
    const lower::Plan plan = lowered(p, in_form(target, form_of(options).value_or(suits)), options, text);
    return text + (loops ? loops_text(plan) : kernels ? kernels_text(plan) : stored ? stored_text(plan) : "");
  }
  if (options.has("--spirv")) {
    stage = "spirv";
    return spirv_text(compiled(p, options, target, suits));
  }
  if (options.has("--parallelism")) {
    const std::string made = std::exchange(stage, "parallelism");
    return parallelism_of(traced, p, made, options, target, suits);
  }
  if (options.has("--schedule")) {
    stage = "schedule";
    return schedule_text(compiled(p, options, target, suits));
  }
  return text::print(p);
}

int opt(const Options& options) {
  if (options.has("--rules")) {
    print(rewrite::rules_markdown());
    return kOk;
  }
  if (options.positional().empty()) throw usage_error("'opt' needs a program").hint("spirograd opt FILE.sg --bot");
  const auto last = {"--loops", "--kernels", "--spirv", "--schedule", "--stored", "--parallelism"};
  if (std::count_if(last.begin(), last.end(), [&](const char* name) { return options.has(name); }) > 1)
    throw usage_error("'--loops', '--kernels', '--spirv', '--schedule', '--stored' and '--parallelism' exclude each other");
  form_of(options);
  wants_passes(options);
  const Source source = load_source(options.positional()[0], options.value("--function").value_or(""));
  const InputList list(source, options.inputs(), options.has("--cast"), element_type(options));
  const Program traced = list.instantiate_types();
  list.check_all_used(traced);
  std::string stage = "traced";
  const Program p = transformed(traced, options, stage);
  const std::string text = program_text(traced, p, options, stage);
  if (options.has("--json"))
    print_json({{"stage", stage}, {"text", text}});
  else
    print(text);
  return kOk;
}

}  // namespace

Command opt_command() {
  Command c = {
      "opt",
      "show a program at any stage",
      "FILE.sg [name=value ...] [N=5 ...] [options]",
      {"Stages: traced, bulk (--bot), gradient (--grad, --jvp), simple (--simplify), then --loops, --kernels, --spirv,",
       "--schedule, --stored, --parallelism.",
       "Transformations apply in the order given and may be repeated: --grad w --jvp d_w. Programs parse back.",
       "Shapes come from the declaration, from N=5, or from inputs (x=x.npy, x=zeros:3x4xf32), of which only types count.",
       "Without --device, kernels are made for a plain device, the same on every machine."},
      {{"--bot", "", "remove all builds (bulk-operation transformation)", "", true},
       {"--simplify", "", "apply the rules of simplification", "", true},
       {"--loops", "", "how each kernel runs: its loops and what they are bound to"},
       {"--kernels", "", "fused kernels, as instructions"},
       {"--spirv", "", "SPIR-V assembly"},
       {"--schedule", "", "buffers and steps"},
       {"--stored", "", "what loops keep for their reverse mode: bytes, and from which line"},
       {"--parallelism", "", "how many steps wait for one another, how wide they are; of a gradient, beside its function"},
       {"--rules", "", "the rules of simplification, as Markdown; needs no program"},
       function_option(),
       device_option(),
       form_option(),
       deterministic_option(),
       cast_option(),
       dtype_option(),
       json_option()},
      {"spirograd opt samples/gmm.sg N=100 K=5 D=2 --bot --grad mu --simplify",
       "spirograd opt model.sg x=zeros:64xf32 --spirv --form descriptors"},
      opt,
      ""};
  const auto rules =
      std::find_if(c.options.begin(), c.options.end(), [](const OptionSpec& o) { return o.name == "--rules"; });
  const std::vector<OptionSpec> passes = pass_options();
  c.options.insert(rules, passes.begin(), passes.end());
  const std::vector<OptionSpec> derivatives = derivative_options();
  c.options.insert(c.options.begin() + 1, derivatives.begin(), derivatives.end());
  return c;
}

}  // namespace spirograd::cli
