spirograd_test(unit/samples_test.cpp LABELS unit LINK spirograd_text spirograd_dsl spirograd_ad)
if(TARGET spirograd_png)
  spirograd_test(unit/png_test.cpp LABELS unit LINK spirograd_png)
endif()
