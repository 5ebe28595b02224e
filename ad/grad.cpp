// The public functions: names, checks and signatures around the two modes.
#include "spirograd/grad.h"

#include <algorithm>
#include <unordered_set>

#include "ad/scope.h"
#include "frontend/base/characters.h"
#include "frontend/base/near_name.h"
#include "frontend/ir/own_graph.h"
#include "frontend/rewrite/vectorise.h"

namespace spirograd {
namespace {

using ir::Expr;

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

// Slots of the parameters to differentiate by.
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

// Gives every new name its prefix, once more while it is taken.
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

// A vectorised program, its expressions, and the program that is being made of it.
struct Work {
  Program p, out;
  ir::Graph& graph;
  Names param_names, result_names;
  ir::Graph& g() { return graph; }

  explicit Work(const Program& program) : p(rewrite::vectorise(program)), graph(*ir::make_graph_private(p)) {
    out = p;
    out.results.clear();
    param_names.take(p.params);
  }
  Expr result(size_t j) { return {&graph, {p.results[j].node}}; }
  std::vector<Expr> inputs(const std::vector<size_t>& slots) {
    std::vector<Expr> list;
    for (size_t s : slots) list.push_back(ir::param(g(), static_cast<int64_t>(s), p.params[s].type));
    return list;
  }
  Expr new_param(const char* prefix, const std::string& name, Type type) {
    out.params.push_back({param_names.fresh(prefix, name), type});
    return ir::param(g(), static_cast<int64_t>(out.params.size()) - 1, type);
  }
  void old_result(size_t j, Expr e) { out.results.push_back({p.results[j].name, e.id.v, e.type()}); }
  void new_result(const char* prefix, const std::string& name, Expr e, Type type) {
    const Expr full = ad::or_zeros(g(), e, type);
    out.results.push_back({result_names.fresh(prefix, name), full.id.v, type});
  }
};

// Of tangents and cotangents that the user gives: zeros in them are numbers like others.
std::vector<ad::Zeros> plain_zeros(size_t n) { return std::vector<ad::Zeros>(n, ad::Zeros::None); }

Program reverse_of_scalar(const Program& program, const std::vector<std::string>& wrt, std::string_view of, bool with_value,
                          const char* what) {
  const std::vector<size_t> slots = resolve_wrt(program, wrt, what);
  const size_t target = resolve_of(program, of, what);
  Work work(program);
  const Expr root = work.result(target), one = ir::full(work.g(), root.type(), 1);
  std::vector<Expr> others;
  if (with_value)
    for (size_t j = 0; j < work.p.results.size(); ++j) others.push_back(work.result(j));
  const ad::Derivative d = ad::pull_back(work.g(), {&root, 1}, work.inputs(slots), {&one, 1}, plain_zeros(1), others);
  for (size_t j = 0; j < others.size(); ++j) work.old_result(j, j == target ? d.primal[0] : d.others[j]);
  if (with_value) work.result_names.take(work.p.results);
  for (size_t j = 0; j < slots.size(); ++j)
    work.new_result("d_", work.p.params[slots[j]].name, d.linear[j], work.p.params[slots[j]].type);
  return std::move(work.out);
}

}  // namespace

Result<std::vector<size_t>> differentiated(const Program& program, const std::vector<std::string>& wrt) {
  return guarded([&] { return resolve_wrt(program, wrt, "derivative"); });
}

Result<size_t> differentiated_result(const Program& program, std::string_view of) {
  return guarded([&] { return resolve_of(program, of, "derivative"); });
}

Result<Program> grad(const Program& program, const std::vector<std::string>& wrt, std::string_view of) {
  return guarded([&] { return reverse_of_scalar(program, wrt, of, false, "grad"); });
}

Result<Program> value_and_grad(const Program& program, const std::vector<std::string>& wrt, std::string_view of) {
  return guarded([&] { return reverse_of_scalar(program, wrt, of, true, "value_and_grad"); });
}

Result<Program> vjp(const Program& program, const std::vector<std::string>& wrt) {
  return guarded([&] {
    const std::vector<size_t> slots = resolve_wrt(program, wrt, "vjp");
    Work work(program);
    std::vector<Expr> roots, cts, others;
    std::vector<size_t> place;
    for (size_t j = 0; j < work.p.results.size(); ++j) {
      const ProgramResult& r = work.p.results[j];
      const bool is_root = is_float(r.type.dtype);
      place.push_back(is_root ? roots.size() : others.size());
      (is_root ? roots : others).push_back(work.result(j));
      if (is_root) cts.push_back(work.new_param("ct_", r.name, r.type));
    }
    const ad::Derivative d = ad::pull_back(work.g(), roots, work.inputs(slots), cts, plain_zeros(roots.size()), others);
    for (size_t j = 0; j < place.size(); ++j)
      work.old_result(j, is_float(work.p.results[j].type.dtype) ? d.primal[place[j]] : d.others[place[j]]);
    work.result_names.take(work.p.results);
    for (size_t j = 0; j < slots.size(); ++j)
      work.new_result("d_", work.p.params[slots[j]].name, d.linear[j], work.p.params[slots[j]].type);
    return std::move(work.out);
  });
}

Result<Program> jvp(const Program& program, const std::vector<std::string>& wrt) {
  return guarded([&] {
    const std::vector<size_t> slots = resolve_wrt(program, wrt, "jvp");
    Work work(program);
    std::vector<Expr> roots, dots;
    for (size_t j = 0; j < work.p.results.size(); ++j) roots.push_back(work.result(j));
    for (size_t s : slots) dots.push_back(work.new_param("dot_", work.p.params[s].name, work.p.params[s].type));
    const ad::Derivative d = ad::push_forward(work.g(), roots, work.inputs(slots), dots, plain_zeros(slots.size()));
    for (size_t j = 0; j < roots.size(); ++j) work.old_result(j, d.primal[j]);
    work.result_names.take(work.p.results);
    for (size_t j = 0; j < roots.size(); ++j) {
      const ProgramResult& r = work.p.results[j];
      if (is_float(r.type.dtype)) work.new_result("dot_", r.name, d.linear[j], r.type);
    }
    return std::move(work.out);
  });
}

}  // namespace spirograd
