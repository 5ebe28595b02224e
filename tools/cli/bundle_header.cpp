#include "tools/cli/bundle_header.h"

#include <algorithm>
#include <cctype>
#include <cstdio>

#include "tools/io/table.h"

namespace spirograd::cli {
namespace {

constexpr std::string_view kTaken[] = {
    "alignas", "alignof", "and", "and_eq", "asm", "auto", "bitand", "bitor", "bool", "break", "case", "catch", "char",
    "char16_t", "char32_t", "char8_t", "class", "co_await", "co_return", "co_yield", "compl", "concept", "const",
    "const_cast", "consteval", "constexpr", "constinit", "continue", "decltype", "default", "delete", "do", "double",
    "dynamic_cast", "else", "enum", "explicit", "export", "extern", "false", "float", "for", "friend", "goto", "if",
    "inline", "int", "long", "mutable", "namespace", "new", "noexcept", "not", "not_eq", "nullptr", "operator", "or",
    "or_eq", "private", "protected", "public", "register", "reinterpret_cast", "requires", "return", "short", "signed",
    "sizeof", "static", "static_assert", "static_cast", "struct", "switch", "template", "this", "thread_local", "throw",
    "true", "try", "typedef", "typeid", "typename", "union", "unsigned", "using", "virtual", "void", "volatile", "wchar_t",
    "while", "xor", "xor_eq",
    // Names of the header itself, and of what it includes.
    "main", "std", "spirograd", "Inputs", "Outputs", "Function", "kChecksum"};

std::string identifier(const std::string& name, const std::vector<std::string>& others = {}) {
  std::string out;
  for (const char c : name) out += std::isalnum(static_cast<unsigned char>(c)) ? c : '_';
  // No name of the implementation: those begin with an underscore or hold two in a row.
  for (size_t at; (at = out.find("__")) != std::string::npos;) out.erase(at, 1);
  if (out.empty() || !std::isalpha(static_cast<unsigned char>(out[0]))) out = "a" + out;
  const auto taken = [&](const std::string& word) {
    return std::find(std::begin(kTaken), std::end(kTaken), word) != std::end(kTaken) ||
           std::find(others.begin(), others.end(), word) != others.end();
  };
  if (!taken(out)) return out;
  if (!out.ends_with("_") && !taken(out + "_")) return out + "_";
  for (int k = 2;; ++k)
    if (const std::string next = out + (out.ends_with("_") ? "" : "_") + std::to_string(k); !taken(next)) return next;
}

std::string element(DType t) {
  switch (t) {
    case DType::Bool: return "bool";
    case DType::I32: return "int32_t";
    case DType::U32: return "uint32_t";
    case DType::F32: return "float";
    case DType::F64: return "double";
    case DType::F16: return "spirograd::Half";
  }
  return "";
}
// As a HostArray gives it back: a list of bools has no place for references.
std::string stored(DType t) { return t == DType::Bool ? "uint8_t" : element(t); }

struct Argument {
  std::string field;  // its name in C++
  std::string name;   // in the program
  Type type;
  bool is_scalar() const { return type.shape.rank() == 0; }
};

std::vector<Argument> arguments(const Executable& e, uint32_t first, uint32_t n) {
  std::vector<Argument> out;
  std::vector<std::string> fields;
  for (uint32_t i = first; i < first + n; ++i) {
    fields.push_back(identifier(e.buffers[i].name, fields));
    out.push_back({fields.back(), e.buffers[i].name, e.buffers[i].type});
  }
  return out;
}

std::string struct_text(const char* name, const std::vector<Argument>& all, bool inputs) {
  std::string out = std::string("struct ") + name + " {\n";
  for (const Argument& a : all) {
    const std::string list =
        inputs ? "std::span<const " + element(a.type.dtype) + ", " + std::to_string(a.type.shape.count()) + ">"
               : "std::vector<" + stored(a.type.dtype) + ">";
    out += "  " + (a.is_scalar() ? element(a.type.dtype) : list) + " " + a.field + (a.is_scalar() ? " = {};" : ";") +
           "  // " + io::printable(a.name) + ": " + to_string(a.type) + "\n";
  }
  return out + "};\n\n";
}

std::string shape_text(const Shape& s) {
  std::string out;
  for (int64_t d : s) out += (out.empty() ? "" : ", ") + std::to_string(d);
  return "spirograd::Shape{" + out + "}";
}

std::string given_text(const Argument& a) {
  const std::string t = element(a.type.dtype);
  return "    inputs.push_back(spirograd::HostArray::of<" + t + ">(" + shape_text(a.type.shape) + ", std::span<const " + t +
         ">(" + (a.is_scalar() ? "&in." + a.field + ", 1" : "in." + a.field) + ")).value());\n";
}

std::string taken_text(const Argument& a, size_t j) {
  const std::string values = "(*results)[" + std::to_string(j) + "].as<" + stored(a.type.dtype) + ">().value()";
  if (a.is_scalar())
    return "    out." + a.field + " = " + values + "[0]" + (a.type.dtype == DType::Bool ? " != 0" : "") + ";\n";
  return "    const auto values" + std::to_string(j) + " = " + values + ";\n    out." + a.field + ".assign(values" +
         std::to_string(j) + ".begin(), values" + std::to_string(j) + ".end());\n";
}

constexpr const char* kHead = R"(#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <spirograd/bundle_file.h>
#include <spirograd/vk.h>
#include <utility>
#include <vector>

)";

constexpr const char* kLoad = R"(class Function {
 public:
  /// Errors: SG0501 not this bundle; SG0303 what the device lacks; those of Session::create.
  static spirograd::Result<Function> load(const std::shared_ptr<spirograd::vk::Device>& device,
                                         std::span<const uint8_t> bundle) {
    auto read = spirograd::read_bundle(bundle);
    if (!read) return read.error();
    if (read->checksum != kChecksum)
      return spirograd::Error("SG0501",
                              "this bundle of '" + read->program + "' is not the one that its header was made with")
          .hint("write both at once: spirograd compile FILE.sg -o FILE.sgb --header FILE.h");
    const auto executable = spirograd::form_for(*std::move(read), device->target(), device->preferred_form());
    if (!executable) return executable.error();
    auto session = spirograd::vk::Session::create(device, *executable);
    if (!session) return session.error();
    return Function(*std::move(session));
  }
)";

}  // namespace

