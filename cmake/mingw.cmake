# Programs for Windows, made on Debian by MinGW-w64 (GCC with POSIX threads) and run by Wine. ./tools/test --mingw does all of it.
set(CMAKE_SYSTEM_NAME Windows)
set(CMAKE_SYSTEM_PROCESSOR x86_64)
set(CMAKE_C_COMPILER x86_64-w64-mingw32-gcc-posix)
set(CMAKE_CXX_COMPILER x86_64-w64-mingw32-g++-posix)
set(CMAKE_RC_COMPILER x86_64-w64-mingw32-windres)
set(CMAKE_EXE_LINKER_FLAGS_INIT -static)  # the compiler's libraries in the program, not beside it
find_program(WINE NAMES wine)
if(WINE)
  set(CMAKE_CROSSCOMPILING_EMULATOR ${WINE})
endif()

# Projects that are headers alone are those of the host. /usr/include as a whole is not for this compiler, so these get a folder.
set(host_headers ${CMAKE_BINARY_DIR}/host_headers)
file(MAKE_DIRECTORY ${host_headers}/include ${host_headers}/share/cmake)
foreach(name vulkan vk_video volk.h volk.c spirv nlohmann)
  file(CREATE_LINK /usr/include/${name} ${host_headers}/include/${name} SYMBOLIC)
endforeach()
foreach(name SPIRV-Headers nlohmann_json)
  if(EXISTS /usr/share/cmake/${name})
    file(COPY /usr/share/cmake/${name} DESTINATION ${host_headers}/share/cmake)
  endif()
endforeach()

set(CMAKE_FIND_ROOT_PATH /usr/x86_64-w64-mingw32 ${host_headers})
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)
