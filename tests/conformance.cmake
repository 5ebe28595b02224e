# Programs with known values and derivatives, on both surfaces: on the interpreter, and on every driver.
add_library(spirograd_conformance STATIC
  conformance/conformance.cpp conformance/cases_suite.cpp conformance/cases_derived.cpp conformance/cases_nested.cpp
  conformance/cases_linear.cpp conformance/programs_linear.cpp
  conformance/programs_suite.cpp conformance/programs_derived.cpp conformance/programs_nested.cpp)
target_include_directories(spirograd_conformance PRIVATE ${PROJECT_SOURCE_DIR})
target_compile_definitions(spirograd_conformance PRIVATE SPIROGRAD_SOURCE_DIR="${PROJECT_SOURCE_DIR}")
target_link_libraries(spirograd_conformance PUBLIC spirograd_ad spirograd_dsl spirograd_text PRIVATE spirograd_warnings)

spirograd_test(conformance/conformance_test.cpp LABELS unit conformance LINK spirograd_conformance)
# tests/golden/*plans.txt and sweeps.txt are written anew with the documents.
add_library(spirograd_golden_plans STATIC support/golden_plans.cpp)
target_include_directories(spirograd_golden_plans PRIVATE ${PROJECT_SOURCE_DIR} PUBLIC ${CMAKE_CURRENT_SOURCE_DIR})
target_compile_definitions(spirograd_golden_plans PRIVATE SPIROGRAD_SOURCE_DIR="${PROJECT_SOURCE_DIR}")
target_link_libraries(spirograd_golden_plans PUBLIC spirograd_compile PRIVATE spirograd_warnings GTest::gtest)
target_compile_options(spirograd_golden_plans PRIVATE ${busy})
spirograd_test(unit/plans_test.cpp ALONE LABELS unit LINK spirograd_golden_plans spirograd_conformance spirograd_test_support)
spirograd_test(unit/sweeps_test.cpp ALONE LABELS unit slow LINK spirograd_golden_plans spirograd_ad spirograd_text)
if(TARGET spirograd_vk)
  spirograd_gpu_test(conformance/device_conformance_test.cpp INLINE LABELS conformance
    LINK spirograd_conformance spirograd_compile gpu_fixture)
endif()
