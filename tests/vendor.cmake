# Offline compilation by other people's compilers: into the languages of Metal and Direct3D, and for AMD. None needs a GPU.
find_program(SPIRV_CROSS NAMES spirv-cross)
if(SPIRV_CROSS AND NOT WIN32)
  spirograd_test(vendor/translate_test.cpp ALONE LABELS vendor
    LINK spirograd_conformance spirograd_test_support spirograd_text spirograd_ad spirograd_compile)
  target_compile_definitions(translate_test PRIVATE SPIRV_CROSS="${SPIRV_CROSS}")
else()
  message(WARNING "translate_test does NOT run: spirv-cross is not installed")
endif()

# For AMD through Mesa's RADV.
if(WIN32 OR NOT TARGET spirograd_vk)
  return()
endif()
find_file(RADEON_ICD NAMES radeon_icd.json radeon_icd.${CMAKE_SYSTEM_PROCESSOR}.json
  PATHS /usr/share /usr/local/share PATH_SUFFIXES vulkan/icd.d)
if(NOT RADEON_ICD)
  message(WARNING "amd_test does NOT run: Mesa's RADV is not installed")
  return()
endif()
add_executable(amd_compile vendor/amd_compile.cpp)
target_link_libraries(amd_compile PRIVATE Vulkan::Vulkan spirograd_warnings)
spirograd_test(vendor/amd_test.cpp ALONE LABELS vendor LINK spirograd_dsl spirograd_ad spirograd_text spirograd_compile)
target_compile_definitions(amd_test PRIVATE AMD_COMPILE="$<TARGET_FILE:amd_compile>" RADEON_ICD="${RADEON_ICD}")
add_dependencies(amd_test amd_compile)
