#include "vk_runtime/recorder.h"

#include <algorithm>
#include <map>

#include "vk_runtime/barrier_plan.h"
#include "vk_runtime/dispatch_plan.h"
#include "vk_runtime/errors.h"

namespace spirograd::vk {
namespace {

uint64_t element_bytes(const BufferDesc& buffer) { return device_bytes(buffer.type.dtype); }

}  // namespace

DescriptorRange descriptor_range(const Place& place, uint64_t bytes, uint64_t element, uint64_t alignment) {
  const uint64_t offset = place.offset / alignment * alignment;
  const uint64_t lead = place.offset - offset;
  return {offset, lead + (bytes == 0 ? 4 : bytes), lead / element};
}

bool stores_rows(const Executable& e, uint32_t buffer) {
  const auto stores = [&](const Step& step) {
    if (step.kind != Step::Kind::Dispatch || e.form != BindingForm::Address) return false;
    const auto behind = step.uses.begin() + descriptors(e.kernels[step.kernel], e.form);
    return std::any_of(step.uses.begin(), behind, [&](const BufferUse& u) { return u.buffer == buffer && u.written; });
  };
  return std::ranges::any_of(e.steps, stores);
}

DescriptorSets::DescriptorSets(Device::Impl& device, const Executable& e, const Pipelines& pipelines)
    : device_(device), executable_(e), set_of_step_(e.steps.size(), SIZE_MAX) {
  std::map<std::vector<uint32_t>, size_t> known;
  std::vector<VkDescriptorSetLayout> layouts;
  uint32_t n_descriptors = 0;
  for (size_t i = 0; i < e.steps.size(); ++i) {
    const Step& step = e.steps[i];
    if (step.kind != Step::Kind::Dispatch || is_idle(step) || step.uses.empty()) continue;
    std::vector<uint32_t> buffers;
    for (const BufferUse& use : step.uses) buffers.push_back(use.buffer);
    const auto [it, fresh] = known.emplace(buffers, buffers_of_set_.size());
    set_of_step_[i] = it->second;
    if (!fresh) continue;
    n_descriptors += static_cast<uint32_t>(buffers.size());
    buffers_of_set_.push_back(std::move(buffers));
    layouts.push_back(pipelines[step.kernel].layout.set);
  }
  if (layouts.empty()) return;

  const VkDescriptorPoolSize size{VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, n_descriptors};
  VkDescriptorPoolCreateInfo pool{VK_STRUCTURE_TYPE_DESCRIPTOR_POOL_CREATE_INFO};
  pool.maxSets = static_cast<uint32_t>(layouts.size());
  pool.poolSizeCount = 1;
  pool.pPoolSizes = &size;
  device_.check(or_null(device_.fns.vkCreateDescriptorPool(device_.device, &pool, nullptr, &pool_), pool_),
                "vkCreateDescriptorPool");
  sets_.resize(layouts.size());
  VkDescriptorSetAllocateInfo allocate{VK_STRUCTURE_TYPE_DESCRIPTOR_SET_ALLOCATE_INFO};
  allocate.descriptorPool = pool_;
  allocate.descriptorSetCount = static_cast<uint32_t>(layouts.size());
  allocate.pSetLayouts = layouts.data();
  const VkResult r = device_.fns.vkAllocateDescriptorSets(device_.device, &allocate, sets_.data());
  if (r == VK_SUCCESS) return;
  device_.fns.vkDestroyDescriptorPool(device_.device, pool_, nullptr);
  device_.check(r, "vkAllocateDescriptorSets");
}

DescriptorSets::~DescriptorSets() {
  if (pool_ && device_.may_destroy()) device_.fns.vkDestroyDescriptorPool(device_.device, pool_, nullptr);
}

void DescriptorSets::update(const std::vector<Place>& places) {
  const VkPhysicalDeviceLimits& limits = device_.facts.limits;
  std::vector<VkDescriptorBufferInfo> infos;
  std::vector<VkWriteDescriptorSet> writes;
  for (const auto& buffers : buffers_of_set_)
    for (uint32_t b : buffers) {
      const BufferDesc& buffer = executable_.buffers[b];
      const DescriptorRange r =
          descriptor_range(places[b], buffer.bytes, element_bytes(buffer), limits.minStorageBufferOffsetAlignment);
      if (r.range > limits.maxStorageBufferRange) {
        throw limit_error(
            "an array of " + to_string(buffer.type) + (buffer.name.empty() ? "" : " ('" + buffer.name + "')") + " in bytes",
            r.range, "maxStorageBufferRange", limits.maxStorageBufferRange, device_.name())
            .hint("device addresses have no such limit: compile with BindingForm::Address");
      }
      infos.push_back({places[b].buffer, r.offset, r.range});
    }
  size_t info = 0;
  for (size_t s = 0; s < sets_.size(); ++s) {
    VkWriteDescriptorSet write{VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET};
    write.dstSet = sets_[s];
    write.descriptorCount = static_cast<uint32_t>(buffers_of_set_[s].size());  // spills over into the following bindings
    write.descriptorType = VK_DESCRIPTOR_TYPE_STORAGE_BUFFER;
    write.pBufferInfo = &infos[info];
    info += write.descriptorCount;
    writes.push_back(write);
  }
  if (!writes.empty()) {
    device_.fns.vkUpdateDescriptorSets(device_.device, static_cast<uint32_t>(writes.size()), writes.data(), 0, nullptr);
  }
}

void memory_barrier(const DeviceFns& fns, VkCommandBuffer commands, StageAccess before, StageAccess after) {
  VkMemoryBarrier barrier{VK_STRUCTURE_TYPE_MEMORY_BARRIER};
  barrier.srcAccessMask = before.access;
  barrier.dstAccessMask = after.access;
  fns.vkCmdPipelineBarrier(commands, before.stages, after.stages, 0, 1, &barrier, 0, nullptr, 0, nullptr);
}

namespace {

// Invocations are numbered in 32 bits, surplus ones too.
constexpr uint64_t kMostInvocations = uint64_t{1} << 32;

DispatchPlan plan_of(const Device::Impl& d, const Executable& e, const Pipelines& pipelines, const Step& step,
                     const PartLimit& limit) {
  const Target& target = d.info.target;
  const double wanted = limit.work > 0 && pipelines.divisible() ? step.work / limit.work : 1;
  return plan_dispatch(step.groups, wanted, target.max_groups, target.max_groups_y,
                       kMostInvocations / e.kernels[step.kernel].workgroup);
}

// Descriptors of the first bindings of a dispatch in the Address form, and the element offsets into them.
void push_descriptors(Device::Impl& d, VkCommandBuffer commands, const Executable& e, const Pipeline& pipeline,
                      const Step& step, uint32_t count, std::span<const uint64_t> offsets, const std::vector<Place>& places,
                      std::vector<uint32_t>& words) {
  std::vector<VkDescriptorBufferInfo> infos;
  for (uint32_t j = 0; j < count; ++j) {
    const BufferUse& use = step.uses[j];
    Place place = places[use.buffer];
    place.offset += offsets[j];
    const DescriptorRange r = descriptor_range(place, use.bytes, element_bytes(e.buffers[use.buffer]),
                                               d.facts.limits.minStorageBufferOffsetAlignment);
    infos.push_back({place.buffer, r.offset, r.range});
    words.push_back(static_cast<uint32_t>(r.first_element));
  }
  VkWriteDescriptorSet write{VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET};
  write.descriptorCount = count;  // spills over into the following bindings
  write.descriptorType = VK_DESCRIPTOR_TYPE_STORAGE_BUFFER;
  write.pBufferInfo = infos.data();
  d.fns.vkCmdPushDescriptorSetKHR(commands, VK_PIPELINE_BIND_POINT_COMPUTE, pipeline.layout.handle, 0, 1, &write);
}

void record_dispatch(Device::Impl& d, VkCommandBuffer commands, const Executable& e, const Pipelines& pipelines,
                     const Step& step, const DispatchPlan& plan, uint32_t part, std::span<const uint64_t> offsets,
                     const std::vector<Place>& places, VkDescriptorSet set, VkPipeline& bound) {
  const Pipeline& pipeline = pipelines[step.kernel];
  const Target& target = d.info.target;
  const Grid grid = plan.grid;
  const KernelBinary& kernel = e.kernels[step.kernel];
  if (grid.y > target.max_groups_y)
    throw limit_error("kernel '" + kernel.name + "' in rows of workgroups", grid.y, "maxComputeWorkGroupCount[1]",
                      target.max_groups_y, d.name());
  if (const uint64_t all = uint64_t{grid.x} * grid.y * kernel.workgroup; all > kMostInvocations)
    throw limit_error("kernel '" + kernel.name + "' in invocations", all, "what one dispatch can number", kMostInvocations,
                      d.name());
  if (bound != pipeline.handle) d.fns.vkCmdBindPipeline(commands, VK_PIPELINE_BIND_POINT_COMPUTE, pipeline.handle);
  bound = pipeline.handle;
  std::vector<uint32_t> words;
  for (size_t j = 0; j < step.uses.size(); ++j) {
    const Place& place = places[step.uses[j].buffer];
    const BufferDesc& buffer = e.buffers[step.uses[j].buffer];
    if (e.form == BindingForm::Address) {
      const uint64_t address = place.address + offsets[j];
      words.push_back(static_cast<uint32_t>(address));
      words.push_back(static_cast<uint32_t>(address >> 32));
    } else {
      const DescriptorRange r =
          descriptor_range(place, buffer.bytes, element_bytes(buffer), d.facts.limits.minStorageBufferOffsetAlignment);
      words.push_back(static_cast<uint32_t>(r.first_element + offsets[j] / element_bytes(buffer)));
    }
  }
  if (e.form == BindingForm::Address && kernel.needs.buffers > 0)
    push_descriptors(d, commands, e, pipeline, step, kernel.needs.buffers, offsets, places, words);
  for (uint32_t number = 0; words.size() * 4 < kernel.needs.push_bytes; ++number) words.push_back(number);
  if (set)
    d.fns.vkCmdBindDescriptorSets(commands, VK_PIPELINE_BIND_POINT_COMPUTE, pipeline.layout.handle, 0, 1, &set, 0, nullptr);
  if (!words.empty()) {
    d.fns.vkCmdPushConstants(commands, pipeline.layout.handle, VK_SHADER_STAGE_COMPUTE_BIT, 0,
                             static_cast<uint32_t>(words.size() * 4), words.data());
  }
  const Grid base = plan.base(part), size = plan.size(part);
  if (plan.parts() == 1)
    d.fns.vkCmdDispatch(commands, size.x, size.y, 1);
  else
    d.fns.vkCmdDispatchBase(commands, base.x, base.y, 0, size.x, size.y, 1);
}

}  // namespace

void record_steps(Device::Impl& d, VkCommandBuffer commands, const Executable& e, const Pipelines& pipelines,
                  const std::vector<uint32_t>& barriers, const std::vector<Place>& places, const DescriptorSets* sets,
                  Progress& progress, const PartLimit& limit, const std::function<void(size_t)>& after, PartFill* filled) {
  auto& [walk, part] = progress;
  std::vector<bool> barrier_before(e.steps.size());
  for (uint32_t i : barriers) barrier_before[i] = true;
  std::vector<uint64_t> offsets;
  PartFill own_fill;
  auto& [work, recorded, bound] = filled ? *filled : own_fill;
  const auto takes = [&, &work = work, &recorded = recorded](double own) {
    const bool full = (limit.commands > 0 && recorded >= limit.commands) || (limit.work > 0 && work + own > limit.work);
    if (recorded > 0 && full) return false;
    work += own;
    ++recorded;
    return true;
  };
  for (; !walk.done(); walk.next()) {
    const size_t i = walk.step();
    const Step& step = e.steps[i];
    const bool idle = is_idle(step), command = step.kind != Step::Kind::Repeat && !idle;
    DispatchPlan plan{{1, 1}, {1, 1}};
    if (command && step.kind == Step::Kind::Dispatch) plan = plan_of(d, e, pipelines, step, limit);
    const double own = step.work / plan.parts() + d.info.target.price.dispatch;
    if (command && !takes(own)) return;
    if (part == 0 && (barrier_before[i] || d.plan.full_barriers))
      memory_barrier(d.fns, commands, d.plan.full_barriers ? kAllUses : kOurUses,
                     d.plan.full_barriers ? kAllUses : kOurUses);
    if (idle) continue;
    walk.offsets(offsets);
    switch (step.kind) {
      case Step::Kind::Dispatch:
        for (;;) {
          record_dispatch(d, commands, e, pipelines, step, plan, part, offsets, places,
                          sets ? sets->of_step(i) : VK_NULL_HANDLE, bound);
          if (after) after(i);
          if (++part == plan.parts()) break;
          if (!takes(own)) return;
        }
        part = 0;
        continue;
      case Step::Kind::Fill: {
        const Place& to = places[step.uses[0].buffer];
        d.fns.vkCmdFillBuffer(commands, to.buffer, to.offset + offsets[0], step.uses[0].bytes, step.fill_word);
        break;
      }
      case Step::Kind::Copy: {
        const Place &from = places[step.uses[0].buffer], &to = places[step.uses[1].buffer];
        const VkBufferCopy copy{from.offset + offsets[0], to.offset + offsets[1],
                                std::min(step.uses[0].bytes, step.uses[1].bytes)};
        d.fns.vkCmdCopyBuffer(commands, from.buffer, to.buffer, 1, &copy);
        break;
      }
      case Step::Kind::Repeat: continue;  // its body comes now
    }
    if (after) after(i);
  }
}

}  // namespace spirograd::vk
