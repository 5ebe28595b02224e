# Run as a script in the root of the tree: configures and builds what is not a test by Clang. Without optimisation, which doubles the time
# and finds nothing here: what is built is not run. (./tools/test --clang builds as users do, and runs tests.)
set(folder build/portable)
execute_process(COMMAND ${CMAKE_COMMAND} --preset clang -B ${folder} -DCMAKE_CXX_FLAGS_RELEASE=-O0 ${OPTIONS}
  OUTPUT_QUIET ERROR_QUIET COMMAND_ERROR_IS_FATAL ANY)
execute_process(COMMAND ${CMAKE_COMMAND} --build ${folder} --target spirograd spirograd_exhaustive gmm_demo gmm_bench
  COMMAND_ERROR_IS_FATAL ANY)
