# Simplification: rows, index plans against brute force, whole random programs.
spirograd_test(unit/simplify_test.cpp LABELS unit LINK spirograd_rewrite spirograd_text)
spirograd_test(unit/affine_test.cpp LABELS unit LINK spirograd_rewrite)
spirograd_test(unit/index_facts_test.cpp LABELS unit LINK spirograd_rewrite)
spirograd_test(unit/scatter_rules_test.cpp LABELS unit LINK spirograd_rewrite)
spirograd_test(unit/simplify_property_test.cpp LABELS unit LINK spirograd_test_support spirograd_ad spirograd_text spirograd_compile)
