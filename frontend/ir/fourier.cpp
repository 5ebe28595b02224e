#include "frontend/ir/fourier.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numbers>
#include <string>

#include "frontend/ir/arguments.h"
#include "frontend/ir/composite.h"
#include "frontend/ir/make_node.h"

namespace spirograd::ir {
namespace {

constexpr int64_t kMostRadix = 16, kMostPrime = 64;
// Of a stage, beside as much for each element of its sums: the pass over memory.
constexpr int64_t kStageCost = 10;
constexpr int64_t kMostNumbers = 4096;
// Products of positions with 8, and of two of them in parts, fit 32 bits.
constexpr int64_t kMostElements = int64_t{1} << 26;

Complex operator*(Complex a, Complex b) { return {a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re}; }
Complex conjugate(Complex a) { return {a.re, -a.im}; }
Complex swapped(Complex a) { return {a.im, a.re}; }
Complex scaled(Complex a, double by) { return {a.re * full_like(a.re, by), a.im * full_like(a.im, by)}; }
template <class F>
Complex both(Complex a, F&& f) {
  return {f(a.re), f(a.im)};
}

// exp(-2 pi i t / n) for whole t, 0 <= t < n: from the nearest quarter of the circle on, so that angles stay small and
// their rounding does. Exact at the quarters.
Complex roots(Expr t, int64_t n, DType dtype) {
  const Expr four = whole_like(t, 4), whole = whole_like(t, n);
  const Expr quarter =
      binary(Op::Quot, t * whole_like(t, 8) + whole, whole + whole);  // 0 .. 4, of which the last is the first again
  const Expr off = cast(t * four - quarter * whole, dtype);
  const Expr angle = off * full_like(off, std::numbers::pi / (2 * static_cast<double>(n)));
  const Expr c = unary(Op::Cos, angle), s = unary(Op::Sin, angle);
  const auto is = [&](int64_t q) { return binary(Op::Eq, quarter, whole_like(quarter, q)); };
  const Expr odd = either(is(1), is(3));
  const Expr cos = select(odd, s, c), sin = select(odd, c, s);
  return {select(either(is(1), is(2)), -cos, cos), select(either(is(2), is(3)), sin, -sin)};
}

// The same for the products i * j of a table. Small ones are numbers of the program, so that runs do not compute them.
Complex root_products(Graph& g, int64_t rows, int64_t columns, int64_t n, DType dtype) {
  if (rows * columns > kMostNumbers) return roots(iota(g, {rows, columns}, 0) * iota(g, {rows, columns}, 1), n, dtype);
  std::vector<double> re, im;
  const auto rounded = [&](double v) { return dtype == DType::F32 ? static_cast<double>(static_cast<float>(v)) : v; };
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t j = 0; j < columns; ++j) {
      const int64_t t = i * j % n;
      const double angle = 2 * std::numbers::pi * static_cast<double>(t) / static_cast<double>(n);
      re.push_back(4 * t == n || 4 * t == 3 * n ? 0 : rounded(std::cos(angle)));
      im.push_back(2 * t == n ? 0 : rounded(-std::sin(angle)));
    }
  const Type type{dtype, {rows, columns}};
  return {constant(g, type, std::move(re)), constant(g, type, std::move(im))};
}

// ---- stages

// One stage of `radix`: x[batch, length, stride] becomes [batch, length / radix, radix * stride]. What is left to do are
// transforms along the middle axis; the last one holds the digits of the result that are known.
Complex stage(Complex x, int64_t radix) {
  Graph& g = *x.re.graph;
  const DType dtype = x.re.dtype();
  const int64_t batch = x.re.shape()[0], length = x.re.shape()[1], stride = x.re.shape()[2], rest = length / radix;
  const Shape all = {batch, radix, rest, radix, stride}, out = {batch, rest, radix, stride};
  const Complex table = both(root_products(g, radix, radix, radix, dtype), [&](Expr e) {
    return broadcast(e, all, {1, 3});
  });
  const Complex terms = table * both(x, [&](Expr e) {
                          return broadcast(reshape(e, {batch, radix, rest, stride}), all, {0, 1, 2, 4});
                        });
  Complex y = both(terms, [&](Expr e) { return reduce(Op::Sum, e, {1}); });
  if (rest > 1)
    y = both(root_products(g, rest, radix, length, dtype), [&](Expr e) { return broadcast(e, out, {1, 2}); }) * y;
  return both(y, [&](Expr e) { return reshape(e, {batch, rest, radix * stride}); });
}

Complex rows(Complex x);

// j^2 modulo 2n, in parts whose products fit: 2n * base + base * n.
Expr squares(Graph& g, int64_t n) {
  int bits = 0;
  while (3 * n * (int64_t{2} << bits) <= int64_t{1} << 32) ++bits;
  const Expr j = cast(iota(g, {n}, 0), DType::U32), whole = whole_like(j, 2 * n), base = whole_like(j, int64_t{1} << bits);
  int digits = 1;
  while ((n - 1) >> (bits * digits) != 0) ++digits;
  Expr out = zeros(g, j.type());
  for (int d = digits; d-- > 0;) {
    Expr digit = binary(Op::Quot, j, whole_like(j, int64_t{1} << (bits * d)));
    if (d + 1 < digits) digit = binary(Op::Rem, digit, base);
    out = binary(Op::Rem, out * base + digit * j, whole);
  }
  return cast(out, DType::I32);
}

int64_t length_around(int64_t least) {
  int64_t best = 0;
  for (int64_t odd : {1, 3, 5}) {
    int64_t n = odd;
    while (n < least) n *= 2;
    if (best == 0 || n < best) best = n;
  }
  return best;
}

// j k = (j^2 + k^2 - (k - j)^2) / 2: a product with a chirp, a convolution with its conjugate, a product again.
Complex chirped(Complex x) {
  Graph& g = *x.re.graph;
  const int64_t batch = x.re.shape()[0], n = x.re.shape()[1], around = length_around(2 * n - 1);
  const Complex chirp = roots(squares(g, n), 2 * n, x.re.dtype());
  const Complex over_rows = both(chirp, [&](Expr e) { return broadcast(e, {batch, n}, {1}); });
  const Complex padded = both(over_rows * x, [&](Expr e) { return window(e, 1, 0, around); });
  const Complex filter = both(conjugate(chirp), [&](Expr e) {
    const Expr parts[] = {window(e, 0, 0, around - n + 1), reverse(window(e, 0, 1, n - 1), 0)};
    return reshape(concat(parts, 0), {1, around});
  });
  const Complex by = both(rows(filter), [&](Expr e) { return broadcast(reshape(e, {around}), {batch, around}, {1}); });
  const Complex back = swapped(rows(swapped(rows(padded) * by)));
  const Complex cut = both(back, [&](Expr e) { return window(e, 1, 0, n); });
  return scaled(over_rows * cut, 1 / static_cast<double>(around));
}

// Of each row of a matrix.
Complex rows(Complex x) {
  const Shape shape = x.re.shape();
  if (shape[0] == 0 || shape[1] < 2) return x;
  const std::vector<int64_t> stages = fourier_stages(shape[1]);
  if (stages.empty()) return chirped(x);
  x = both(x, [&](Expr e) { return reshape(e, {shape[0], shape[1], 1}); });
  for (int64_t radix : stages) x = stage(x, radix);
  return both(x, [&](Expr e) { return reshape(e, shape); });
}

// ---- any axis

// An axis in rows, and back.
struct Along {
  int axis;
  Shape outer;  // with that axis last