std::string header_text(const Bundle& bundle) {
  const Executable& e = bundle.forms[0];
  const std::vector<Argument> inputs = arguments(e, 0, e.n_inputs), outputs = arguments(e, e.n_inputs, e.n_outputs);
  const std::string space = identifier(bundle.program);
  char checksum[24];
  std::snprintf(checksum, sizeof checksum, "0x%016llxu", static_cast<unsigned long long>(bundle.checksum));
  std::string out = "// What the bundle of '" + io::printable(bundle.program) +
                    "' takes and gives. Made with it by `spirograd compile`: neither fits another.\n" + kHead;
  out += "namespace " + space + " {\n\ninline constexpr uint64_t kChecksum = " + checksum + ";\n\n";
  out += struct_text("Inputs", inputs, true) + struct_text("Outputs", outputs, false) + kLoad;
  out += std::string("  /// Errors: those of Session::run.\n  spirograd::Result<Outputs> operator()(") +
         (inputs.empty() ? "const Inputs& = {}" : "const Inputs& in") +
         ") {\n    std::vector<spirograd::HostArray> inputs;\n";
  for (const Argument& a : inputs) out += given_text(a);
  out += "    const auto results = session->run(inputs);\n    if (!results) return results.error();\n    Outputs out;\n";
  for (size_t j = 0; j < outputs.size(); ++j) out += taken_text(outputs[j], j);
  out +=
      "    return out;\n  }\n\n  std::unique_ptr<spirograd::vk::Session> session;  // for arrays that stay on the "
      "device\n\n";
  out +=
      " private:\n  explicit Function(std::unique_ptr<spirograd::vk::Session> made) : session(std::move(made)) {}\n};\n\n";
  return out + "}  // namespace " + space + "\n";
}

}  // namespace spirograd::cli
