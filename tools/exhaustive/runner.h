// One function over many f32, on the host evaluator of kernels or on a Vulkan device.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>

#include "spirograd/program.h"
#include "spirograd/vk.h"
#include "tools/exhaustive/functions.h"

namespace spirograd::exhaustive {

class Runner {
 public:
  virtual ~Runner() = default;
  /// One result per element of x (and y, for functions of two arguments), written to `out`.
  virtual void run(std::span<const float> x, std::span<const float> y, std::span<float> out) = 0;
};

/// `derivative`: -1 for the function itself, else the argument of the partial derivative. Batches have `batch` elements.
/// Without a device: the kernels as the host evaluates them. Throws what compiling throws.
std::unique_ptr<Runner> make_runner(const Function& function, int derivative, int64_t batch,
                                    const std::shared_ptr<vk::Device>& device);

}  // namespace spirograd::exhaustive
