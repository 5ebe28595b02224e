#include "frontend/ir/random.h"

#include <array>
#include <numbers>

#include "frontend/ir/order.h"

namespace spirograd::ir {
namespace {

struct Pair {
  Expr a, b;
};

// Words a, b of counters, enciphered by words of the key; all of one shape.
Pair threefry(Pair key, Pair x) {
  constexpr std::array<std::array<int, 4>, 2> rotations = {{{13, 15, 26, 6}, {17, 29, 16, 24}}};
  constexpr double parity = 0x1BD11BDA;
  const std::array<Expr, 3> keys = {key.a, key.b,
                                    binary(Op::BitXor, binary(Op::BitXor, key.a, key.b), full_like(key.a, parity))};
  const auto rotated = [](Expr e, int by) {
    return binary(Op::BitOr, binary(Op::ShiftLeft, e, full_like(e, by)), binary(Op::ShiftRight, e, full_like(e, 32 - by)));
  };
  x = {x.a + keys[0], x.b + keys[1]};
  for (size_t group = 0; group < 5; ++group) {
    for (const int by : rotations[group % 2]) {
      x.a = x.a + x.b;
      x.b = binary(Op::BitXor, rotated(x.b, by), x.a);
    }
    x.a = x.a + keys[(group + 1) % 3];
    x.b = x.b + keys[(group + 2) % 3] + full_like(x.b, static_cast<double>(group + 1));
  }
  return x;
}

Expr word(Expr key, double which, const Shape& shape) {
  const Expr at = scalar(*key.graph, DType::I32, which);
  return broadcast(gather(key, {&at, 1}), shape, {});
}

void require_key(Expr key, std::string_view what) {
  if (key.type() != Type{DType::U32, {2}})
    throw Error("SG0101", std::string(what) + ": needs a key, u32[2], not " + to_string(key.type()))
        .hint("random_key(7), or one row of random_split(key, n)");
}

// Counters 0 .. count-1 in words a, `stream` in words b.
Pair enciphered(Expr key, int64_t count, double stream) {
  Graph& g = *key.graph;
  const Shape shape = {count};
  return threefry({word(key, 0, shape), word(key, 1, shape)},
                  {cast(iota(g, shape, 0), DType::U32), full(g, {DType::U32, shape}, stream)});
}

// Streams of a key, which no other use of it shares.
constexpr double kBits = 0, kSplit = 1, kNormal = 2;

// The upper 24 bits, times 2^-24.
Expr fraction(Expr bits) {
  const Expr upper = cast(binary(Op::ShiftRight, bits, full_like(bits, 8)), DType::F32);
  return upper * full_like(upper, 0x1p-24);
}

}  // namespace

Expr random_key(Expr seed) {
  if (!is_integer(seed.dtype()) || seed.rank() != 0)
    throw Error("SG0101", "random_key: needs one integer, not " + to_string(seed.type()));
  const Expr words[] = {scalar(*seed.graph, DType::U32, 0), cast(seed, DType::U32)};
  return stack(words, 0);
}

Expr random_split(Expr key, int64_t n) {
  require_key(key, "random_split");
  if (n < 0) throw Error("SG0101", "random_split: negative count " + std::to_string(n));
  const Pair words = enciphered(key, n, kSplit);
  const Expr both[] = {words.a, words.b};
  return stack(both, 1);
}

Expr random_bits(Expr key, const Shape& shape) {
  require_key(key, "random_bits");
  return reshape(enciphered(key, shape.count(), kBits).a, shape);
}

Expr random_uniform(Expr key, const Shape& shape) {
  require_key(key, "random_uniform");
  return fraction(random_bits(key, shape));
}

Expr random_normal(Expr key, const Shape& shape) {
  require_key(key, "random_normal");
  const Pair words = enciphered(key, shape.count(), kNormal);
  const Expr u = fraction(words.a), v = fraction(words.b);
  const Expr radius = unary(Op::Sqrt, full_like(u, -2) * unary(Op::Log, full_like(u, 1) - u));
  return reshape(radius * unary(Op::Cos, v * full_like(v, 2 * std::numbers::pi)), shape);
}

Expr random_permutation(Expr key, int64_t n) {
  require_key(key, "random_permutation");
  if (n < 0) throw Error("SG0101", "random_permutation: negative count " + std::to_string(n));
  return argsort(random_bits(key, {n}), 0, false);
}

}  // namespace spirograd::ir
