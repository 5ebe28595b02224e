spirograd_test(unit/samples_test.cpp LABELS unit LINK spirograd_text spirograd_dsl spirograd_ad)
