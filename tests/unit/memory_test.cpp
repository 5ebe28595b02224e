// Memory types of invented devices, and slabs over a table of functions that answers as such devices do.
#include "vk_runtime/memory.h"

#include <gtest/gtest.h>

namespace spirograd::vk {
namespace memory_test {

constexpr VkMemoryPropertyFlags kLocal = VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT;
constexpr VkMemoryPropertyFlags kVisible = VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT;
constexpr VkMemoryPropertyFlags kCoherent = VK_MEMORY_PROPERTY_HOST_COHERENT_BIT;
constexpr VkMemoryPropertyFlags kCached = VK_MEMORY_PROPERTY_HOST_CACHED_BIT;
constexpr uint64_t kMiB = 1u << 20;

struct TypeOf {
  VkMemoryPropertyFlags flags;
  uint32_t heap = 0;
};
VkPhysicalDeviceMemoryProperties table(std::vector<TypeOf> types, std::vector<uint64_t> heaps = {1024 * kMiB}) {
  VkPhysicalDeviceMemoryProperties p{};
  p.memoryTypeCount = static_cast<uint32_t>(types.size());
  for (size_t i = 0; i < types.size(); ++i) p.memoryTypes[i] = {types[i].flags, types[i].heap};
  p.memoryHeapCount = static_cast<uint32_t>(heaps.size());
  for (size_t i = 0; i < heaps.size(); ++i) p.memoryHeaps[i].size = heaps[i];
  return p;
}
using Order = std::vector<uint32_t>;

TEST(MemoryPlan, WhatTheHostReadsIsCachedCoherentOrNotAndElseCoherent) {
  const auto p = table({{kLocal}, {kVisible | kCoherent}, {kVisible | kCached}, {kVisible | kCached | kCoherent}});
  EXPECT_EQ(plan_memory_types(p, 0xf, MemoryKind::Staging, false), (Order{3, 2, 1}));
  EXPECT_EQ(plan_memory_types(p, 0x3, MemoryKind::Staging, false), (Order{1}));
  EXPECT_TRUE(plan_memory_types(p, 0x1, MemoryKind::Staging, false).empty());
}

TEST(MemoryPlan, ArraysOfUnifiedDevicesAreReachedThroughTheCaches) {
  const auto p = table(
      {{kLocal}, {kLocal | kVisible | kCoherent}, {kLocal | kVisible | kCached}, {kLocal | kVisible | kCached | kCoherent}});
  EXPECT_EQ(plan_memory_types(p, 0xf, MemoryKind::Arrays, true), (Order{3, 2, 0, 1}));
  EXPECT_EQ(plan_memory_types(p, 0xf, MemoryKind::Arrays, false), (Order{0, 1, 2, 3}));
  EXPECT_EQ(plan_memory_types(p, 0xf, MemoryKind::Scratch, true), (Order{0, 1, 2, 3})) << "no host looks at it";
  EXPECT_TRUE(maps_arrays(kLocal | kVisible | kCached, true));
  EXPECT_FALSE(maps_arrays(kLocal | kVisible | kCoherent, true)) << "uncached reads are slower than a copy";
  EXPECT_FALSE(maps_arrays(kLocal | kVisible | kCached, false));
}

// An integrated GPU whose first device-local type is a small carve-out, as its own and as a window for the host.
TEST(MemoryPlan, LargerHeapsComeFirstAndSmallOnesAreNotForgotten) {
  const auto p = table({{kLocal, 0}, {kLocal | kVisible | kCoherent, 0}, {kVisible | kCoherent, 1}, {kLocal, 2}},
                       {256 * kMiB, 16384 * kMiB, 8192 * kMiB});
  EXPECT_EQ(plan_memory_types(p, 0xf, MemoryKind::Scratch, false), (Order{3, 0, 1, 2}));
  EXPECT_EQ(plan_memory_types(p, 0xf, MemoryKind::Arrays, true), (Order{3, 0, 1, 2}));
}

TEST(MemoryPlan, UnknownFlagsDoNotDisqualifyButKnownObstaclesDo) {
  constexpr VkMemoryPropertyFlags unknown = 1u << 20;
  const auto p = table({{kLocal | VK_MEMORY_PROPERTY_PROTECTED_BIT},
                        {kLocal | VK_MEMORY_PROPERTY_LAZILY_ALLOCATED_BIT},
                        {kLocal | VK_MEMORY_PROPERTY_DEVICE_COHERENT_BIT_AMD},
                        {kLocal | unknown},
                        {kLocal | kVisible},
                        {0}});
  EXPECT_EQ(plan_memory_types(p, 0x3f, MemoryKind::Arrays, false), (Order{4, 3, 5}));
  EXPECT_EQ(plan_memory_types(p, 0x0f, MemoryKind::Arrays, false), (Order{3}));
}

// A device of its own for each test.
struct Driver {
  VkPhysicalDeviceMemoryProperties properties =
      table({{kLocal | kVisible | kCached, 0}, {kVisible | kCoherent, 1}}, {64 * kMiB, 1024 * kMiB});
  uint64_t room[2] = {64 * kMiB, 1024 * kMiB};
  std::vector<uint32_t> asked;
  VkResult defect = VK_SUCCESS;  // of allocations
  VkBufferUsageFlags usage = 0;  // of the last buffer,
  bool has_address = false;      // and whether its memory may have an address
  std::vector<VkMappedMemoryRange> flushed, invalidated;
  std::vector<uint8_t> bytes = std::vector<uint8_t>(4096);
  uint64_t size = 0;
};
Driver* driver = nullptr;

class MemoryTest : public ::testing::Test {
 protected:
  MemoryTest() {
    driver = &mine;
    fns.vkCreateBuffer = [](VkDevice, const VkBufferCreateInfo* i, const VkAllocationCallbacks*, VkBuffer* b) {
      driver->size = i->size;
      driver->usage = i->usage;
      *b = reinterpret_cast<VkBuffer>(uintptr_t{8});
      return VK_SUCCESS;
    };
    fns.vkGetBufferMemoryRequirements = [](VkDevice, VkBuffer, VkMemoryRequirements* r) { *r = {driver->size, 1, ~0u}; };
    fns.vkAllocateMemory = [](VkDevice, const VkMemoryAllocateInfo* i, const VkAllocationCallbacks*, VkDeviceMemory* m) {
      driver->asked.push_back(i->memoryTypeIndex);
      driver->has_address = i->pNext != nullptr;
      if (driver->defect != VK_SUCCESS) return driver->defect;
      uint64_t& room = driver->room[driver->properties.memoryTypes[i->memoryTypeIndex].heapIndex];
      if (i->allocationSize > room) return VK_ERROR_OUT_OF_DEVICE_MEMORY;
      room -= i->allocationSize;
      *m = reinterpret_cast<VkDeviceMemory>(uintptr_t{16});
      return VK_SUCCESS;
    };
    fns.vkMapMemory = [](VkDevice, VkDeviceMemory, VkDeviceSize first, VkDeviceSize size, VkMemoryMapFlags f, void** data) {
      EXPECT_TRUE(first == 0 && size == VK_WHOLE_SIZE && f == 0);
      *data = driver->bytes.data();
      return VK_SUCCESS;
    };
    fns.vkBindBufferMemory = [](VkDevice, VkBuffer, VkDeviceMemory, VkDeviceSize) { return VK_SUCCESS; };
    fns.vkGetBufferDeviceAddress = [](VkDevice, const VkBufferDeviceAddressInfo*) { return VkDeviceAddress{4096}; };
    fns.vkDestroyBuffer = [](VkDevice, VkBuffer, const VkAllocationCallbacks*) {};
    fns.vkFreeMemory = [](VkDevice, VkDeviceMemory, const VkAllocationCallbacks*) {};
    fns.vkFlushMappedMemoryRanges = [](VkDevice, uint32_t, const VkMappedMemoryRange* r) {
      driver->flushed.push_back(*r);
      return VK_SUCCESS;
    };
    fns.vkInvalidateMappedMemoryRanges = [](VkDevice, uint32_t, const VkMappedMemoryRange* r) {
      driver->invalidated.push_back(*r);
      return VK_SUCCESS;
    };
  }
  Memory memory(bool addresses = false) {
    MemoryConfig config;
    config.properties = mine.properties;
    config.direct = true;
    config.device_address = addresses;
    config.slab_bytes = kMiB;
    config.device = "Invented 9000";
    config.room = [](uint32_t heap) { return driver->room[heap]; };
    return Memory(fns, VK_NULL_HANDLE, config);
  }
  DeviceFns fns{};
  Driver mine;
};

TEST_F(MemoryTest, AFullHeapIsFollowedByTheNext) {
  Memory m = memory();
  const Allocation a = m.allocate(MemoryKind::Scratch, 63 * kMiB), b = m.allocate(MemoryKind::Scratch, 40 * kMiB);
  EXPECT_EQ(mine.asked, (Order{0, 0, 1}));
  const Allocation c = m.allocate(MemoryKind::Scratch, 100 * kMiB);
  EXPECT_EQ(mine.asked, (Order{0, 0, 1, 1})) << "a heap that is too small is not asked";
  for (const Allocation& x : {a, b, c}) m.release(x);
}

TEST_F(MemoryTest, WhatDoesNotFitAnywhereIsAnErrorThatNamesHeapsAndWhatIsLeft) {
  Memory m = memory();
  mine.room[1] = 100 * kMiB;
  try {
    m.allocate(MemoryKind::Scratch, 200 * kMiB);
    FAIL();
  } catch (const Error& e) {
    EXPECT_EQ(e.code, "SG0601");
    for (const char* part : {"200 MiB", "64 MiB in all", "1 GiB in all, of which 100 MiB are left to this process"})
      EXPECT_NE(e.str().find(part), std::string::npos) << part << " in " << e.str();
    EXPECT_EQ(e.str().find("maxMemoryAllocationSize"), std::string::npos) << "nothing is known of it";
  }
}

TEST_F(MemoryTest, OtherErrorsAreToldAtOnce) {
  mine.defect = VK_ERROR_TOO_MANY_OBJECTS;
  Memory m = memory();
  try {
    m.allocate(MemoryKind::Scratch, kMiB);
    FAIL() << "nothing was thrown";
  } catch (const Error& e) {
    EXPECT_NE(e.message.find("vkAllocateMemory"), std::string::npos) << e.str();
    EXPECT_EQ(mine.asked.size(), 1u);
  }
}

TEST_F(MemoryTest, ALimitOfSingleAllocationsIsNamedWhereItIsExceeded) {
  const auto notes = [&](uint64_t most) {
    MemoryConfig config;
    config.properties = mine.properties;
    config.max_allocation = most;
    Memory m(fns, VK_NULL_HANDLE, config);
    try {
      m.allocate(MemoryKind::Scratch, 2000 * kMiB);
    } catch (const Error& e) {
      return e.str();
    }
    return std::string();
  };
  EXPECT_NE(notes(500 * kMiB).find("maxMemoryAllocationSize is 500 MiB"), std::string::npos) << notes(500 * kMiB);
  EXPECT_NE(notes(4000 * kMiB).find("64 MiB in all"), std::string::npos);
  EXPECT_EQ(notes(4000 * kMiB).find("maxMemoryAllocationSize"), std::string::npos);
}

TEST_F(MemoryTest, MemoryThatIsNotCoherentIsFlushedAndInvalidatedByWholeAtoms) {
  Memory m = memory();
  const Allocation a = m.allocate(MemoryKind::Arrays, 100), b = m.allocate(MemoryKind::Arrays, 300);
  ASSERT_TRUE(b.mapped);
  m.flush(b);
  m.invalidate(a);
  ASSERT_EQ(mine.flushed.size(), 1u);
  EXPECT_EQ(mine.flushed[0].offset, 256u);
  EXPECT_EQ(mine.flushed[0].size, 512u) << "of its own atoms only";
  ASSERT_EQ(mine.invalidated.size(), 1u);
  EXPECT_EQ(mine.invalidated[0].size, 256u);
  m.release(a);
  m.release(b);
}

TEST_F(MemoryTest, CoherentMemoryIsLeftAlone) {
  mine.properties = table({{kLocal | kVisible | kCoherent | kCached}});
  Memory m = memory();
  const Allocation a = m.allocate(MemoryKind::Staging, 100);
  m.flush(a);
  m.invalidate(a);
  m.release(a);
  EXPECT_TRUE(mine.flushed.empty() && mine.invalidated.empty());
}

TEST_F(MemoryTest, OnlyWhatKernelsReachHasAnAddressAndOnlyWhereItIsAskedFor) {
  constexpr VkBufferUsageFlags address = VK_BUFFER_USAGE_SHADER_DEVICE_ADDRESS_BIT,
                               storage = VK_BUFFER_USAGE_STORAGE_BUFFER_BIT;
  for (const bool addresses : {false, true}) {
    Memory m = memory(addresses);
    for (const MemoryKind kind : {MemoryKind::Arrays, MemoryKind::Scratch, MemoryKind::Staging}) {
      const Allocation a = m.allocate(kind, 100);
      const bool reached = kind != MemoryKind::Staging;
      EXPECT_EQ((mine.usage & storage) != 0, reached);
      EXPECT_EQ((mine.usage & address) != 0, reached && addresses);
      EXPECT_EQ(mine.has_address, reached && addresses);
      m.release(a);
    }
  }
}

TEST_F(MemoryTest, TrimGivesBackWhatNobodyUses) {
  Memory m = memory();
  const Allocation a = m.allocate(MemoryKind::Arrays, 100), s = m.allocate(MemoryKind::Staging, 100);
  EXPECT_EQ(m.trim(), 0u);
  m.release(a);
  EXPECT_EQ(m.trim(), kMiB);
  EXPECT_EQ(m.slab_count(), 1u);
  m.release(s);
}

}  // namespace memory_test
}  // namespace spirograd::vk
