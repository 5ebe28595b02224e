#include "vk_runtime/system.h"

namespace spirograd::vk {

std::span<const char* const> loader_names(System s) {
  static constexpr const char* kLinux[] = {"libvulkan.so.1", "libvulkan.so"};  // Android has the second alone
  static constexpr const char* kWindows[] = {"vulkan-1.dll"};
  // Programs with a hardened runtime search no folders of their own accord, hence the absolute names.
  static constexpr const char* kMacOS[] = {
      "libvulkan.dylib",
      "libvulkan.1.dylib",
      "/opt/homebrew/lib/libvulkan.1.dylib",
      "/usr/local/lib/libvulkan.1.dylib",
      "libMoltenVK.dylib",
      "/opt/homebrew/lib/libMoltenVK.dylib",
      "/usr/local/lib/libMoltenVK.dylib",
  };
  switch (s) {
    case System::Linux: return kLinux;
    case System::MacOS: return kMacOS;
    case System::Windows: return kWindows;
  }
  return {};
}

std::string_view loader_hint(System s) {
  switch (s) {
    case System::Linux:
      return "sudo apt install libvulkan1 mesa-vulkan-drivers   (loader, and drivers incl. one that needs no GPU)";
    case System::MacOS: return "brew install vulkan-loader molten-vk";
    case System::Windows: return "install the graphics driver of the device's maker; it brings the loader";
  }
  return "";
}

}  // namespace spirograd::vk
