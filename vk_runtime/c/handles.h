// What the handles of the C interface hold.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "spirograd/bundle_file.h"
#include "spirograd/program.h"
#include "spirograd/spirograd.h"
#include "spirograd/vk.h"

struct sg_device_list {
  std::vector<spirograd::vk::DeviceInfo> devices;
};

struct sg_device {
  std::shared_ptr<spirograd::vk::Device> device;
};

/// Of a text: `program`. Of a bundle: its bytes, and what they hold.
struct sg_program {
  std::string name;
  std::vector<spirograd::Param> inputs, outputs;
  std::optional<spirograd::Program> program;
  std::vector<uint8_t> bytes;
  std::optional<spirograd::Bundle> bundle;
  std::string file;
};

struct sg_bytes {
  std::vector<uint8_t> bytes;
};

struct sg_array {
  spirograd::vk::DeviceArray array;
};

struct sg_session {
  std::unique_ptr<spirograd::vk::Session> session;
  std::vector<spirograd::Param> inputs, outputs;
};