  Along(std::string_view what, Expr x, int64_t number) : axis(normal_axis(what, number, x.type())), outer(moved(x).shape()) {
    require_float(x, what);
    if (extent() > kMostElements)
      throw Error("SG0101", std::string(what) + ": an axis of " + std::to_string(extent()) + " elements is longer than " +
                                std::to_string(kMostElements));
  }
  int64_t extent() const { return outer[outer.rank() - 1]; }
  Expr in(Expr x) const {
    const int64_t n = extent();
    int64_t batch = 1;
    for (int j = 0; j + 1 < outer.rank(); ++j) batch *= outer[j];
    return reshape(moved(x), {batch, n});
  }
  Expr out(Expr rows_of_it) const {
    Shape shape = outer.erased(outer.rank() - 1);
    shape.push_back(rows_of_it.shape()[1]);
    return move_axis(reshape(rows_of_it, shape), shape.rank() - 1, axis);
  }

 private:
  Expr moved(Expr x) const { return move_axis(x, axis, x.rank() - 1); }
};

Complex together(std::string_view what, Complex x) {
  if (x.re.dtype() != x.im.dtype())
    throw Error("SG0102", std::string(what) + ": the real part is " + to_string(x.re.type()) + ", the imaginary one " +
                              to_string(x.im.type()));
  const Shape shape = broadcast_shapes(x.re.shape(), x.im.shape(), what);
  return both(x, [&](Expr e) { return broadcast_to(e, shape); });
}

// Over rows: 0 .. h of a transform, from the h elements of one whose real and imaginary parts hold every other element.
Complex unpacked(Complex z, int64_t n) {
  Graph& g = *z.re.graph;
  const int64_t batch = z.re.shape()[0], h = n / 2;
  const Complex there = both(z, [&](Expr e) {
    const Expr parts[] = {e, window(e, 1, 0, 1)};
    return concat(parts, 1);
  });
  const Complex mirrored = conjugate(both(there, [](Expr e) { return reverse(e, 1); }));
  const Complex even = scaled({there.re + mirrored.re, there.im + mirrored.im}, 0.5);
  const Complex twice_odd = {there.im - mirrored.im, mirrored.re - there.re};  // divided by i
  const Complex turn = both(roots(iota(g, {h + 1}, 0), n, z.re.dtype()), [&](Expr e) {
    return broadcast(e, {batch, h + 1}, {1});
  });
  const Complex odd = turn * scaled(twice_odd, 0.5);
  return {even.re + odd.re, even.im + odd.im};
}

// The inverse, of x[0 .. h].
Complex packed(Complex x, int64_t n) {
  Graph& g = *x.re.graph;
  const int64_t batch = x.re.shape()[0], h = n / 2;
  const Complex mirrored = conjugate(both(x, [](Expr e) { return reverse(e, 1); }));
  const auto first = [&](Expr e) { return window(e, 1, 0, h); };
  const Complex even = scaled(both({x.re + mirrored.re, x.im + mirrored.im}, first), 0.5);
  const Complex turn = conjugate(both(roots(iota(g, {h}, 0), n, x.re.dtype()), [&](Expr e) {
    return broadcast(e, {batch, h}, {1});
  }));
  const Complex odd = turn * scaled(both({x.re - mirrored.re, x.im - mirrored.im}, first), 0.5);
  return {even.re - odd.im, even.im + odd.re};
}

Complex inverse_rows(Complex x) {
  return scaled(swapped(rows(swapped(x))), 1 / static_cast<double>(std::max<int64_t>(1, x.re.shape()[1])));
}

}  // namespace

