// What differs between operating systems.
#include "vk_runtime/system.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <string>

namespace spirograd::vk {
namespace {

std::vector<std::string> names(System s) { return {loader_names(s).begin(), loader_names(s).end()}; }

TEST(Loader, HasTheNamesOfEachSystem) {
  EXPECT_EQ(names(System::Linux), (std::vector<std::string>{"libvulkan.so.1", "libvulkan.so"}));
  EXPECT_EQ(names(System::Windows), (std::vector<std::string>{"vulkan-1.dll"}));
}

TEST(Loader, WhatToInstallFitsTheSystem) {
  const auto named = [](std::string_view tool, System s, Part p) {
    return install_hint(p, s).find(tool) != std::string::npos;
  };
  for (Part p : {Part::Loader, Part::Driver, Part::ValidationLayer}) {
    EXPECT_TRUE(named("apt install", System::Linux, p));
    EXPECT_TRUE(named("brew install", System::MacOS, p));
    EXPECT_TRUE(named("install the", System::Windows, p));
    EXPECT_EQ(install_hint(p), install_hint(p, this_system()));
  }
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

TEST(Environment, AVariableIsLent) {
  if (this_system() == System::Windows) {
    EXPECT_FALSE(with_variable("SPIROGRAD_LENT", "1", [] {}));
    return;
  }
  const auto value = [](const char* name) { return std::getenv(name) ? std::string(std::getenv(name)) : "none"; };
  const std::string path = value("PATH");
  const auto inside = [&] {
    EXPECT_EQ(value("SPIROGRAD_LENT"), "1");
    EXPECT_EQ(value("PATH"), path);
  };
  EXPECT_TRUE(with_variable("SPIROGRAD_LENT", "1", inside));
  EXPECT_EQ(value("SPIROGRAD_LENT"), "none");
  EXPECT_TRUE(with_variable("SPIROGRAD_LENT", "1", inside)) << "again";
  EXPECT_FALSE(with_variable("PATH", "1", [] { FAIL(); }));
#ifndef _WIN32
  EXPECT_TRUE(with_variable("SPIROGRAD_LENT", "1", [] { ::setenv("SPIROGRAD_OTHER", "2", 1); }));
  EXPECT_EQ(value("SPIROGRAD_OTHER"), "2") << "what others set meanwhile stays";
  EXPECT_EQ(value("SPIROGRAD_LENT"), "none");
  EXPECT_EQ(value("PATH"), path);
#endif
}

}  // namespace
}  // namespace spirograd::vk
