# Compiles GLSL shaders at build time: shaders/add.comp becomes the header add.h with `const uint32_t add[]`.
find_program(GLSLANG_VALIDATOR glslangValidator REQUIRED)  # Debian: glslang-tools

function(spirograd_embed_spirv target)
  set(folder ${CMAKE_CURRENT_BINARY_DIR}/embedded_spirv/${target})
  foreach(shader IN LISTS ARGN)
    get_filename_component(name ${shader} NAME_WE)
    set(header ${folder}/${name}.h)
    add_custom_command(OUTPUT ${header}
      COMMAND ${CMAKE_COMMAND} -E make_directory ${folder}
      COMMAND ${GLSLANG_VALIDATOR} --quiet -V --target-env vulkan1.1 --vn ${name} -o ${header} ${shader}
      DEPENDS ${shader} COMMENT "SPIR-V of ${shader}" VERBATIM)
    target_sources(${target} PRIVATE ${header})
  endforeach()
  target_include_directories(${target} PRIVATE $<BUILD_INTERFACE:${folder}>)
endfunction()
