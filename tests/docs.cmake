# README.md, docs/ and tests/golden/: what they show is run, what they quote is compared. tools/check_docs.py tells what counts as a program,
# tools/check_coverage.py where docs/coverage.md comes from.
find_package(Python3 COMPONENTS Interpreter)
if(NOT Python3_FOUND)
  message(WARNING "the documents are NOT checked: that needs python3")
  return()
endif()
set(check_docs ${Python3_EXECUTABLE} ${PROJECT_SOURCE_DIR}/tools/check_docs.py)
add_test(NAME docs.SelfTest COMMAND ${check_docs} --self-test)
add_test(NAME docs.ErrorCodes COMMAND ${check_docs} --codes)
set_tests_properties(docs.SelfTest docs.ErrorCodes PROPERTIES LABELS lint)
set(check_coverage ${Python3_EXECUTABLE} ${PROJECT_SOURCE_DIR}/tools/check_coverage.py)
add_test(NAME docs.CoverageRows COMMAND ${check_coverage})
add_test(NAME docs.CoverageRowsSelfTest COMMAND ${check_coverage} --self-test)
set_tests_properties(docs.CoverageRows docs.CoverageRowsSelfTest PROPERTIES LABELS docs)
if(NOT TARGET spirograd OR NOT LAVAPIPE_ICD)
  message(WARNING "the programs in README.md and docs/ do NOT run: they need the command-line tool and lavapipe")
  return()
endif()

file(GLOB documents CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/*.md ${PROJECT_SOURCE_DIR}/docs/*.md
  ${PROJECT_SOURCE_DIR}/tests/golden/*.md)
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${documents} ${PROJECT_SOURCE_DIR}/tools/check_docs.py)
execute_process(COMMAND ${check_docs} --extract ${CMAKE_CURRENT_BINARY_DIR}/docs OUTPUT_VARIABLE extracted COMMAND_ERROR_IS_FATAL ANY)
string(REGEX MATCHALL "[^\n]+" extracted "${extracted}")
set(programs spirograd spirograd-gradbench rules_markdown)
add_executable(rules_markdown ${PROJECT_SOURCE_DIR}/tools/docs/rules_markdown.cpp)
target_include_directories(rules_markdown PRIVATE ${PROJECT_SOURCE_DIR})
target_link_libraries(rules_markdown PRIVATE spirograd_rewrite)
foreach(line IN LISTS extracted)
  string(REGEX MATCH "^(program|fragment) (.*/([^/]+)\\.(cpp|c))$" line "${line}")
  set(name ${CMAKE_MATCH_3})
  set(language ${CMAKE_MATCH_4})
  if(language STREQUAL c AND NOT TARGET spirograd_c)
    continue()
  endif()
  if(CMAKE_MATCH_1 STREQUAL program)
    add_executable(${name} ${CMAKE_MATCH_2})
    list(APPEND programs ${name})
  else()
    add_library(${name} OBJECT ${CMAKE_MATCH_2})
  endif()
  if(language STREQUAL c)
    spirograd_c_program(${name})
  else()
    target_link_libraries(${name} PRIVATE spirograd::spirograd)
  endif()
endforeach()

foreach(document IN LISTS documents)
  get_filename_component(name ${document} NAME_WE)
  get_filename_component(file ${document} NAME)
  add_test(NAME docs.${name} COMMAND ${check_docs} --build ${PROJECT_BINARY_DIR} ${file})
  set_tests_properties(docs.${name} PROPERTIES LABELS docs TIMEOUT 300
    ENVIRONMENT "VK_DRIVER_FILES=${LAVAPIPE_ICD};VK_ICD_FILENAMES=${LAVAPIPE_ICD}")
endforeach()
add_test(NAME docs.MachinesTakeWhatTheTableSays
  COMMAND ${Python3_EXECUTABLE} ${PROJECT_SOURCE_DIR}/bench/machines.py --check ${PROJECT_SOURCE_DIR}/docs/several-devices.md)
set_tests_properties(docs.MachinesTakeWhatTheTableSays PROPERTIES LABELS docs)
add_custom_target(update_docs
  COMMAND ${check_coverage} --fix
  COMMAND ${CMAKE_COMMAND} -E env VK_DRIVER_FILES=${LAVAPIPE_ICD} VK_ICD_FILENAMES=${LAVAPIPE_ICD}
          ${check_docs} --build ${PROJECT_BINARY_DIR} --update
  COMMAND ${CMAKE_COMMAND} -E env SPIROGRAD_UPDATE_GOLDEN=1 $<TARGET_FILE:plans_test> --gtest_brief=1
  COMMAND ${CMAKE_COMMAND} -E env SPIROGRAD_UPDATE_GOLDEN=1 $<TARGET_FILE:sweeps_test> --gtest_brief=1
  DEPENDS ${programs} plans_test sweeps_test VERBATIM USES_TERMINAL)
