// What all functions of the C interface share: errors of the thread, and arguments that are checked.
#pragma once

#include <algorithm>
#include <cstring>
#include <string>
#include <string_view>

#include "spirograd/host_array.h"
#include "spirograd/result.h"
#include "spirograd/shape.h"
#include "spirograd/spirograd.h"

namespace spirograd::c {

/// Keeps the error for sg_last_error() and returns its number.
sg_status fail(const Error& error) noexcept;

/// Runs the body of a function of the interface; nothing is thrown through it.
template <class F>
sg_status call(F&& body) noexcept {
  try {
    body();
    return SG_OK;
  } catch (const Error& error) {
    return fail(error);
  } catch (const std::bad_alloc&) {
    return fail({});
  } catch (const std::exception& error) {
    return fail(guarded([&] { throw Error("SG0900", std::string("internal: ") + error.what()); }).error());
  } catch (...) {
    return fail(guarded([] { throw Error("SG0900", "internal: something was thrown that is no exception"); }).error());
  }
}

Error null_error(std::string_view function, std::string_view parameter);

/// The thing that is pointed to. Throws SG0509, which names the parameter.
template <class T>
T& given(T* pointer, std::string_view function, std::string_view parameter) {
  if (!pointer) throw null_error(function, parameter);
  return *pointer;
}

inline std::string text_of(const char* text) { return text ? text : ""; }
std::string text_of(const char* text, std::string_view function, std::string_view parameter);

/// Throws SG0509.
void check_index(std::string_view function, size_t index, size_t count);
void check_struct_size(std::string_view function, size_t size, size_t known, const void* options);

/// The options as this version knows them: members that the caller's version did not have are zero. Null: all are.
template <class T>
T options_of(const T* options, std::string_view function) {
  T out = {};
  if (!options) return out;
  check_struct_size(function, options->struct_size, sizeof(T), options);
  std::memcpy(&out, options, std::min(options->struct_size, sizeof(T)));
  return out;
}

/// Throws SG0509 for a number that names none.
DType element_of(sg_dtype dtype, std::string_view function);
Type type_of(const sg_type* type, std::string_view function);
sg_type type_of(const Type& type);

/// Both throw SG0501 where dtype or bytes are not those of the type, SG0509 for null. `what`: for messages, "input 'x'".
HostArray array_of(const sg_input& input, const Type& type, std::string_view function, const std::string& what);
void check_output(const sg_output& output, const Type& type, std::string_view function, const std::string& what);
/// Pre: checked.
void copy_out(const HostArray& array, const sg_output& output);

}  // namespace spirograd::c
