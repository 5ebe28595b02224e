#include "ad/signature.h"

#include <algorithm>

#include "ad/scope.h"
#include "frontend/base/characters.h"
#include "frontend/base/near_name.h"
#include "frontend/ir/own_graph.h"
#include "frontend/rewrite/vectorise.h"

namespace spirograd::ad {

using ir::Expr;

namespace {

std::string names_of(const auto& list, bool (*wanted)(const Type&)) {
  std::string out;
  for (const auto& item : list)
    if (wanted(item.type)) out += (out.empty() ? "" : ", ") + in_quotes(item.name);
  return out.empty() ? "none" : out;
}
std::vector<std::string> list_of_names(const auto& list) {
  std::vector<std::string> names;
  for (const auto& item : list) names.push_back(item.name);
  return names;
}
bool any_type(const Type&) { return true; }
bool float_type(const Type& t) { return is_float(t.dtype); }

// The parameter of that name, or all that are floats in the struct of that name.
std::vector<size_t> slots_of(const Program& p, const std::string& name, const char* what) {
  std::vector<size_t> slots;
  bool is_struct = false;
  for (size_t j = 0; j < p.params.size(); ++j) {
    const Param& q = p.params[j];
    if (q.name == name) {
      if (!is_float(q.type.dtype))
        throw Error("SG0201", std::string(what) + ": " + in_quotes(name) + " is " + to_string(q.type) +
                                  " and cannot carry a derivative")
            .hint("differentiate with respect to float parameters (" + names_of(p.params, float_type) + "); " +
                  in_quotes(name) + " may stay an input");
      return {j};
    }
    if (!q.name.starts_with(name + ".")) continue;
    is_struct = true;
    if (is_float(q.type.dtype)) slots.push_back(j);
  }
  if (!slots.empty()) return slots;
  if (is_struct) throw Error("SG0201", std::string(what) + ": " + in_quotes(name) + " is a struct without floats");
  throw Error("SG0202", std::string(what) + ": there is no parameter " + in_quotes(name))
      .note("parameters: " + names_of(p.params, any_type))
      .hint(did_you_mean(name, list_of_names(p.params)));
}

}  // namespace

std::vector<size_t> resolve_wrt(const Program& p, const std::vector<std::string>& wrt, const char* what) {
  ir::require_made(p);
  std::vector<size_t> slots;
  for (size_t j = 0; wrt.empty() && j < p.params.size(); ++j)
    if (is_float(p.params[j].type.dtype)) slots.push_back(j);
  for (const std::string& name : wrt) {
    for (size_t slot : slots_of(p, name, what)) {
      if (std::find(slots.begin(), slots.end(), slot) != slots.end())
        throw Error("SG0206", std::string(what) + ": parameter " + in_quotes(p.params[slot].name) + " is named twice");
      slots.push_back(slot);
    }
  }
  if (slots.empty())
    throw Error("SG0201", std::string(what) + ": the program has no float parameter")
        .note("parameters: " + names_of(p.params, any_type));
  return slots;
}

size_t resolve_of(const Program& p, std::string_view of, const char* what) {
  const auto scalar_float = [](const ProgramResult& r) { return is_float(r.type.dtype) && r.type.shape.rank() == 0; };
  if (of.empty()) {
    const auto it = std::find_if(p.results.begin(), p.results.end(), scalar_float);
    if (it != p.results.end()) return static_cast<size_t>(it - p.results.begin());
    if (p.results.empty()) throw Error("SG0203", std::string(what) + ": the program has no result");
    of = p.results[0].name;
    for (const ProgramResult& r : p.results)
      if (is_float(r.type.dtype)) {
        of = r.name;
        break;
      }
  }
  const auto it = std::find_if(p.results.begin(), p.results.end(), [&](const ProgramResult& r) { return r.name == of; });
  if (it == p.results.end())
    throw Error("SG0203", std::string(what) + ": there is no result " + in_quotes(of))
        .note("results: " + names_of(p.results, any_type))
        .hint(did_you_mean(of, list_of_names(p.results)));
  if (!is_float(it->type.dtype))
    throw Error("SG0205",
                std::string(what) + ": result " + in_quotes(of) + " is " + to_string(it->type) + " and has no derivative");
  if (!scalar_float(*it))
    throw Error("SG0204", std::string(what) + ": result " + in_quotes(of) + " is " + to_string(it->type) + ", not a scalar")
        .hint("sum it to a scalar first, or use vjp with a cotangent of its shape");
  return static_cast<size_t>(it - p.results.begin());
}

Work::Work(const Program& program) : p(rewrite::vectorise(program)), graph(*ir::make_graph_private(p)) {
  out = p;
  out.results.clear();
  param_names.take(p.params);
}

std::vector<Expr> Work::inputs(const std::vector<size_t>& slots) {
  std::vector<Expr> list;
  for (size_t s : slots) list.push_back(ir::param(g(), static_cast<int64_t>(s), p.params[s].type));
  return list;
}

Expr Work::new_param(const char* prefix, const std::string& name, Type type) {
  out.params.push_back({param_names.fresh(prefix, name), type});
  return ir::param(g(), static_cast<int64_t>(out.params.size()) - 1, type);
}

void Work::new_result(const char* prefix, const std::string& name, Expr e, Type type) {
  const Expr full = or_zeros(g(), e, type);
  out.results.push_back({result_names.fresh(prefix, name), full.id.v, type});
}

}  // namespace spirograd::ad
