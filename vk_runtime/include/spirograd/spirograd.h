// The C interface: programs from text or bundles, their derivatives, devices, sessions and arrays. C11, and C++.
//
// Results: all functions but those that destroy or describe return SG_OK, or else the number of the error's code (501 of
// SG0501); sg_last_error() tells the rest. No C++ exception leaves, nothing is printed, nothing aborts. NULL is safe for
// every parameter: an error (SG0509) names the one that must not be NULL. After an error, what `out` points to is as it was.
//
// Ownership: whoever calls sg_X_create or another function with an `sg_X** out` owns the handle and ends it with
// sg_X_destroy, in any order: handles keep what they need of each other. sg_X_destroy(NULL) does nothing. Strings and bytes
// that are returned belong to the handle that was asked, are never NULL, and live as long as it does. What is passed in is
// copied before the call returns. Strings are UTF-8 and end in a zero.
//
// Threads: devices, programs, lists and bytes may be used by several threads at the same time; a session, and the arrays
// that are bound to it, by one at a time. Errors are per thread. A text that is nested to the limit takes 3 MiB of stack.
//
// Versions: functions and their meaning stay as long as the library's soname does. Structs that begin with `struct_size`
// may get new members at their end: set it to sizeof, and all else to zero; then 0 means the default. Others never change.
#ifndef SPIROGRAD_SPIROGRAD_H
#define SPIROGRAD_SPIROGRAD_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

// ---- versions and errors

/// SG_OK, or the number of an error's code: `spirograd explain SG0501` tells what 501 means. Codes are stable.
///   1xx shape and type   2xx differentiation   3xx device and limits   4xx language   5xx files and inputs   6xx memory
///   9xx a defect of Spirograd
typedef int32_t sg_status;
enum { SG_OK = 0 };

/// Of the library that runs: "0.1.0". Never NULL; lives as long as the library is loaded.
const char* sg_version(void);

typedef struct sg_error sg_error;

/// Of the last call on this thread that failed, or NULL if none did. Belongs to the thread, which keeps it until another
/// call on it fails.
const sg_error* sg_last_error(void);
/// Parts of it; "" or 0 where there is none, and of NULL. `file`, `line` and `column` are the place in the text of a
/// program.
const char* sg_error_code(const sg_error* error);
const char* sg_error_message(const sg_error* error);
const char* sg_error_help(const sg_error* error);
const char* sg_error_file(const sg_error* error);
int32_t sg_error_line(const sg_error* error);
int32_t sg_error_column(const sg_error* error);
/// All of it in lines, with the quoted source, notes and help.
const char* sg_error_text(const sg_error* error);

// ---- types

typedef int32_t sg_dtype;
/// Elements as hosts have them: a bool is one byte, 0 or 1; an f16 is two, by IEEE 754. 0 is none of them.
enum { SG_BOOL = 1, SG_I32 = 2, SG_U32 = 3, SG_F32 = 4, SG_F64 = 5, SG_F16 = 6 };

enum { SG_MAX_RANK = 6 };

/// Of an array: row-major, the outermost axis first. Extents from `rank` on mean nothing.
typedef struct sg_type {
  sg_dtype dtype;
  int32_t rank;
  int64_t extents[SG_MAX_RANK];
} sg_type;

/// Bytes of an array of that type on the host.
sg_status sg_type_bytes(const sg_type* type, size_t* out);

/// Elements on the host. `bytes` must be those of the type. `dtype`: compared with that of the array, unless it is 0. Of no
/// bytes, `data` may be NULL.
typedef struct sg_input {
  const void* data;
  size_t bytes;
  sg_dtype dtype;
} sg_input;

/// Where elements go.
typedef struct sg_output {
  void* data;
  size_t bytes;
  sg_dtype dtype;
} sg_output;

// ---- devices

/// All Vulkan devices of all drivers, best first.
typedef struct sg_device_list sg_device_list;
sg_status sg_device_list_create(sg_device_list** out);
sg_status sg_device_list_count(const sg_device_list* list, size_t* out);
sg_status sg_device_list_name(const sg_device_list* list, size_t index, const char** out);
sg_status sg_device_list_driver(const sg_device_list* list, size_t index, const char** out);
/// What it lacks to be used, or "".
sg_status sg_device_list_lacks(const sg_device_list* list, size_t index, const char** out);
void sg_device_list_destroy(sg_device_list* list);

typedef struct sg_device_options {
  size_t struct_size;
  const char* select;     // NULL or "": the best; "0": by its place in the list; else a part of the name, in any case
  const char* cache_dir;  // a folder for pipelines and findings of the self-test; NULL or "": none
  /// Messages of drivers and of validation; from threads of the driver, too. Must not return by a jump or an exception.
  void (*on_message)(void* user, const char* id, const char* text);
  void* user;
  int32_t validation;  // 1: load the Khronos validation layer
} sg_device_options;

/// The first of a driver takes a few tenths of a second for the self-test, nothing where the cache folder knows it.
/// `options`: NULL for the defaults.
typedef struct sg_device sg_device;
sg_status sg_device_create(const sg_device_options* options, sg_device** out);
sg_status sg_device_name(const sg_device* device, const char** out);
void sg_device_destroy(sg_device* device);

// ---- programs

/// What a shape variable stands for: {"N", 4}.
typedef struct sg_size {
  const char* name;
  int64_t extent;
} sg_size;

/// What is given for a parameter. `name`: NULL for the parameter at that place. `type.dtype`: 0 for what has no element type
/// of its own; the declared one then, or for a type parameter that of an input with the same one.
typedef struct sg_named_type {
  const char* name;
  sg_type type;
} sg_named_type;

