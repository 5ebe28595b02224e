// Programs of little work on a driver that computes with threads of its own: to wake them for each dispatch, and to wait for
// them, takes longer than the work. There a second device of the same driver, which has none, runs them sooner.
#pragma once

#include "vk_runtime/device.h"

namespace spirograd::vk {

/// Whether one thread has done all of it sooner than several that are woken for each dispatch: by estimated work, where each
/// dispatch has an estimate.
bool is_little(std::span<const Step> steps, const Prices& price);

/// The device that runs the steps sooner: the one that computes on the threads that submit, made when first needed, for
/// little work; else the given one. Drivers other than lavapipe, devices of hosts, LP_NUM_THREADS and the options leave no
/// choice.
std::shared_ptr<Device> quicker_device(std::shared_ptr<Device> device, std::span<const Step> steps);

}  // namespace spirograd::vk
