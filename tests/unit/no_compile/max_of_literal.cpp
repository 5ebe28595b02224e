// Must not compile: 0 could be an axis or a number.
#include "spirograd/ops.h"

spirograd::Array positive(spirograd::Array x) { return max(x, 0); }
