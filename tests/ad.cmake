spirograd_test(grad/deriv_table_test.cpp LABELS grad LINK spirograd_ad)
spirograd_test(grad/grad_test.cpp LABELS grad LINK spirograd_ad)
spirograd_test(grad/loops_grad_test.cpp LABELS grad LINK spirograd_ad)
spirograd_test(grad/grad_property_test.cpp LABELS slow LINK spirograd_ad spirograd_test_support)
