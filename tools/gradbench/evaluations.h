// What the suite asks for: a row for each evaluation says how its input becomes arguments of a program, and which
// definitions of the program answer which functions.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace spirograd::gradbench {

/// How a field of the input becomes an argument.
enum class Kind {
  Floats,      // numbers, nested as deep as the rank says
  Integers,    // the same, whole
  Truth,       // true or false
  Size,        // a whole number from 1: a shape variable
  PowerOfTwo,  // the same, 2 to that power
  Repeated,    // numbers of one rank less, as many times as another field says
  Positions,   // 0, 1, 2, .. modulo this field, as many as another field says
};

struct Field {
  std::string param;  // of the program: "data.points"
  std::string path;   // in the input: "data.points"; "": the input itself
  Kind kind = Kind::Floats;
  int rank = 0;
  std::string count = "";  // for Repeated and Positions: the field that says how many
  bool optional = false;   // missing or empty, it is no argument, and the definition is the plain one
};

/// How results become the output.
enum class Form {
  Nested,       // a number or nested lists; several results: an object by their names
  BaResiduals,  // ba repeats one observation, and wants it once, with its number
  BaJacobian,   // and of the rows of the sparse matrix those of the first observation, and the last element
};

struct Function {
  std::string name;         // "gradient"
  std::string definition;   // in the program: "gradient"
  std::string with_option;  // the one that takes the optional field
  Form form = Form::Nested;
};

struct Evaluation {
  std::string name;  // "gmm": of the module, and of the program
  std::vector<Field> fields;
  std::vector<Function> functions;
};

/// By name.
std::vector<Evaluation> evaluations();

/// The evaluation, or an Error that names all.
Evaluation evaluation(std::string_view name);
/// The function of an evaluation, or an Error that names all.
Function function(const Evaluation& e, std::string_view name);

}  // namespace spirograd::gradbench
