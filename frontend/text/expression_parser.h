// Expressions, from tokens to trees: precedence climbing over operators, recursive descent otherwise. A block is an
// expression, so its statements are here as well.
#pragma once

#include <vector>

#include "frontend/text/parser_base.h"

namespace spirograd::text {

class ExpressionParser : public ParserBase {
 public:
  using ParserBase::ParserBase;

 protected:
  const Ast* expression();
  const Ast* block();

 private:
  const Ast* pattern();
  const Ast* operators(int least);
  const Ast* prefix(int least);
  const Ast* postfix();
  void arguments(std::vector<const Ast*>& kids);
  const Ast* item();
  const Ast* primary();
  const Ast* parentheses();
  const Ast* array_literal();
  const Ast* if_expression();
  const Ast* for_expression();
  const Ast* fn_expression();
};

}  // namespace spirograd::text
