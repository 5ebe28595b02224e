// Files that hold arrays, by the endings of their names.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tools/io/npy.h"

namespace spirograd::io {

/// An array as a file has it.
struct StoredArray {
  FileArray array;
  bool typed = true;  // numbers in text take any element type that holds them
};

/// What `text` names: "x.npy", "x.npz:member", "x.csv", "x.png", "x.exr", "x.exr:channel", an IDX file,
/// "x.safetensors:name". Nothing if it has another form. Errors: SG0501, SG0503, SG0504; SG0506 for an archive without a
/// member.
std::optional<StoredArray> read_array_file(const std::string& name, const std::string& text);

/// Whether a file with this name takes all results by their names, or one.
bool takes_all_arrays(const std::string& path);
bool takes_one_array(const std::string& path);
/// The endings, for people.
std::string array_endings();

/// The contents of such a file. Throws SG0505, SG0508 for what the format does not take.
std::vector<uint8_t> array_file_bytes(const std::string& path, const HostArray& a);
std::vector<uint8_t> array_file_bytes(const std::string& path, const std::vector<std::pair<std::string, HostArray>>& all);

}  // namespace spirograd::io
