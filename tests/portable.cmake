# Clang, which says where a source is C++ of one compiler only: libraries, tools and samples build without a warning, in build/portable.
# For Windows: ./tools/test --mingw.
find_program(CLANGXX NAMES clang++)
if(NOT CLANGXX)
  message(WARNING "portable.Clang does NOT run: it needs clang++")
  return()
endif()
if(TARGET gmm_demo AND TARGET spirograd AND NOT CMAKE_CXX_COMPILER_ID MATCHES "Clang")
  set(launchers)
  foreach(language C CXX)
    list(APPEND launchers -DCMAKE_${language}_COMPILER_LAUNCHER=${CMAKE_${language}_COMPILER_LAUNCHER})
  endforeach()
  string(REPLACE ";" "\\;" launchers "${launchers}")
  add_test(NAME portable.Clang
    COMMAND ${CMAKE_COMMAND} -DOPTIONS=${launchers} -P ${CMAKE_CURRENT_SOURCE_DIR}/portable/clang.cmake
    WORKING_DIRECTORY ${PROJECT_SOURCE_DIR})
  set_tests_properties(portable.Clang PROPERTIES LABELS "portable;slow" TIMEOUT 3600 RUN_SERIAL ON)
endif()
