// The emitter of one kernel: what its parts share. Declarations are in emit_types.cpp, instructions in emit_body.cpp and
// emit_convert.cpp, accesses to memory in emit_memory.cpp and emit_rows.cpp, what invocations are and do in a workgroup in
// emit_group.cpp; emit.cpp puts the module together.
#pragma once

#include <map>
#include <set>
#include <span>
#include <tuple>

#include "spirv/emit/emit.h"
#include "spirv/emit/module.h"
#include "spirv/kernel/lane_rows.h"
#include "spirv/kernel/pairs.h"

namespace spirograd::spirv {

using kernel::Access;
using kernel::as;
using kernel::Binding;
using kernel::Inst;
using kernel::Kernel;
using kernel::Kind;
using kernel::KOp;
using kernel::Scalar;
using kernel::Value;
using spv::Op;

/// What memory holds for a value: bools are words.
inline Scalar in_memory(Scalar s) { return s == Scalar::Bool ? Scalar::U32 : s; }

class Emitter {
 public:
  Emitter(const Kernel& kernel, const Target& target, BindingForm form, const EmitOptions& options)
      : kernel_(kernel),
        target_(target),
        form_(form),
        options_(options),
        native_atomics_(target.atomic_float_add && options.native_float_atomics) {}

  std::vector<uint32_t> run();
  /// Complete after run().
  const Requirements& needs() const { return needs_; }

 private:
  struct Block {
    Id other = 0;  // If: the else label, or the merge label if there is no else
    Id merge = 0;
    Id header = 0, continuing = 0, counter = 0, next = 0;  // Loop
    bool has_else = false;
  };

  // Declarations.
  Id type(Scalar s);
  Id declared(Scalar s);
  Id pointer(spv::StorageClass storage, Id to);
  Id word(uint32_t value) { return module_.constant(Op::OpConstant, type(Scalar::U32), {value}); }
  Id constant(const Inst& i);
  Scalar stored(const Binding& b) const;
  Id buffer_block(Scalar element, bool writable, uint32_t together = 1);
  void declare_bindings();
  void declare_arrays();
  Id built_in(spv::BuiltIn which, bool vector);
  void declare_entry(Id function);
  void record_sizes();

  // The body.
  void put(Op op, Words operands) { append(code_, op, operands); }
  Id result(Op op, Id type, Words operands);
  Id composite(Id type, std::span<const Id> parts);
  Id arithmetic(Op op, Scalar t, bool exact, Words operands);
  Id ext(Scalar t, uint32_t instruction, Words operands);
  void label(Id id);
  bool uses(KOp op) const;
  Id group_number();
  Id local_number();
  void need_subgroups(SubgroupOperation operation, spv::Capability capability);
  Id subgroup_built_in(spv::BuiltIn which);
  void number_invocations();
  void barrier();
  Id subgroup(const Inst& i);
  Id combine_lanes(const Inst& i);
  Id value_of_lane(const Inst& i);
  Id to_memory(Scalar t, Id value);
  Id from_memory(Scalar t, Id word);
  Id access(size_t at);
  Id array_element(const Inst& i);
  Id array_load(const Inst& i);
  void array_store(const Inst& i);
  Id element(uint32_t binding, Value index);
  Id load(size_t at);
  void store(size_t at);
  bool paired(size_t at);
  Id pair_place(size_t at);
  void load_pair(size_t at);
  void store_pair(size_t at);
  void find_rows();
  uint32_t numbers_stored(size_t at) const;
  Id descriptor(uint32_t binding, Id to_block);
  void push_for_rows(Id push, std::vector<Id>& members);
  void declare_row_stores();
  Id made_of_pushed(Id number, uint64_t end);
  void number_rows();
  Id subgroup_by(Scalar t, uint32_t divisor);
  Id sum_of_terms(const kernel::Sum& sum);
  Id row_begin(const kernel::Sum& first, uint32_t behind);
  Id place_of_row(uint32_t binding, const kernel::Sum& first, uint32_t behind);
  Id load_row(size_t at, Scalar element);
  Id held_together(size_t at, Id value, Scalar t);
  void store_row(size_t at, std::span<const Id> values);
  bool has_rows() const { return rows_.loads + rows_.stores > 0; }
  bool is_row(size_t at, uint32_t step) const { return has_rows() && rows_.accesses[at].step == step; }
  bool is_common(size_t at) const { return has_rows() && rows_.accesses[at].common; }
  void atomic(const Inst& i);
  void compare_exchange_add(Id pointer, Id addend);
  Id leaf(const Inst& i);
  Id negate(const Inst& i);
  Id arithmetic(const Inst& i);
  Id multiply_add(const Inst& i);
  Id float_only(const Inst& i);
  Id remainder(const Inst& i);
  Id high_word(const Inst& i);
  Id integer(const Inst& i);
  Id bitwise(const Inst& i);
  Id comparison(const Inst& i);
  Id convert(const Inst& i);
  Id truncated(const Inst& i);
  Id conversion(const Inst& i);
  Id variable(const Inst& i);
  void begin_if(size_t at);
  void begin_loop(size_t at);
  void leave_loop(size_t at);
  void end_loop();
  Id control(size_t at);
  Id emit(size_t at);

  const Kernel& kernel_;
  const Target& target_;
  const BindingForm form_;
  const EmitOptions& options_;
  const bool native_atomics_;
  Module module_;
  Requirements needs_;
  std::vector<uint32_t> variables_, code_;
  std::vector<Id> interface_;
  std::vector<Id> buffers_;          // per binding: pointer to its block
  std::vector<Id> offsets_;          // of bindings with a descriptor: the element offset into it
  std::vector<Id> shared_, locals_;  // per array: its variable
  std::array<Id, 6> types_{};        // per Scalar; 0: not declared yet
  std::map<spv::BuiltIn, Id> built_ins_;
  std::vector<Id> ids_;           // per kernel value
  std::vector<bool> unrollable_;  // per Loop
  std::vector<kernel::Half> pairs_;
  kernel::LaneRows rows_;                                     // none: each lane loads and stores for itself
  std::map<std::pair<uint32_t, uint32_t>, Id> described_as_;  // rows: by binding, and numbers that are stored together
  uint32_t described_ = 0;  // rows: the first so many bindings have a descriptor beside their address
  std::map<std::pair<uint32_t, std::vector<std::pair<Value, uint32_t>>>, Id> begins_;  // rows: of bindings, by terms
  std::set<size_t> held_;        // rows: stores behind others, whose values these hold, too
  std::set<Id> strided_;         // rows: types of pointers that are decorated
  std::vector<Id> is_lane_;      // rows: whether the lane has this number, but for the last one
  std::vector<size_t> else_of_;  // per If: the position of its Else, or 0
  std::vector<Block> blocks_;
  std::map<std::tuple<Scalar, bool, uint32_t>, Id> block_types_;
  Id label_ = 0;  // of the block being written
  Id index_ = 0, local_ = 0, group_ = 0, lane_ = 0;
  Id push_ = 0;      // the push constants
  Id subgroup_ = 0;  // rows: its number in the workgroup
};

}  // namespace spirograd::spirv
