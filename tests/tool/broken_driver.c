// A driver that takes the process with it as soon as it is loaded, or holds on to it: SPIROGRAD_BROKEN_DRIVER=crash or hang.
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

__attribute__((visibility("default"))) int vk_icdNegotiateLoaderICDInterfaceVersion(uint32_t* version) {
  const char* how = getenv("SPIROGRAD_BROKEN_DRIVER");
  (void)version;
  if (how && strcmp(how, "crash") == 0) abort();
  for (;;) sleep(1);
}

__attribute__((visibility("default"))) void* vk_icdGetInstanceProcAddr(void* instance, const char* name) {
  (void)instance;
  (void)name;
  return NULL;
}
