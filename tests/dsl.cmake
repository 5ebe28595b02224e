# The C++ surface and the closing of loop bodies that both surfaces use.
spirograd_test(unit/close_loop_test.cpp LABELS unit LINK spirograd_ir)
spirograd_test(unit/dsl_test.cpp LABELS unit LINK spirograd_dsl)
