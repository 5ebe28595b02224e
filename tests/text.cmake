# The text language: syntax, errors, round trips, what the operations compute, the programs of the manual; that C++ agrees.
spirograd_test(unit/text_parse_test.cpp LABELS unit LINK spirograd_text)
spirograd_test(unit/text_errors_test.cpp LABELS unit LINK spirograd_text)
spirograd_test(unit/text_roundtrip_test.cpp LABELS unit LINK spirograd_text spirograd_test_support)
spirograd_test(unit/text_eval_test.cpp LABELS unit LINK spirograd_text)
spirograd_test(unit/text_types_test.cpp LABELS unit LINK spirograd_text)
spirograd_test(unit/records_test.cpp LABELS unit LINK spirograd_text)
spirograd_test(unit/docs_language_test.cpp LABELS unit LINK spirograd_text)
spirograd_test(unit/surfaces_test.cpp LABELS unit LINK spirograd_text spirograd_dsl)
