# Names for users: spirograd::base (arrays, results, programs as values), spirograd::ir, spirograd::text, spirograd::dsl,
# spirograd::ad, spirograd::compile, spirograd::vk, and spirograd::spirograd for all of them. Who only runs executables links
# spirograd::vk: it needs base and executable alone. The same names work after add_subdirectory and after find_package; rewrite,
# executable, kernel and emit are exported only because static libraries need them. spirograd::c is the C interface. Only these libraries, their public headers and
# the tools are installed.
set(spirograd_exported base ir rewrite text dsl ad executable kernel emit compile)
if(SPIROGRAD_VULKAN)
  list(APPEND spirograd_exported vk tune jit shards)
endif()

add_library(spirograd_spirograd INTERFACE)
foreach(name IN LISTS spirograd_exported)
  add_library(spirograd::${name} ALIAS spirograd_${name})
  set_target_properties(spirograd_${name} PROPERTIES EXPORT_NAME ${name})
  target_link_libraries(spirograd_spirograd INTERFACE spirograd_${name})
endforeach()
add_library(spirograd::spirograd ALIAS spirograd_spirograd)
set_target_properties(spirograd_spirograd PROPERTIES EXPORT_NAME spirograd)

if(TARGET spirograd_mpi)
  add_library(spirograd::mpi ALIAS spirograd_mpi)
  set_target_properties(spirograd_mpi PROPERTIES EXPORT_NAME mpi)
endif()
if(TARGET spirograd_c)  # shared, with all of the others in it: not a part of spirograd::spirograd
  add_library(spirograd::c ALIAS spirograd_c)
  set_target_properties(spirograd_c PROPERTIES EXPORT_NAME c)
endif()

include(${PROJECT_SOURCE_DIR}/cmake/spirograd-bundle.cmake)
if(NOT SPIROGRAD_INSTALL)
  return()
endif()
include(CMakePackageConfigHelpers)
set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/spirograd)

set(installed spirograd_spirograd)
set(header_folders frontend ad spirv)
foreach(name IN LISTS spirograd_exported)
  list(APPEND installed spirograd_${name})
endforeach()
if(SPIROGRAD_VULKAN)
  list(APPEND header_folders vk_runtime)
endif()
install(TARGETS ${installed} EXPORT spirograd-targets ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
foreach(folder IN LISTS header_folders)
  install(DIRECTORY ${PROJECT_SOURCE_DIR}/${folder}/include/spirograd DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} FILES_MATCHING PATTERN *.h)
endforeach()

if(TARGET spirograd_c)  # an export of its own: who uses C alone needs nothing that the static libraries are linked with
  install(TARGETS spirograd_c EXPORT spirograd-c-targets ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR}
    LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
  install(EXPORT spirograd-c-targets NAMESPACE spirograd:: DESTINATION ${package_dir})
  # For those who do not use CMake. It tells its folders from where it lies.
  file(RELATIVE_PATH prefix_from_pc /prefix/${CMAKE_INSTALL_LIBDIR}/pkgconfig /prefix)
  configure_file(${PROJECT_SOURCE_DIR}/cmake/spirograd.pc.in ${PROJECT_BINARY_DIR}/spirograd.pc @ONLY)
  install(FILES ${PROJECT_BINARY_DIR}/spirograd.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
  install(FILES $<TARGET_FILE:spirograd_c> DESTINATION . RENAME libspirograd.so.0 COMPONENT python EXCLUDE_FROM_ALL)  # pip install .
endif()
install(EXPORT spirograd-targets NAMESPACE spirograd:: DESTINATION ${package_dir})
if(TARGET spirograd_mpi)  # an export of its own: who has no need of it needs no MPI
  install(TARGETS spirograd_mpi EXPORT spirograd-mpi-targets ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
  install(EXPORT spirograd-mpi-targets NAMESPACE spirograd:: DESTINATION ${package_dir})
endif()
configure_package_config_file(${PROJECT_SOURCE_DIR}/cmake/spirograd-config.cmake.in ${PROJECT_BINARY_DIR}/spirograd-config.cmake
  INSTALL_DESTINATION ${package_dir} NO_SET_AND_CHECK_MACRO)
# Before 1.0 a minor version may change the interface.
write_basic_package_version_file(${PROJECT_BINARY_DIR}/spirograd-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/spirograd-config.cmake ${PROJECT_BINARY_DIR}/spirograd-config-version.cmake
  ${PROJECT_SOURCE_DIR}/cmake/spirograd-bundle.cmake DESTINATION ${package_dir})
install(FILES ${library_files} DESTINATION ${CMAKE_INSTALL_DATADIR}/spirograd/library)  # for reading: the binaries hold them
install(FILES ${PROJECT_SOURCE_DIR}/LICENSE ${PROJECT_SOURCE_DIR}/README.md ${PROJECT_SOURCE_DIR}/CHANGELOG.md
  ${PROJECT_SOURCE_DIR}/SECURITY.md DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(DIRECTORY ${PROJECT_SOURCE_DIR}/docs DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(DIRECTORY ${PROJECT_SOURCE_DIR}/samples DESTINATION ${CMAKE_INSTALL_DOCDIR}
  FILES_MATCHING PATTERN *.sg PATTERN data EXCLUDE)

# cpack -G DEB --config build/release/CPackConfig.cmake
if(PROJECT_IS_TOP_LEVEL)
  set(CPACK_PACKAGE_CONTACT "The authors of Spirograd")
  set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "array programs and their exact derivatives on any Vulkan device")
  set(CPACK_RESOURCE_FILE_LICENSE ${PROJECT_SOURCE_DIR}/LICENSE)
  set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
  set(CPACK_STRIP_FILES ON)
  set(CPACK_GENERATOR TGZ DEB)
  set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
  set(CPACK_DEBIAN_PACKAGE_SECTION science)
  set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
  set(CPACK_DEBIAN_PACKAGE_DEPENDS libvulkan1)  # opened when a program runs, so that nothing else tells
  set(CPACK_DEBIAN_PACKAGE_RECOMMENDS mesa-vulkan-drivers)
  set(CPACK_DEBIAN_PACKAGE_SUGGESTS "libvulkan-dev, spirv-tools, spirv-headers, python3-numpy")  # to link the C++ libraries
  include(CPack)
endif()
