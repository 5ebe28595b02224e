// What feature bits cannot tell: whether what a device offers is right.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "spirograd/vk.h"
#include "vk_runtime/probe_findings.h"

namespace spirograd::vk {

/// What was asked for, and how far it has come.
struct SelfTest {
  bool thorough = false;  // every probe in both forms, and measurements; else what decides, in the form that will be used
  std::function<void(std::string_view)> progress;  // hears of each program before it runs
  Findings findings;
  std::vector<std::pair<BindingForm, std::string>> done;  // programs that are not run again
  size_t hangs = 0;
  std::string unusable;                                // what the device lacks by these findings, or empty
  bool one_by_one = false;                             // a session for each program: one of them has ended a device
  uint64_t compile_patience = 5'000'000'000;           // nanoseconds for the pipelines of one program
  uint64_t compile_patience_for_all = 20'000'000'000;  // of some dozens together
};

/// Findings in the cache folder are those of the same probes on a device that offers the same.
uint64_t findings_key(const Device::Impl& device);

/// Runs the probes, or reads from the cache folder what they have found before, and sets info().target, info().verdicts and
/// what else follows from them. A program that is not compiled after 5 seconds, or does not end after 5, is given up; all
/// of them together are compiled within 20, or each alone. False: this device is gone; another one of the same kind and the
/// same SelfTest go on behind the program that ended it. Errors of programs are verdicts, none is thrown.
bool prove(const std::shared_ptr<Device>& device, SelfTest& test);

}  // namespace spirograd::vk
