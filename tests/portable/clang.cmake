# Run as a script in the root of the tree: configures and builds what is not a test by Clang.
execute_process(COMMAND ${CMAKE_COMMAND} --preset clang ${OPTIONS} OUTPUT_QUIET ERROR_QUIET COMMAND_ERROR_IS_FATAL ANY)
execute_process(COMMAND ${CMAKE_COMMAND} --build build/clang --target spirograd spirograd_exhaustive gmm_demo gmm_bench
  COMMAND_ERROR_IS_FATAL ANY)
