# Every Vulkan call of the runtime fails once at every place: a few of them here, all of them by tools/faults.
if(NOT TARGET spirograd_vk OR WIN32)
  return()
endif()
add_library(fault_calls STATIC EXCLUDE_FROM_ALL faults/calls.cpp)
target_include_directories(fault_calls PUBLIC ${PROJECT_SOURCE_DIR})
target_link_libraries(fault_calls PUBLIC spirograd_vk spirograd_volk PRIVATE spirograd_warnings)
add_executable(spirograd_faults faults/main.cpp faults/places.cpp faults/lives.cpp faults/sessions.cpp)
target_include_directories(spirograd_faults PRIVATE ${PROJECT_SOURCE_DIR})
target_link_libraries(spirograd_faults PRIVATE gpu_fixture fault_calls spirograd_warnings)
spirograd_program_test(faults.EachCallAtOnePlace COMMAND spirograd_faults --sample --cache ${PROJECT_BINARY_DIR}/test_cache)
# What was submitted before is not taken away while it runs.
spirograd_program_test(faults.SubmissionsOfAHost COMMAND spirograd_faults --life host --call vkQueueSubmit)
spirograd_program_test(faults.NothingGrowsWithTheNumberOfSessions COMMAND spirograd_faults --sessions 300 --cache ${PROJECT_BINARY_DIR}/test_cache)
