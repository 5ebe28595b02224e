# Spirograd as a part of other projects: an installed package, and a folder of their source tree. (Living inside a program that has
# a Vulkan device of its own: gpu/host_test.cpp.)
if(NOT TARGET spirograd_vk OR NOT LAVAPIPE_ICD)
  message(WARNING "the consume tests do NOT run: they need the Vulkan runtime and lavapipe")
  return()
endif()

find_program(NINJA NAMES ninja ninja-build REQUIRED)
set(launcher)
foreach(language C CXX)
  if(CMAKE_${language}_COMPILER_LAUNCHER)
    list(APPEND launcher -DCMAKE_${language}_COMPILER_LAUNCHER=${CMAKE_${language}_COMPILER_LAUNCHER})
  endif()
endforeach()

function(spirograd_consume name mode)
  string(REPLACE ";" "\\;" options "-DCMAKE_CXX_COMPILER=${CMAKE_CXX_COMPILER};-DCMAKE_C_COMPILER=${CMAKE_C_COMPILER};${ARGN}")
  add_test(NAME consume.${name}
    COMMAND ${CMAKE_COMMAND} -DMODE=${mode} -DSOURCE=${PROJECT_SOURCE_DIR} -DBUILD=${PROJECT_BINARY_DIR}
            -DNM=${CMAKE_NM} -DNINJA=${NINJA} -DWORK=${CMAKE_CURRENT_BINARY_DIR}/consume/${mode} -DOPTIONS=${options} -P ${CMAKE_CURRENT_SOURCE_DIR}/consume/consume.cmake)
  set_tests_properties(consume.${name} PROPERTIES LABELS consume TIMEOUT 600
    ENVIRONMENT "VK_DRIVER_FILES=${LAVAPIPE_ICD};VK_ICD_FILENAMES=${LAVAPIPE_ICD}")
endfunction()

# The same flags as here, sanitizers included: static libraries need them at link time.
spirograd_consume(InstallTreeMoves install -DCMAKE_BUILD_TYPE=Release "-DCMAKE_CXX_FLAGS=${CMAKE_CXX_FLAGS}")
# With ccache the objects of this build serve again, if the flags are the same, and each file is compiled alone. Else what compiles fastest.
if(CMAKE_CXX_COMPILER_LAUNCHER MATCHES ccache AND NOT CMAKE_UNITY_BUILD)
  spirograd_consume(SourceTree source -DCMAKE_BUILD_TYPE=${CMAKE_BUILD_TYPE} "-DCMAKE_CXX_FLAGS=${CMAKE_CXX_FLAGS}" ${launcher})
else()
  spirograd_consume(SourceTree source -DCMAKE_BUILD_TYPE=None -DCMAKE_CXX_FLAGS=-O0
    -DCMAKE_UNITY_BUILD=ON -DCMAKE_UNITY_BUILD_BATCH_SIZE=0)
endif()
find_program(DPKG_DEB dpkg-deb)
find_program(DPKG_SHLIBDEPS dpkg-shlibdeps)
find_program(PKG_CONFIG pkg-config)
if(NOT PKG_CONFIG)
  message(WARNING "what the package tells pkg-config is NOT tested: there is none")
endif()
if(DPKG_DEB AND DPKG_SHLIBDEPS AND TARGET spirograd_c AND NOT CMAKE_CXX_FLAGS MATCHES "-fsanitize")
  add_test(NAME consume.DebianPackage
    COMMAND ${CMAKE_COMMAND} -DSOURCE=${PROJECT_SOURCE_DIR} -DBUILD=${PROJECT_BINARY_DIR} -DWORK=${CMAKE_CURRENT_BINARY_DIR}/consume/debian
            -DCPACK=${CMAKE_CPACK_COMMAND} -DCC=${CMAKE_C_COMPILER} -DPKG_CONFIG=${PKG_CONFIG} -P ${CMAKE_CURRENT_SOURCE_DIR}/consume/debian.cmake)
  set_tests_properties(consume.DebianPackage PROPERTIES LABELS consume TIMEOUT 600
    ENVIRONMENT "VK_DRIVER_FILES=${LAVAPIPE_ICD};VK_ICD_FILENAMES=${LAVAPIPE_ICD}")
else()
  message(WARNING "consume.DebianPackage does NOT run: it needs dpkg-deb and dpkg-shlibdeps, and a build without sanitizers")
endif()
# Both use all processors.
set_tests_properties(consume.InstallTreeMoves consume.SourceTree PROPERTIES RUN_SERIAL ON)
