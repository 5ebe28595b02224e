# The C interface as a shared library, libspirograd: what vk_runtime/c/symbols.txt names is all that it exports. Everything else of
# ours is in it and hidden, so that a host may have another version, or another SPIRV-Tools, beside it.
file(GLOB c_sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/vk_runtime/c/*.cpp)
add_library(spirograd_c SHARED ${c_sources})
# 0: of the interface, not of the project. It changes where a function goes away or means something else.
set_target_properties(spirograd_c PROPERTIES OUTPUT_NAME spirograd VERSION ${PROJECT_VERSION} SOVERSION 0 CXX_VISIBILITY_PRESET default)
target_include_directories(spirograd_c PRIVATE ${PROJECT_SOURCE_DIR}
  PUBLIC $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/vk_runtime/include> $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
target_compile_definitions(spirograd_c PRIVATE SPIROGRAD_VERSION="${PROJECT_VERSION}")
target_link_libraries(spirograd_c PRIVATE spirograd_text spirograd_compile spirograd_vk $<BUILD_INTERFACE:spirograd_warnings>)
set(c_map ${PROJECT_SOURCE_DIR}/vk_runtime/c/symbols.map)
if(NOT APPLE)
  target_link_options(spirograd_c PRIVATE LINKER:--version-script=${c_map})
  set_property(TARGET spirograd_c APPEND PROPERTY LINK_DEPENDS ${c_map})
endif()

# Links a program in C with it. Sanitizers are among the flags of C++, and their runtime has to come before all libraries.
function(spirograd_c_program name)
  target_link_libraries(${name} PRIVATE spirograd_c)
  set_target_properties(${name} PROPERTIES C_STANDARD 11 C_STANDARD_REQUIRED ON C_EXTENSIONS OFF)
  if(CMAKE_CXX_FLAGS MATCHES "-fsanitize")
    set_target_properties(${name} PROPERTIES LINKER_LANGUAGE CXX)
  endif()
endfunction()
