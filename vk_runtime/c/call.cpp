// Errors of the thread, and the checks of arguments that the interface makes itself.
#include "vk_runtime/c/call.h"

#include <cctype>

#include "frontend/base/checked.h"

struct sg_error {
  spirograd::Error error;
  std::string text;
};

namespace spirograd::c {
namespace {

struct Last {
  bool any = false;
  sg_error error;
};

Last& last() {
  static thread_local Last kept;
  return kept;
}

// Takes no memory: what it holds is shorter than the strings of any library have room for.
void forget_but_memory(sg_error& e) noexcept {
  for (std::string* s : {&e.error.message, &e.error.loc.file, &e.error.source_line, &e.error.help, &e.text}) s->clear();
  e.error.notes.clear();
  e.error.loc.line = e.error.loc.column = 0;
  e.error.code.assign("SG0601");
  e.error.message.assign("out of memory");
  e.text.assign("out of memory");
}

sg_status number_of(const std::string& code) {
  sg_status n = 0;
  for (char c : code)
    if (std::isdigit(static_cast<unsigned char>(c))) n = n * 10 + (c - '0');
  return n > 0 ? n : 900;
}

std::string in_bytes(size_t n) { return std::to_string(n) + (n == 1 ? " byte" : " bytes"); }

void check_contents(const void* data, size_t bytes, sg_dtype dtype, const Type& type, std::string_view function,
                    const std::string& what) {
  const std::string start = std::string(function) + ": " + what + " is " + to_string(type);
  if (dtype != 0 && element_of(dtype, function) != type.dtype)
    throw Error("SG0501", start + ", and its elements are given as " + std::string(name(element_of(dtype, function))))
        .hint("element types never convert by themselves: give elements of the type that the program has");
  const size_t wanted = static_cast<size_t>(type.shape.count()) * host_bytes(type.dtype);
  if (bytes != wanted)
    throw Error("SG0501", start + ", which has " + in_bytes(wanted) + ", and " + in_bytes(bytes) + " are given")
        .hint("bools have one byte each, f64 eight, all others four; sg_type_bytes() counts");
  if (!data && bytes > 0) throw null_error(function, "the data of " + what);
}

}  // namespace

sg_status fail(const Error& error) noexcept {
  Last& l = last();
  l.any = true;
  try {
    if (error.code.empty()) throw std::bad_alloc();
    std::string text = error.str();
    l.error.error = error;
    l.error.text = std::move(text);
  } catch (...) {
    forget_but_memory(l.error);
  }
  return number_of(l.error.error.code);
}

Error null_error(std::string_view function, std::string_view parameter) {
  return Error("SG0509", std::string(function) + ": " + std::string(parameter) + " is NULL")
      .hint("<spirograd/spirograd.h> says which pointers may be NULL");
}

std::string text_of(const char* text, std::string_view function, std::string_view parameter) {
  return &given(text, function, parameter);
}

void check_index(std::string_view function, size_t index, size_t count) {
  if (index >= count)
    throw Error("SG0509",
                std::string(function) + ": there is no number " + std::to_string(index) + " among " + std::to_string(count))
        .hint("numbers begin with 0");
}

void check_struct_size(std::string_view function, size_t size, size_t known, const void* options) {
  if (size < sizeof(size_t))
    throw Error("SG0509", std::string(function) + ": the struct_size of the options is " + std::to_string(size))
        .hint("set struct_size to sizeof the struct, and all that you do not need to zero");
  const char* bytes = static_cast<const char*>(options);
  for (size_t i = known; i < size; ++i)
    if (bytes[i])
      throw Error("SG0509", std::string(function) + ": the options have members that this library, of version " +
                                sg_version() + ", does not know")
          .hint("leave them zero, or run with the library that the header came with");
}

DType element_of(sg_dtype dtype, std::string_view function) {
  if (dtype < SG_BOOL || dtype > SG_F16)
    throw Error("SG0509", std::string(function) + ": " + std::to_string(dtype) + " is no element type")
        .hint("SG_BOOL, SG_I32, SG_U32, SG_F32, SG_F64 or SG_F16");
  return static_cast<DType>(dtype - SG_BOOL);
}

Type type_of(const sg_type* type, std::string_view function) {
  const sg_type& t = given(type, function, "type");
  Type out{element_of(t.dtype, function), {}};
  if (t.rank < 0 || t.rank > SG_MAX_RANK)
    throw Error("SG0509", std::string(function) + ": an array has 0 to " + std::to_string(SG_MAX_RANK) + " axes, and " +
                              std::to_string(t.rank) + " are given")
        .hint("set rank to the number of extents");
  int64_t bytes = static_cast<int64_t>(host_bytes(out.dtype));
  bool empty = false;
  for (int a = 0; a < t.rank; ++a) {
    const int64_t d = t.extents[a];
    if (d < 0)
      throw Error("SG0509", std::string(function) + ": axis " + std::to_string(a) + " has the extent " + std::to_string(d))
          .hint("extents are 0 or more");
    empty |= d == 0;
    if (d > 0) bytes = saturating_mul(bytes, d);
    out.shape.push_back(d);
  }
  if (!empty && static_cast<uint64_t>(bytes) > std::min<uint64_t>(INT64_MAX - 1, SIZE_MAX))
    throw Error("SG0601", std::string(function) + ": an array of " + to_string(out) + " has more bytes than can be counted")
        .hint("use fewer elements");
  return out;
}

sg_type type_of(const Type& type) {
  sg_type out = {};
  out.dtype = static_cast<sg_dtype>(type.dtype) + SG_BOOL;
  out.rank = type.shape.rank();
  for (int a = 0; a < out.rank && a < SG_MAX_RANK; ++a) out.extents[a] = type.shape[a];
  return out;
}

HostArray array_of(const sg_input& input, const Type& type, std::string_view function, const std::string& what) {
  check_contents(input.data, input.bytes, input.dtype, type, function, what);
  HostArray out;
  out.type = type;
  const auto* data = static_cast<const uint8_t*>(input.data);
  if (input.bytes > 0) out.bytes.assign(data, data + input.bytes);
  return out;
}

void check_output(const sg_output& output, const Type& type, std::string_view function, const std::string& what) {
  check_contents(output.data, output.bytes, output.dtype, type, function, what);
}

void copy_out(const HostArray& array, const sg_output& output) {
  if (output.bytes > 0) std::memcpy(output.data, array.bytes.data(), output.bytes);
}

}  // namespace spirograd::c

using spirograd::c::last;

const char* sg_version(void) { return SPIROGRAD_VERSION; }

const sg_error* sg_last_error(void) { return last().any ? &last().error : nullptr; }
const char* sg_error_code(const sg_error* e) { return e ? e->error.code.c_str() : ""; }
const char* sg_error_message(const sg_error* e) { return e ? e->error.message.c_str() : ""; }
const char* sg_error_help(const sg_error* e) { return e ? e->error.help.c_str() : ""; }
const char* sg_error_file(const sg_error* e) { return e ? e->error.loc.file.c_str() : ""; }
int32_t sg_error_line(const sg_error* e) { return e ? e->error.loc.line : 0; }
int32_t sg_error_column(const sg_error* e) { return e ? e->error.loc.column : 0; }
const char* sg_error_text(const sg_error* e) { return e ? e->text.c_str() : ""; }

sg_status sg_type_bytes(const sg_type* type, size_t* out) {
  return spirograd::c::call([&] {
    const spirograd::Type t = spirograd::c::type_of(type, "sg_type_bytes");
    spirograd::c::given(out, "sg_type_bytes", "out") = static_cast<size_t>(t.shape.count()) * spirograd::host_bytes(t.dtype);
  });
}
