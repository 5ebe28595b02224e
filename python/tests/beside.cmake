# The package as `pip install .` lays it out, with the library in its folder and nothing that tells where it is: its sample runs.
file(REMOVE_RECURSE ${TO})
file(COPY ${SOURCE}/python/spirograd DESTINATION ${TO} PATTERN __pycache__ EXCLUDE)
execute_process(COMMAND ${CMAKE_COMMAND} --install ${BUILD} --component python --prefix ${TO}/spirograd
  COMMAND_ERROR_IS_FATAL ANY)
file(GLOB installed RELATIVE ${TO}/spirograd ${TO}/spirograd/libspirograd*)
if(NOT installed STREQUAL "libspirograd.so.0")
  message(FATAL_ERROR "the component 'python' is one library, but these were installed: ${installed}")
endif()
unset(ENV{SPIROGRAD_LIBRARY})
set(ENV{PYTHONPATH} ${TO})
set(ENV{PYTHONDONTWRITEBYTECODE} 1)
execute_process(COMMAND ${PYTHON} -c
  "import spirograd as sg; assert sg._c.library._name.startswith('${TO}'); print(sg.function('def f(x: f32[N]) = 2 * x')([1, 2]))"
  OUTPUT_VARIABLE printed COMMAND_ERROR_IS_FATAL ANY)
if(NOT printed MATCHES "2., 4.")
  message(FATAL_ERROR "2 * [1, 2] gave ${printed}")
endif()
