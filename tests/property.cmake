# Random programs through the whole pipeline: on the host, and on every driver. SPIROGRAD_SEED chooses others.
add_library(spirograd_pipeline STATIC property/pipeline.cpp)
target_include_directories(spirograd_pipeline PRIVATE ${PROJECT_SOURCE_DIR})
target_link_libraries(spirograd_pipeline PUBLIC spirograd_test_support spirograd_ad spirograd_text spirograd_compile GTest::gtest
  PRIVATE spirograd_warnings)
spirograd_test(property/pipeline_test.cpp LABELS property LINK spirograd_pipeline)
spirograd_test(property/spellings_test.cpp LABELS property slow LINK spirograd_pipeline)
spirograd_test(property/masks_property_test.cpp LABELS property slow
  LINK spirograd_test_support spirograd_ad spirograd_text spirograd_compile)

# Programs by size class. tools/test --long checks more of them.
add_library(spirograd_sizes STATIC property/rounding.cpp property/sizes.cpp)
target_include_directories(spirograd_sizes PRIVATE ${PROJECT_SOURCE_DIR})
target_compile_definitions(spirograd_sizes PRIVATE SPIROGRAD_SOURCE_DIR="${PROJECT_SOURCE_DIR}")
target_link_libraries(spirograd_sizes PUBLIC spirograd_test_support spirograd_ad spirograd_text spirograd_compile GTest::gtest
  PRIVATE spirograd_warnings)
spirograd_test(property/sizes_test.cpp LABELS property slow LINK spirograd_sizes)

# Random schedules of programs of every family.
add_library(spirograd_schedules STATIC property/schedules.cpp)
target_include_directories(spirograd_schedules PRIVATE ${PROJECT_SOURCE_DIR} ${CMAKE_CURRENT_SOURCE_DIR})
target_link_libraries(spirograd_schedules PUBLIC spirograd_test_support spirograd_ad spirograd_text spirograd_compile GTest::gtest
  PRIVATE spirograd_warnings)
spirograd_test(property/schedules_test.cpp LABELS property slow LINK spirograd_schedules)
spirograd_test(property/neighbours_property_test.cpp LABELS property slow LINK spirograd_schedules)

if(TARGET spirograd_vk)
  spirograd_gpu_test(property/device_property_test.cpp LABELS property
    LINK spirograd_test_support spirograd_ad spirograd_text spirograd_compile gpu_fixture)
  spirograd_gpu_test(property/device_schedules_test.cpp LABELS property LINK spirograd_schedules gpu_fixture)
  spirograd_gpu_test(property/device_sizes_test.cpp LABELS property LINK spirograd_sizes gpu_fixture)
endif()

if(SPIROGRAD_BREAK_ROWS)
  add_executable(list_rows support/list_rows.cpp)
  target_include_directories(list_rows PRIVATE ${PROJECT_SOURCE_DIR})
  target_link_libraries(list_rows PRIVATE spirograd_ad spirograd_warnings)
endif()
