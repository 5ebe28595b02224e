# Fails where the command that links a program names a library that only a compiler needs.
#   cmake -DNINJA=... -DFOLDER=... -DPROGRAM=... -P link_test.cmake     FOLDER: of a build by Ninja; PROGRAM: its absolute path
file(RELATIVE_PATH program ${FOLDER} ${PROGRAM})
get_filename_component(name ${PROGRAM} NAME_WE)
execute_process(COMMAND ${NINJA} -C ${FOLDER} -t commands -s ${program} OUTPUT_VARIABLE link RESULT_VARIABLE status)
if(NOT status EQUAL 0 OR NOT link MATCHES "libspirograd_vk" OR NOT link MATCHES "libspirograd_executable" OR NOT link MATCHES "libspirograd_base")
  message(FATAL_ERROR "the command that links ${name} is not what was expected: ${link}")
endif()
if(link MATCHES "libspirograd_(ir|rewrite|text|dsl|ad|kernel|emit|compile|tune|jit)|SPIRV-Tools")
  message(FATAL_ERROR "${name} links ${CMAKE_MATCH_0}: ${link}")
endif()
