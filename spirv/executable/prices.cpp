#include <algorithm>

#include "spirograd/target.h"

namespace spirograd {

// Costs are counted in operations of the whole device: what takes a time of its own, however large the device is, takes more
// of them on a large one.
Prices gpu_prices(uint32_t resident) {
  Prices p;
  if (resident == 0) return p;
  const uint32_t usual = p.busy;
  p.busy = std::max<uint32_t>(p.lanes, resident / 8);
  const double larger = static_cast<double>(p.busy) / usual;
  for (double* own_time : {&p.dispatch, &p.iteration, &p.submission}) *own_time *= larger;
  return p;
}

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
