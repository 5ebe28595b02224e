# The kernel IR, its elementary functions and the SPIR-V emitter.
spirograd_test(unit/emit_test.cpp LABELS unit LINK spirograd_emit)
