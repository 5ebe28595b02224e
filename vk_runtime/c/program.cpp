// Programs from text and from bundles, their derivatives, and bundles out of them.
#include <algorithm>

#include "spirograd/bundle_file.h"
#include "spirograd/compile.h"
#include "spirograd/grad.h"
#include "spirograd/text.h"
#include "vk_runtime/c/call.h"
#include "vk_runtime/c/handles.h"

using namespace spirograd;
using namespace spirograd::c;

namespace {

sg_program* handle_of(Program program) {
  auto out = std::make_unique<sg_program>();
  out->name = program.name;
  out->inputs = program.params;
  for (const ProgramResult& r : program.results) out->outputs.push_back({r.name, r.type});
  out->program = std::move(program);
  return out.release();
}

Program instantiated(std::string text, std::string file, const text::FileLoader& load, const sg_text_options& o,
                     std::string_view function) {
  if (o.n_sizes > 0) given(o.sizes, function, "options->sizes");
  text::ShapeVariables sizes;
  for (size_t i = 0; i < o.n_sizes; ++i)
    sizes.emplace_back(text_of(o.sizes[i].name, function, "the name of a size"), o.sizes[i].extent);
  std::optional<DType> element;
  if (o.dtype != 0) element = element_of(o.dtype, function);
  const text::Module module = text::parse(std::move(text), std::move(file), load).value();
  return text::instantiate(module, text_of(o.function), sizes, nullptr, element).value();
}

void argument(const std::vector<Param>& all, size_t index, const char** name, sg_type* type, std::string_view function) {
  if (!name && !type) throw null_error(function, "what is asked for, name and type,");
  check_index(function, index, all.size());
  if (name) *name = all[index].name.c_str();
  if (type) *type = type_of(all[index].type);
}

}  // namespace

sg_status sg_program_from_text(const char* text, const sg_text_options* options, sg_program** out) {
  constexpr auto kHere = "sg_program_from_text";
  return call([&] {
    std::string source = text_of(text, kHere, "text");
    const sg_text_options o = options_of(options, kHere);
    auto& to = given(out, kHere, "out");
    to = handle_of(instantiated(std::move(source), o.file ? o.file : "text", {}, o, kHere));
  });
}

sg_status sg_program_from_file(const char* path, const sg_text_options* options, sg_program** out) {
  constexpr auto kHere = "sg_program_from_file";
  return call([&] {
    const std::string file = text_of(path, kHere, "path");
    const sg_text_options o = options_of(options, kHere);
    auto& to = given(out, kHere, "out");
    Result<std::string> source = text::read_file(file);
    if (!source) throw Error("SG0504", "cannot read '" + file + "': " + source.error().message).hint("give its whole path");
    to = handle_of(instantiated(*std::move(source), file, text::read_file, o, kHere));
  });
}

sg_status sg_program_from_bundle(const void* data, size_t bytes, const char* file, sg_program** out) {
  constexpr auto kHere = "sg_program_from_bundle";
  return call([&] {
    const auto* first = &given(static_cast<const uint8_t*>(data), kHere, "data");
    auto& to = given(out, kHere, "out");
    auto made = std::make_unique<sg_program>();
    made->bytes.assign(first, first + bytes);
    made->file = text_of(file);
    made->bundle = read_bundle(made->bytes, made->file).value();
    made->name = made->bundle->program;
    made->inputs = inputs_of(made->bundle->forms.front());
    made->outputs = outputs_of(made->bundle->forms.front());
    to = made.release();
  });
}

sg_status sg_program_derive(const sg_program* program, sg_derivative derivative, const char* const* names, size_t n_names,
                            sg_program** out) {
  constexpr auto kHere = "sg_program_derive";
  return call([&] {
    const sg_program& of = given(program, kHere, "program");
    if (n_names > 0) given(names, kHere, "names");
    auto& to = given(out, kHere, "out");
    std::vector<std::string> wrt;
    for (size_t i = 0; i < n_names; ++i) wrt.push_back(text_of(names[i], kHere, "one of the names"));
    if (!of.program)
      throw Error("SG0509", std::string(kHere) + ": '" + of.name + "' comes from a bundle, which has no derivatives")
          .hint("derive the program from its text, or write the bundle with --value-and-grad");
    switch (derivative) {
      case SG_GRAD: to = handle_of(grad(*of.program, wrt).value()); return;
      case SG_VALUE_AND_GRAD: to = handle_of(value_and_grad(*of.program, wrt).value()); return;
      case SG_VJP: to = handle_of(vjp(*of.program, wrt).value()); return;
      case SG_JVP: to = handle_of(jvp(*of.program, wrt).value()); return;
      default: break;
    }
    throw Error("SG0509", std::string(kHere) + ": " + std::to_string(derivative) + " is no derivative")
        .hint("SG_GRAD, SG_VALUE_AND_GRAD, SG_VJP or SG_JVP");
  });
}

sg_status sg_program_name(const sg_program* program, const char** out) {
  constexpr auto kHere = "sg_program_name";
  return call([&] { given(out, kHere, "out") = given(program, kHere, "program").name.c_str(); });
}

sg_status sg_program_input_count(const sg_program* program, size_t* out) {
  constexpr auto kHere = "sg_program_input_count";
  return call([&] { given(out, kHere, "out") = given(program, kHere, "program").inputs.size(); });
}

sg_status sg_program_output_count(const sg_program* program, size_t* out) {
  constexpr auto kHere = "sg_program_output_count";
  return call([&] { given(out, kHere, "out") = given(program, kHere, "program").outputs.size(); });
}

sg_status sg_program_input(const sg_program* program, size_t index, const char** name, sg_type* type) {
  constexpr auto kHere = "sg_program_input";
  return call([&] { argument(given(program, kHere, "program").inputs, index, name, type, kHere); });
}

sg_status sg_program_output(const sg_program* program, size_t index, const char** name, sg_type* type) {
  constexpr auto kHere = "sg_program_output";
  return call([&] { argument(given(program, kHere, "program").outputs, index, name, type, kHere); });
}

void sg_program_destroy(sg_program* program) { delete program; }

sg_status sg_program_save(const sg_program* program, const sg_device* device, const sg_compile_options* options,
                          sg_bytes** out) {
  constexpr auto kHere = "sg_program_save";
  return call([&] {
    const sg_program& p = given(program, kHere, "program");
    CompileOptions how;
    how.deterministic = options_of(options, kHere).deterministic != 0;
    auto& to = given(out, kHere, "out");
    if (p.program && device) how.choices = device->device->tuned();
    auto made = std::make_unique<sg_bytes>();
    const Target target = device ? device->device->target() : any_device();
    made->bytes = p.program ? save_bundle(p.name, compile_forms(*p.program, target, how).value()).value() : p.bytes;
    to = made.release();
  });
}

sg_status sg_bytes_get(const sg_bytes* bytes, const void** data, size_t* size) {
  constexpr auto kHere = "sg_bytes_get";
  return call([&] {
    const auto& from = given(bytes, kHere, "bytes").bytes;
    given(data, kHere, "data");
    given(size, kHere, "size") = from.size();
    *data = from.data();
  });
}

void sg_bytes_destroy(sg_bytes* bytes) { delete bytes; }
