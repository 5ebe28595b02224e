// The programs D01 to D31 through the C++ surface.
#include "tests/conformance/programs.h"

namespace spirograd::conformance {
namespace {

/// i + 1 as a real number.
Array weight(Index i, Array like) { return cast(i + 1, like.dtype()); }

}  // namespace

void add_derived_programs(Programs& p) {
  p["D01"] = over({{4}}, [](Array x) { return sum(build(4, [&](Index i) { return x(i) * x(3 - i); })); });
  p["D02"] = over({{3}}, [](Array x) { return log(sum(exp(x))); });
  p["D03"] = over({{2, 3}, {3, 2}}, [](Array a, Array c) {
    return build({2, 2}, [&](Index i, Index j) { return sum(build(3, [&](Index k) { return a(i, k) * c(k, j); })); });
  });
  p["D05"] = over({{3}}, [](Array v) {
    const Array doubled = gather(v, {build(4, [](Index j) { return quot(j, 2); })});
    return sum(doubled * constant({v.dtype(), {4}}, {1, 10, 100, 1000}));
  });
  p["D06"] = over({{3}}, [](Array v) { return sum(build(4, [&](Index i) { return v(i - 1) * weight(i, v); })); });
  p["D07"] = over({{3}}, [](Array v) { return sum(build(4, [&](Index i) { return cos(v)(i - 1) * weight(i, v); })); });
  p["D08"] = over({{5}}, [](Array v) { return scatter({3}, v, {build(5, [](Index j) { return j - 1; })}); });
  p["D09"] = over({{}, {}}, [](Array a, Array b) { return square(1 - a) + 100 * square(b - a * a); });
  p["D10"] =
      over({{}, {3}}, [](Array start, Array d) { return scan([](Array state, Array x) { return state * x; }, start, d); });
  p["D12"] = over({{3}}, [](Array x) { return sum(select(x > 0, sqrt(select(x > 0, x, 1)), 0)); });
  p["D13"] = over({{2}}, [](Array x) { return stack({x(0) * x(1), sin(x(0)), square(x(1))}); });
  p["D14"] = over({{2, 2}}, [](Array centre) {
    const Array point = constant({centre.dtype(), {4, 2}}, {0, 0, 1, 0.5, 5, 5, 6, 5.5});
    const Array d = build({4, 2}, [&](Index i, Index j) { return sum(square(point(i) - centre(j))); });
    return sum(min(d, {1}));
  });
  p["D15"] = over({{5}, {2}}, [](Array x, Array k) {
    return build(4, [&](Index i) { return sum(build(2, [&](Index j) { return x(i + j) * k(j); })); });
  });
  p["D16"] = over({{5}, {3}}, [](Array x, Array k) {
    return build(5, [&](Index i) { return sum(build(3, [&](Index j) { return x(i + j - 1) * k(j); })); });
  });
  p["D18"] = over({{6}}, [](Array x) {
    const Array y = reshape(transpose(reshape(x, {2, 3})), {3, 2});
    return sum(y * constant({x.dtype(), {3, 2}}, {1, 2, 4, 8, 16, 32}));
  });
  p["D20"] = over({{3}}, [](Array w) { return logsumexp(w) - w(1); });
  p["D21"] = over({{3}}, [](Array v) { return sum(build(3, [&](Index i) { return v(floor(v(i))) * weight(i, v); })); });
  p["D22"] = over({{}, {}}, [](Array y, Array x) { return atan2(y, x); });
  p["D23"] = over({{}, {}}, [](Array x, Array y) { return exp(y * log(x)); });
  p["D25"] = over({{2, 2}}, [](Array w) {
    const DType t = w.dtype();
    const Array elements = constant({t, {3, 2}}, {0.1, 0.2, 0.3, 0.4, 0.5, 0.6});
    return sum(fold([&](Array a, Array e) { return sin(matmul(w, a) + e); }, constant({t, {2}}, {1, 2}), elements));
  });
  p["D27"] =
      over({{4}}, [](Array x) { return sum(build(4, [&](Index i) { return cond(0 < x(i), sqrt(x(i)) + log(x(i)), 0); })); });
  p["D29"] = over({{6}}, [](Array x) { return scatter({5}, x, {build(6, [](Index i) { return quot(i, 2); })}); });
  p["D30_min"] = over({{4}}, [](Array x) { return min(x); });
  p["D30_max_left"] = over({{}}, [](Array x) { return maximum(0, x); });
  p["D30_max_right"] = over({{}}, [](Array x) { return maximum(x, 0); });
  p["D30_abs"] = over({{}}, [](Array x) { return abs(x); });
  p["D30_relu"] = over({{}}, [](Array x) { return relu(x); });
  const auto updated = [](Keep keep) {
    return over({{4}}, [keep](Array x) {
      const auto step = [](Index i, Array s) {
        return build(4, [&](Index k) { return cond(k == i, s(i) * (s(i - 1) + 1), s(k)); });
      };
      return sum(fori(4, step, x, keep));
    });
  };
  p["D31_all"] = updated(Keep::all());
  p["D31_sqrt"] = updated(Keep::sqrt());
}

}  // namespace spirograd::conformance
