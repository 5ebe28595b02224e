# The kernel IR, its elementary functions and the SPIR-V emitter.
spirograd_test(unit/kernel_builder_test.cpp LABELS unit LINK spirograd_kernel)
spirograd_test(unit/kernel_eval_test.cpp LABELS unit LINK spirograd_kernel)
spirograd_test(unit/kernel_verify_test.cpp LABELS unit LINK spirograd_kernel)
spirograd_test(unit/kernel_op_test.cpp LABELS unit LINK spirograd_emit)
spirograd_test(unit/kernel_group_test.cpp LABELS unit LINK spirograd_kernel)
spirograd_test(unit/uniformity_test.cpp LABELS unit LINK spirograd_kernel)
spirograd_test(unit/math_test.cpp LABELS unit slow LINK spirograd_kernel)
spirograd_test(unit/requirements_test.cpp LABELS unit LINK spirograd_executable)
if(SPIROGRAD_SPIRV_TOOLS)  # they validate and disassemble
  spirograd_test(unit/emit_test.cpp LABELS unit LINK spirograd_emit)
  spirograd_test(unit/emit_group_test.cpp LABELS unit LINK spirograd_emit)
endif()
spirograd_test(unit/latitude_test.cpp LABELS unit slow LINK spirograd_kernel)
