// Devices, and arrays that stay on them.
#include "spirograd/vk.h"
#include "vk_runtime/c/call.h"
#include "vk_runtime/c/handles.h"

using namespace spirograd;
using namespace spirograd::c;

sg_status sg_device_list_create(sg_device_list** out) {
  return call([&] {
    auto& to = given(out, "sg_device_list_create", "out");
    to = new sg_device_list{vk::devices().value()};
  });
}

sg_status sg_device_list_count(const sg_device_list* list, size_t* out) {
  constexpr auto kHere = "sg_device_list_count";
  return call([&] { given(out, kHere, "out") = given(list, kHere, "list").devices.size(); });
}

namespace {

const vk::DeviceInfo& info_of(const sg_device_list* list, size_t index, std::string_view function) {
  const auto& devices = given(list, function, "list").devices;
  check_index(function, index, devices.size());
  return devices[index];
}

}  // namespace

sg_status sg_device_list_name(const sg_device_list* list, size_t index, const char** out) {
  constexpr auto kHere = "sg_device_list_name";
  return call([&] { given(out, kHere, "out") = info_of(list, index, kHere).name.c_str(); });
}

sg_status sg_device_list_driver(const sg_device_list* list, size_t index, const char** out) {
  constexpr auto kHere = "sg_device_list_driver";
  return call([&] { given(out, kHere, "out") = info_of(list, index, kHere).driver.c_str(); });
}

sg_status sg_device_list_lacks(const sg_device_list* list, size_t index, const char** out) {
  constexpr auto kHere = "sg_device_list_lacks";
  return call([&] { given(out, kHere, "out") = info_of(list, index, kHere).unusable.c_str(); });
}

void sg_device_list_destroy(sg_device_list* list) { delete list; }

sg_status sg_device_create(const sg_device_options* options, sg_device** out) {
  constexpr auto kHere = "sg_device_create";
  return call([&] {
    const sg_device_options o = options_of(options, kHere);
    auto& to = given(out, kHere, "out");
    vk::DeviceOptions how;
    how.select = text_of(o.select);
    how.cache_dir = text_of(o.cache_dir);
    how.on_message = o.on_message;
    how.user = o.user;
    how.validation = o.validation != 0;
    to = new sg_device{vk::Device::create(how).value()};
  });
}

sg_status sg_device_name(const sg_device* device, const char** out) {
  constexpr auto kHere = "sg_device_name";
  return call([&] { given(out, kHere, "out") = given(device, kHere, "device").device->info().name.c_str(); });
}

void sg_device_destroy(sg_device* device) { delete device; }

sg_status sg_array_create(const sg_device* device, const sg_type* type, sg_array** out) {
  constexpr auto kHere = "sg_array_create";
  return call([&] {
    const sg_device& on = given(device, kHere, "device");
    const Type t = type_of(type, kHere);
    auto& to = given(out, kHere, "out");
    to = new sg_array{vk::DeviceArray::create(on.device, t).value()};
  });
}

sg_status sg_array_type(const sg_array* array, sg_type* out) {
  constexpr auto kHere = "sg_array_type";
  return call([&] { given(out, kHere, "out") = type_of(given(array, kHere, "array").array.type()); });
}

sg_status sg_array_write(sg_array* array, const sg_input* contents) {
  constexpr auto kHere = "sg_array_write";
  return call([&] {
    vk::DeviceArray& to = given(array, kHere, "array").array;
    to.upload(array_of(given(contents, kHere, "contents"), to.type(), kHere, "the array")).value();
  });
}

sg_status sg_array_read(const sg_array* array, const sg_output* contents) {
  constexpr auto kHere = "sg_array_read";
  return call([&] {
    const vk::DeviceArray& from = given(array, kHere, "array").array;
    const sg_output& to = given(contents, kHere, "contents");
    check_output(to, from.type(), kHere, "the array");
    copy_out(from.download().value(), to);
  });
}

void sg_array_destroy(sg_array* array) { delete array; }
