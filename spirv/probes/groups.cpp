// Invocations of a workgroup that work together: shared memory and barriers, and the lanes of subgroups.
#include "spirv/probes/halves.h"
#include "spirv/probes/recipe.h"

namespace spirograd::probes {
namespace {

using kernel::Access;
using kernel::Builder;
using kernel::KOp;
using kernel::Scalar;
using kernel::Value;

constexpr uint32_t kWorkgroup = 128;
constexpr uint32_t kSubgroups[] = {4, 8, 16, 32, 64, 128};

// Each workgroup turns its elements around in shared memory and adds them up there, by halves. The last one has too few.
void add_shared(Recipes& out) {
  constexpr uint32_t kElements = 5 * kWorkgroup - 51, kGroups = 5;
  Draft d("shared memory");
  const uint32_t y = d.output(kGroups * kWorkgroup), sums = d.output(kGroups);
  Builder b("share", kWorkgroup, kGroups * kWorkgroup);
  const uint32_t turned = b.bind("y", Scalar::U32, Access::Write), totals = b.bind("sums", Scalar::U32, Access::Write);
  const uint32_t part = b.shared("part", Scalar::U32, kWorkgroup);
  b.begin_group_guard();
  const Value i = b.local_index(), place = b.index();
  const Value own = b.select({b.op(KOp::Lt, place, word(b, kElements)), b.add(place, word(b, 1)), word(b, 0)});
  b.shared_store(part, i, own);
  b.barrier();
  b.store(turned, place, b.shared_load(part, b.sub(word(b, kWorkgroup - 1), i)));
  add_by_halves(b, part, i, kWorkgroup);
  b.begin_if(b.op(KOp::Eq, i, word(b, 0)));
  b.store(totals, {b.group_index(), b.shared_load(part, word(b, 0))});
  b.end_if();
  b.end_if();
  const uint32_t kernel = d.kernel(std::move(b).finish());
  d.run(kernel, {{y}, {sums}});
  std::vector<uint32_t> expected(kGroups * kWorkgroup), total(kGroups);
  for (uint32_t j = 0; j < expected.size(); ++j) {
    const uint32_t group = j / kWorkgroup, from = group * kWorkgroup + kWorkgroup - 1 - j % kWorkgroup;
    expected[j] = from < kElements ? from + 1 : 0;
    total[group] += expected[j];
  }
  d.expect(30, "elements turned around in shared memory", y, expected);
  d.expect(30, "sums in shared memory", sums, total);
  out.push_back(std::move(d).take());
}

// Subgroups are full and of the size that was asked for, invocations are numbered as kernels count them, and lanes see each
// other's values.
void add_lanes(Recipes& out, uint32_t lanes) {
  Draft d("subgroups of " + std::to_string(lanes));
  const uint32_t y = d.output(kWorkgroup);
  Builder b("exchange between " + std::to_string(lanes) + " lanes", kWorkgroup, kWorkgroup, lanes);
  const uint32_t to = b.bind("y", Scalar::U32, Access::Write);
  b.begin_group_guard();
  const Value place = b.local_index();
  Value sum = b.mul(place, place);
  for (uint32_t half = lanes / 2; half > 0; half /= 2)
    sum = b.add(sum, b.shuffle(sum, b.op(KOp::Xor, b.lane_index(), word(b, half))));
  b.store(to, place, sum);
  b.end_if();
  const uint32_t kernel = d.kernel(std::move(b).finish());
  d.run(kernel, {{y}});
  std::vector<uint32_t> expected(kWorkgroup);
  for (uint32_t i = 0; i < kWorkgroup; ++i)
    for (uint32_t lane = 0; lane < lanes; ++lane) {
      const uint32_t number = i / lanes * lanes + lane;
      expected[i] += number * number;
    }
  d.expect(30, "values of other lanes", y, expected).part = kLanePart;
  out.push_back(std::move(d).take());
}

// Sums of the lanes of a subgroup, of those before each, and a value that one of them gives to all.
void add_lane_sums(Recipes& out, uint32_t lanes) {
  Draft d("sums of " + std::to_string(lanes) + " lanes");
  const uint32_t y = d.output(3 * kWorkgroup);
  Builder b("add " + std::to_string(lanes) + " lanes", kWorkgroup, kWorkgroup, lanes);
  const uint32_t to = b.bind("y", Scalar::U32, Access::Write);
  b.begin_group_guard();
  const Value i = b.local_index(), x = b.mul(i, i);
  const auto put = [&](uint32_t plane, Value v) { b.store(to, b.add(i, word(b, plane * kWorkgroup)), v); };
  put(0, b.subgroup_reduce(KOp::Add, x));
  put(1, b.subgroup_scan(KOp::Add, x));
  put(2, b.broadcast(x, word(b, 1)));
  b.end_if();
  const uint32_t kernel = d.kernel(std::move(b).finish());
  d.run(kernel, {{y}});
  std::vector<uint32_t> expected(3 * kWorkgroup);
  for (uint32_t j = 0; j < kWorkgroup; ++j) {
    const uint32_t first = j / lanes * lanes;
    for (uint32_t number = first; number < first + lanes; ++number) {
      expected[j] += number * number;
      if (number < j) expected[kWorkgroup + j] += number * number;
    }
    expected[2 * kWorkgroup + j] = (first + 1) * (first + 1);
  }
  d.expect(30, "sums of lanes", y, expected).part = kLaneSumPart;
  out.push_back(std::move(d).take());
}

}  // namespace

void add_groups(Recipes& out) {
  add_shared(out);
  for (uint32_t lanes : kSubgroups) {
    add_lanes(out, lanes);
    add_lane_sums(out, lanes);
  }
}

}  // namespace spirograd::probes
