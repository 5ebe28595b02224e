// Kernels whose invocations work together, each with inputs and what it has to give, which plain loops compute here: for the
// evaluator, the emitter, offline compilation and every driver.
#pragma once

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "spirograd/host_array.h"
#include "spirv/kernel/builder.h"
#include "spirv/kernel/eval.h"
#include "spirv/probes/halves.h"

namespace spirograd::test {

/// The last binding is the output; whole workgroups run.
struct GroupCase {
  kernel::Kernel kernel;
  std::vector<HostArray> inputs;
  Type output;
  std::vector<double> expected;
};

namespace groups {

using kernel::Access;
using kernel::Builder;
using kernel::KOp;
using kernel::Scalar;
using kernel::Value;

inline Value u(Builder& b, uint32_t x) { return b.constant(Scalar::U32, x); }
inline Value rem(Builder& b, Value a, uint32_t c) { return b.op(KOp::Rem, a, u(b, c)); }
inline Value quot(Builder& b, Value a, uint32_t c) { return b.op(KOp::Quot, a, u(b, c)); }

/// Whole numbers of both signs, whose sums are exact in any order.
inline std::vector<double> numbers(size_t n, uint32_t range, int shift) {
  std::vector<double> x(n);
  uint32_t state = 12345;
  for (double& v : x) {
    state = state * 1664525u + 1013904223u;
    v = static_cast<double>((state >> 8) % range) - shift;
  }
  return x;
}

/// Sums of the elements of each workgroup, by halves of a shared array.
inline GroupCase shared_tree(uint32_t workgroup, uint32_t count) {
  Builder b("shared_tree", workgroup, uint64_t{workgroup} * count);
  const uint32_t x = b.bind("x", Scalar::F32, Access::Read), y = b.bind("y", Scalar::F32, Access::Write);
  const uint32_t part = b.shared("part", Scalar::F32, workgroup);
  const Value i = b.local_index();
  b.shared_store(part, i, b.load(x, b.index()));
  probes::add_by_halves(b, part, i, workgroup);
  b.begin_if(b.op(KOp::Eq, i, u(b, 0)));
  b.store(y, b.group_index(), b.shared_load(part, u(b, 0)));
  b.end_if();
  const std::vector<double> in = numbers(size_t{workgroup} * count, 100, 50);
  std::vector<double> sums(count);
  for (size_t j = 0; j < in.size(); ++j) sums[j / workgroup] += in[j];
  return {std::move(b).finish(), {HostArray(f32({workgroup * int64_t{count}}), in)}, f32({count}), sums};
}

/// Sums of all elements of the workgroup before each one, doubling the distance in a loop.
inline GroupCase shared_scan(uint32_t workgroup, uint32_t count) {
  Builder b("shared_scan", workgroup, uint64_t{workgroup} * count);
  const uint32_t x = b.bind("x", Scalar::U32, Access::Read), y = b.bind("y", Scalar::U32, Access::Write);
  const uint32_t part = b.shared("part", Scalar::U32, workgroup);
  const Value i = b.local_index(), own = b.load(x, b.index()), distance = b.var(u(b, 1)), sum = b.var(own);
  b.shared_store(part, i, own);
  int32_t steps = 0;
  while (1u << steps < workgroup) ++steps;
  b.begin_loop(b.i32(steps));
  const Value d = b.get(distance), other = b.var(u(b, 0));
  b.barrier();
  b.begin_if(b.op(KOp::Le, d, i));
  b.set(other, b.shared_load(part, b.sub(i, d)));
  b.end_if();
  b.barrier();
  b.set(sum, b.add(b.get(sum), b.get(other)));
  b.shared_store(part, i, b.get(sum));
  b.set(distance, b.add(d, d));
  b.end_loop();
  b.store(y, b.index(), b.sub(b.get(sum), own));
  const std::vector<double> in = numbers(size_t{workgroup} * count, 1000, 0);
  std::vector<double> sums(in.size());
  for (size_t j = 0; j < in.size(); ++j) sums[j] = j % workgroup == 0 ? 0 : sums[j - 1] + in[j - 1];
  return {
      std::move(b).finish(), {HostArray(u32({workgroup * int64_t{count}}), in)}, u32({workgroup * int64_t{count}}), sums};
}

/// The product of two matrices of n x n, in tiles of tile x tile: two barriers in the loop over tiles.
inline GroupCase matmul_tile(uint32_t tile, uint32_t n) {
  const uint32_t across = n / tile;
  Builder b("matmul_tile", tile * tile, uint64_t{n} * n);
  const uint32_t x = b.bind("x", Scalar::F32, Access::Read), y = b.bind("y", Scalar::F32, Access::Read);
  const uint32_t z = b.bind("z", Scalar::F32, Access::Write);
  const uint32_t left = b.shared("left", Scalar::F32, tile * tile), right = b.shared("right", Scalar::F32, tile * tile);
  const Value i = b.local_index(), r = quot(b, i, tile), c = rem(b, i, tile);
  const Value row = b.add(b.mul(quot(b, b.group_index(), across), u(b, tile)), r);
  const Value column = b.add(b.mul(rem(b, b.group_index(), across), u(b, tile)), c);
  const Value sum = b.var(b.f32(0));
  const Value k = b.mul(b.bitcast(Scalar::U32, b.begin_loop(b.i32(across))), u(b, tile));
  b.shared_store(left, i, b.load(x, b.add(b.mul(row, u(b, n)), b.add(k, c))));
  b.shared_store(right, i, b.load(y, b.add(b.mul(b.add(k, r), u(b, n)), column)));
  b.barrier();
  const Value j = b.bitcast(Scalar::U32, b.begin_loop(b.i32(tile)));
  const Value product =
      b.mul(b.shared_load(left, b.add(b.mul(r, u(b, tile)), j)), b.shared_load(right, b.add(b.mul(j, u(b, tile)), c)));
  b.set(sum, b.add(b.get(sum), product));
  b.end_loop();
  b.barrier();
  b.end_loop();
  b.store(z, b.add(b.mul(row, u(b, n)), column), b.get(sum));
  const std::vector<double> in_x = numbers(size_t{n} * n, 16, 8), in_y = numbers(size_t{n} * n, 20, 7);
  std::vector<double> product_of(in_x.size());
  for (size_t p = 0; p < n; ++p)
    for (size_t q = 0; q < n; ++q)
      for (size_t s = 0; s < n; ++s) product_of[p * n + q] += in_x[p * n + s] * in_y[s * n + q];
  const Type square = f32({n, n});
  return {std::move(b).finish(), {HostArray(square, in_x), HostArray(square, in_y)}, square, product_of};
}

/// Sums of the elements of each workgroup: of subgroups first, then the first subgroup adds their sums.
inline GroupCase subgroup_sum(uint32_t lanes, uint32_t most, uint32_t count) {
  const uint32_t subgroups = std::max(1u, std::min(lanes, most / lanes)), workgroup = lanes * subgroups;
  Builder b("subgroup_sum", workgroup, uint64_t{workgroup} * count, lanes);
  const uint32_t x = b.bind("x", Scalar::F32, Access::Read), y = b.bind("y", Scalar::F32, Access::Write);
  const uint32_t part = b.shared("part", Scalar::F32, subgroups);
  const Value i = b.local_index(), lane = b.lane_index();
  const Value sum = b.subgroup_reduce(KOp::Add, b.load(x, b.index()));
  b.begin_if(b.op(KOp::Eq, lane, u(b, 0)));
  b.shared_store(part, quot(b, i, lanes), sum);
  b.end_if();
  b.barrier();
  b.begin_if(b.op(KOp::Lt, i, u(b, lanes)));
  const Value own = b.var(b.f32(0));
  b.begin_if(b.op(KOp::Lt, i, u(b, subgroups)));
  b.set(own, b.shared_load(part, i));
  b.end_if();
  const Value all = b.subgroup_reduce(KOp::Add, b.get(own));
  b.begin_if(b.op(KOp::Eq, lane, u(b, 0)));
  b.store(y, b.group_index(), all);
  b.end_if();
  b.end_if();
  const std::vector<double> in = numbers(size_t{workgroup} * count, 100, 50);
  std::vector<double> sums(count);
  for (size_t j = 0; j < in.size(); ++j) sums[j / workgroup] += in[j];
  return {std::move(b).finish(), {HostArray(f32({workgroup * int64_t{count}}), in)}, f32({count}), sums};
}

/// Every combiner and both ways to combine, on i32, u32 and f32: 24 results per invocation, in this order.
inline GroupCase subgroup_combine(uint32_t lanes, uint32_t subgroups) {
  const uint32_t n = lanes * subgroups, results = 24;
  Builder b("subgroup_combine", n, n, lanes);
  const uint32_t x = b.bind("x", Scalar::I32, Access::Read), y = b.bind("y", Scalar::F32, Access::Write);
  const Value value = b.load(x, b.index());
  const std::vector<double> in = numbers(n, 7, 3);
  std::vector<double> expected(size_t{n} * results);
  uint32_t place = 0;
  for (const Scalar t : {Scalar::I32, Scalar::U32, Scalar::F32})
    for (const KOp by : {KOp::Add, KOp::Mul, KOp::Min, KOp::Max})
      for (const bool scan : {false, true}) {
        // Products of numbers from -1 to 1 and sums of small ones fit; u32 sees the absolute values.
        const bool product = by == KOp::Mul;
        const Value small = product ? b.sub(b.op(KOp::Rem, b.add(value, b.i32(3)), b.i32(3)), b.i32(1)) : value;
        const Value magnitude = b.op(KOp::Max, small, b.op(KOp::Neg, small));
        const Value v = t == Scalar::I32 ? small : t == Scalar::U32 ? b.bitcast(t, magnitude) : b.convert(t, small);
        const Value r = scan ? b.subgroup_scan(by, v) : b.subgroup_reduce(by, v);
        // In lane 0 a scan is an identity, which may not be a small number: is it the one of the type?
        Value out = b.convert(Scalar::F32, r);
        if (scan && (by == KOp::Min || by == KOp::Max)) {
          const bool least = by == KOp::Max;
          const Value start = t == Scalar::I32   ? b.constant_word(t, least ? 0x80000000u : 0x7FFFFFFFu)
                              : t == Scalar::U32 ? b.constant_word(t, least ? 0u : 0xFFFFFFFFu)
                                                 : b.f32(least ? -HUGE_VAL : HUGE_VAL);
          out = b.select(b.op(KOp::Eq, r, start), b.f32(least ? -100 : 100), out);
        }
        b.store(y, b.add(b.mul(b.index(), u(b, results)), u(b, place)), out);
        for (uint32_t j = 0; j < n; ++j) {
          const auto of = [&](uint32_t k) {
            const double small_k = product ? static_cast<double>(static_cast<int>(in[k] + 3) % 3 - 1) : in[k];
            return t == Scalar::U32 ? std::abs(small_k) : small_k;
          };
          const double none = by == KOp::Add ? 0 : by == KOp::Mul ? 1 : by == KOp::Min ? 100 : -100;
          double all = none;
          for (uint32_t k = j / lanes * lanes; k < (scan ? j : (j / lanes + 1) * lanes); ++k)
            all = by == KOp::Add   ? all + of(k)
                  : by == KOp::Mul ? all * of(k)
                  : by == KOp::Min ? std::min(all, of(k))
                                   : std::max(all, of(k));
          // The identity of u32's maximum is a number that may occur.
          if (scan && by == KOp::Max && t == Scalar::U32 && all == 0) all = -100;
          expected[size_t{j} * results + place] = all;
        }
        ++place;
      }
  return {std::move(b).finish(), {HostArray(i32({n}), in)}, f32({n * int64_t{results}}), expected};
}

/// Values of other lanes: of a fixed one, of one that a binding names, of the neighbour; numbers and bools.
inline GroupCase subgroup_exchange(uint32_t lanes, uint32_t subgroups) {
  const uint32_t n = lanes * subgroups, results = 4;
  Builder b("subgroup_exchange", n, n, lanes);
  const uint32_t x = b.bind("x", Scalar::F32, Access::Read), which = b.bind("which", Scalar::U32, Access::Read);
  const uint32_t y = b.bind("y", Scalar::F32, Access::Write);
  const Value value = b.load(x, b.index()), next = rem(b, b.add(b.lane_index(), u(b, 1)), lanes);
  const Value values[] = {b.broadcast(value, u(b, lanes - 1)), b.broadcast(value, b.load(which, u(b, 0))),
                          b.shuffle(value, next),
                          b.select(b.shuffle(b.op(KOp::Lt, value, b.f32(0)), next), b.f32(1), b.f32(0))};
  for (uint32_t r = 0; r < results; ++r) b.store(y, b.add(b.mul(b.index(), u(b, results)), u(b, r)), values[r]);
  const std::vector<double> in = numbers(n, 100, 50);
  const uint32_t named = lanes / 2;
  std::vector<double> expected;
  for (uint32_t j = 0; j < n; ++j) {
    const uint32_t first = j / lanes * lanes, neighbour = first + (j % lanes + 1) % lanes;
    expected.insert(expected.end(),
                    {in[first + lanes - 1], in[first + named], in[neighbour], in[neighbour] < 0 ? 1.0 : 0.0});
  }
  return {std::move(b).finish(),
          {HostArray(f32({n}), in), HostArray(u32({1}), {static_cast<double>(named)})},
          f32({n * int64_t{results}}),
          expected};
}

/// Each invocation counts its 32 numbers in 16 bins of its own.
inline GroupCase local_histogram(uint32_t workgroup, uint32_t count) {
  constexpr uint32_t kBins = 16, kNumbers = 32;
  const uint32_t n = workgroup * count;
  Builder b("local_histogram", workgroup, n);
  const uint32_t x = b.bind("x", Scalar::U32, Access::Read), y = b.bind("y", Scalar::U32, Access::Write);
  const uint32_t bins = b.local("bins", Scalar::U32, kBins);
  b.local_store(bins, b.begin_loop(b.i32(kBins)), u(b, 0));
  b.end_loop();
  const Value j = b.bitcast(Scalar::U32, b.begin_loop(b.i32(kNumbers)));
  const Value bin = b.load(x, b.add(b.mul(b.index(), u(b, kNumbers)), j));
  b.local_store(bins, bin, b.add(b.local_load(bins, bin), u(b, 1)));
  b.end_loop();
  const Value k = b.bitcast(Scalar::U32, b.begin_loop(b.i32(kBins)));
  b.store(y, b.add(b.mul(b.index(), u(b, kBins)), k), b.local_load(bins, k));
  b.end_loop();
  const std::vector<double> in = numbers(size_t{n} * kNumbers, kBins, 0);
  std::vector<double> counts(size_t{n} * kBins);
  for (size_t p = 0; p < in.size(); ++p) ++counts[p / kNumbers * kBins + static_cast<size_t>(in[p])];
  return {std::move(b).finish(), {HostArray(u32({n * int64_t{kNumbers}}), in)}, u32({n * int64_t{kBins}}), counts};
}

/// The transpose of a matrix of n x n by tiles with a column to spare.
inline GroupCase transpose_tile(uint32_t tile, uint32_t n) {
  const uint32_t across = n / tile;
  Builder b("transpose_tile", tile * tile, uint64_t{n} * n);
  const uint32_t x = b.bind("x", Scalar::F32, Access::Read), y = b.bind("y", Scalar::F32, Access::Write);
  const uint32_t kept = b.shared("kept", Scalar::F32, tile * (tile + 1));
  const Value i = b.local_index(), r = quot(b, i, tile), c = rem(b, i, tile);
  const Value row = b.mul(quot(b, b.group_index(), across), u(b, tile));
  const Value column = b.mul(rem(b, b.group_index(), across), u(b, tile));
  b.shared_store(kept, b.add(b.mul(r, u(b, tile + 1)), c),
                 b.load(x, b.add(b.mul(b.add(row, r), u(b, n)), b.add(column, c))));
  b.barrier();
  b.store(y, b.add(b.mul(b.add(column, r), u(b, n)), b.add(row, c)),
          b.shared_load(kept, b.add(b.mul(c, u(b, tile + 1)), r)));
  const std::vector<double> in = numbers(size_t{n} * n, 1000, 500);
  std::vector<double> out(in.size());
  for (size_t p = 0; p < n; ++p)
    for (size_t q = 0; q < n; ++q) out[q * n + p] = in[p * n + q];
  return {std::move(b).finish(), {HostArray(f32({n, n}), in)}, f32({n, n}), out};
}

/// The elements of each workgroup from last to first, through shared memory of the type; of bools, whether they are below 0.
/// Surplus workgroups of a folded grid stay out by whole workgroups.
inline GroupCase shared_reverse(Scalar t, uint32_t workgroup, uint32_t count) {
  Builder b("shared_reverse", workgroup, uint64_t{workgroup} * count);
  const uint32_t x = b.bind("x", Scalar::F32, Access::Read), y = b.bind("y", Scalar::F32, Access::Write);
  const uint32_t kept = b.shared("kept", t, workgroup);
  b.begin_group_guard();
  const Value i = b.local_index(), value = b.load(x, b.index());
  b.shared_store(kept, i, t == Scalar::Bool ? b.op(KOp::Lt, value, b.f32(0)) : b.convert(t, value));
  b.barrier();
  const Value other = b.shared_load(kept, b.sub(u(b, workgroup - 1), i));
  b.store(y, b.index(), t == Scalar::Bool ? b.select(other, b.f32(1), b.f32(0)) : b.convert(Scalar::F32, other));
  b.end_if();
  const uint32_t n = workgroup * count;
  const std::vector<double> in = numbers(n, 100, 50);
  std::vector<double> out(n);
  for (uint32_t j = 0; j < n; ++j) {
    const double from = in[j / workgroup * workgroup + workgroup - 1 - j % workgroup];
    out[j] = t == Scalar::Bool ? from < 0 : from;
  }
  return {std::move(b).finish(), {HostArray(f32({n}), in)}, f32({n}), out};
}

}  // namespace groups

/// All of them for a device: with so many lanes in a subgroup, at most so many invocations in a workgroup.
inline std::vector<GroupCase> group_cases(uint32_t lanes, uint32_t most, bool float64) {
  const uint32_t tile = most >= 256 ? 16 : 8, subgroups = std::max(1u, std::min(4u, most / lanes));
  std::vector<GroupCase> cases = {groups::shared_tree(64, 5),
                                  groups::shared_tree(std::min(most, 256u), 3),
                                  groups::shared_scan(64, 3),
                                  groups::matmul_tile(tile, 3 * tile),
                                  groups::subgroup_sum(lanes, std::min(most, 256u), 5),
                                  groups::subgroup_combine(lanes, subgroups),
                                  groups::subgroup_exchange(lanes, subgroups),
                                  groups::local_histogram(64, 2),
                                  groups::transpose_tile(tile, 3 * tile),
                                  groups::shared_reverse(kernel::Scalar::F32, 64, 7),
                                  groups::shared_reverse(kernel::Scalar::Bool, 64, 2)};
  if (float64) cases.push_back(groups::shared_reverse(kernel::Scalar::F64, 64, 2));
  return cases;
}

/// What the evaluator gives.
inline std::vector<double> on_host(GroupCase c) {
  HostArray out(c.output);
  std::vector<std::span<uint8_t>> buffers;
  for (HostArray& x : c.inputs) buffers.emplace_back(x.bytes);
  buffers.emplace_back(out.bytes);
  kernel::evaluate(c.kernel, buffers);
  return out.values();
}

}  // namespace spirograd::test
