# Fails when a library defines a symbol that starts with vk or volk: a host that links the Vulkan loader would call it instead.
# cmake -DNM=nm -DLIBRARIES="a.a,b.a" -P symbols_test.cmake
string(REPLACE "," ";" LIBRARIES "${LIBRARIES}")
foreach(library IN LISTS LIBRARIES)
  execute_process(COMMAND ${NM} --defined-only ${library} OUTPUT_VARIABLE symbols ERROR_VARIABLE errors RESULT_VARIABLE status)
  if(NOT status EQUAL 0)
    message(FATAL_ERROR "${NM} ${library}: ${errors}")
  endif()
  # The canary: a list without our own names was not read properly.
  if(NOT symbols MATCHES "spirograd")
    message(FATAL_ERROR "${library}: no symbol of ours found; is the tool right?")
  endif()
  string(REGEX MATCHALL "[0-9a-f]+ [A-Za-z] (vk|volk)[A-Za-z0-9_]*" found "${symbols}")
  if(found)
    message(FATAL_ERROR "${library} defines: ${found}")
  endif()
endforeach()
