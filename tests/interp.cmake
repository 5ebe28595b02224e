# The reference interpreter, the verifier, and the generator of random programs that other areas' property tests use.
add_library(spirograd_test_support STATIC support/choices.cpp support/decisions.cpp support/random_program.cpp support/random_source.cpp
  support/sized_inputs.cpp support/sized_program.cpp support/sized_shapes.cpp)
target_include_directories(spirograd_test_support PRIVATE ${PROJECT_SOURCE_DIR} PUBLIC ${CMAKE_CURRENT_SOURCE_DIR})
target_link_libraries(spirograd_test_support PUBLIC spirograd_ir PRIVATE spirograd_warnings)
target_compile_options(spirograd_test_support PRIVATE ${busy})

spirograd_test(unit/checked_test.cpp LABELS unit LINK spirograd_base)
spirograd_test(unit/flat_index_test.cpp LABELS unit LINK spirograd_base)
spirograd_test(unit/inline_vector_test.cpp LABELS unit LINK spirograd_base)
spirograd_test(unit/number_test.cpp LABELS unit LINK spirograd_base)
spirograd_test(unit/host_array_test.cpp LABELS unit LINK spirograd_base)
spirograd_test(unit/array_text_test.cpp LABELS unit LINK spirograd_base)
spirograd_test(unit/eval_test.cpp LABELS unit LINK spirograd_ir)
spirograd_test(unit/verify_test.cpp LABELS unit LINK spirograd_ir)
spirograd_test(unit/random_program_test.cpp LABELS unit LINK spirograd_test_support)
spirograd_test(unit/sized_program_test.cpp LABELS unit LINK spirograd_test_support)
spirograd_test(unit/program_value_test.cpp LABELS unit LINK spirograd_test_support spirograd_text spirograd_ad spirograd_compile)
