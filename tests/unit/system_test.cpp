// What differs between operating systems.
#include "vk_runtime/system.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

#ifdef __linux__
#include <pthread.h>
#include <sched.h>
#endif

namespace spirograd::vk {
namespace system_test {

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

#ifdef __linux__
// As many threads as processors: each on its own. Fewer are left alone, as are those of others.
TEST(Threads, AreKeptApart) {
  cpu_set_t mine;
  ASSERT_EQ(::sched_getaffinity(0, sizeof mine, &mine), 0);
  const int processors = CPU_COUNT(&mine);
  char name_before[16] = {}, name_behind[16] = {};
  ::pthread_getname_np(::pthread_self(), name_before, sizeof name_before);
  for (const int n : {processors, processors - 1, processors + 1}) {
    std::atomic<bool> leave = false;
    std::thread other([&] { leave.wait(false); });
    std::vector<std::thread> threads;
    with_threads_apart([&] {
      for (int i = 0; i < n; ++i) threads.emplace_back([&] { leave.wait(false); });
    });
    const auto allowed = [](std::thread& t) {
      cpu_set_t set;
      CPU_ZERO(&set);
      EXPECT_EQ(::pthread_getaffinity_np(t.native_handle(), sizeof set, &set), 0);
      return set;
    };
    const bool apart = processors >= 2 && n >= processors;
    cpu_set_t together;
    CPU_ZERO(&together);
    for (size_t i = 0; i < threads.size(); ++i) {
      const cpu_set_t set = allowed(threads[i]);
      const bool is_last = static_cast<int>(threads.size() - i) <= processors;
      EXPECT_EQ(CPU_COUNT(&set), apart && is_last ? 1 : processors) << i << " of " << n;
      if (is_last) CPU_OR(&together, &together, &set);
    }
    EXPECT_TRUE(n == 0 || CPU_EQUAL(&together, &mine)) << "none is left out";
    const cpu_set_t others = allowed(other);
    EXPECT_TRUE(CPU_EQUAL(&others, &mine));
    leave = true;
    leave.notify_all();
    for (std::thread& t : threads) t.join();
    other.join();
  }
  ::pthread_getname_np(::pthread_self(), name_behind, sizeof name_behind);
  EXPECT_STREQ(name_behind, name_before);
}
#endif

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

}  // namespace system_test
}  // namespace spirograd::vk
