# The C interface: its functions called from C++, its header read by a C compiler, the sample in C, what the library exports.
if(NOT TARGET spirograd_c)
  return()
endif()
spirograd_test(unit/c_interface_test.cpp ALONE LABELS unit LINK spirograd_c)
target_compile_definitions(c_interface_test PRIVATE SPIROGRAD_VERSION="${PROJECT_VERSION}")
spirograd_gpu_test(gpu/c_session_test.cpp LINK spirograd_c)

if(CMAKE_C_COMPILER_ID MATCHES "GNU|Clang")
  foreach(file IN ITEMS vk_runtime/include/spirograd/spirograd.h samples/c_abi.c)
    get_filename_component(name ${file} NAME_WE)
    add_test(NAME c.IsPlainC.${name}
      COMMAND ${CMAKE_C_COMPILER} -std=c11 -Wall -Wextra -pedantic -Wstrict-prototypes -Wmissing-prototypes -Werror -fsyntax-only
              -I ${PROJECT_SOURCE_DIR}/vk_runtime/include -x c ${PROJECT_SOURCE_DIR}/${file})
    set_tests_properties(c.IsPlainC.${name} PROPERTIES LABELS unit)
  endforeach()
endif()

if(TARGET c_abi)
  spirograd_program_test(samples.C COMMAND c_abi PROPERTIES PASS_REGULAR_EXPRESSION "^loss 14\nd_w -6 -14\n$")
endif()

if(CMAKE_READELF AND NOT WIN32 AND NOT APPLE)
  set(exports ${CMAKE_COMMAND} -DREADELF=${CMAKE_READELF} -DLIST=${PROJECT_SOURCE_DIR}/vk_runtime/c/symbols.txt)
  set(script -P ${CMAKE_CURRENT_SOURCE_DIR}/c/exports_test.cmake)
  add_test(NAME c.ExportsWhatIsListed COMMAND ${exports} -DLIBRARY=$<TARGET_FILE:spirograd_c> ${script})
  # The canary: a library that exports one symbol more, none of the others, and no version.
  file(WRITE ${CMAKE_CURRENT_BINARY_DIR}/exports_canary.c "int sg_canary(void); int sg_canary(void) { return 1; }\n")
  add_library(exports_canary SHARED ${CMAKE_CURRENT_BINARY_DIR}/exports_canary.c)
  add_test(NAME c.ExportsOfACanaryAreFound COMMAND ${exports} -DLIBRARY=$<TARGET_FILE:exports_canary> ${script})
  set_tests_properties(c.ExportsOfACanaryAreFound PROPERTIES
    PASS_REGULAR_EXPRESSION "not listed:[ \n]+sg_canary; and[ \n]+lacks:[ \n]+sg_array_create[ \n]+SPIROGRAD_0.1")
  set_tests_properties(c.ExportsWhatIsListed c.ExportsOfACanaryAreFound PROPERTIES LABELS unit)
endif()
