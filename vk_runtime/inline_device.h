// Programs of little work on a driver that computes with threads of its own: to wake them for each dispatch, and to wait for
// them, takes longer than the work. There a second device of the same driver, which has none, runs them sooner.
#pragma once

#include "vk_runtime/device.h"

namespace spirograd::vk {

/// What it takes here to wake a thread and to be woken by it, as work in the costs of Prices: measured by the first call.
double waking(const Prices& price);

/// Whether one thread has done all of it sooner than several that are woken for each dispatch, which takes `waking`: by
/// estimated work, where each dispatch has an estimate.
bool is_little(std::span<const Step> steps, const Prices& price, double waking);

/// The device that runs the steps sooner: the one that computes on the threads that submit, made when first needed, for
/// little work; else the given one. Drivers other than lavapipe, devices of hosts, LP_NUM_THREADS and the options leave no
/// choice.
std::shared_ptr<Device> quicker_device(std::shared_ptr<Device> device, std::span<const Step> steps);

}  // namespace spirograd::vk
