// Types, from tokens to syntax. Names in extents are shape variables, or constants, which are told from them here.
#pragma once

#include <vector>

#include "frontend/text/expression_parser.h"

namespace spirograd::text {

class TypeParser : public ExpressionParser {
 public:
  using ExpressionParser::ExpressionParser;

 protected:
  TypeSyntax type();
  /// The type of a field where `use` gives the struct's sizes.
  TypeSyntax with_sizes(const TypeSyntax& field, const TypeSyntax& use);
  /// A type parameter is nothing else in its definition: no size, no parameter.
  void check_type_parameters(const DefSyntax& def);

  std::vector<std::string_view> sizes_;  // of the struct that is read: they hide constants

 private:
  const Ast* with_sizes(const Ast* extent, const TypeSyntax& use);
  const Ast* with_constants(const Ast* extent);
};

}  // namespace spirograd::text
