#include "tools/io/exr_array.h"

#include <Iex.h>
#include <ImfChannelList.h>
#include <ImfFrameBuffer.h>
#include <ImfHeader.h>
#include <ImfIO.h>
#include <ImfInputFile.h>
#include <ImfOutputFile.h>

#include <algorithm>
#include <cstring>
#include <new>

namespace spirograd::io {
namespace {

constexpr int kMostAlong = 65535;                  // pixels of an axis
constexpr uint64_t kDoubtful = uint64_t{1} << 28;  // bytes of pixels: a file that says it has more is looked at twice,
constexpr uint64_t kPacking = 2000;                // for to so much less hardly any picture is packed

class MemoryInput : public Imf::IStream {
 public:
  MemoryInput(const std::vector<uint8_t>& contents, const std::string& where)
      : Imf::IStream(where.c_str()), contents_(contents) {}
  bool read(char* to, int n) override {
    if (n < 0 || static_cast<uint64_t>(n) > contents_.size() - std::min<uint64_t>(at_, contents_.size()))
      throw Iex::InputExc("it is truncated");
    std::memcpy(to, contents_.data() + at_, static_cast<size_t>(n));
    at_ += static_cast<uint64_t>(n);
    return at_ < contents_.size();
  }
  uint64_t tellg() override { return at_; }
  void seekg(uint64_t at) override { at_ = at; }

 private:
  const std::vector<uint8_t>& contents_;
  uint64_t at_ = 0;
};

class MemoryOutput : public Imf::OStream {
 public:
  MemoryOutput() : Imf::OStream("out.exr") {}
  void write(const char* from, int n) override {
    const auto end = static_cast<size_t>(at_) + static_cast<size_t>(n);
    if (bytes.size() < end) bytes.resize(end);
    std::memcpy(bytes.data() + at_, from, static_cast<size_t>(n));
    at_ = end;
  }
  uint64_t tellp() override { return at_; }
  void seekp(uint64_t at) override { at_ = at; }
  std::vector<uint8_t> bytes;

 private:
  uint64_t at_ = 0;
};

// The channels of a picture, by how many there are.
std::vector<std::string> picture_channels(int64_t count) {
  switch (count) {
    case 1: return {"Y"};
    case 2: return {"Y", "A"};
    case 3: return {"R", "G", "B"};
    default: return {"R", "G", "B", "A"};
  }
}

// Of the channels that begin with `layer`, those of the largest picture.
std::vector<std::string> picture_of(const Imf::ChannelList& channels, const std::string& layer) {
  for (int64_t count : {4, 3, 2, 1}) {
    std::vector<std::string> names = picture_channels(count);
    for (std::string& n : names) n = layer + n;
    if (std::ranges::all_of(names, [&](const std::string& n) { return channels.findChannel(n) != nullptr; })) return names;
  }
  return {};
}

std::vector<std::string> chosen(const Imf::ChannelList& channels, const std::string& name, const std::string& where) {
  std::vector<std::string> all;
  for (auto c = channels.begin(); c != channels.end(); ++c) all.push_back(c.name());
  if (name.empty() && all.size() == 1) return all;
  if (std::ranges::find(all, name) != all.end()) return {name};
  std::vector<std::string> out = picture_of(channels, name.empty() ? "" : name + ".");
  if (!out.empty()) return out;
  std::string listed;
  for (const std::string& n : all) listed += (listed.empty() ? "" : ", ") + n;
  if (name.empty())
    throw Error("SG0506", where + " holds more than one picture: its channels are " + listed)
        .hint("name a channel or a layer: " + where + ":" + (all.empty() ? "Z" : all[0]));
  throw Error("SG0506", where + " has no channel and no layer '" + name + "'").hint("its channels are " + listed);
}

FileArray read_exr(const std::vector<uint8_t>& contents, const std::string& name, const std::string& where) {
  Imf::Header::setMaxImageSize(kMostAlong, kMostAlong);
  MemoryInput stream(contents, where);
  Imf::InputFile file(stream);
  const Imf::ChannelList& channels = file.header().channels();
  const std::vector<std::string> names = chosen(channels, name, where);
  const auto window = file.header().dataWindow();
  const int64_t height = int64_t{window.max.y} - window.min.y + 1, width = int64_t{window.max.x} - window.min.x + 1;
  const auto count = static_cast<int64_t>(names.size());
  const bool whole_numbers = count == 1 && channels[names[0].c_str()].type == Imf::UINT;
  FileArray a;
  a.kind = whole_numbers ? 'u' : 'f';
  a.shape = {height, width};
  if (count > 1) a.shape.push_back(count);
  const uint64_t bytes = static_cast<uint64_t>(a.shape.count()) * 4;
  if (bytes > kDoubtful && bytes / kPacking > contents.size()) throw Iex::InputExc("it is too short for its size");
  a.bytes.resize(bytes);
  Imf::FrameBuffer pixels;
  for (int64_t c = 0; c < count; ++c) {
    const std::string& n = names[static_cast<size_t>(c)];
    if (channels[n.c_str()].xSampling != 1 || channels[n.c_str()].ySampling != 1)
      throw Iex::InputExc("channel " + n + " has fewer pixels than the picture");
    const auto step = static_cast<size_t>(4 * count);
    pixels.insert(n, Imf::Slice::Make(whole_numbers ? Imf::UINT : Imf::FLOAT, a.bytes.data() + 4 * c, window, step,
                                      step * static_cast<size_t>(width)));
  }
  file.setFrameBuffer(pixels);
  file.readPixels(window.min.y, window.max.y);
  return a;
}

}  // namespace

FileArray parse_exr(const std::vector<uint8_t>& contents, const std::string& name, const std::string& where) {
  try {
    return read_exr(contents, name, where);
  } catch (const Error&) {
    throw;
  } catch (const std::bad_alloc&) {
    throw;
  } catch (const std::exception& e) {
    throw Error("SG0501", where + " is no valid EXR: " + e.what());
  }
}

std::vector<uint8_t> exr_array_bytes(const HostArray& a) {
  const Shape& shape = a.type.shape;
  const int64_t count = shape.rank() == 3 ? shape[2] : 1;
  const bool half = a.type.dtype == DType::F16;
  if (shape.rank() < 2 || shape.rank() > 3 || count < 1 || count > 4 || shape.count() == 0 ||
      !(half || a.type.dtype == DType::F32) || shape[0] > kMostAlong || shape[1] > kMostAlong)
    throw Error("SG0508",
                "an EXR takes f32 or f16, [H,W] or [H,W,C] with C from 1 to 4; this result is " + to_string(a.type));
  const Imf::PixelType type = half ? Imf::HALF : Imf::FLOAT;
  const auto width = static_cast<int>(shape[1]), height = static_cast<int>(shape[0]);
  Imf::Header header(width, height);
  Imf::FrameBuffer pixels;
  const std::vector<std::string> names = picture_channels(count);
  const size_t bytes = host_bytes(a.type.dtype), step = bytes * names.size();
  for (size_t c = 0; c < names.size(); ++c) {
    header.channels().insert(names[c], Imf::Channel(type));
    pixels.insert(names[c], Imf::Slice::Make(type, a.bytes.data() + bytes * c, header.dataWindow(), step,
                                             step * static_cast<size_t>(width)));
  }
  MemoryOutput stream;
  {
    Imf::OutputFile file(stream, header);
    file.setFrameBuffer(pixels);
    file.writePixels(height);
  }  // writes where its lines begin
  return std::move(stream.bytes);
}

}  // namespace spirograd::io
