# The suite GradBench: its programs, what the tool answers, and the tool itself.
if(NOT TARGET spirograd_gradbench)
  return()
endif()
spirograd_test(unit/gradbench_programs_test.cpp LABELS unit LINK spirograd_gradbench)
foreach(test gradbench_test gradbench_protocol_test)
  spirograd_gpu_test(gpu/${test}.cpp LINK spirograd_gradbench)
endforeach()
if(NOT WIN32)  # starts processes as POSIX does
  spirograd_test(tool/gradbench_tool_test.cpp ALONE LABELS tool LINK spirograd_io nlohmann_json::nlohmann_json)
  target_compile_definitions(gradbench_tool_test PRIVATE SPIROGRAD_TOOL="/bin/sh"
    SPIROGRAD_GRADBENCH="$<TARGET_FILE:spirograd-gradbench>")
  add_dependencies(gradbench_tool_test spirograd-gradbench)
endif()

find_package(Python3 COMPONENTS Interpreter)
if(Python3_FOUND AND LAVAPIPE_ICD AND NOT CMAKE_CROSSCOMPILING)
  execute_process(COMMAND ${Python3_EXECUTABLE} -c "import numpy" RESULT_VARIABLE lacks_numpy ERROR_QUIET)
endif()
if(lacks_numpy STREQUAL "0")
  add_test(NAME bench.GradBenchIsRightInSmall
    COMMAND ${Python3_EXECUTABLE} ${PROJECT_SOURCE_DIR}/bench/gradbench --small --tool $<TARGET_FILE:spirograd-gradbench>)
  set_tests_properties(bench.GradBenchIsRightInSmall PROPERTIES LABELS "tool"
    ENVIRONMENT "VK_DRIVER_FILES=${LAVAPIPE_ICD};VK_ICD_FILENAMES=${LAVAPIPE_ICD};SPIROGRAD_CACHE=")
else()
  message(WARNING "bench/gradbench is NOT tested: that needs python3 with NumPy, and lavapipe")
endif()
