#include "tools/io/array_file.h"

#include "tools/io/csv.h"
#include "tools/io/exr_array.h"
#include "tools/io/files.h"
#include "tools/io/idx.h"
#include "tools/io/npz.h"
#include "tools/io/png_array.h"
#include "tools/io/safetensors.h"
#include "tools/io/system.h"

namespace spirograd::io {

std::optional<StoredArray> read_array_file(const std::string& name, const std::string& text) {
  if (text.ends_with(".npz"))
    throw Error("SG0506", "input '" + name + "': '" + text + "' names no array of the file")
        .hint(name + "=" + text + ":" + name);
  if (text.ends_with(".npy")) return StoredArray{parse_npy(read_file(text), text)};
  if (text.ends_with(".csv")) return StoredArray{parse_csv(read_file(text), text), false};
  if (text.ends_with(".png")) return StoredArray{parse_png(read_file(text), text)};
  if (text.ends_with(".exr")) return StoredArray{parse_exr(read_file(text), "", text)};
  if (is_idx(text)) return StoredArray{parse_idx(read_file(text), text)};
  if (text.ends_with(".safetensors")) return StoredArray{parse_safetensors(read_file(text), "", text)};
  const size_t colon = text.find(':', drive_length(text));
  if (colon == std::string::npos) return std::nullopt;
  const std::string file = text.substr(0, colon), member = text.substr(colon + 1);
  if (file.ends_with(".npz")) return StoredArray{NpzReader(read_file(file), file).read(member)};
  if (file.ends_with(".safetensors")) return StoredArray{parse_safetensors(read_file(file), member, file)};
  if (file.ends_with(".exr")) return StoredArray{parse_exr(read_file(file), member, file)};
  return std::nullopt;
}

bool takes_all_arrays(const std::string& path) { return path.ends_with(".npz") || path.ends_with(".safetensors"); }

bool takes_one_array(const std::string& path) {
  return path.ends_with(".npy") || path.ends_with(".csv") || path.ends_with(".png") || path.ends_with(".exr") ||
         (is_idx(path) && !path.ends_with(".gz"));
}

std::string array_endings() { return ".npy, .npz, .csv, .png, .exr, .idx or .safetensors"; }

std::vector<uint8_t> array_file_bytes(const std::string& path, const HostArray& a) {
  if (path.ends_with(".png")) return png_array_bytes(a);
  if (path.ends_with(".exr")) return exr_array_bytes(a);
  if (is_idx(path)) return idx_bytes(a);
  if (!path.ends_with(".csv")) return npy_bytes(a);
  const std::string text = csv_text(a);
  return {text.begin(), text.end()};
}

std::vector<uint8_t> array_file_bytes(const std::string& path, const std::vector<std::pair<std::string, HostArray>>& all) {
  return path.ends_with(".npz") ? npz_bytes(all) : safetensors_bytes(all);
}

}  // namespace spirograd::io