typedef struct sg_text_options {
  size_t struct_size;
  const char* function;  // NULL or "": the last one of the text
  const char* file;      // what errors call the text; NULL: "text". Not used by sg_program_from_file
  const sg_size* sizes;
  size_t n_sizes;
  sg_dtype dtype;  // what type parameters stand for
  // Of all parameters, in any order: sizes and type parameters follow from them. NULL: declared types and `sizes` tell all.
  const sg_named_type* inputs;
  size_t n_inputs;
} sg_text_options;

/// A function of the language, for fixed shapes and element types. Text imports libraries alone; a file imports others, too.
/// `options`: NULL for the defaults.
typedef struct sg_program sg_program;
sg_status sg_program_from_text(const char* text, const sg_text_options* options, sg_program** out);
sg_status sg_program_from_file(const char* path, const sg_text_options* options, sg_program** out);
/// What `spirograd compile` or sg_program_save wrote. `file`: what errors call it, may be NULL.
sg_status sg_program_from_bundle(const void* data, size_t bytes, const char* file, sg_program** out);

typedef int32_t sg_derivative;
/// The gradient of the first scalar float result ("d_w"); the results, then this; the results, then "d_w" for the cotangents
/// "ct_y" that are inputs more; the results, then "dot_y" for the tangents "dot_w" that are inputs more. SG_VJP as two
/// programs: the results, then what is kept ("r_0", ..); of that, of inputs and of results, as its inputs name them, and of
/// "ct_y", "d_w".
enum { SG_GRAD = 1, SG_VALUE_AND_GRAD = 2, SG_VJP = 3, SG_JVP = 4, SG_SPLIT_FORWARD = 5, SG_SPLIT_BACKWARD = 6 };

/// Another program: the derivative of this one by inputs of these names; by all float inputs if there are no names. Can be
/// applied again. A bundle has no derivatives, but those that it was written with.
sg_status sg_program_derive(const sg_program* program, sg_derivative derivative, const char* const* names, size_t n_names,
                            sg_program** out);

sg_status sg_program_name(const sg_program* program, const char** out);
sg_status sg_program_input_count(const sg_program* program, size_t* out);
sg_status sg_program_output_count(const sg_program* program, size_t* out);
/// `name` or `type` may be NULL, where only the other is asked for.
sg_status sg_program_input(const sg_program* program, size_t index, const char** name, sg_type* type);
sg_status sg_program_output(const sg_program* program, size_t index, const char** name, sg_type* type);
void sg_program_destroy(sg_program* program);

typedef struct sg_compile_options {
  size_t struct_size;
  int32_t deterministic;  // 1: the same bits in every run, where scatters add floats
} sg_compile_options;

/// As a bundle, in both binding forms. `device`: whose facts it is compiled with, or NULL for every device with Vulkan 1.1.
/// Of a program from a bundle: that bundle. `options`: NULL for the defaults.
typedef struct sg_bytes sg_bytes;
sg_status sg_program_save(const sg_program* program, const sg_device* device, const sg_compile_options* options,
                          sg_bytes** out);
sg_status sg_bytes_get(const sg_bytes* bytes, const void** data, size_t* size);
void sg_bytes_destroy(sg_bytes* bytes);

// ---- arrays that stay on a device

typedef struct sg_array sg_array;
/// Zeros.
sg_status sg_array_create(const sg_device* device, const sg_type* type, sg_array** out);
sg_status sg_array_type(const sg_array* array, sg_type* out);
/// Both wait for the work that uses it.
sg_status sg_array_write(sg_array* array, const sg_input* contents);
sg_status sg_array_read(const sg_array* array, const sg_output* contents);
void sg_array_destroy(sg_array* array);

// ---- sessions

/// A program that is compiled, with its memory on the device. `options`: NULL for the defaults; a bundle takes no others.
typedef struct sg_session sg_session;
sg_status sg_session_create(const sg_device* device, const sg_program* program, const sg_compile_options* options,
                            sg_session** out);
/// Inputs and outputs in the order of the program; waits.
sg_status sg_session_run(sg_session* session, const sg_input* inputs, size_t n_inputs, const sg_output* outputs,
                         size_t n_outputs);

/// Sets an input, until it is set again.
sg_status sg_session_write(sg_session* session, const char* input, const sg_input* contents);
/// One output as the last run has left it, or one input; waits.
sg_status sg_session_read(sg_session* session, const char* name, const sg_output* contents);

typedef int32_t sg_role;
enum { SG_ANY_ROLE = 0, SG_INPUT_ROLE = 1, SG_OUTPUT_ROLE = 2 };
/// From now on the input or output of that name is this array. The role is for names that inputs and outputs share.
sg_status sg_session_bind(sg_session* session, const char* name, sg_array* array, sg_role role);
/// What one run writes to the output is what the next one reads as the input.
sg_status sg_session_feed(sg_session* session, const char* output, const char* input);
/// The output takes the memory of the input. An error where the program may read the input after it has written the output.
sg_status sg_session_donate(sg_session* session, const char* input, const char* output);

/// So many runs, one after the other, with what was written, bound and fed; waits.
sg_status sg_session_run_steps(sg_session* session, uint64_t steps);
/// The same without waiting; the point tells when they have ended. Submissions to one device run in the order in which they
/// were made.
sg_status sg_session_submit(sg_session* session, uint64_t steps, uint64_t* point);
sg_status sg_session_wait(sg_session* session, uint64_t point);
/// 1 or 0.
sg_status sg_session_done(sg_session* session, uint64_t point, int32_t* out);
void sg_session_destroy(sg_session* session);

#ifdef __cplusplus
}
#endif

#endif
