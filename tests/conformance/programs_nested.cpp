// The programs E01 to E28 through the C++ surface.
#include "spirograd/derivatives.h"
#include "tests/conformance/programs.h"

namespace spirograd::conformance {
namespace {

Array wave(Array x) { return sin(x) * x; }
Array pair_of(Array x) { return stack({x(0) * x(1), x(0) + x(1)}); }
Array triple(Array x) { return stack({x(0) * x(1), x(0), x(1) * x(1)}); }
Array cubic(Array x) { return x(0) * x(0) * x(1); }
Array fitted(Array w) {
  const Array x = constant({w.dtype(), {4}}, {0, 1, 2, 3}), y = constant({w.dtype(), {4}}, {1, 3, 5, 7.5});
  return mean(square(w(0) + w(1) * x - y));
}

}  // namespace

void add_nested_programs(Programs& p) {
  const auto two = [](Array like, double a, double b) { return constant({like.dtype(), {2}}, {a, b}); };
  const auto number = [](Array like, double a) { return constant({like.dtype(), {}}, {a}); };
  p["E01"] = over({{}}, [](Array x) { return grad(wave)(x); });
  p["E02"] = over({{}}, [](Array x) { return grad(grad(grad(wave)))(x); });
  p["E03"] = over({{}, {}}, [](Array a, Array x) { return grad([=](Array t) { return a * t * t * t; })(x); });
  p["E04"] = over({{}}, [=](Array x) {
    return grad([=](Array z) { return z * grad([=](Array y) { return z + y; })(number(z, 1)); })(x);
  });
  p["E05"] = over({{}, {}}, [=](Array a, Array b) {
    const auto [da, db] = grad([](Array s, Array t, Array u) { return s * t * t + u; }, wrt<0, 1>)(a, b, number(a, 7));
    return stack({da, db});
  });
  p["E06"] = over({{}, {2}}, [=](Array x, Array w) {
    return jvp([](Array s, Array v) { return s * v; }, std::tuple(x, w), std::tuple(1, two(w, 0.5, 0.25))).second;
  });
  p["E07"] = over({{2}}, [=](Array x) {
    const auto [y, back] = vjp(pair_of, x);
    return stack({back(two(x, 1, 0)), back(two(x, 0, 1))});
  });
  p["E08"] = over({{2}}, [](Array x) { return jacobian(triple)(x); });
  p["E09"] =
      over({{2}}, [](Array x) { return jacobian([](Array v) { return sum(slice(triple(v), 0, 1)) + v(1) * v(1); })(x); });
  p["E10"] = over({{2}}, [](Array x) { return hessian(cubic)(x); });
  p["E11"] = over({{2}}, [=](Array x) { return hvp(cubic)(x, two(x, 1, 2)); });
  p["E12"] = over({{3}}, [](Array x) { return vmap(grad(wave))(x); });
  p["E13"] = over({{3}}, [=](Array a) {
    return build(3, [&](Index i) { return grad([=](Array t) { return a(i) * t * t; })(number(a, 2)); });
  });
  p["E14"] = over({{}}, [](Array rate) {
    const auto loss = [](Array v) { return square(v - 1); };
    return square(fori(
                      20, [&](Index, Array w) { return w - rate * grad(loss)(w); }, 5.0) -
                  1);
  });
  p["E15"] = over(
      {{}}, [](Array x) { return while_loop([](Array s) { return s < 100; }, [](Array s) { return s * 2; }, x, 50).first; });
  p["E16"] = over({{}}, [](Array a) {
    const auto f = [=](Array s) { return s * s - a; };
    return while_loop([=](Array s) { return abs(f(s)) > 1e-13; }, [=](Array s) { return s - f(s) / grad(f)(s); }, 1.0, 30)
        .first;
  });
  p["E17"] = over({{2}}, [=](Array x) {
    const auto [y, along] = linearize(pair_of, x);
    return y + along(two(x, 1, 2)) + 3 * along(two(x, 0, 1));
  });
  p["E18"] = over({{4}}, [](Array w) {
    return grad([](Array v) { return sum(build(4, [&](Index i) { return v(quot(i, 2)) * v(i); })); })(w);
  });
  p["E19"] = over({{2}}, [](Array w) { return fitted(w - 0.1 * grad(fitted)(w)); });
  p["E20"] = over({{}, {}}, [](Array x, Array y) {
    const auto [v, d] = value_and_grad([](Array s, Array t) { return s * t; }, wrt<0, 1>)(x, y);
    return stack({v, std::get<0>(d), std::get<1>(d)});
  });
  p["E21"] = over({{}}, [](Array x) {
    return custom_jvp([](Array t) { return t * t; },
                      [](Array t, Array dt) { return std::pair(t * t, minimum(2 * t, 1) * dt); })(x);
  });
  p["E22"] = over({{}}, [](Array x) {
    return grad(custom_jvp([](Array t) { return t * t * t; },
                           [](Array t, Array dt) { return std::pair(t * t * t, 3 * t * t * dt); }))(x);
  });
  p["E23"] = over({{}, {3}}, [](Array a, Array x) {
    auto scaled = custom_jvp([](Array s, Array t) { return s * t; },
                             [](Array s, Array t, Array ds, Array dt) { return std::pair(s * t, ds * t + 2 * s * dt); });
    return build(3, [&](Index i) { return scaled(a, x(i)); });
  });
  p["E24"] = over({{2}}, [](Array x) {
    auto halved = custom_jvp([](Array s) { return s * 0.5; }, [](Array s, Array ds) { return std::pair(s, -ds); });
    return fori(
        3, [&](Index, Array s) { return halved(s); }, x);
  });
  p["E25"] = over({{}, {3}}, [](Array a, Array x) {
    auto scaled = custom_vjp([](Array s, Array t) { return s * t; },
                             [](Array s, Array t, Array ct) { return std::tuple(ct * t, 2 * s * ct); });
    return build(3, [&](Index i) { return scaled(a, x(i)); });
  });
  p["E26"] = over({{}, {}}, [](Array x, Array y) {
    auto both = custom_vjp([](Array s, Array t) { return std::tuple(s * t, s + t); },
                           [](Array s, Array t, std::tuple<Array, Array> ct) {
                             const auto& [cp, cq] = ct;
                             return std::tuple(cp * t + cq, 3 * cp * s + cq);
                           });
    const auto [u, v] = both(x, y);
    return u * u + v;
  });
  p["E27"] = over({{2}}, [](Array x) {
    auto halved = custom_vjp([](Array s) { return s * 0.5; }, [](Array, Array ct) { return -ct; });
    return fori(
        3, [&](Index, Array s) { return halved(s); }, x);
  });
  p["E28"] = over({{3}}, [](Array x) {
    auto cut = custom_vjp([](Array s) { return s; }, [](Array, Array ct) { return minimum(ct, 2); });
    return grad([&](Array v) { return sum(cut(v) * cut(v) * cut(v)) / 3; })(x);
  });
}

}  // namespace spirograd::conformance
