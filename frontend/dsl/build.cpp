#include "spirograd/build.h"

#include "frontend/dsl/tracer.h"

namespace spirograd::detail {
namespace {

std::string counted(int n, const char* thing) { return std::to_string(n) + " " + thing + (n == 1 ? "" : "s"); }

void check_extents(const Shape& extents, int body_indices) {
  if (extents.rank() != body_indices)
    throw Error("SG0101", "build: the shape " + to_string(extents) + " has " + counted(extents.rank(), "extent") +
                              ", the body takes " +
                              (body_indices == 1 ? "1 index" : std::to_string(body_indices) + " indices"));
  for (int64_t d : extents)
    if (d < 0) throw Error("SG0101", "build: negative extent in " + to_string(extents));
}

}  // namespace

std::vector<Array> build_over(const Shape& extents, int body_indices, const BuildBody& body, const Loc& loc) {
  Tracer* tracer = Tracer::current();
  if (!tracer) {
    Tracer::report_outside("build", loc);
    return {};
  }
  try {
    check_extents(extents, body_indices);
  } catch (const Error& error) {
    tracer->report(error, loc);
    return {};
  }
  std::vector<ir::Expr> vars;
  std::vector<Index> indices;
  for (int j = 0; j < extents.rank(); ++j) {
    vars.push_back(ir::fresh_var(tracer->nodes(), i32()));
    indices.push_back(Access::index(tracer->wrap(vars.back())));
  }
  const std::vector<Arg> results = body(indices);
  return operations("build", results, Numbers::Alone, loc, [&](ir::Graph&, std::span<const ir::Expr> in) {
    std::vector<ir::Expr> out(in.begin(), in.end());
    for (ir::Expr& e : out)
      for (int j = extents.rank() - 1; j >= 0; --j) e = ir::build(extents[j], vars[static_cast<size_t>(j)], e);
    return out;
  });
}

}  // namespace spirograd::detail
