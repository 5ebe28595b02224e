// NumPy's .npy files. Reads versions 1.0 to 3.0, little-endian numbers, C and Fortran order; writes version 1.0. Nothing in
// the header is believed before it agrees with the size of the data. Errors: SG0501 malformed, SG0507 not the element type
// asked for.
#pragma once

#include <span>
#include <string>

#include "spirograd/host_array.h"

namespace spirograd::io {

/// Numbers as they lie in a file: any NumPy bool, integer or float type, row-major.
struct FileArray {
  char kind = 'f';  // 'b' bool, 'i', 'u', 'f'
  int width = 4;    // bytes of an element
  Shape shape;
  std::vector<uint8_t> bytes;
};

/// "float64", as NumPy calls it.
std::string numpy_name(const FileArray& a);
std::string numpy_name(DType t);

/// `where` names the file in errors. Data in Fortran order come back transposed to row-major.
FileArray parse_npy(std::vector<uint8_t> contents, const std::string& where);

/// The array as `wanted`. Types differ: SG0507, unless `cast`; then floats are rounded and everything else must keep its
/// value.
HostArray to_host(FileArray a, DType wanted, bool cast, const std::string& where);
/// The element type is taken as it is where the language has it (b1, i4, u4, f4, f8).
HostArray to_host(FileArray a, const std::string& where);

std::vector<uint8_t> npy_bytes(const HostArray& a);

}  // namespace spirograd::io
