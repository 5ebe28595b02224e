# A layer that makes other devices of lavapipe (docs/pretended-devices.md), and what the runtime does on each of them.
if(NOT TARGET spirograd_vk)
  return()
endif()
add_library(pretended_devices STATIC pretend/devices.cpp pretend/patch.cpp)
set_target_properties(pretended_devices PROPERTIES POSITION_INDEPENDENT_CODE ON CXX_VISIBILITY_PRESET hidden)
target_include_directories(pretended_devices PUBLIC ${PROJECT_SOURCE_DIR})
target_link_libraries(pretended_devices PUBLIC Vulkan::Headers PRIVATE SPIRV-Headers::SPIRV-Headers spirograd_warnings)

set(layer_folder ${CMAKE_CURRENT_BINARY_DIR}/layer)
add_library(spirograd_pretend MODULE pretend/layer.cpp pretend/facts.cpp pretend/memory.cpp pretend/work.cpp)
set_target_properties(spirograd_pretend PROPERTIES CXX_VISIBILITY_PRESET hidden)
target_compile_definitions(spirograd_pretend PRIVATE VK_NO_PROTOTYPES)
target_link_libraries(spirograd_pretend PRIVATE pretended_devices spirograd_warnings)
# A layer of layers, for the order of those that the environment names is the loader's choice: the validation layer has to be nearer to
# the program, so that it sees what is pretended.
file(GENERATE OUTPUT ${layer_folder}/VkLayer_spirograd_pretend.json CONTENT [[
{
  "file_format_version": "1.1.2",
  "layers": [
    {
      "name": "VK_LAYER_SPIROGRAD_pretend",
      "type": "GLOBAL",
      "library_path": "$<TARGET_FILE:spirograd_pretend>",
      "api_version": "1.3.0",
      "implementation_version": "1",
      "description": "Plays other devices"
    },
    {
      "name": "VK_LAYER_SPIROGRAD_pretend_validated",
      "type": "GLOBAL",
      "api_version": "1.3.0",
      "implementation_version": "1",
      "description": "Plays other devices, and validates what is done with them",
      "component_layers": ["VK_LAYER_KHRONOS_validation", "VK_LAYER_SPIROGRAD_pretend"]
    }
  ]
}
]])

# What is run on each of them.
add_library(pretend_slices STATIC pretend/slices.cpp pretend/expectations.cpp)
target_include_directories(pretend_slices PRIVATE ${PROJECT_SOURCE_DIR} ${CMAKE_CURRENT_SOURCE_DIR})
target_link_libraries(pretend_slices PUBLIC pretended_devices spirograd_conformance spirograd_compile PRIVATE spirograd_warnings)
file(GLOB pretend_shaders CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/shaders/*.comp ${CMAKE_CURRENT_SOURCE_DIR}/pretend/shaders/*.comp)
if(SPIROGRAD_SPIRV_TOOLS)  # it validates what it has patched
  spirograd_test(pretend/patch_test.cpp ALONE LABELS unit pretend LINK pretend_slices)
  spirograd_embed_spirv(patch_test ${pretend_shaders})
endif()
if(NOT LAVAPIPE_ICD)
  message(WARNING "the pretended devices do NOT run: no driver manifest (set LAVAPIPE_ICD)")
  return()
endif()

# As spirograd_gpu_test, on devices that the tests name.
function(spirograd_pretend_test file)
  cmake_parse_arguments(ARG "" "" "LINK" ${ARGN})
  get_filename_component(name ${file} NAME_WE)
  spirograd_test_executable(${name} ${file} ${ARG_LINK})
  add_dependencies(${name} spirograd_pretend)
  gtest_discover_tests(${name} DISCOVERY_MODE PRE_TEST TEST_PREFIX pretend. TEST_LIST ${name}_all PROPERTIES TIMEOUT 300)
  spirograd_test_properties(${name}_all "gpu;pretend"
    "VK_DRIVER_FILES=${LAVAPIPE_ICD};VK_ICD_FILENAMES=${LAVAPIPE_ICD};VK_ADD_LAYER_PATH=${layer_folder};VK_INSTANCE_LAYERS=VK_LAYER_SPIROGRAD_pretend_validated")
endfunction()
spirograd_pretend_test(pretend/pretend_test.cpp LINK pretend_slices spirograd_sizes spirograd_vk spirograd_volk)
spirograd_pretend_test(pretend/canary_test.cpp LINK gpu_fixture pretend_slices spirograd_vk spirograd_volk)
spirograd_embed_spirv(canary_test ${pretend_shaders})

# The tool on them, and on a driver that breaks as soon as it is loaded.
if(TARGET spirograd)
  find_package(nlohmann_json REQUIRED)
  add_library(broken_driver MODULE tool/broken_driver.c)
  set_target_properties(broken_driver PROPERTIES C_VISIBILITY_PRESET hidden)
  set(broken_manifest ${CMAKE_CURRENT_BINARY_DIR}/broken_driver.json)
  file(GENERATE OUTPUT ${broken_manifest} CONTENT
    [[{"file_format_version": "1.0.0", "ICD": {"library_path": "$<TARGET_FILE:broken_driver>", "api_version": "1.3.0"}}]])
  foreach(test doctor_test suite_tool_test)
    spirograd_pretend_test(tool/${test}.cpp LINK spirograd_io nlohmann_json::nlohmann_json)
    target_compile_definitions(${test} PRIVATE SPIROGRAD_TOOL="$<TARGET_FILE:spirograd>" SPIROGRAD_BROKEN_DRIVER="${broken_manifest}")
    add_dependencies(${test} spirograd broken_driver)
  endforeach()
endif()
