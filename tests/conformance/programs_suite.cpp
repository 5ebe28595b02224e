// The programs C01 to C76 through the C++ surface.
#include "tests/conformance/programs.h"

namespace spirograd::conformance {
namespace {

Array foo(Array x, Array y, Array z) {
  const Array w = x * sin(y);
  return atan2(z, w) + z * w;
}
Array bar(Array x, Array y) {
  const Array w = foo(x, y, x) * sin(y);
  return atan2(x, w) + y * w;
}
Array bar3(Array x, Array y, Array z) {
  const Array w = foo(x, y, z) * sin(y);
  return atan2(z, w) + z * w;
}
Array shared_terms(Array x, Array y, Array z) {
  const DType t = x.dtype();
  const Array w = foo(constant(t, 7), constant(t, 8), constant(t, 9)) * bar3(y, y, z) * sin(y);
  return atan2(z, w) + z * w;
}

/// An index as a real number of the type of `like`.
Array real(Array i, Array like) { return cast(i, like.dtype()); }

/// [r, 1, 2, 3, 4]
Array five(Array r) { return stack({r, 1, 2, 3, 4}); }
/// Index vector of n elements.
template <class F>
Array indices(int64_t n, F&& f) {
  return build(n, f);
}
template <class F>
Array indices(Shape s, F&& f) {
  return build(s, f);
}
/// gather[5] [r] f
template <class F>
Array spread(Array r, F&& f) {
  return gather(stack({r}), {indices(5, f)});
}

Array chain_of_reshapes(Array t) {
  for (const Shape& s : {Shape{2, 2, 3}, Shape{3, 1, 1, 4}, Shape{1, 12, 1}, Shape{3, 1, 2, 1, 1, 2}, Shape{2, 6}})
    t = reshape(t, s);
  return t;
}
Array diagonal(Array t) {
  return gather(gather(t, {iota(4)}), {indices(2, [](Index i) { return 2 * i; }), iota(2)});
}
Array even(Array t) {
  return gather(t, {indices({2, 3}, [](Index i, Index j) { return 2 * i + 2 * j; }), iota(Shape{2, 3}, 0)});
}
Array halves(Array t) {
  return scatter({2}, scatter({7}, t, {iota(7)}), {indices({7, 2}, [](Index i, Index j) { return quot(j, 1 + i); })});
}
Array capped(Arg i, int64_t cap) { return minimum(i, cap); }
Array folded(Array t) {
  const Array k = iota(7);
  const Array cube = scatter({2, 3, 4}, t, {capped(k, 1), capped(k, 2), capped(k, 3)});
  const Shape all = {2, 3, 4, 2};
  return scatter({2, 3}, cube,
                 {indices(all, [](Index a, Index b, Index, Index) { return capped(a + b, 1); }),
                  indices(all, [](Index a, Index, Index, Index d) { return capped(d + a, 2); })});
}
/// The loop state after n sines.
Array sines(Array x, int64_t n) {
  return fold([](Array y, Array) { return sin(y); }, x, zeros({x.dtype(), {n}}));
}
Array sines_of_all(Array x, int64_t n) {
  return scan([](Array y, Array) { return sin(y); }, x, zeros({x.dtype(), {n}}));
}

void add_scalars(Programs& p) {
  p["C01"] = over({{}, {}, {}}, foo);
  p["C02"] = over({{2, 2}, {2, 2}, {2, 2}}, foo);
  p["C03"] = over({{}, {}}, bar);
  p["C05"] = over({{}}, [](Array x) { return bar(x, x); });
  p["C07"] = over({{}, {}, {}}, shared_terms);
  p["C08"] = over({{}, {}, {}}, [](Array x, Array y, Array z) { return shared_terms(x, y, z) + z; });
  p["C09"] = over({{}}, [](Array x) { return cond(x > 0, 2 * x, 5 * x); });
  p["C10"] = over({{}}, [](Array x) { return cond(x > 0, constant(x.dtype(), 2), constant(x.dtype(), 5)) * x; });
  p["C14"] = over({{4}}, [](Array v) {
    const Array r = sum(v), m = v(argmin(v)), three = constant(v.dtype(), 3);
    return build(3, [&](Index i) { return r * foo(three, 5 * r, r * m * m) + bar(r, v(i + 1)); });
  });
  p["C21"] = over({{3, 4}}, [](Array x) { return relu(x); });
  p["C22"] = over({{}}, [](Array x) { return relu(bar(x, relu(x))); });
  p["C46"] = over({{}, {}}, [](Array a, Array b) {
    Array y = a / b;
    for (int k = 0; k < 7; ++k) y = 0.499999985 * (y + y);
    return y;
  });
  p["C49_loop"] = over({{}, {}}, [](Array a, Array b) {
    return fori(
        7000, [](Index, Array y) { return 0.499999985 * (y + y); }, a / b);
  });
  p["C53"] = over({{}}, [](Array x) { return sin(x); });
}

void add_builds(Programs& p) {
  p["C11"] = over({{28}}, [](Array v) { return sum(build(50, [&](Index i) { return v(rem(i, 28)); })); });
  p["C12"] = over({{1}}, [](Array v) { return sum(build(50, [&](Index i) { return v(rem(i, 1)); })); });
  p["C13"] = [](DType t) {
    return trace("f", {{"v", i32({28})}, {"s", {t, {}}}},
                 [](Array v, Array s) { return sum(build(50, [&](Index i) { return cast(v(rem(i, 28)), s.dtype()); })); });
  };
  p["C20"] = over({{5}}, [](Array v) {
    return build(2,
                 [&](Index a) { return build(3, [&](Index b) { return build(4, [&](Index c) { return v(c); })(b); })(a); });
  });
  p["C26"] = over({{}}, [](Array x) { return sum(build(10, [&](Index i) { return x * real(i, x); })); });
  p["C27"] = over({{}}, [](Array x) {
    const auto total = [&](Array y, int64_t n) { return sum(build(n, [&](Index i) { return y * real(i, x); })); };
    return total(x, 10) + total(x, 20) + total(x, 10) + total(x + 1, 20);
  });
  p["C28"] = over({{}}, [](Array r) {
    return build(3, [&](Index a) { return build(4, [&](Index b) { return stack({real(b, r), 7, r, -0.2})(a); }); });
  });
  p["C29"] = over({{}}, [](Array r) {
    return build(7, [&](Index i) {
      const auto copies = [&](int64_t n) { return build(n, [&](Index) { return r; }); };
      return append(append(copies(5), stack({real(i, r)})), copies(13));
    });
  });
  p["C30"] = over({{}}, [](Array r) { return build(10, [a = five(r)](Index i) { return cond(i < 5, a(i), a(i - 5)); }); });
  p["C31"] = over({{}}, [](Array r) {
    const Array g = spread(r, [](Index i) { return quot(1, 4 - i); });
    return build(7, [&](Index j) {
      const Array moving = spread(r, [&](Index i) { return quot(1, 100 * maximum(0, i - j)); });
      return concat({moving, g, stack({real(j, r)}), replicate(r, 13)});
    });
  });
  p["C32"] = over({{}}, [](Array r) {
    return build(10, [a = five(r)](Index i) { return cond(i < 5, a(i), a(i - 5 + quot(1, maximum(1, i - 5)))); });
  });
  p["C33"] = over({{}}, [](Array r) {
    const Array a = spread(r, [](Index i) { return quot(1, 4 + i); });
    return append(a, a);
  });
  p["C34"] = over({{}}, [](Array r) {
    return append(spread(r, [](Index i) { return quot(1, 5 + i); }), spread(r, [](Index i) { return quot(1, 5 + i); }));
  });
  p["C36"] = over({{}}, [](Array r) {
    return build(10, [&](Index j) {
      return append(replicate(r, 5), spread(r, [&](Index i) { return quot(1, maximum(1, j - i)); }))(j);
    });
  });
  p["C37"] = over({{}}, [](Array r) {
    const Array g = spread(r, [](Index i) { return quot(1, 5 - i); });
    return append(g, g);
  });
  p["C39"] = over({{}}, [](Array r) { return gather(stack({r}), {full(i32({5}), -1)}); });
  p["C40"] = over({{}}, [](Array r) { return stack({r})(-1); });
  p["C41"] = over({{}}, [](Array r) { return build(10, [a = five(r)](Index i) { return cond(i < 5, a(i - 5), a(i)); }); });
  p["C42"] = over({{}}, [](Array r) { return slice(stack({r, r}), 0, 0); });
  p["C43"] = over({{10}, {10}, {10}}, [](Array a, Array b, Array c) {
    return build(10,
                 [&](Index i) { return cond(i == 0, a(0) + b(1), cond(i == 9, a(9) + c(8), a(i) + b(i + 1) + c(i - 1))); });
  });
  p["C45"] = over({{15}}, [](Array v) {
    std::vector<Array> taken;
    for (int j = 0; j < 12; ++j) taken.push_back(v(j));
    return stack(taken);
  });
  p["C76"] = over({{2, 2, 1, 2, 2}}, [](Array v) { return build(2, [&](Index) { return sum(v, 0); }); });
  p["C76_choice"] =
      over({{2, 2, 1, 2, 2}}, [](Array v) { return build(2, [&](Index i) { return cond(i == 0, v(i + 1), sum(v, 0)); }); });
}

void add_loops(Programs& p) {
  p["C55"] = over({{}}, [](Array x) { return sines(x, 0); });
  p["C56"] = over({{}}, [](Array x) { return sines(x, 1); });
  p["C57"] = over({{}}, [](Array x) { return sines(x, 5); });
  p["C58"] = over({{}}, [](Array x) {
    return fold([](Array, Array a) { return sin(a); }, constant(x.dtype(), 84), stack({x, x, x}));
  });
  p["C61"] = over({{}}, [](Array x) {
    const auto step = [](Array y, Array a) { return transpose(transpose(y) + reshape(stack({a, a}), {1, 2})); };
    return fold(step, reshape(stack({x, x}), {2, 1}), stack({x, x}));
  });
  p["C64_0"] = over({{}}, [](Array x) { return sines_of_all(x, 0); });
  p["C64_1"] = over({{}}, [](Array x) { return sines_of_all(x, 1); });
  p["C64_5"] = over({{}}, [](Array x) { return sines_of_all(x, 5); });
  p["C64_es"] = over({{}}, [](Array x) {
    return scan([](Array, Array a) { return sin(a); }, constant(x.dtype(), 84), stack({x, x, x}));
  });
  p["C70"] = over({{}}, [](Array x) {
    return scan([](Array y, Array a) { return sin(y) - a; }, x, constant({x.dtype(), {2}}, {5, 7}));
  });
}

void add_indexed(Programs& p) {
  const Shape table = {7, 2};
  p["C72"] = over({table}, diagonal);
  p["C72_choice"] = over({table}, [](Array t) { return build(5, [&](Index i) { return cond(i > 2, diagonal(t), t(i)); }); });
  p["C72_even"] = over({table}, even);
  p["C72_even_times"] = over({table}, [](Array t) { return build(4, [&](Index i) { return even(real(i, t) * t); }); });
  p["C72_rows"] = over({table}, [](Array t) {
    return gather(t, {indices({2, 4}, [](Index i, Index k) { return 3 * i + k; }), iota(Shape{2, 4}, 0)});
  });
  p["C73"] = over({{6, 2}}, chain_of_reshapes);
  p["C73_times"] =
      over({{6, 2}}, [](Array t) { return build(4, [&](Index i) { return chain_of_reshapes(real(i, t) * t); }); });
  p["C74"] = over({table}, halves);
  p["C74_choice"] = over({table}, [](Array t) { return build(5, [&](Index i) { return cond(i > 2, halves(t), t(i)); }); });
  p["C74_min"] = over({table}, [](Array t) {
    return scatter({2}, t, {indices({7, 2}, [](Index i, Index j) { return capped(j + 2 * i, 1); })});
  });
  p["C74_pair"] = over({table}, [](Array t) {
    const Array first = indices({7, 2}, [](Index i, Index j) { return capped(2 * i + 2 * j, 1); });
    return scatter({2, 3}, t, {first, indices({7, 2}, [](Index i, Index) { return capped(i, 2); })});
  });
  p["C74_folded"] = over({table}, folded);
  p["C74_folded_times"] = over({table}, [](Array t) { return build(4, [&](Index i) { return folded(real(i, t) * t); }); });
  p["C74_row"] = over({table}, [](Array t) {
    const auto row = [&](Index i) {
      const Array first = indices({7, 2}, [](Index j, Index k) { return capped(3 * j + k, 1); });
      const Array second = indices({7, 2}, [](Index j, Index) { return capped(j, 3); });
      return cond(i > 2, scatter({2, 4}, t, {first, second}), transpose(replicate(t(i), 4), {1, 0}));
    };
    return build(5, row)(1);
  });
}

}  // namespace

void add_suite_programs(Programs& p) {
  add_scalars(p);
  add_builds(p);
  add_loops(p);
  add_indexed(p);
}

}  // namespace spirograd::conformance
