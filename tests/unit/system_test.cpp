// What differs between operating systems.
#include "vk_runtime/system.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

namespace spirograd::vk {
namespace {

std::vector<std::string> names(System s) { return {loader_names(s).begin(), loader_names(s).end()}; }

TEST(Loader, HasTheNamesOfEachSystem) {
  EXPECT_EQ(names(System::Linux), (std::vector<std::string>{"libvulkan.so.1", "libvulkan.so"}));
  EXPECT_EQ(names(System::Windows), (std::vector<std::string>{"vulkan-1.dll"}));
  for (System s : {System::Linux, System::MacOS, System::Windows}) EXPECT_FALSE(loader_hint(s).empty());
}

TEST(Loader, IsPreferredToADriverThatStandsInForIt) {
  const std::vector<std::string> all = names(System::MacOS);
  const auto is_driver = [](const std::string& n) { return n.find("MoltenVK") != std::string::npos; };
  EXPECT_EQ(all[0], "libvulkan.dylib");
  EXPECT_TRUE(is_driver(all.back()));
  EXPECT_TRUE(std::is_partitioned(all.begin(), all.end(), [&](const auto& n) { return !is_driver(n); }));
}

TEST(Loader, WhatIsNotThereIsNull) {
  EXPECT_EQ(open_library("libspirograd-nowhere.so.7"), nullptr);
  void* loader = open_library(loader_names(this_system())[0]);
  ASSERT_NE(loader, nullptr);
  EXPECT_NE(symbol_of(loader, "vkGetInstanceProcAddr"), nullptr);
  EXPECT_EQ(symbol_of(loader, "vkSpirogradNever"), nullptr);
}

}  // namespace
}  // namespace spirograd::vk
