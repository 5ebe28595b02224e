#include "tools/cli/tool.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <new>
#include <stdexcept>

#include "frontend/base/near_name.h"
#include "tools/io/table.h"

namespace spirograd::cli {
namespace {

std::string overview(const std::vector<Command>& commands) {
  std::string out = "Spirograd " SPIROGRAD_VERSION
                    ": array programs and their exact derivatives on any Vulkan device.\n\n"
                    "usage: spirograd COMMAND [FILE.sg] [name=value ...] [options]\n\ncommands:\n";
  io::Table table({"", ""});
  for (const Command& c : commands) table.add({"  " + c.name, c.summary});
  table.add({"  help [COMMAND]", "what a command does and takes"});
  out += table.str();
  const Conventions& known = conventions();
  return out + "\ninputs:\n" + known.inputs + "\nenvironment: " + known.environment + "\nexit status: " + known.exit_status +
         "\n\nexamples:\n" + known.examples;
}

int run_command_line(const std::vector<std::string>& arguments) {
  const std::vector<Command> commands = all_commands();
  if (arguments.empty()) throw usage_error("a command is missing").hint("spirograd --help lists all commands");
  std::string name = arguments[0];
  std::vector<std::string> rest(arguments.begin() + 1, arguments.end());
  if (name == "--version" || name == "-V") {
    print("spirograd " SPIROGRAD_VERSION "\n");
    return kOk;
  }
  bool help = false;
  if (name == "--help" || name == "-h" || name == "help") {
    if (rest.empty() || rest[0] == "help") {
      print(overview(commands));
      return kOk;
    }
    help = true;
    name = rest[0];
  }
  for (const Command& c : commands) {
    if (c.name != name) continue;
    for (const std::string& a : rest) {
      if (a == "--") break;
      help = help || a == "--help" || a == "-h";
    }
    if (help) {
      print(help_text(c));
      return kOk;
    }
    return c.run(read_options(c, rest));
  }
  std::vector<std::string> names = {"help"};
  for (const Command& c : commands) names.push_back(c.name);
  const std::string near = did_you_mean(name, names);
  throw usage_error(std::string(name.starts_with("-") ? "unknown option '" : "unknown command '") + name + "'")
      .hint((near.empty() ? "" : near + "  ") + "spirograd --help lists all commands");
}

int report(const Error& e) {
  tell(e.str() + "\n");
  return exit_code(e);
}

}  // namespace

std::vector<Command> all_commands() {
  return {devices_command(), doctor_command(),  run_command(),        grad_command(), fit_command(),
          bench_command(),   tune_command(),    check_command(),      opt_command(),  compile_command(),
          inspect_command(), explain_command(), completion_command(), man_command()};
}

const Conventions& conventions() {
  static const Conventions known = {
      "  x=a.npy  x=a.npz:member  x=3.5  x=[1,2,3]  x=zeros:64x64xf32  x=ones:8  x=iota:10xi32  x=random:7:64x64xf32\n"
      "  x=a.csv  x=a.png (f32 from 0 to 1, [H,W] or [H,W,C])  x=a.idx  x=train-images-idx3-ubyte.gz  x=a.safetensors:name\n"
      "  x=a.exr (or one of its channels or layers: a.exr:Z)\n"
      "  outputs end in .npy, .npz, .csv, .png, .exr, .idx or .safetensors, too\n"
      "  N=5 gives a shape variable; a.npz alone gives all its arrays by name\n",
      "SPIROGRAD_DEVICE, SPIROGRAD_CACHE (folder of compiled kernels; empty: none)",
      "0 ok, 1 a check failed, 2 usage, 3 program, 4 device, 5 files, 6 memory, 70 internal, 130 Ctrl-C",
      "  spirograd run  model.sg x=x.npy n=3.5 -o y=y.npy\n"
      "  spirograd grad model.sg --wrt w,b x=x.npy w=w.npy b=b.npy -o w=gw.npy\n"};
  return known;
}

int exit_code(const Error& e) {
  const std::string& c = e.code;
  if (c.empty() || c == "SG0502" || c == "SG0503" || c == "SG0506" || c == "SG0508") return kUsage;
  if (c.size() != 6) return kInternalError;
  switch (c[3]) {
    case '1':
    case '2':
    case '4': return kProgramError;
    case '3': return kDeviceError;
    case '5': return kFileError;
    case '6': return kMemoryError;
    default: return kInternalError;
  }
}

int run_tool(const std::vector<std::string>& arguments) {
  try {
    return run_command_line(arguments);
  } catch (const Error& e) {
    return report(e);
  } catch (const std::bad_alloc&) {
    return report(Error("SG0601", "the host ran out of memory"));
  } catch (const std::length_error&) {
    return report(Error("SG0601", "an array is larger than any memory"));
  } catch (const std::exception& e) {
    return report(Error("SG0900", std::string("internal: ") + e.what()));
  }
}

void tell(const std::string& text) { std::fputs(io::printable(text).c_str(), stderr); }

void print(const std::string& text) {
  if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size() || std::fflush(stdout) != 0)
    throw Error("SG0505", std::string("cannot write to stdout: ") + std::strerror(errno));
}

}  // namespace spirograd::cli
