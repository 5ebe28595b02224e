// Prints all rewrite rules as Markdown, for docs/rules.md.
#include <cstdio>
#include <string>

#include "frontend/rewrite/build_rules.h"
#include "frontend/rewrite/index_rules.h"
#include "frontend/rewrite/simplify.h"

namespace {

// Examples are whole programs; the head of the first says what the names are.
template <class Rules>
void print_rules(const Rules& rules) {
  std::printf("| rule | before | after |\n|---|---|---|\n");
  for (const auto& r : rules) {
    const std::string_view head = "def main";
    const std::string before(r.before.substr(head.size())), after(r.after.substr(r.after.find(" = ") + 3));
    std::printf("| %s | `%s` | `%s` |\n", std::string(r.name).c_str(), before.c_str(), after.c_str());
  }
}

}  // namespace

int main() {
  std::printf("## Build rules\n\n");
  std::printf("In this order; the first that applies to the body removes the build, or moves it inwards.\n\n");
  print_rules(spirograd::rewrite::build_rules());
  std::printf("\n## Index rules\n\nHow reading one element moves into the array that is read.\n\n");
  print_rules(spirograd::rewrite::index_rules());
  std::printf("\n## Rules of simplification\n\n%s", spirograd::rewrite::rules_markdown().c_str());
}
