# The probes of the self-test are made by the kernel builder and the emitter when Spirograd is built, and linked into the runtime as
# words: the runtime itself knows neither. Where Spirograd is cross-compiled, CMAKE_CROSSCOMPILING_EMULATOR runs the program that
# writes them.
spirograd_library(spirograd_probes INCLUDE spirv/include FOLDERS spirv/probes LINK spirograd_emit)
target_compile_options(spirograd_probes PRIVATE ${plain_arithmetic})
add_executable(spirograd_make_probes ${PROJECT_SOURCE_DIR}/spirv/probes/generate/main.cpp)
target_include_directories(spirograd_make_probes PRIVATE ${PROJECT_SOURCE_DIR})
target_link_libraries(spirograd_make_probes PRIVATE spirograd_probes spirograd_warnings)

set(probe_data ${CMAKE_CURRENT_BINARY_DIR}/probe_data.cpp)
add_custom_command(OUTPUT ${probe_data} COMMAND spirograd_make_probes ${probe_data} DEPENDS spirograd_make_probes
  COMMENT "Probes of the self-test" VERBATIM)
target_sources(spirograd_vk PRIVATE ${probe_data})
