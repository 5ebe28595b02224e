# Bundles as a part of a project's build, in a source tree that has ours as a folder and after find_package(spirograd):
#
#   spirograd_add_bundle(line FILE line.sg FUNCTION loss OPTIONS N=4 --value-and-grad w)
#
# runs `spirograd compile`, again when FILE or one of DEPENDS (files that it imports, say) changes, and gives the library `line`: who
# links it gets spirograd::vk and the folder of the header, `#include "line.h"`. The file of the bundle, for what installs or finds it, is
# $<TARGET_PROPERTY:line,SPIROGRAD_BUNDLE>. The tool is the one of this build (SPIROGRAD_TOOLS), or of the package; where these are for
# another system, SPIROGRAD_TOOL names one that runs here.
function(spirograd_add_bundle name)
  cmake_parse_arguments(PARSE_ARGV 1 bundle "" "FILE;FUNCTION" "OPTIONS;DEPENDS")
  if(NOT bundle_FILE OR bundle_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "spirograd_add_bundle(${name} FILE x.sg [FUNCTION f] [OPTIONS ...] [DEPENDS ...]): "
                        "FILE is missing, or this is none of them: '${bundle_UNPARSED_ARGUMENTS}'")
  endif()
  get_filename_component(source ${bundle_FILE} ABSOLUTE)
  set(folder ${CMAKE_CURRENT_BINARY_DIR}/spirograd_bundles/${name})
  set(outputs ${folder}/${name}.sgb ${folder}/${name}.h)
  set(function)
  if(bundle_FUNCTION)
    set(function --function ${bundle_FUNCTION})
  endif()

  set(tool ${SPIROGRAD_TOOL})
  if(NOT tool AND TARGET spirograd)
    set(tool spirograd)  # CMake puts the program's path in its place, and makes it first
  elseif(NOT tool)
    message(FATAL_ERROR "spirograd_add_bundle(${name}) needs the tool: set SPIROGRAD_TOOLS to ON, or SPIROGRAD_TOOL to its path")
  endif()
  file(MAKE_DIRECTORY ${folder})
  add_custom_command(OUTPUT ${outputs}
    COMMAND ${tool} compile ${source} ${function} ${bundle_OPTIONS} -o ${folder}/${name}.sgb --header ${folder}/${name}.h
    DEPENDS ${source} ${bundle_DEPENDS} ${tool} COMMENT "Bundle of ${bundle_FILE}" VERBATIM)
  add_custom_target(${name}_bundle DEPENDS ${outputs})
  add_library(${name} INTERFACE)
  add_dependencies(${name} ${name}_bundle)
  target_include_directories(${name} INTERFACE ${folder})
  target_link_libraries(${name} INTERFACE spirograd::vk)
  set_target_properties(${name} PROPERTIES SPIROGRAD_BUNDLE ${folder}/${name}.sgb)
endfunction()
