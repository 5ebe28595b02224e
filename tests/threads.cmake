# Programs, devices and sessions on several threads. tools/test --tsan builds and runs these alone, under ThreadSanitizer.
spirograd_test(threads/compile_threads_test.cpp ALONE LABELS unit threads LINK spirograd_text spirograd_ad spirograd_compile)
if(NOT TARGET spirograd_vk)
  return()
endif()
spirograd_gpu_test(threads/device_threads_test.cpp ALONE LABELS threads LINK spirograd_text spirograd_ad spirograd_compile spirograd_vk)
if(LAVAPIPE_ICD AND SWIFTSHADER_ICD AND EXISTS "${LAVAPIPE_ICD}" AND EXISTS "${SWIFTSHADER_ICD}")
  gtest_discover_tests(device_threads_test DISCOVERY_MODE PRE_TEST TEST_PREFIX both. TEST_LIST device_threads_test_both
    TEST_FILTER *EachThreadHasItsDevice PROPERTIES TIMEOUT 300)
  spirograd_test_properties(device_threads_test_both "gpu;threads"
    "VK_DRIVER_FILES=${LAVAPIPE_ICD}:${SWIFTSHADER_ICD};VK_ICD_FILENAMES=${LAVAPIPE_ICD}:${SWIFTSHADER_ICD};SPIROGRAD_TEST_DRIVER=both")
endif()
