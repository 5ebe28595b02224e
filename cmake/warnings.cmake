# Warnings of all our targets: one interface library.
add_library(spirograd_warnings INTERFACE)
target_compile_options(spirograd_warnings INTERFACE -Wall -Wextra -Wshadow -Werror=switch -Wno-missing-field-initializers)
if(SPIROGRAD_WERROR)
  target_compile_options(spirograd_warnings INTERFACE -Werror)
endif()
