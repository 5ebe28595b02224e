// The parameters and results of derivatives: what they are taken by, and what new ones are called.
#pragma once

#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "frontend/ir/algebra.h"
#include "spirograd/program.h"

namespace spirograd::ad {

/// Slots of the parameters to differentiate by, at least one; `what` for messages. SG0201, SG0202, SG0206.
std::vector<size_t> resolve_wrt(const Program& p, const std::vector<std::string>& wrt, const char* what);

/// The place of the scalar float result that `of` means. SG0203 to SG0205.
size_t resolve_of(const Program& p, std::string_view of, const char* what);

/// Gives every new name its prefix, once more while it is taken.
class Names {
 public:
  void take(const auto& list) {
    for (const auto& item : list) taken_.insert(item.name);
  }
  std::string fresh(const char* prefix, std::string name) {
    do name = prefix + name;
    while (!taken_.insert(name).second);
    return name;
  }

 private:
  std::unordered_set<std::string> taken_;
};

/// A vectorised program, its expressions, and the program that is being made of it.
struct Work {
  Program p, out;
  ir::Graph& graph;
  Names param_names, result_names;
  ir::Graph& g() { return graph; }

  explicit Work(const Program& program);
  ir::Expr result(size_t j) { return {&graph, {p.results[j].node}}; }
  std::vector<ir::Expr> inputs(const std::vector<size_t>& slots);
  ir::Expr new_param(const char* prefix, const std::string& name, Type type);
  void old_result(size_t j, ir::Expr e) { out.results.push_back({p.results[j].name, e.id.v, e.type()}); }
  /// Zeros of that type where `e` is empty.
  void new_result(const char* prefix, const std::string& name, ir::Expr e, Type type);
};

}  // namespace spirograd::ad
