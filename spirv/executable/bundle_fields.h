// The fields of an Executable in a bundle, for the writer and the reader alike.
#pragma once

#include <concepts>
#include <tuple>
#include <type_traits>

#include "spirograd/executable.h"

namespace spirograd {

/// References to all fields in the order of the file. A field that is added to one of these structs does not compile until
/// it stands here; then kBundleVersion changes.
template <class T>
auto fields_of(T& x) {
  using Struct = std::remove_const_t<T>;
  if constexpr (std::same_as<Struct, InPlace>) {
    auto& [read, written] = x;
    return std::tie(read, written);
  } else if constexpr (std::same_as<Struct, Requirements>) {
    auto& [device_address, descriptors, float64, atomic_float_add, signed_zero_inf_nan, round_to_even, subgroup_operations,
           subgroup_size, workgroup, groups, buffers, push_bytes, shared_bytes, loop_iterations, signed_zero_inf_nan64,
           round_to_even64, exchange_float_add, integer_atomics, shared_memory, float16_storage, float16_addresses] = x;
    return std::tie(device_address, descriptors, float64, atomic_float_add, signed_zero_inf_nan, round_to_even,
                    subgroup_operations, subgroup_size, workgroup, groups, buffers, push_bytes, shared_bytes,
                    loop_iterations, signed_zero_inf_nan64, round_to_even64, exchange_float_add, integer_atomics,
                    shared_memory, float16_storage, float16_addresses);
  } else if constexpr (std::same_as<Struct, KernelBinary>) {
    auto& [name, words, workgroup, bindings, operations, needs, in_place] = x;
    return std::tie(name, words, workgroup, bindings, operations, needs, in_place);
  } else if constexpr (std::same_as<Struct, BufferDesc>) {
    auto& [role, name, type, bytes, scratch_offset, data, what] = x;  // paths of sources stay at home
    return std::tie(role, name, type, bytes, scratch_offset, data);
  } else if constexpr (std::same_as<Struct, BufferUse>) {
    auto& [buffer, offset, bytes, read, written, strides] = x;
    return std::tie(buffer, offset, bytes, read, written, strides);
  } else if constexpr (std::same_as<Struct, Step>) {
    auto& [kind, kernel, groups, fill_word, uses, label, count, body, work] = x;
    return std::tie(kind, kernel, groups, fill_word, uses, label, count, body, work);
  } else {
    static_assert(std::same_as<Struct, Executable>);
    auto& [version, form, kernels, buffers, steps, n_inputs, n_outputs, scratch_bytes] = x;
    return std::tie(version, form, kernels, buffers, steps, n_inputs, n_outputs, scratch_bytes);
  }
}

/// The greatest value of an enumeration of the file.
template <class E>
inline constexpr E last_of = E{};
template <>
inline constexpr BindingForm last_of<BindingForm> = BindingForm::Descriptors;
template <>
inline constexpr Role last_of<Role> = Role::Scratch;
template <>
inline constexpr Step::Kind last_of<Step::Kind> = Step::Kind::Repeat;
template <>
inline constexpr DType last_of<DType> = DType::F16;

}  // namespace spirograd
