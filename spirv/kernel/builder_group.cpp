// Numbers of invocations, the guard against surplus ones, and what invocations do together.
#include <algorithm>
#include <cassert>

#include "spirograd/result.h"
#include "spirv/kernel/builder.h"
#include "spirv/kernel/interval.h"

namespace spirograd::kernel {

uint64_t Builder::groups() const {
  return kernel_.workgroup == 0 ? 0 : (kernel_.invocations + kernel_.workgroup - 1) / kernel_.workgroup;
}

// Written without rules: a grid that the runtime folds has surplus workgroups, so no interval decides the condition.
void Builder::begin_guard() {
  const Value index = pure({KOp::Index, Scalar::U32, {}, 0}, whole(Scalar::U32));
  begin_if(plain(KOp::Lt, index, constant_word(Scalar::U32, kernel_.invocations)));
}

void Builder::begin_group_guard() {
  const Value group = pure({KOp::GroupIndex, Scalar::U32, {}, 0}, whole(Scalar::U32));
  begin_if(plain(KOp::Lt, group, constant_word(Scalar::U32, groups())));
}

Value Builder::numbered(KOp op, uint64_t count) {
  const auto last = static_cast<int64_t>(std::clamp<uint64_t>(count, 1, uint64_t{1} << 32)) - 1;
  const Value v = pure({op, Scalar::U32, {}, 0}, {0, last});
  return interval(v).lo == interval(v).hi ? constant_word(Scalar::U32, static_cast<uint64_t>(interval(v).lo)) : v;
}

Value Builder::index() { return numbered(KOp::Index, groups() * kernel_.workgroup); }
Value Builder::local_index() { return numbered(KOp::LocalIndex, kernel_.workgroup); }
Value Builder::group_index() { return numbered(KOp::GroupIndex, groups()); }
void Builder::use_lanes(uint32_t lanes) {
  if (kernel_.subgroup != 0 && kernel_.subgroup != lanes)
    throw Error("SG0900", "internal: '" + kernel_.name + "' is written for subgroups of " +
                              std::to_string(kernel_.subgroup) + " lanes, not " + std::to_string(lanes));
  kernel_.subgroup = lanes;
}

Value Builder::lane_index() { return numbered(KOp::LaneIndex, kernel_.subgroup); }

uint32_t Builder::shared(std::string name, Scalar type, uint32_t count) {
  kernel_.shared.push_back({std::move(name), type, count});
  return static_cast<uint32_t>(kernel_.shared.size() - 1);
}

uint32_t Builder::local(std::string name, Scalar type, uint32_t count) {
  kernel_.locals.push_back({std::move(name), type, count});
  return static_cast<uint32_t>(kernel_.locals.size() - 1);
}

Value Builder::shared_load(uint32_t array, Value index) {
  assert(array < kernel_.shared.size() && is_integer(type(index)));
  const Scalar t = kernel_.shared[array].type;
  return pure({KOp::SharedLoad, t, {array, index, 0}, shared_version_}, whole(t));
}

void Builder::shared_store(uint32_t array, Value index, Value value) {
  assert(array < kernel_.shared.size() && is_integer(type(index)) && type(value) == kernel_.shared[array].type);
  append({KOp::SharedStore, type(value), {array, index, value}, 0}, {});
  ++shared_version_;
}

Value Builder::local_load(uint32_t array, Value index) {
  assert(array < kernel_.locals.size() && is_integer(type(index)));
  const Scalar t = kernel_.locals[array].type;
  return pure({KOp::LocalLoad, t, {array, index, 0}, local_version_}, whole(t));
}

void Builder::local_store(uint32_t array, Value index, Value value) {
  assert(array < kernel_.locals.size() && is_integer(type(index)) && type(value) == kernel_.locals[array].type);
  append({KOp::LocalStore, type(value), {array, index, value}, 0}, {});
  ++local_version_;
}

void Builder::barrier() {
  append({KOp::Barrier, Scalar::Bool, {}, 0}, {});
  ++shared_version_;
}

Value Builder::subgroup_reduce(KOp combiner, Value value) {
  const Scalar t = type(value);
  return pure({KOp::SubgroupReduce, t, {value, 0, 0}, static_cast<uint64_t>(combiner)}, whole(t));
}

Value Builder::subgroup_scan(KOp combiner, Value value) {
  const Scalar t = type(value);
  return pure({KOp::SubgroupScan, t, {value, 0, 0}, static_cast<uint64_t>(combiner)}, whole(t));
}

Value Builder::broadcast(Value value, Value lane) {
  assert(type(lane) == Scalar::U32);
  return pure({KOp::Broadcast, type(value), {value, lane, 0}, 0}, interval(value));
}

Value Builder::shuffle(Value value, Value lane) {
  assert(type(lane) == Scalar::U32);
  return pure({KOp::Shuffle, type(value), {value, lane, 0}, 0}, interval(value));
}

}  // namespace spirograd::kernel
