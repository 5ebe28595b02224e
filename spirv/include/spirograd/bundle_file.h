// Executables as bytes: written where there is a compiler, read where there is none. The bytes are the same on every
// machine; whoever calls reads and writes the file.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "spirograd/executable.h"
#include "spirograd/program.h"
#include "spirograd/result.h"
#include "spirograd/target.h"

namespace spirograd {

/// Bundles of other versions are refused: changes whenever Executable, or the meaning of a field, does.
inline constexpr uint32_t kBundleVersion = 4;

/// One program in one binding form or both, which take and give the same arrays.
struct Bundle {
  std::string program;            // its name
  std::vector<Executable> forms;  // one or two
  uint64_t checksum = 0;          // of the bytes; tells one bundle from another
};

/// Error SG0501: no executable, two of one form, or two that differ in what they take and give.
Result<std::vector<uint8_t>> save_bundle(std::string_view program, std::span<const Executable> forms);

/// Everything that is in it. Any bytes are safe to give; those of a bundle are checked by its length, a checksum, and the
/// ranges of what was read. What a kernel's words do is up to whoever made them. `file`: for messages. Error SG0501: no
/// bundle, another version, cut short, damaged.
Result<Bundle> read_bundle(std::span<const uint8_t> bytes, std::string_view file = {});

/// The executable that a device runs: in the preferred form if the device has what that needs, else in the other one.
/// Errors: SG0501 as above; SG0303 where no form runs, which names what is missing.
Result<Executable> load_bundle(std::span<const uint8_t> bytes, const Target& target, BindingForm preferred,
                               std::string_view file = {});

/// The same of a bundle that has been read.
Result<Executable> form_for(Bundle bundle, const Target& target, BindingForm preferred, std::string_view file = {});

/// What an executable takes, and what it gives, in order: the same in both forms of a bundle.
std::vector<Param> inputs_of(const Executable& executable);
std::vector<Param> outputs_of(const Executable& executable);

}  // namespace spirograd
