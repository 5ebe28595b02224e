# Random programs through the whole pipeline: on the host, and on every driver. SPIROGRAD_SEED chooses others.
spirograd_test(property/pipeline_test.cpp LABELS property
  LINK spirograd_test_support spirograd_ad spirograd_text spirograd_compile)
spirograd_test(property/masks_property_test.cpp LABELS property
  LINK spirograd_test_support spirograd_ad spirograd_text spirograd_compile)
if(TARGET spirograd_vk)
  spirograd_gpu_test(property/device_property_test.cpp LABELS property
    LINK spirograd_test_support spirograd_ad spirograd_text spirograd_compile spirograd_vk)
  file(GLOB property_shaders CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/gpu/shaders/*.comp)  # of the fixture
  spirograd_embed_spirv(device_property_test ${property_shaders})
endif()
