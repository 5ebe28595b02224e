// Commands of a session in a command buffer of the host: arguments lie in its buffers, or are copied from and to its images.
#include <algorithm>

#include "vk_runtime/barrier_plan.h"
#include "vk_runtime/images.h"
#include "vk_runtime/session_impl.h"

namespace spirograd::vk {
namespace {

const ImageRegion* image_of(const HostArgument& a) { return std::get_if<ImageRegion>(&a); }

// A range of the host's buffer that holds the array.
Place place_of(const Device::Impl& d, const Executable& e, const BufferDesc& b, const Slice& slice) {
  const uint64_t element = device_bytes(b.type.dtype);
  if (!slice.buffer || slice.bytes < b.bytes || slice.offset % element != 0) {
    throw Error("SG0501", "the slice for '" + b.name + "' must name a buffer, hold " + std::to_string(b.bytes) +
                              " bytes and start at a multiple of " + std::to_string(element) + "; it holds " +
                              std::to_string(slice.bytes) + " from " + std::to_string(slice.offset));
  }
  Place place{slice.buffer, slice.offset, 0};
  if (e.form == BindingForm::Address) {
    VkBufferDeviceAddressInfo info{VK_STRUCTURE_TYPE_BUFFER_DEVICE_ADDRESS_INFO};
    info.buffer = slice.buffer;
    place.address = d.fns.vkGetBufferDeviceAddress(d.device, &info) + slice.offset;
  }
  return place;
}

}  // namespace

Result<void> Session::record(VkCommandBuffer commands, std::span<const Slice> inputs, std::span<const Slice> outputs) {
  return record_images(commands, std::vector<HostArgument>(inputs.begin(), inputs.end()),
                       std::vector<HostArgument>(outputs.begin(), outputs.end()));
}

Result<void> Session::record_images(VkCommandBuffer commands, std::span<const HostArgument> inputs,
                                    std::span<const HostArgument> outputs) {
  return guarded([&] {
    Impl& s = *impl_;
    s.d.check_alive();
    if (!commands) throw Error("SG0501", "record: the command buffer is null");
    if (inputs.size() != s.e.n_inputs || outputs.size() != s.e.n_outputs) {
      throw Error("SG0501", "the program has " + std::to_string(s.e.n_inputs) + " inputs and " +
                                std::to_string(s.e.n_outputs) + " outputs; slices for " + std::to_string(inputs.size()) +
                                " and " + std::to_string(outputs.size()) + " are given");
    }
    std::vector<const HostArgument*> given;
    for (const auto& list : {inputs, outputs})
      for (const HostArgument& a : list) given.push_back(&a);
    std::vector<Place> places = s.places;
    bool images = false;
    for (uint32_t i = 0; i < s.n_arguments(); ++i) {
      places[i] = s.arguments[i]->piece.place;  // ours, which serves for arrays of nothing and for images
      const BufferDesc& b = s.e.buffers[i];
      if (const ImageRegion* image = image_of(*given[i])) {
        check_image("the image for '" + b.name + "'", b.type, *image, i >= s.e.n_inputs);
        if (s.bound[i])
          throw Error("SG0501", "the image for '" + b.name + "' would be copied over the array that is bound to it")
              .hint("record from a session that nothing is bound to");
        images = true;
      } else if (b.bytes > 0) {
        places[i] = place_of(s.d, s.e, b, std::get<Slice>(*given[i]));
      }
    }
    s.check_overlaps("record", places, false);
    if (s.record_sets) s.record_sets->update(places);
    const auto barrier = [&] { memory_barrier(s.d.fns, commands, kOurUses, kOurUses); };
    const OuterBarriers outer = plan_outer_barriers(s.e, s.barriers);
    if (outer.before || images) barrier();
    for (uint32_t i = 0; i < s.e.n_inputs; ++i) {
      const ImageRegion* image = s.e.buffers[i].bytes > 0 ? image_of(*given[i]) : nullptr;
      if (!image) continue;
      const VkBufferImageCopy copy = image_copy(*image, places[i].offset);
      s.d.fns.vkCmdCopyImageToBuffer(commands, image->image, image->layout, places[i].buffer, 1, &copy);
    }
    if (images) barrier();
    Progress progress(s.e.steps);
    record_steps(s.d, commands, s.e, *s.pipelines, s.barriers, places, s.record_sets.get(), progress);
    if (images) barrier();
    for (uint32_t i = s.e.n_inputs; i < s.n_arguments(); ++i) {
      const ImageRegion* image = s.e.buffers[i].bytes > 0 ? image_of(*given[i]) : nullptr;
      if (!image) continue;
      const VkBufferImageCopy copy = image_copy(*image, places[i].offset);
      s.d.fns.vkCmdCopyBufferToImage(commands, places[i].buffer, image->image, image->layout, 1, &copy);
    }
    if (outer.after && !images) barrier();
  });
}

}  // namespace spirograd::vk
