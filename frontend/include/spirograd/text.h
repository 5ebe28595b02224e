// The text language (.sg): source -> module -> program for given input types, and any program -> source.
//
// print() writes every node as one `let`; parsing that text and instantiating it gives the same nodes again. Errors carry
// file, line, column and the quoted line. docs/language.md describes the language.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "spirograd/program.h"
#include "spirograd/result.h"

namespace spirograd::text {

struct NamedType {
  std::string name;
  Type type;
};

using ShapeVariables = std::vector<std::pair<std::string, int64_t>>;

/// A parameter as it was declared: {"mu", "f32[K,D]", ""}, {"x", "T[N]", "T"}.
struct DeclaredParam {
  std::string name, type;
  std::string type_parameter = "";  // what is written for the element type, or ""
};

struct Signature {
  std::string name;
  std::vector<DeclaredParam> params;
  std::string results;                       // as declared, "" if not
  std::vector<std::string> type_parameters;  // {"T"}: element types that a call or --dtype decides on
  std::string str() const;                   // "gmm(alpha: f32[K], mu: f32[K,D]) -> f32"
};

struct SourceFile {
  std::string name, text;
};

/// A parsed source file. Value type; copies share the syntax tree.
class Module {
 public:
  /// Those that the file itself defines, in the order of the source.
  std::vector<Signature> functions() const;
  /// The file, then those that it imports, each once.
  std::vector<SourceFile> files() const;

  struct State;
  explicit Module(std::shared_ptr<const State> state) : state_(std::move(state)) {}
  const State& state() const { return *state_; }

 private:
  std::shared_ptr<const State> state_;
};

/// The text of a file that is imported. `path`: as it is written, from the folder of the importing file on. The message of
/// an error says what is wrong with the file.
using FileLoader = std::function<Result<std::string>(const std::string& path)>;
/// A loader that reads regular files.
Result<std::string> read_file(const std::string& path);

/// The element type for what has none of its own, a list or a number as it is typed: the declared one. Of a type parameter,
/// that of an input with the same one; nothing if no input has it.
std::optional<DType> element_type(const Signature& function, const DeclaredParam& param, std::span<const NamedType> inputs);

/// Checks the syntax; names and types are checked by instantiate(), where shapes are known. Without `load`, a file imports
/// libraries only.
Result<Module> parse(std::string source, std::string file_name, const FileLoader& load = {});

/// The program of `function` ("": the last one) for inputs of the given types, which are matched by name in any order. Shape
/// variables and type parameters bind from the inputs; `shapes` and `element` give those that no input shows. `graph`: where
/// the nodes go, null for a new one. What is nested to the limit (SG0406) takes 3 MiB of stack, up to 8 in debug builds.
Result<Program> instantiate(const Module& module, std::string_view function, std::span<const NamedType> inputs,
                            const ShapeVariables& shapes = {}, std::shared_ptr<ir::Graph> graph = nullptr,
                            std::optional<DType> element = std::nullopt);

/// The same from the declared parameter types alone. An error (SG0105, SG0106) if a variable in them is not given.
Result<Program> instantiate(const Module& module, std::string_view function = "", const ShapeVariables& shapes = {},
                            std::shared_ptr<ir::Graph> graph = nullptr, std::optional<DType> element = std::nullopt);

/// Whether all parameter types of `function` are fixed, so that instantiate() needs no inputs.
bool has_fixed_types(const Module& module, std::string_view function = "");

/// Source text of a program: one `def` per loop body, then the program itself. Depends on structure only. An empty program
/// has no text.
std::string print(const Program& program);

/// Names of all built-in operations, sorted; for messages and completion.
std::vector<std::string> operation_names();

}  // namespace spirograd::text
