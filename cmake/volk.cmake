# volk as a library of function-pointer tables. Debian 12 ships its source, newer systems a CMake package; both give volk.h/volk.c.
# We only use volkLoadDeviceTable-style tables, compiled into spirograd_vk with hidden names: nothing called vk* or volk* is exported.
find_package(Threads REQUIRED)
find_package(Vulkan REQUIRED)
find_path(VOLK_INCLUDE_DIR volk.h PATH_SUFFIXES volk REQUIRED)
add_library(spirograd_volk INTERFACE)
target_include_directories(spirograd_volk SYSTEM INTERFACE ${VOLK_INCLUDE_DIR})
target_compile_definitions(spirograd_volk INTERFACE VK_NO_PROTOTYPES)