std::vector<int64_t> fourier_stages(int64_t n) {
  std::vector<int64_t> divisors;
  for (int64_t d = 1; d * d <= n; ++d)
    if (n % d == 0) divisors.insert(divisors.end(), {d, n / d});
  std::sort(divisors.begin(), divisors.end());
  const auto is_prime = [](int64_t r) {
    for (int64_t d = 2; d * d <= r; ++d)
      if (r % d == 0) return false;
    return true;
  };
  // The least cost of what is left, by length, and its greatest stage.
  std::map<int64_t, std::pair<int64_t, int64_t>> best = {{1, {0, 0}}};
  for (int64_t left : divisors)
    for (int64_t r : divisors) {
      if (r < 2 || r > kMostPrime || left % r != 0 || (r > kMostRadix && !is_prime(r))) continue;
      const auto rest = best.find(left / r);
      if (rest == best.end()) continue;
      const auto at = best.find(left);
      if (const int64_t cost = rest->second.first + r + kStageCost; at == best.end() || cost <= at->second.first)
        best[left] = {cost, r};
    }
  std::vector<int64_t> out;
  for (int64_t left = n; left > 1; left /= out.back()) {
    const auto at = best.find(left);
    if (at == best.end()) return {};
    out.push_back(at->second.second);
  }
  std::sort(out.rbegin(), out.rend());
  return out;
}

