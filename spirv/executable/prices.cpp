#include <algorithm>

#include "spirograd/target.h"

namespace spirograd {

// A dispatch takes about 20 us, and wakes up the other threads. Tiles need more values than a processor has registers, but a
// spill costs less than a load through a driver's checks.
Prices software_prices(uint32_t lanes, uint32_t cores) {
  Prices p;
  p.lanes = std::max<uint32_t>(4, lanes);
  p.busy = p.lanes * std::max<uint32_t>(1, cores);
  p.tile = 32;
  p.unroll = 16;
  p.dispatch = 5e5 * std::max<uint32_t>(1, cores);
  p.store = 36;  // lanes store one after the other
  p.invocation = 30;
  p.shared_load = p.load;
  p.coalesces = false;
  p.resident = 16u << 20;
  p.cooperates = false;
  p.submission = 0;  // nobody watches over it
  return p;
}

}  // namespace spirograd
