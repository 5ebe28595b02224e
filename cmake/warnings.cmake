# Warnings of all our targets: one interface library.
add_library(spirograd_warnings INTERFACE)
target_compile_options(spirograd_warnings INTERFACE -Wall -Wextra -Wshadow -Werror=switch -Wno-missing-field-initializers)
# GCC 12 reports string concatenation as overlapping memcpy (GCC bug 105651).
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  target_compile_options(spirograd_warnings INTERFACE -Wno-restrict)
endif()
# Clang names what only some compilers take.
if(CMAKE_CXX_COMPILER_ID MATCHES "Clang")
  target_compile_options(spirograd_warnings INTERFACE -Wpedantic -Wgnu)
endif()
if(SPIROGRAD_WERROR)
  target_compile_options(spirograd_warnings INTERFACE -Werror)
endif()
