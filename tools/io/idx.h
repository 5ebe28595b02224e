// IDX files, as those of MNIST: a byte for the element type, the extents, the numbers, all big-endian; also within gzip.
// Nothing in the header is believed before it agrees with the size of the data. Errors: SG0501.
#pragma once

#include <string>

#include "tools/io/npy.h"

namespace spirograd::io {

/// By the name: "x.idx", "train-images-idx3-ubyte", either with ".gz" behind it.
bool is_idx(const std::string& path);

/// `where` names the file in errors. What is unpacked never grows beyond what the header announces.
FileArray parse_idx(const std::vector<uint8_t>& contents, const std::string& where);

/// Not compressed. The element types of IDX are those of programs, apart from bool, which becomes its u8, and u32: SG0508.
std::vector<uint8_t> idx_bytes(const HostArray& a);

}  // namespace spirograd::io
