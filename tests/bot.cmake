# Removal of builds, and the ranges of integer expressions that its bounds proofs use.
spirograd_test(unit/interval_test.cpp LABELS unit LINK spirograd_rewrite)
spirograd_test(unit/vectorise_test.cpp LABELS unit LINK spirograd_rewrite)
spirograd_test(unit/vectorise_property_test.cpp LABELS unit LINK spirograd_rewrite spirograd_test_support)
spirograd_test(unit/vectorise_rules_test.cpp LABELS unit LINK spirograd_rewrite spirograd_text)
