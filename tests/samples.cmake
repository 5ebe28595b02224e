spirograd_test(unit/samples_test.cpp LABELS unit LINK spirograd_text spirograd_dsl spirograd_ad)
if(TARGET spirograd_png)
  spirograd_test(unit/png_test.cpp LABELS unit LINK spirograd_png)
endif()

# Weights that stay on the device, on every driver.
if(TARGET train)
  foreach(driver IN ITEMS lavapipe swiftshader lavapipe25)
    string(TOUPPER ${driver} variable)
    set(icd "${${variable}_ICD}")
    if(NOT icd OR NOT EXISTS "${icd}")
      continue()
    endif()
    get_filename_component(libraries ${icd} DIRECTORY)
    add_test(NAME ${driver}.samples.Train COMMAND train)
    set_tests_properties(${driver}.samples.Train PROPERTIES LABELS "gpu;${driver}"
      PASS_REGULAR_EXPRESSION "^line 1.000 \\+ 2.000 x, loss below 1e-9: 1, first half done: 1"
      ENVIRONMENT "VK_DRIVER_FILES=${icd};VK_ICD_FILENAMES=${icd};LD_LIBRARY_PATH=${libraries}")
  endforeach()
endif()
