// The public functions: names and checks around the two modes.
#include "spirograd/grad.h"

#include "ad/scope.h"
#include "ad/signature.h"

namespace spirograd {
namespace {

using ad::resolve_of;
using ad::resolve_wrt;
using ad::Work;
using ir::Expr;

// Of tangents and cotangents that the user gives: zeros in them are numbers like others.
std::vector<ad::Zeros> plain_zeros(size_t n) { return std::vector<ad::Zeros>(n, ad::Zeros::None); }

Program reverse_of_scalar(const Program& program, const std::vector<std::string>& wrt, std::string_view of, bool with_value,
                          const char* what) {
  const std::vector<size_t> slots = resolve_wrt(program, wrt, what);
  const size_t target = resolve_of(program, of, what);
  Work work(program);
  const Expr root = work.result(target), one = ir::full(work.g(), computed_as(root.type()), 1);
  std::vector<Expr> others;
  if (with_value)
    for (size_t j = 0; j < work.p.results.size(); ++j) others.push_back(work.result(j));
  const ad::Derivative d = ad::pull_back(work.g(), {&root, 1}, work.inputs(slots), {&one, 1}, plain_zeros(1), others);
  for (size_t j = 0; j < others.size(); ++j) work.old_result(j, j == target ? d.primal[0] : d.others[j]);
  if (with_value) work.result_names.take(work.p.results);
  for (size_t j = 0; j < slots.size(); ++j)
    work.new_result("d_", work.p.params[slots[j]].name, d.linear[j], computed_as(work.p.params[slots[j]].type));
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
      if (is_root) cts.push_back(work.new_param("ct_", r.name, computed_as(r.type)));
    }
    const ad::Derivative d = ad::pull_back(work.g(), roots, work.inputs(slots), cts, plain_zeros(roots.size()), others);
    for (size_t j = 0; j < place.size(); ++j)
      work.old_result(j, is_float(work.p.results[j].type.dtype) ? d.primal[place[j]] : d.others[place[j]]);
    work.result_names.take(work.p.results);
    for (size_t j = 0; j < slots.size(); ++j)
      work.new_result("d_", work.p.params[slots[j]].name, d.linear[j], computed_as(work.p.params[slots[j]].type));
    return std::move(work.out);
  });
}

Result<Program> jvp(const Program& program, const std::vector<std::string>& wrt) {
  return guarded([&] {
    const std::vector<size_t> slots = resolve_wrt(program, wrt, "jvp");
    Work work(program);
    std::vector<Expr> roots, dots;
    for (size_t j = 0; j < work.p.results.size(); ++j) roots.push_back(work.result(j));
    for (size_t s : slots) dots.push_back(work.new_param("dot_", work.p.params[s].name, computed_as(work.p.params[s].type)));
    const ad::Derivative d = ad::push_forward(work.g(), roots, work.inputs(slots), dots, plain_zeros(slots.size()));
    for (size_t j = 0; j < roots.size(); ++j) work.old_result(j, d.primal[j]);
    work.result_names.take(work.p.results);
    for (size_t j = 0; j < roots.size(); ++j) {
      const ProgramResult& r = work.p.results[j];
      if (is_float(r.type.dtype)) work.new_result("dot_", r.name, d.linear[j], computed_as(r.type));
    }
    return std::move(work.out);
  });
}

}  // namespace spirograd
