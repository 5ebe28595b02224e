# Random programs through the whole pipeline: on the host, and on every driver. SPIROGRAD_SEED chooses others.
spirograd_test(property/pipeline_test.cpp LABELS property
  LINK spirograd_test_support spirograd_ad spirograd_text spirograd_compile)
