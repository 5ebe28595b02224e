spirograd_test(unit/lower_test.cpp LABELS unit LINK spirograd_test_support spirograd_compile)
spirograd_test(unit/contract_test.cpp LABELS unit LINK spirograd_test_support spirograd_text spirograd_rewrite)
spirograd_test(unit/bounded_test.cpp LABELS unit LINK spirograd_test_support spirograd_ad spirograd_text spirograd_compile)
spirograd_test(unit/growth_test.cpp LABELS unit slow LINK spirograd_test_support spirograd_ad spirograd_text spirograd_compile)
