# The Vulkan runtime: pure plans, cache files, and sessions on every driver.
if(NOT TARGET spirograd_vk)
  return()
endif()
spirograd_test(unit/barrier_plan_test.cpp LABELS unit LINK spirograd_vk)
spirograd_test(unit/repeat_test.cpp LABELS unit LINK spirograd_test_support spirograd_ad spirograd_text spirograd_compile spirograd_vk spirograd_volk)
spirograd_test(unit/device_plan_test.cpp LABELS unit LINK spirograd_vk spirograd_volk)
spirograd_test(unit/system_test.cpp LABELS unit LINK spirograd_vk)
spirograd_test(unit/memory_test.cpp LABELS unit LINK spirograd_vk spirograd_volk)
spirograd_test(unit/pipeline_cache_file_test.cpp LABELS unit LINK spirograd_vk)

file(GLOB gpu_shaders CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/gpu/shaders/*.comp)
foreach(test session_test fault_test large_array_test host_test emitted_kernels_test long_loops_test device_repeat_test)
  set(link spirograd_vk spirograd_volk)
  set(labels)
  if(test STREQUAL large_array_test)
    set(labels slow)
  elseif(test STREQUAL emitted_kernels_test)
    list(APPEND link spirograd_emit)
  elseif(test STREQUAL long_loops_test OR test STREQUAL device_repeat_test)
    list(APPEND link spirograd_ad spirograd_text spirograd_compile)
  elseif(test STREQUAL host_test)
    set(link spirograd_vk Vulkan::Vulkan)  # the host links the loader itself: no symbol may clash
  endif()
  spirograd_gpu_test(gpu/${test}.cpp LABELS ${labels} LINK ${link})
  spirograd_embed_spirv(${test} ${gpu_shaders})
endforeach()

spirograd_test(unit/no_driver_test.cpp LABELS unit LINK spirograd_vk)

set(libraries)
foreach(library base ir rewrite text dsl ad executable kernel emit compile vk)
  list(APPEND libraries $<TARGET_FILE:spirograd_${library}>)
endforeach()
list(JOIN libraries "," libraries)
add_test(NAME symbols.NoVulkanNamesInLibraries
  COMMAND ${CMAKE_COMMAND} -DNM=${CMAKE_NM} -DLIBRARIES=${libraries} -P ${CMAKE_CURRENT_SOURCE_DIR}/consume/symbols_test.cmake)
# The canary: a library that does define one must be found out.
file(WRITE ${CMAKE_CURRENT_BINARY_DIR}/symbols_canary.c "int spirograd_own; int vkCanary;\n")
add_library(symbols_canary STATIC ${CMAKE_CURRENT_BINARY_DIR}/symbols_canary.c)
add_test(NAME symbols.CanaryIsFound
  COMMAND ${CMAKE_COMMAND} -DNM=${CMAKE_NM} -DLIBRARIES=$<TARGET_FILE:symbols_canary> -P ${CMAKE_CURRENT_SOURCE_DIR}/consume/symbols_test.cmake)
set_tests_properties(symbols.CanaryIsFound PROPERTIES PASS_REGULAR_EXPRESSION "defines:.*vkCanary")
set_tests_properties(symbols.NoVulkanNamesInLibraries symbols.CanaryIsFound PROPERTIES LABELS unit)
