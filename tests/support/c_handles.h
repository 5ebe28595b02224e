// Handles of the C interface that end themselves, for tests of it. Nothing but the C header is included.
#pragma once

#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "spirograd/spirograd.h"

namespace spirograd::c_test {

struct End {
  void operator()(sg_device_list* h) const { sg_device_list_destroy(h); }
  void operator()(sg_device* h) const { sg_device_destroy(h); }
  void operator()(sg_program* h) const { sg_program_destroy(h); }
  void operator()(sg_bytes* h) const { sg_bytes_destroy(h); }
  void operator()(sg_array* h) const { sg_array_destroy(h); }
  void operator()(sg_session* h) const { sg_session_destroy(h); }
};
template <class T>
using Handle = std::unique_ptr<T, End>;

/// What a function that has an `out` gives.
template <class T, class F>
Handle<T> made(F&& make) {
  T* out = nullptr;
  const sg_status status = make(&out);
  EXPECT_EQ(status, SG_OK) << sg_error_text(sg_last_error());
  EXPECT_NE(out, nullptr);
  return Handle<T>(out);
}

inline void expect_ok(sg_status status) { EXPECT_EQ(status, SG_OK) << sg_error_text(sg_last_error()); }

/// The call failed with that code, and its message has these words; where the interface itself complains there is help.
inline void expect_error(sg_status status, std::string_view code, std::string_view words) {
  const sg_error* e = sg_last_error();
  ASSERT_NE(status, SG_OK) << "no error, where one was expected: " << words;
  ASSERT_NE(e, nullptr);
  EXPECT_EQ(sg_error_code(e), code) << sg_error_text(e);
  EXPECT_EQ(status, std::stoi(std::string(code.substr(2)))) << sg_error_text(e);
  EXPECT_NE(std::string_view(sg_error_message(e)).find(words), std::string_view::npos) << sg_error_text(e);
  EXPECT_TRUE(code != "SG0509" || *sg_error_help(e) != 0) << sg_error_text(e);
  EXPECT_NE(std::strstr(sg_error_text(e), sg_error_message(e)), nullptr);
}

inline constexpr const char* kLine =
    "def loss(w: f32[2], x: f32[N], y: f32[N]) -> (loss: f32) = mean(square(w[0] + w[1] * x - y))\n";

inline Handle<sg_program> from_text(const char* text, std::vector<sg_size> sizes = {}, sg_dtype dtype = 0) {
  sg_text_options o = {};
  o.struct_size = sizeof o;
  o.sizes = sizes.data();
  o.n_sizes = sizes.size();
  o.dtype = dtype;
  return made<sg_program>([&](sg_program** out) { return sg_program_from_text(text, &o, out); });
}

inline Handle<sg_program> derived(const Handle<sg_program>& program, sg_derivative how, std::vector<const char*> by = {}) {
  return made<sg_program>(
      [&](sg_program** out) { return sg_program_derive(program.get(), how, by.data(), by.size(), out); });
}

template <class T>
sg_input in(const std::vector<T>& values, sg_dtype dtype = 0) {
  return {values.data(), values.size() * sizeof(T), dtype};
}
template <class T>
sg_output to(std::vector<T>& values, sg_dtype dtype = 0) {
  return {values.data(), values.size() * sizeof(T), dtype};
}

/// "w: 4[2]", dtype as a number, of all inputs or outputs, with blanks between.
inline std::string inputs_of(const sg_program* p, bool outputs = false) {
  size_t n = 0;
  expect_ok(outputs ? sg_program_output_count(p, &n) : sg_program_input_count(p, &n));
  std::string all;
  for (size_t i = 0; i < n; ++i) {
    const char* name = nullptr;
    sg_type type;
    std::memset(&type, 255, sizeof type);
    expect_ok(outputs ? sg_program_output(p, i, &name, &type) : sg_program_input(p, i, &name, &type));
    all += (i ? " " : "") + std::string(name) + ": " + std::to_string(type.dtype) + "[";
    for (int a = 0; a < type.rank; ++a) all += (a ? "," : "") + std::to_string(type.extents[a]);
    all += "]";
  }
  return all;
}
inline std::string outputs_of(const sg_program* p) { return inputs_of(p, true); }

}  // namespace spirograd::c_test
