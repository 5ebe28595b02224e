# volk as a library of function-pointer tables. Debian 12 ships its source, newer systems a CMake package; both give volk.h/volk.c.
# We only use volkLoadDeviceTable-style tables, compiled into spirograd_vk with hidden names: nothing called vk* or volk* is exported.
find_package(Threads REQUIRED)
find_package(Vulkan)  # nothing but the headers: the loader is opened when the program runs
if(NOT TARGET Vulkan::Headers)
  find_path(Vulkan_INCLUDE_DIR vulkan/vulkan.h REQUIRED)
  add_library(Vulkan::Headers INTERFACE IMPORTED)
  target_include_directories(Vulkan::Headers INTERFACE ${Vulkan_INCLUDE_DIR})
endif()
find_path(VOLK_INCLUDE_DIR volk.h PATH_SUFFIXES volk REQUIRED)
add_library(spirograd_volk INTERFACE)
target_include_directories(spirograd_volk SYSTEM INTERFACE ${VOLK_INCLUDE_DIR})
target_compile_definitions(spirograd_volk INTERFACE VK_NO_PROTOTYPES)
