#include "spirv/schedule/facts_text.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <string_view>

namespace spirograd::schedule {
namespace {

// Words of one line: names with numbers, and names of what is true.
class Line {
 public:
  explicit Line(std::string_view kind) : text_(kind) {}
  Line& with(std::string_view name, int64_t n) { return word(name).word(std::to_string(n)); }
  Line& with(std::string_view name, double x) {
    std::array<char, 32> buffer;
    const auto end = std::to_chars(buffer.data(), buffer.data() + buffer.size(), x).ptr;
    return word(name).word({buffer.data(), end});
  }
  Line& with(std::string_view name, const std::vector<int64_t>& list) {
    word(name);
    for (int64_t n : list) word(std::to_string(n));
    return *this;
  }
  Line& flag(std::string_view name, bool set) { return set ? word(name) : *this; }
  Line& next(std::string_view name) {
    text_ += ";";
    return word(name);
  }
  Line& word(std::string_view w) {
    text_ += " ";
    text_ += w;
    return *this;
  }
  std::string text() && { return std::move(text_); }

 private:
  std::string text_;
};

}  // namespace

std::string to_string(const MapFacts& f) {
  Line line("map");
  line.word(to_string(f.domain)).with("code", f.code);
  line.flag("reduces", f.reduces).flag("alone", f.alone).flag("stores", f.stores);
  if (f.symmetric) line.with("symmetric", {f.symmetric->first, f.symmetric->second});
  std::vector<uint32_t> buffers;
  for (const Read& r : f.reads) {
    const auto known = std::find(buffers.begin(), buffers.end(), r.buffer);
    const int64_t number = known - buffers.begin();
    if (known == buffers.end()) buffers.push_back(r.buffer);
    line.next("read").word(std::to_string(number)).with("axes", int64_t{r.axes}).with("last", int64_t{r.last});
    line.flag("own", r.own).flag("reduced", r.reduced).flag("sums", r.sums).flag("along", r.along).flag("outer", r.outer);
  }
  for (const Reduction& r : f.reductions) {
    line.next("reduction").with("axes", int64_t{r.axes}).with("length", r.length);
    line.flag("contiguous", r.contiguous).flag("position", r.position).flag("loops", r.loops);
    if (r.inner > 1) line.with("inner", r.inner).with("left", r.left);
  }
  for (const Operations& o : f.operations)
    line.next("operations").with("axes", int64_t{o.axes}).with("count", o.count).flag("outer", o.outer);
  return std::move(line).text();
}

std::string to_string(const ReduceFacts& f) {
  Line line("reduction");
  line.word(name(f.dtype)).with("of", f.extents).with("points", f.points).with("code", f.code).with("plain", f.plain);
  line.with("group", f.group)
      .flag("team", f.team)
      .with("members", f.members)
      .with("shared", f.shared)
      .with("lanes", f.lanes);
  line.with("common", f.common)
      .with("copies", f.copies)
      .with("results", f.results)
      .flag("loops", f.loops)
      .flag("inside", f.inside);
  if (f.staying > 0) line.with("staying", f.staying).with("kept", f.kept);
  if (f.changing > 0) line.with("changing", f.changing);
  if (f.parts) line.flag("parts", true);
  if (f.rows) line.flag("rows", true);
  for (const Leaf& leaf : f.leaves) {
    line.next("leaf").word(name(leaf.dtype)).with("own", leaf.own);
    for (const auto& [tile, step] : leaf.place) line.with("tile", tile).with("step", step);
  }
  return std::move(line).text();
}

std::string to_string(const PartialFacts& f) {
  Line line("partial");
  line.with("of", f.extents).with("results", f.results).with("columns", f.columns);
  line.with("left", int64_t{f.axes_left});
  line.flag("combines", f.combines).flag("position", f.position).flag("contiguous", f.contiguous).flag("rows", f.rows);
  if (f.code > 0) line.with("code", f.code);
  if (f.even) line.flag("even", true);
  if (f.read > 0) line.with("read", f.read);
  if (f.beside) line.flag("beside", true);
  return std::move(line).text();
}

std::string to_string(const PackFacts& f) {
  Line line("pack");
  line.with("elements", f.elements).with("bytes", f.bytes).with("row", f.row).with("width", f.width);
  line.with("readers", f.readers).flag("neighbours", f.neighbours).flag("rows", f.rows);
  return std::move(line).text();
}

std::string to_string(const ScanFacts& f) {
  Line line("scan");
  line.word(name(f.dtype)).with("length", f.length).with("rows", f.rows).with("code", f.code);
  line.flag("contiguous", f.contiguous).flag("chunkable", f.chunkable);
  return std::move(line).text();
}

std::string to_string(const ScatterFacts& f) {
  Line line("scatter");
  line.word(name(f.dtype)).with("updates", f.updates).with("places", f.places).with("row", f.row).with("code", f.code);
  line.flag("atomic", f.atomic).flag("copyable", f.copyable).flag("gathers", f.gathers);
  return std::move(line).text();
}

}  // namespace spirograd::schedule
