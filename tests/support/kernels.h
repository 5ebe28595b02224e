// Small kernels for the tests of the kernel layer and of the emitter.
#pragma once

#include <string>
#include <vector>

#include "spirv/kernel/builder.h"

namespace spirograd::test {

/// Every operation of the kernel IR on values that no rule folds; one output per value. Bindings: the inputs a (f32), i
/// (i32), u (u32), b (bool), f64 d if asked for, then the outputs of the same types, then sum_i (atomic i32), sum_f (atomic
/// f32) and most_u (atomic u32).
inline kernel::Kernel every_operation(bool with_f64) {
  using namespace kernel;
  Builder k("every_operation", 64, 100);
  const uint32_t a = k.bind("a", Scalar::F32, Access::Read), i = k.bind("i", Scalar::I32, Access::Read);
  const uint32_t u = k.bind("u", Scalar::U32, Access::Read), flag = k.bind("b", Scalar::Bool, Access::Read);
  const uint32_t d = with_f64 ? k.bind("d", Scalar::F64, Access::Read) : 0;
  const uint32_t out_f = k.bind("out_f", Scalar::F32, Access::Write),
                 out_i = k.bind("out_i", Scalar::I32, Access::ReadWrite);
  const uint32_t out_u = k.bind("out_u", Scalar::U32, Access::Write), out_b = k.bind("out_b", Scalar::Bool, Access::Write);
  const uint32_t out_d = with_f64 ? k.bind("out_d", Scalar::F64, Access::Write) : 0;
  const uint32_t sum_i = k.bind("sum_i", Scalar::I32, Access::Atomic), sum_f = k.bind("sum_f", Scalar::F32, Access::Atomic);
  const uint32_t most_u = k.bind("most_u", Scalar::U32, Access::Atomic);

  k.begin_guard();
  const Value at = k.index(), next = k.add(at, k.constant(Scalar::U32, 1));
  const Value x = k.load(a, at), y = k.load(a, next), m = k.load(i, at), n = k.load(i, next);
  const Value v = k.load(u, at), w = k.load(u, next), p = k.load(flag, at), q = k.load(flag, next);
  uint32_t place_f = 0, place_i = 0, place_u = 0, place_b = 0, place_d = 0;
  const auto keep = [&](Value value) {
    const auto put = [&](uint32_t binding, uint32_t& place) {
      k.store(binding, k.add(k.mul(at, k.constant(Scalar::U32, 64)), k.constant(Scalar::U32, place++)), value);
    };
    switch (k.type(value)) {
      case Scalar::F32: put(out_f, place_f); break;
      case Scalar::I32: put(out_i, place_i); break;
      case Scalar::U32: put(out_u, place_u); break;
      case Scalar::Bool: put(out_b, place_b); break;
      case Scalar::F64: put(out_d, place_d); break;
      case Scalar::F16: break;  // of bindings alone
    }
  };
  const auto floats = [&](Value r, Value s) {
    for (KOp op : {KOp::Add, KOp::Sub, KOp::Mul, KOp::Div, KOp::Eq, KOp::Ne, KOp::Lt, KOp::Le, KOp::Gt, KOp::Ge})
      keep(k.op(op, r, s));
    for (KOp op : {KOp::Neg, KOp::Sqrt, KOp::Floor, KOp::Trunc}) keep(k.op(op, r));
    keep(k.mul_add(r, s, r));
    keep(k.select(p, r, s));
  };
  const auto integers = [&](Value r, Value s, Scalar t) {
    const Value one = k.constant(t, 1), divisor = k.op(KOp::Or, k.op(KOp::And, s, k.constant(t, 1022)), one);
    for (KOp op : {KOp::Add, KOp::Sub, KOp::Mul, KOp::Min, KOp::Max, KOp::And, KOp::Or, KOp::Xor, KOp::Eq, KOp::Ne, KOp::Lt,
                   KOp::Le, KOp::Gt, KOp::Ge})
      keep(k.op(op, r, s));
    for (KOp op : {KOp::Neg, KOp::Not}) keep(k.op(op, r));
    for (KOp op : {KOp::Quot, KOp::Rem}) keep(k.op(op, r, divisor));
    for (KOp op : {KOp::Shl, KOp::ShrU, KOp::ShrS}) keep(k.op(op, r, k.op(KOp::And, s, k.constant(t, 31))));
    keep(k.select(p, r, s));
  };
  floats(x, y);
  integers(m, n, Scalar::I32);
  integers(v, w, Scalar::U32);
  keep(k.op(KOp::MulHiU, v, w));
  for (KOp op : {KOp::And, KOp::Or, KOp::Xor, KOp::Eq, KOp::Ne}) keep(k.op(op, p, q));
  keep(k.op(KOp::Not, p));
  keep(k.select(p, q, k.op(KOp::Lt, m, n)));
  for (Scalar t : {Scalar::I32, Scalar::U32}) keep(k.bitcast(t, x));
  keep(k.bitcast(Scalar::F32, m));
  keep(k.bitcast(Scalar::U32, m));
  keep(k.convert(Scalar::F32, m));
  keep(k.convert(Scalar::F32, v));
  const Value small = k.select(k.op(KOp::Lt, x, k.f32(1e6)), k.select(k.op(KOp::Lt, k.f32(0), x), x, k.f32(0)), k.f32(3));
  keep(k.convert(Scalar::I32, small));
  keep(k.convert(Scalar::U32, small));
  if (with_f64) {
    const Value r = k.load(d, at), s = k.load(d, next);
    floats(r, s);
    keep(k.convert(Scalar::F32, r));
    keep(k.convert(Scalar::F64, x));
    keep(k.convert(Scalar::F64, m));
    keep(k.convert(Scalar::F64, v));
    const Value bounded = k.select(k.op(KOp::Lt, r, k.constant(Scalar::F64, 1e6)),
                                   k.select(k.op(KOp::Lt, k.constant(Scalar::F64, 0), r), r, k.constant(Scalar::F64, 0)),
                                   k.constant(Scalar::F64, 3));
    keep(k.convert(Scalar::I32, bounded));
    keep(k.convert(Scalar::U32, bounded));
  }
  // Nested control flow: sum over j < 5 of (odd j ? x : y), and a loop that some leave early, with a variable of every type.
  const Value total = k.var(k.f32(0)), seen = k.var(k.boolean(false)), count = k.var(k.i32(0));
  const Value j = k.begin_loop(k.op(KOp::And, m, k.i32(7)));
  k.begin_if(k.op(KOp::Eq, k.op(KOp::And, j, k.i32(1)), k.i32(1)));
  k.set(total, k.add(k.get(total), x));
  k.begin_else();
  k.set(total, k.add(k.get(total), y));
  const Value inner = k.begin_loop(k.i32(3), true);
  k.break_if(k.op(KOp::Eq, inner, k.op(KOp::And, n, k.i32(3))));
  k.begin_if(p);
  k.set(count, k.add(k.get(count), inner));
  k.end_if();
  k.end_loop();
  k.end_if();
  k.set(seen, k.boolean(true));
  k.end_loop();
  keep(k.get(total));
  keep(k.get(seen));
  keep(k.get(count));
  keep(k.load(out_i, k.mul(at, k.constant(Scalar::U32, 64))));
  k.atomic_add(sum_i, k.i32(0), k.op(KOp::And, m, k.i32(15)));
  k.atomic_add(sum_f, k.op(KOp::And, at, k.constant(Scalar::U32, 3)), k.f32(1));
  k.atomic_max(most_u, k.i32(1), v);
  k.end_if();
  return std::move(k).finish();
}

}  // namespace spirograd::test
