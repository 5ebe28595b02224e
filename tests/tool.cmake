# The command-line tool: file formats, and the program itself as users call it.
if(TARGET spirograd)
  find_package(ZLIB REQUIRED)
  find_package(nlohmann_json REQUIRED)
  foreach(test npy_test npz_test array_file_test arguments_test sparkline_test table_test subprocess_test)
    spirograd_test(unit/${test}.cpp LABELS unit LINK spirograd_io ZLIB::ZLIB)
  endforeach()
  if(NOT WIN32)  # limits as POSIX knows them
    spirograd_test(unit/full_disk_test.cpp LABELS unit LINK spirograd_io)
  endif()
  if(NOT WIN32)  # they start processes as POSIX does
    foreach(test bad_input_test bundle_tool_test checkpoint_tool_test cli_test completion_test fit_tool_test tune_tool_test)
      spirograd_test(tool/${test}.cpp ALONE LABELS tool LINK spirograd_io spirograd_executable nlohmann_json::nlohmann_json)
      target_compile_definitions(${test} PRIVATE SPIROGRAD_TOOL="$<TARGET_FILE:spirograd>")
      add_dependencies(${test} spirograd)
    endforeach()
  endif()
  find_package(Python3 COMPONENTS Interpreter)
  if(Python3_FOUND AND LAVAPIPE_ICD AND NOT WIN32)
    set(bench_run ${Python3_EXECUTABLE} ${PROJECT_SOURCE_DIR}/bench/run --tool $<TARGET_FILE:spirograd>)
    add_test(NAME bench.EveryProgramCompiles COMMAND ${bench_run} --check)
    add_test(NAME bench.OneIsMeasured
      COMMAND ${bench_run} --only "elementwise and sum, 64K" --peers none --out ${PROJECT_BINARY_DIR}/bench_page)
    set_tests_properties(bench.EveryProgramCompiles bench.OneIsMeasured PROPERTIES LABELS "tool;slow"
      ENVIRONMENT "VK_DRIVER_FILES=${LAVAPIPE_ICD};VK_ICD_FILENAMES=${LAVAPIPE_ICD}")
  else()
    message(WARNING "bench/run is NOT tested: that needs python3 and lavapipe")
  endif()
endif()
