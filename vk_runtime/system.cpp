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

std::string_view install_hint(Part part, System s) {
  struct Hints {
    std::string_view loader, driver, validation_layer;
  };
  const auto hints = [&]() -> Hints {
    switch (s) {
      case System::Linux:
        return {"sudo apt install libvulkan1 mesa-vulkan-drivers   (loader, and drivers incl. one that needs no GPU)",
                "sudo apt install mesa-vulkan-drivers   (has a driver that needs no GPU)",
                "sudo apt install vulkan-validationlayers"};
      case System::MacOS:
        return {"brew install vulkan-loader molten-vk", "brew install molten-vk", "brew install vulkan-validationlayers"};
      case System::Windows:
        return {"install the graphics driver of the device's maker; it brings the loader",
                "install the graphics driver of the device's maker", "install the Vulkan SDK, which has the layers"};
    }
    return {};
  }();
  switch (part) {
    case Part::Loader: return hints.loader;
    case Part::Driver: return hints.driver;
    case Part::ValidationLayer: return hints.validation_layer;
  }
  return "";
}

std::string install_hint(Part part) { return std::string(install_hint(part, this_system())); }

}  // namespace spirograd::vk
