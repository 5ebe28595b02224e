// Inputs as they are typed: name=value, where the value is a file, a literal, or a pseudo-file that makes data up.
//
//   x=a.npy   x=a.npz:member   x=a.csv   x=a.png   x=a.exr   x=a.exr:Z   x=a.idx   x=a.safetensors:name   (array_file.h)
//   x=3.5   x=[[1,2],[3,4]]   x=zeros:64x64xf32   x=ones:8   x=iota:10xi32   x=random:7:64x64xf32
#pragma once

#include <optional>
#include <string>

#include "spirograd/host_array.h"

namespace spirograd::io {

class NpzReader;

struct NamedText {
  std::string name, text;
};

/// Splits at the first '='. Nothing if there is none or no name before it.
std::optional<NamedText> split_argument(const std::string& argument);

/// A whole number, written in digits; for shape variables.
std::optional<int64_t> whole_number(const std::string& text);

/// The array that `text` stands for, for the input `name`, whose element type is `wanted`. Literals and pseudo-files without
/// a type take it; all others must have it or be cast (see to_host). Errors: SG0501, SG0503 to SG0507; SG0506: the text
/// itself.
HostArray load_argument(const std::string& name, const std::string& text, DType wanted, bool cast);

/// The same for the member `name` of an .npz file that is called `where` in errors.
HostArray load_member(const std::string& name, const NpzReader& file, DType wanted, bool cast, const std::string& where);

/// Element j of x=random:SEED:.. is a function of SEED and j only, in [0, 1), the same on every machine. The f32 number is
/// the f64 number, truncated.
double random_element(uint64_t seed, uint64_t j, DType t);

}  // namespace spirograd::io
