# The suite GradBench: its programs, what the tool answers, and the tool itself.
if(NOT TARGET spirograd_gradbench)
  return()
endif()
spirograd_test(unit/gradbench_programs_test.cpp LABELS unit LINK spirograd_gradbench)
foreach(test gradbench_test gradbench_protocol_test)
  spirograd_gpu_test(gpu/${test}.cpp LINK spirograd_gradbench)
endforeach()
if(NOT WIN32)  # starts processes as POSIX does
  spirograd_test(tool/gradbench_tool_test.cpp LABELS tool LINK spirograd_io nlohmann_json::nlohmann_json)
  target_compile_definitions(gradbench_tool_test PRIVATE SPIROGRAD_TOOL="/bin/sh"
    SPIROGRAD_GRADBENCH="$<TARGET_FILE:spirograd-gradbench>")
  add_dependencies(gradbench_tool_test spirograd-gradbench)
endif()
