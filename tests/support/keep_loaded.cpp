// Linked into tests under AddressSanitizer: libraries stay loaded, so that what a driver has not given back at the end is
// told by its name, which tests/threads/leaks.supp knows, and not as memory of an unknown module.
extern "C" [[gnu::visibility("default")]] int dlclose(void*) { return 0; }
