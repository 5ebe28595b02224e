// Programs from text and from bundles, their derivatives, and bundles out of them.
#include <algorithm>

#include "spirograd/bundle_file.h"
#include "spirograd/compile.h"
#include "spirograd/grad.h"
#include "spirograd/split.h"
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

// What the caller leaves open: names, which are those of the parameters in order, and element types.
std::vector<text::NamedType> inputs_of(const text::Signature& to, const sg_text_options& o, std::optional<DType> element,
                                       std::string_view function) {
  std::vector<text::NamedType> typed, open;
  for (size_t i = 0; i < o.n_inputs; ++i) {
    sg_named_type in = o.inputs[i];
    if (!in.name && i >= to.params.size())
      throw Error("SG0503", std::string(function) + ": '" + to.name + "' has no parameter " + std::to_string(i + 1) +
                                " for the input without a name")
          .note(to.str())
          .hint("inputs that are no parameters of the text, as tangents, are given when the program runs");
    std::string name = in.name ? in.name : to.params[i].name;
    auto& list = in.type.dtype == 0 ? open : typed;
    if (in.type.dtype == 0) in.type.dtype = SG_F32;
    list.push_back({std::move(name), type_of(&in.type, function)});
  }
  std::vector<text::NamedType> all = typed;
  for (text::NamedType& in : open) {
    const auto is_it = [&](const text::DeclaredParam& p) { return p.name == in.name; };
    if (const auto p = std::find_if(to.params.begin(), to.params.end(), is_it); p != to.params.end()) {
      if (!p->type_parameter.empty() && element)
        in.type.dtype = *element;
      else if (const auto found = text::element_type(to, *p, typed))
        in.type.dtype = *found;
      else
        throw Error("SG0106", "input '" + p->name + "' is declared " + p->type + ", and no input says what " +
                                  p->type_parameter + " stands for")
            .hint("give an array that has an element type, or choose it: dtype in the options");
    }
    all.push_back(std::move(in));
  }
  return all;
}

Program instantiated(std::string text, std::string file, const text::FileLoader& load, const sg_text_options& o,
                     std::string_view function) {
  if (o.n_sizes > 0) given(o.sizes, function, "options->sizes");
  if (o.n_inputs > 0) given(o.inputs, function, "options->inputs");
  text::ShapeVariables sizes;
  for (size_t i = 0; i < o.n_sizes; ++i)
    sizes.emplace_back(text_of(o.sizes[i].name, function, "the name of a size"), o.sizes[i].extent);
  std::optional<DType> element;
  if (o.dtype != 0) element = element_of(o.dtype, function);
  const text::Module module = text::parse(std::move(text), std::move(file), load).value();
  const std::string name = text_of(o.function);
  const std::vector<text::Signature> all = module.functions();
  const auto is_it = [&](const text::Signature& s) { return name.empty() || s.name == name; };
  const auto signature = std::find_if(all.rbegin(), all.rend(), is_it);
  if (!o.inputs || signature == all.rend()) return text::instantiate(module, name, sizes, nullptr, element).value();
  const std::vector<text::NamedType> inputs = inputs_of(*signature, o, element, function);
  return text::instantiate(module, name, inputs, sizes, nullptr, element).value();
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
      case SG_SPLIT_FORWARD: to = handle_of(split(*of.program, wrt).value().forward); return;
      case SG_SPLIT_BACKWARD: to = handle_of(split(*of.program, wrt).value().backward); return;
      default: break;
    }
    throw Error("SG0509", std::string(kHere) + ": " + std::to_string(derivative) + " is no derivative")
        .hint("SG_GRAD, SG_VALUE_AND_GRAD, SG_VJP, SG_JVP, SG_SPLIT_FORWARD or SG_SPLIT_BACKWARD");
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
