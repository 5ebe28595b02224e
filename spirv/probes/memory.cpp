// Whether arrays are reached: through many pointers, at odd offsets, beyond 4 GiB, in folded grids, and whether dispatches
// that depend on each other wait.
#include "spirv/probes/recipe.h"

namespace spirograd::probes {
namespace {

using kernel::Access;
using kernel::Builder;
using kernel::KOp;
using kernel::Scalar;
using kernel::Value;

constexpr uint32_t kLongest = 100'003;

// y = 3 x + 1 of what another kernel has stored, of several lengths that end in the middle of a workgroup.
void add_affine(Recipes& out) {
  Draft d("3 x + 1");
  constexpr uint32_t kLengths[] = {1, 63, 65, kLongest};
  std::vector<uint32_t> outputs;
  for (uint32_t n : kLengths) outputs.push_back(d.output(n));
  const uint32_t x = d.scratch(kLongest), lengths = d.constant({std::begin(kLengths), std::end(kLengths)});
  Builder numbers("numbers", 64, kLongest);
  const uint32_t to = numbers.bind("x", Scalar::U32, Access::Write);
  numbers.begin_guard();
  const Value number = numbers.index();
  numbers.store(to, number, number);
  numbers.end_if();
  Builder affine("affine", 64, kLongest);
  const uint32_t from = affine.bind("x", Scalar::U32, Access::Read), n = affine.bind("n", Scalar::U32, Access::Read),
                 y = affine.bind("y", Scalar::U32, Access::Write);
  affine.begin_guard();
  const Value i = affine.index();
  affine.begin_if(affine.op(KOp::Lt, i, affine.load(n, word(affine, 0))));
  affine.store(y, i, affine.add(affine.mul(affine.load(from, i), word(affine, 3)), word(affine, 1)));
  affine.end_if();
  affine.end_if();
  const uint32_t first = d.kernel(std::move(numbers).finish()), second = d.kernel(std::move(affine).finish());
  d.run(first, {{x}});
  for (uint32_t j = 0; j < outputs.size(); ++j) {
    d.run(second, {{x}, {lengths, 4 * j}, {outputs[j]}}, (kLengths[j] + 63) / 64);
    d.expect_steps(1, std::to_string(kLengths[j]) + " elements", outputs[j], 1, 3);
  }
  out.push_back(std::move(d).take());
}

// Each array is read 4 bytes past a multiple of 256, and what is stored begins there, too.
void add_pointers(Recipes& out, uint32_t pointers) {
  constexpr uint32_t kStride = 64, kElements = 8, kLead = kStride + 1;  // in words
  const uint32_t sources = pointers - 1;
  Draft d(std::to_string(pointers) + " pointers");
  const uint32_t y = d.output(kLead + sources * kElements);
  std::vector<uint32_t> arrays;
  const auto value = [](uint32_t array, uint32_t at) { return 0x10000000u * (array + 1) + 7 * at; };
  for (uint32_t a = 0; a < 3; ++a) {
    std::vector<uint32_t> words(sources * kStride + kStride);
    for (uint32_t at = 0; at < words.size(); ++at) words[at] = value(a, at);
    arrays.push_back(d.constant(words));
  }
  Builder b("read through " + std::to_string(pointers) + " pointers", 64, kElements);
  std::vector<uint32_t> bindings;
  for (uint32_t j = 0; j < sources; ++j) bindings.push_back(b.bind("x" + std::to_string(j), Scalar::U32, Access::Read));
  const uint32_t to = b.bind("y", Scalar::U32, Access::Write);
  b.begin_guard();
  for (uint32_t j = 0; j < sources; ++j)
    b.store(to, {b.add(b.index(), word(b, j * kElements)), b.load(bindings[j], b.index())});
  b.end_if();
  const uint32_t kernel = d.kernel(std::move(b).finish());
  std::vector<Draft::Use> uses;
  std::vector<uint32_t> expected(kLead);
  for (uint32_t j = 0; j < sources; ++j) {
    uses.push_back({arrays[j % 3], 4 * uint64_t{j * kStride + 1}});
    for (uint32_t i = 0; i < kElements; ++i) expected.push_back(value(j % 3, j * kStride + 1 + i));
  }
  uses.push_back({y, 4 * kLead});
  d.fill(y, 0);
  d.run(kernel, uses);
  d.expect(2, std::to_string(pointers) + " pointers", y, expected);
  out.push_back(std::move(d).take());
}

// The first, a middle and the last element of an array of so many, stored by one dispatch and read by another.
void add_large(Recipes& out, const char* size, uint64_t elements) {
  Draft d(std::string("beyond ") + size);
  const uint32_t y = d.output(3), x = d.scratch(elements);
  const auto place = [&](Builder& b) {
    const Value second = b.op(KOp::Eq, b.index(), word(b, 1)), last = b.op(KOp::Eq, b.index(), word(b, 2));
    const auto at = [&](uint64_t e) { return word(b, static_cast<uint32_t>(e)); };
    return b.select({last, at(elements - 1), b.select({second, at(elements / 2), at(0)})});
  };
  Builder put("store far", 64, 3);
  const uint32_t to = put.bind("x", Scalar::U32, Access::Write);
  put.begin_guard();
  put.store(to, {place(put), put.add(put.index(), word(put, 7))});
  put.end_if();
  Builder get("load far", 64, 3);
  const uint32_t from = get.bind("x", Scalar::U32, Access::Read), found = get.bind("y", Scalar::U32, Access::Write);
  get.begin_guard();
  get.store(found, {get.index(), get.load(from, place(get))});
  get.end_if();
  const uint32_t first = d.kernel(std::move(put).finish()), second = d.kernel(std::move(get).finish());
  d.run(first, {{x}});
  d.run(second, {{x}, {y}});
  d.expect_steps(3, std::string("an array beyond ") + size, y, 7, 1);
  d.thorough();
  out.push_back(std::move(d).take());
}

// Each invocation adds its number to an element of its own, so that one that is left out, or runs twice, is seen.
kernel::Kernel count_once(uint32_t groups) {
  Builder b("count once", 1, groups);
  const uint32_t to = b.bind("y", Scalar::U32, Access::Atomic);
  b.begin_guard();
  const Value i = b.index();
  b.atomic_add(to, i, b.add(i, word(b, 1)));
  b.end_if();
  return std::move(b).finish();
}

// More workgroups than one axis of a grid has to take.
void add_folded(Recipes& out, uint32_t groups, bool thorough) {
  Draft d(std::to_string(groups) + " workgroups");
  if (thorough) d.thorough();
  const uint32_t y = d.output(groups), kernel = d.kernel(count_once(groups));
  d.fill(y, 0);
  d.run(kernel, {{y}});
  d.expect_steps(4, std::to_string(groups) + " workgroups", y, 1, 1);
  out.push_back(std::move(d).take());
}

// As parts that begin where the one before has ended: parts of one row, and whole rows.
void add_parts(Recipes& out, uint32_t groups) {
  Draft d(std::to_string(groups) + " workgroups in parts");
  const uint32_t y = d.output(groups), kernel = d.kernel(count_once(groups));
  d.fill(y, 0);
  d.run_in_parts(3, kernel, {{y}});
  d.expect_steps(4, std::to_string(groups) + " workgroups in parts", y, 1, 1).part = kBasePart;
  out.push_back(std::move(d).take());
}

// Each dispatch reads what the one before has stored, elements of other workgroups, in scratch memory that takes turns.
void add_dependent(Recipes& out, uint32_t dispatches, bool thorough) {
  constexpr uint32_t kElements = 256, kShift = 67;
  Draft d(std::to_string(dispatches) + " dependent dispatches");
  if (thorough) d.thorough();
  const uint32_t y = d.output(kElements), a = d.scratch(kElements), c = d.scratch(kElements);
  Builder b("next", 64, kElements);
  const uint32_t from = b.bind("x", Scalar::U32, Access::Read), to = b.bind("y", Scalar::U32, Access::Write);
  b.begin_guard();
  const Value own = b.index(), other = b.op(KOp::Rem, b.add(own, word(b, kShift)), word(b, kElements));
  b.store(to, own, b.add(b.mul(b.load(from, other), word(b, 1664525)), own));
  b.end_if();
  const uint32_t kernel = d.kernel(std::move(b).finish());
  d.fill(a, 1);
  d.repeat(dispatches / 2, 2);
  d.run(kernel, {{a}, {c}});
  d.run(kernel, {{c}, {a}});
  d.run(kernel, {{a}, {y}});
  std::vector<uint32_t> x(kElements, 1), next(kElements);
  for (uint32_t k = 0; k <= dispatches; ++k, x.swap(next))
    for (uint32_t i = 0; i < kElements; ++i) next[i] = x[(i + kShift) % kElements] * 1664525u + i;
  d.expect(10, std::to_string(dispatches) + " dependent dispatches", y, x);
  out.push_back(std::move(d).take());
}

}  // namespace

void add_memory(Recipes& out) {
  add_affine(out);
  add_pointers(out, 4);
  add_pointers(out, 16);
  add_folded(out, 4'099, false);
  add_folded(out, 65'539, true);
  add_parts(out, 1'009);
  add_parts(out, 4'099);
  add_dependent(out, 200, false);
  add_dependent(out, 1000, true);
  add_large(out, "2 GiB", (uint64_t{1} << 29) + 1000);
  add_large(out, "4 GiB", (uint64_t{1} << 30) + 1000);
}

}  // namespace spirograd::probes
