spirograd_test(unit/samples_test.cpp LABELS unit LINK spirograd_text spirograd_dsl spirograd_ad)
spirograd_test(unit/gallery_test.cpp LABELS unit LINK spirograd_text)
if(TARGET spirograd_vk)  # on one driver: what costs is that it compiles some fifty kernels
  spirograd_gpu_test(gpu/device_gallery_test.cpp DRIVERS lavapipe LINK spirograd_ad spirograd_text spirograd_compile gpu_fixture)
endif()
if(TARGET spirograd_png)
  spirograd_test(unit/png_test.cpp LABELS unit LINK spirograd_png)
endif()

# Weights that stay on the device, on every driver.
if(TARGET train)
  spirograd_program_test(samples.Train COMMAND train
    PROPERTIES PASS_REGULAR_EXPRESSION "^line 1.000 \\+ 2.000 x, loss below 1e-9: 1, first half done: 1")
endif()

# A renderer draws, fits what it draws, and draws on, on every driver; without the lines that it has for this, it only draws.
if(TARGET renderer)
  if(TARGET keep_loaded)
    target_link_libraries(renderer PRIVATE keep_loaded)
    target_link_libraries(renderer_plain PRIVATE keep_loaded)
  endif()
  file(MAKE_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR}/pictures)
  spirograd_program_test(samples.Renderer COMMAND renderer ${CMAKE_CURRENT_BINARY_DIR}/pictures 16 48 40
    PROPERTIES PASS_REGULAR_EXPRESSION "^mean square error 0.1[0-9]* before, 0.00[0-9]* after 40 frames\n$")
  spirograd_program_test(samples.RendererPlain COMMAND renderer_plain ${CMAKE_CURRENT_BINARY_DIR}/pictures 32 48 2
    PROPERTIES PASS_REGULAR_EXPRESSION "^mean square error 0.1[0-9]* before, 0.1[0-9]* after 2 frames\n$")
  spirograd_driver(lavapipe environment)
  if(environment)
    # Messages of the layer go to the output, which then is another one.
    add_test(NAME samples.RendererUnderValidation COMMAND renderer ${CMAKE_CURRENT_BINARY_DIR}/pictures 16 4 2)
    set_tests_properties(samples.RendererUnderValidation PROPERTIES LABELS "gpu;lavapipe"
      ENVIRONMENT "${environment};VK_INSTANCE_LAYERS=VK_LAYER_KHRONOS_validation"
      PASS_REGULAR_EXPRESSION "^mean square error [0-9.]* before, [0-9.]* after 2 frames\n$")
  endif()
endif()

# A bundle that the tool makes and a program without a compiler runs, on every driver.
if(TARGET bundle AND TARGET spirograd AND NOT CMAKE_CROSSCOMPILING)
  set(bundles ${CMAKE_CURRENT_BINARY_DIR}/bundles)
  file(MAKE_DIRECTORY ${bundles})
  function(spirograd_bundle name program)
    add_custom_command(OUTPUT ${bundles}/${name}.sgb ${bundles}/${name}.h
      COMMAND spirograd compile ${program} ${ARGN} -o ${bundles}/${name}.sgb --header ${bundles}/${name}.h
      DEPENDS spirograd ${program} VERBATIM)
  endfunction()
  spirograd_bundle(other_bundle ${PROJECT_SOURCE_DIR}/samples/line.sg N=4 --value-and-grad w)
  spirograd_bundle(typed_bundle ${CMAKE_CURRENT_SOURCE_DIR}/gpu/programs/typed.sg)
  spirograd_gpu_test(gpu/bundle_run_test.cpp ALONE LINK gpu_fixture)
  target_sources(bundle_run_test PRIVATE ${bundles}/other_bundle.h ${bundles}/typed_bundle.h)
  target_include_directories(bundle_run_test PRIVATE ${bundles})
  target_compile_definitions(bundle_run_test PRIVATE SPIROGRAD_BUNDLES="${bundles}")
  spirograd_program_test(samples.Bundle COMMAND bundle ${bundles}/other_bundle.sgb
    PROPERTIES PASS_REGULAR_EXPRESSION "^loss 14\nd_w -6 -14\n$")
  if(CMAKE_GENERATOR MATCHES Ninja)
    add_test(NAME samples.BundleLinksTheRuntimeAlone
      COMMAND ${CMAKE_COMMAND} -DNINJA=${CMAKE_MAKE_PROGRAM} -DFOLDER=${PROJECT_BINARY_DIR} -DPROGRAM=$<TARGET_FILE:bundle>
              -P ${CMAKE_CURRENT_SOURCE_DIR}/consume/link_test.cmake)
    # The canary: a program with a compiler in it must be found out.
    add_test(NAME samples.TrainLinksMore
      COMMAND ${CMAKE_COMMAND} -DNINJA=${CMAKE_MAKE_PROGRAM} -DFOLDER=${PROJECT_BINARY_DIR} -DPROGRAM=$<TARGET_FILE:train>
              -P ${CMAKE_CURRENT_SOURCE_DIR}/consume/link_test.cmake)
    set_tests_properties(samples.TrainLinksMore PROPERTIES PASS_REGULAR_EXPRESSION "train links libspirograd_")
    set_tests_properties(samples.BundleLinksTheRuntimeAlone samples.TrainLinksMore PROPERTIES LABELS unit)
  endif()
endif()