Complex fft(Complex x, int64_t axis) {
  x = together("fft", x);
  const Along along("fft", x.re, axis);
  return both(rows(both(x, [&](Expr e) { return along.in(e); })), [&](Expr e) { return along.out(e); });
}

Complex ifft(Complex x, int64_t axis) {
  x = together("ifft", x);
  const Along along("ifft", x.re, axis);
  return both(inverse_rows(both(x, [&](Expr e) { return along.in(e); })), [&](Expr e) { return along.out(e); });
}

Complex rfft(Expr x, int64_t axis) {
  const Along along("rfft", x, axis);
  const Expr in = along.in(x);
  const int64_t n = along.extent(), batch = in.shape()[0];
  Complex out;
  if (n == 0) {
    out.re = out.im = zeros(*x.graph, {x.dtype(), {batch, 1}});
  } else if (n % 2 == 0) {
    const Expr pairs = reshape(in, {batch, n / 2, 2});
    const auto part = [&](int64_t j) { return reshape(window(pairs, 2, j, 1), {batch, n / 2}); };
    out = unpacked(rows({part(0), part(1)}), n);
  } else {
    out = both(rows({in, zeros(*x.graph, in.type())}), [&](Expr e) { return window(e, 1, 0, n / 2 + 1); });
  }
  return both(out, [&](Expr e) { return along.out(e); });
}

Expr irfft(Complex x, int64_t n, int64_t axis) {
  x = together("irfft", x);
  const Along along("irfft", x.re, axis);
  const int64_t m = along.extent();
  if (n < 0 || n / 2 + 1 != m)
    throw Error("SG0101", "irfft: " + std::to_string(n) + " real numbers have a transform of " +
                              (n < 0 ? "no" : std::to_string(n / 2 + 1)) + " elements, the axis has " + std::to_string(m))
        .hint("n is 2 * (extent - 1) or one more");
  Complex in = both(x, [&](Expr e) { return along.in(e); });
  const int64_t batch = in.re.shape()[0];
  if (n == 0) return along.out(zeros(*x.re.graph, {x.re.dtype(), {batch, 0}}));
  const Expr k = iota(*x.re.graph, in.im.shape(), 1), first = binary(Op::Eq, k, whole_like(k, 0));
  const Expr real = n % 2 == 0 ? either(first, binary(Op::Eq, k, whole_like(k, n / 2))) : first;
  in.im = select(real, zeros(*x.re.graph, in.im.type()), in.im);
  if (n % 2 == 0) {
    const Complex z = inverse_rows(packed(in, n));
    const Expr parts[] = {z.re, z.im};
    return along.out(reshape(stack(parts, 2), {batch, n}));
  }
  const auto with_mirror = [&](Expr e, Expr mirrored) {
    const Expr parts[] = {e, reverse(window(mirrored, 1, 1, m - 1), 1)};
    return concat(parts, 1);
  };
  return along.out(inverse_rows({with_mirror(in.re, in.re), with_mirror(in.im, -in.im)}).re);
}

}  // namespace spirograd::ir
