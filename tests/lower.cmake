spirograd_test(unit/lower_test.cpp LABELS unit LINK spirograd_test_support spirograd_compile)
