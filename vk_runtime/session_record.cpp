// Commands of a session in a command buffer of the host: arguments lie in its buffers, or are copied from and to its images.
#include <algorithm>

#include "vk_runtime/barrier_plan.h"
#include "vk_runtime/images.h"
#include "vk_runtime/session_impl.h"

namespace spirograd::vk {
namespace {

const ImageRegion* image_of(const HostArgument& a) { return std::get_if<ImageRegion>(&a); }

// Whether kernels reach memory of the session instead, from which and to which it is copied.
bool is_copied(const Session::Impl& s, uint32_t argument, const HostArgument& a) {
  if (s.e.buffers[argument].bytes == 0) return false;
  const uint64_t alignment = s.d.facts.limits.minStorageBufferOffsetAlignment;
  return image_of(a) || (!begins_row(std::get<Slice>(a).offset, alignment) && stores_rows(s.e, s.home(argument)));
}

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
    std::vector<uint32_t> copied;
    for (uint32_t i = 0; i < s.n_arguments(); ++i) {
      places[i] = s.arguments[i]->piece.place;  // ours, which serves for arrays of nothing and for what is copied
      const BufferDesc& b = s.e.buffers[i];
      const ImageRegion* image = image_of(*given[i]);
      if (image) check_image("the image for '" + b.name + "'", b.type, *image, i >= s.e.n_inputs);
      if (!image && b.bytes > 0) places[i] = place_of(s.d, s.e, b, std::get<Slice>(*given[i]));
      if (!is_copied(s, i, *given[i])) continue;
      if (s.bound[i])
        throw Error("SG0501", std::string("the ") + (image ? "image" : "slice") + " for '" + b.name +
                                  "' would be copied over the array that is bound to it")
            .hint(image ? "record from a session that nothing is bound to"
                        : "record from a session that nothing is bound to, or let it begin at a multiple of " +
                              std::to_string(row_alignment(s.d.facts.limits.minStorageBufferOffsetAlignment)) + " bytes");
      copied.push_back(i);
    }
    s.check_overlaps("record", places, false);
    std::vector<Place> theirs = places;
    for (uint32_t i : copied) places[i] = s.arguments[i]->piece.place;
    if (s.record_sets) s.record_sets->update(places);
    const auto barrier = [&] { memory_barrier(s.d.fns, commands, kOurUses, kOurUses); };
    const OuterBarriers outer = plan_outer_barriers(s.e, s.barriers);
    const auto copy = [&](uint32_t i, bool in) {
      const Place &ours = places[i], &other = theirs[i];
      if (const ImageRegion* image = image_of(*given[i])) {
        const VkBufferImageCopy region = image_copy(*image, ours.offset);
        if (in)
          s.d.fns.vkCmdCopyImageToBuffer(commands, image->image, image->layout, ours.buffer, 1, &region);
        else
          s.d.fns.vkCmdCopyBufferToImage(commands, ours.buffer, image->image, image->layout, 1, &region);
        return;
      }
      const Place &from = in ? other : ours, &to = in ? ours : other;
      const VkBufferCopy region{from.offset, to.offset, s.e.buffers[i].bytes};
      s.d.fns.vkCmdCopyBuffer(commands, from.buffer, to.buffer, 1, &region);
    };
    if (outer.before || !copied.empty()) barrier();
    for (uint32_t i : copied)
      if (i < s.e.n_inputs) copy(i, true);
    if (!copied.empty()) barrier();
    Progress progress(s.e.steps);
    record_steps(s.d, commands, s.e, *s.pipelines, s.barriers, places, s.record_sets.get(), progress);
    if (!copied.empty()) barrier();
    for (uint32_t i : copied)
      if (i >= s.e.n_inputs) copy(i, false);
    const bool copied_slices = std::ranges::any_of(copied, [&](uint32_t i) { return !image_of(*given[i]); });
    if (copied_slices || (outer.after && copied.empty())) barrier();
  });
}

}  // namespace spirograd::vk
