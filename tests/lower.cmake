spirograd_test(unit/lower_test.cpp LABELS unit LINK spirograd_test_support spirograd_compile)
spirograd_test(unit/contract_test.cpp LABELS unit LINK spirograd_test_support spirograd_text spirograd_rewrite)
