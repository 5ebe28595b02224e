# The C++ surface and the closing of loop bodies that both surfaces use.
spirograd_test(unit/close_loop_test.cpp LABELS unit LINK spirograd_ir)
spirograd_test(unit/dsl_test.cpp LABELS unit LINK spirograd_dsl)
spirograd_test(unit/counted_test.cpp LABELS unit LINK spirograd_test_support spirograd_ad spirograd_dsl spirograd_text)
spirograd_test(unit/dsl_loops_test.cpp LABELS unit LINK spirograd_dsl)
spirograd_test(unit/dsl_errors_test.cpp LABELS unit LINK spirograd_dsl)
spirograd_test(unit/dsl_poison_test.cpp LABELS unit LINK spirograd_dsl)

# Programs that the compiler must refuse, with our sentence in its message.
function(spirograd_no_compile file sentence)
  add_test(NAME no_compile.${file}
    COMMAND ${CMAKE_CXX_COMPILER} -std=c++20 -fsyntax-only -I${PROJECT_SOURCE_DIR}/frontend/include
            ${CMAKE_CURRENT_SOURCE_DIR}/unit/no_compile/${file}.cpp)
  set_tests_properties(no_compile.${file} PROPERTIES LABELS "unit;long" PASS_REGULAR_EXPRESSION ${sentence})
endfunction()
spirograd_no_compile(truth_value "use select.condition, a, b. instead of if")
spirograd_no_compile(max_of_literal "write maximum.a, 0. or max.a")
spirograd_no_compile(build_body "the body of build takes one Index per extent")
spirograd_no_compile(number_in_struct "fields of structs are arrays")
spirograd_no_compile(names_of_fields "names each field of the struct")
