// spirograd explain: what an error code means and what to do. Codes are stable; each that the tool can print stands here.
#include <algorithm>
#include <nlohmann/json.hpp>

#include "frontend/base/near_name.h"
#include "tools/cli/outputs.h"
#include "tools/cli/tool.h"
#include "tools/io/table.h"

namespace spirograd::cli {
namespace {

struct Entry {
  const char* code;
  const char* what;
  const char* help;
};

constexpr Entry kEntries[] = {
    {"SG0101", "an operation got an array of the wrong shape",
     "shapes broadcast from the right as in NumPy: extents are equal or 1"},
    {"SG0102", "an operation got an array of the wrong element type",
     "element types never convert by themselves: write f32(x), i32(x), .."},
    {"SG0103", "the type of an input or result is not the declared one",
     "compare the declaration with the shape and element type of the file"},
    {"SG0104", "a shape variable stands for two extents, or an array has too many axes",
     "inputs that share a variable, as in x: f32[N], y: f32[N], agree in that extent"},
    {"SG0105", "a shape is not known or not a whole number", "give the variable: N=5, or an input that shows it"},
    {"SG0106", "a type parameter stands for no element type, or for two",
     "choose it: --dtype f64, or an input that shows it; convert an argument: f64(x)"},
    {"SG0201", "an integer or bool parameter cannot be differentiated by", "name float parameters in --wrt"},
    {"SG0202", "--wrt names no parameter", "the note lists the parameters"},
    {"SG0203", "--of names no result", "the note lists the results"},
    {"SG0204", "a gradient needs a scalar result", "sum the result, name a scalar with --of, or use --jvp"},
    {"SG0205", "an integer or bool result has no derivative", "name a float result with --of"},
    {"SG0206", "a parameter stands twice in --wrt", "name it once"},
    {"SG0207", "a derivative that custom_jvp gives is not linear in its tangents",
     "multiply tangents by what the arguments give, add them up, choose by conditions on the arguments"},
    {"SG0208", "a derivative that custom_vjp gives is not linear in the cotangent: there is no forward mode",
     "give it by custom_jvp, which serves both modes, or differentiate in reverse mode: grad, vjp"},
    {"SG0209", "what fit minimises becomes NaN, infinite, or passes --bound",
     "smaller steps: --rate, or other inputs to start from"},
    {"SG0301", "there is no Vulkan loader",
     "install it: libvulkan1 of Debian, vulkan-loader of Homebrew; on Windows graphics drivers bring it"},
    {"SG0302", "the loader finds no driver",
     "install that of the device's maker, or one that runs on any processor: mesa-vulkan-drivers of Debian"},
    {"SG0303", "the device lacks what the program needs",
     "the message names the limit; choose another device: spirograd devices -v"},
    {"SG0304", "no device has that name or number", "spirograd devices lists them"},
    {"SG0305", "a Vulkan call failed, or a loop is too large to record",
     "the message names the call; a driver update may help"},
    {"SG0306", "a schedule is malformed, or not legal", "the message names the rule that it breaks"},
    {"SG0307", "this build has no SPIRV-Tools", "build Spirograd with the CMake option SPIROGRAD_SPIRV_TOOLS=ON"},
    {"SG0308", "a kernel of one's own is none, or does not fit its call",
     "docs/own-kernels.md says what a module has to be"},
    {"SG0310", "the device was lost while it worked", "it may have been reset by the system; run again, or use fewer steps"},
    {"SG0311", "a device was used in a process forked from the one that made it",
     "the driver's threads exist only there: fork before the first device, or start a new program"},
    {"SG0312", "the device is not done in the time that it was given", "give it more, or a smaller problem"},
    {"SG0401", "the text of a program is malformed", "the caret points at the place"},
    {"SG0402", "a name is unknown, or stands twice", "names are defined by parameters and let, before their use"},
    {"SG0403", "an operation or function is unknown", "the help names the nearest; docs/language.md lists all operations"},
    {"SG0404", "a call has the wrong arguments", "docs/language.md shows each operation's arguments"},
    {"SG0405", "a function calls itself or a later one",
     "functions call functions defined above them; loops replace recursion"},
    {"SG0406", "expressions are nested too deep", "name parts with let"},
    {"SG0407", "a number is malformed or too large", "integers are 32 bits wide; 2.0d is an f64 literal"},
    {"SG0408", "a parameter, result or function stands twice",
     "rename one, or import the other file under a name: import \"f.sg\" as m"},
    {"SG0409", "what a let outside of all functions holds is not constant", "numbers and arrays are; a function is a def"},
    {"SG0410", "an import cannot be followed",
     "paths are relative to the importing file; docs/library.md lists the libraries; files do not import each other"},
    {"SG0501", "a file is not what its name says, or an array does not fit",
     "copy or save the file again; the message says what is wrong in it"},
    {"SG0502", "an input is missing", "give it: name=file.npy, name=3.5, name=zeros:4xf32"},
    {"SG0503", "an input names nothing, or is given twice", "the help names the nearest parameter"},
    {"SG0504", "a file cannot be read", "the message has the reason of the system"},
    {"SG0505", "an output cannot be written", "nothing was written: outputs appear together or not at all"},
    {"SG0506", "the value of an input is malformed",
     "forms: a.npy, a.npz:member, a.csv, a.png, a.exr, a.idx, a.safetensors:name, 3.5, [1,2], zeros:64x64xf32, ones:.., "
     "iota:.., random:SEED:.."},
    {"SG0507", "a file has another element type than the program wants",
     "--cast converts; values that do not fit stay an error"},
    {"SG0508", "-o names no result, or a format that does not take it",
     "the note lists the results; .npy takes every array"},
    {"SG0509", "a call of the C interface has a NULL, or a number that names nothing",
     "the message names the parameter; <spirograd/spirograd.h> says what it takes"},
    {"SG0510", "a checkpoint belongs to another fit",
     "resume with the program, inputs and options that it was written with"},
    {"SG0511", "work cannot be shared among devices as it was asked for",
     "cut inputs along the axis of the data; results are sums or means over it, or concatenated"},
    {"SG0512", "MPI refuses a call, or a process of the job has ended",
     "see what the ranks printed; docs/several-devices.md tells how a job is started"},
    {"SG0601", "memory does not suffice", "use smaller inputs, or a device with more memory"},
    {"SG0602", "a kernel grows too large to compile", "compute fewer different elements of one array in one expression"},
    {"SG0603", "the program grows too large", "compute what is used twice once, with let; loops replace repetition"},
    {"SG0900", "a defect of Spirograd", "please report it, with the program and the inputs"},
    {"SG0901", "a defect of Spirograd", "please report it, with the program"},
    {"SG0902", "a kernel reads or writes outside of its arrays: a defect of Spirograd",
     "please report it, with the program"},
    {"SG0903", "SPIRV-Tools rejects a kernel: a defect of Spirograd", "please report it, with the program"},
};

std::vector<std::string> all_codes() {
  std::vector<std::string> out;
  for (const Entry& e : kEntries) out.push_back(e.code);
  return out;
}

int explain(const Options& options) {
  if (options.positional().size() > 1) throw usage_error("'explain' takes one code");
  const bool json = options.has("--json");
  if (options.positional().empty()) {
    io::Table table({"", ""});
    nlohmann::json all = nlohmann::json::object();
    for (const Entry& e : kEntries) {
      table.add({e.code, e.what});
      all[e.code] = {{"what", e.what}, {"help", e.help}};
    }
    if (json)
      print_json(all);
    else
      print(table.str());
    return kOk;
  }
  std::string code = options.positional()[0];
  std::transform(code.begin(), code.end(), code.begin(), [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  const auto it = std::find_if(std::begin(kEntries), std::end(kEntries), [&](const Entry& e) { return code == e.code; });
  if (it == std::end(kEntries))
    throw usage_error("there is no error code '" + options.positional()[0] + "'").hint(did_you_mean(code, all_codes()));
  if (json)
    print_json({{"code", it->code}, {"what", it->what}, {"help", it->help}});
  else
    print(code + ": " + it->what + "\nhelp: " + it->help + "\n");
  return kOk;
}

}  // namespace

Command explain_command() {
  return {"explain",       "tell what an error code means",
          "[CODE]",        {"Without a code: all of them."},
          {json_option()}, {"spirograd explain SG0204", "spirograd explain"},
          explain,         ""};
}

}  // namespace spirograd::cli
