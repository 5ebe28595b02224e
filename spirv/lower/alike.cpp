#include "spirv/lower/alike.h"

#include <algorithm>
#include <bit>

#include "spirv/lower/computes.h"

namespace spirograd::lower {

using ir::Node;
using ir::NodeId;
using ir::Op;

namespace {

/// What a number in the words is the beginning of.
enum class Mark : uint64_t { Node, Array, Compute, Store, Row, Beside };

class Writer {
 public:
  Writer(const ir::Graph& g, const Materialised& materialised, const std::set<uint32_t>& computed,
         const std::vector<ParamSource>& params, const Arms& arms)
      : g_(g), materialised_(materialised), computed_(computed), params_(params), arms_(arms) {}

  std::optional<Likeness> write(std::span<const Compute> group) {
    for (const Compute& s : group) {
      if (s.kind != Compute::Kind::Map || !s.gates.empty()) return std::nullopt;
      mark(Mark::Compute);
      shape(s.domain);
      schedule(s.schedule);
      for (const Store& store : s.stores)
        if (!this->store(Mark::Store, store)) return std::nullopt;
      for (const Store& row : s.rows)
        if (!store(Mark::Row, row)) return std::nullopt;
      for (const auto& [reduction, store] : s.beside) {
        if (!node(reduction) || !this->store(Mark::Beside, store)) return std::nullopt;
        word(number_.at(reduction.v));
      }
    }
    return std::move(out_);
  }

 private:
  void word(uint64_t w) { out_.words.push_back(w); }
  void mark(Mark m) { word(static_cast<uint64_t>(m)); }
  void signed_word(int64_t w) { word(static_cast<uint64_t>(w)); }

  void shape(const Shape& s) {
    signed_word(s.rank());
    for (const int64_t d : s) signed_word(d);
  }

  void type(const Type& t) {
    word(static_cast<uint64_t>(t.dtype));
    shape(t.shape);
  }

  void schedule(const schedule::MapSchedule& s) {
    word(s.flat);
    word(static_cast<uint64_t>(s.tail));
    signed_word(s.outer);
    signed_word(s.group);
    signed_word(s.team);
    word(s.staged);
    word(s.half);
    word(s.axes.size());
    for (const schedule::Split& axis : s.axes) {
      word(axis.size());
      for (const schedule::Part& p : axis) word(static_cast<uint64_t>(p.bind)), signed_word(p.extent);
    }
  }

  void place(BufferRef at) {
    const auto number =
        static_cast<size_t>(std::ranges::find(out_.bases, at.buffer, &BufferRef::buffer) - out_.bases.begin());
    if (number == out_.bases.size()) out_.bases.push_back(at);
    word(number);
    word(at.offset - out_.bases[number].offset);
  }

  // What a store fills of the first axis of its target is told by its place alone.
  bool store(Mark m, const Store& s) {
    if (!node(s.value)) return false;
    mark(m);
    word(number_.at(s.value.v));
    signed_word(s.axis);
    word(s.inserted);
    BufferRef to = s.to;
    if (s.axis == 0) {
      to = part_of(to, s.target, s.shift);
      out_.parts = true;
      type({s.target.dtype, s.target.shape.erased(0)});
    } else {
      signed_word(s.shift);
      type(s.target);
    }
    place(to);
    return true;
  }

  // The array that a node is in memory: its own, or rows of one.
  std::optional<BufferRef> array_of(NodeId id) {
    const Node& n = g_[id];
    if (!computed_.contains(id.v))
      if (const auto it = materialised_.find(id.v); it != materialised_.end()) return it->second;
    if (n.op == Op::Param) {
      const ParamSource& source = params_[static_cast<size_t>(n.attr[0])];
      if (source.kind == ParamSource::Kind::Buffer) return source.buffer;
    }
    if (n.op != Op::Window || n.attr[0] != 0) return std::nullopt;
    const Type& whole = g_[n.in[0]].type;
    if (n.attr[1] < 0 || n.attr[1] + n.type.shape[0] > whole.shape[0]) return std::nullopt;
    const std::optional<BufferRef> out = array_of(n.in[0]);
    return out ? std::optional(part_of(*out, whole, n.attr[1])) : std::nullopt;
  }

  bool leaf(NodeId id) {
    const Node& n = g_[id];
    if (n.op == Op::Const && n.type.shape.rank() == 0) return false;  // is never loaded
    const std::optional<BufferRef> at = array_of(id);
    if (!at) return false;
    out_.parts = out_.parts || n.op == Op::Window;
    mark(Mark::Array);
    type(n.type);
    place(*at);
    return true;
  }

  // Writes what is computed for `root`, each node once. False: something in it is told apart by more than its operands.
  bool node(NodeId root) {
    std::vector<std::pair<NodeId, size_t>> stack;
    const auto enter = [&](NodeId id) {
      if (number_.contains(id.v)) return true;
      if (leaf(id)) {
        number_.emplace(id.v, number_.size());
        return true;
      }
      const ir::Kind kind = ir::kind(g_[id].op);
      if (kind == ir::Kind::Reduce && !arms_.of(id).empty()) return false;  // its loops ask for flags
      if (kind == ir::Kind::Loop || kind == ir::Kind::Rule || kind == ir::Kind::Binder || g_[id].op == Op::Param)
        return false;
      stack.emplace_back(id, 0);
      return true;
    };
    if (!enter(root)) return false;
    while (!stack.empty()) {
      auto& [id, next] = stack.back();
      const Node& n = g_[id];
      if (next < n.in.size()) {
        if (!enter(n.in[next++])) return false;
        continue;
      }
      if (n.data.size() > 1) return false;  // a constant array has a buffer
      mark(Mark::Node);
      word(static_cast<uint64_t>(n.op));
      type(n.type);
      word(n.attr.size());
      for (const int64_t a : n.attr) signed_word(a);
      word(n.data.size());
      for (const double x : n.data) word(std::bit_cast<uint64_t>(x));
      word(n.in.size());
      for (const NodeId in : n.in) word(number_.at(in.v));
      number_.emplace(id.v, number_.size());
      stack.pop_back();
    }
    return true;
  }

  const ir::Graph& g_;
  const Materialised& materialised_;
  const std::set<uint32_t>& computed_;
  const std::vector<ParamSource>& params_;
  const Arms& arms_;
  Likeness out_;
  std::unordered_map<uint32_t, uint64_t> number_;  // of what is written
};

}  // namespace

std::optional<Likeness> likeness(const ir::Graph& g, std::span<const Compute> group, const Materialised& materialised,
                                 const std::set<uint32_t>& computed, const std::vector<ParamSource>& params,
                                 const Arms& arms) {
  return Writer(g, materialised, computed, params, arms).write(group);
}

size_t MadeBefore::Hash::operator()(const std::vector<uint64_t>& words) const {
  uint64_t h = words.size();
  for (const uint64_t w : words) h = (h ^ w) * 0x9e3779b97f4a7c15u, h ^= h >> 32;
  return static_cast<size_t>(h);
}

std::optional<Step> MadeBefore::find(const Likeness& l, uint64_t most_iterations) const {
  const auto it = made_.find(l.words);
  if (it == made_.end() || it->second.iterations > most_iterations) return std::nullopt;
  Step out = it->second.step;
  for (BufferUse& u : out.uses) {
    const BufferRef base = l.bases[u.buffer];
    u.buffer = base.buffer;
    u.offset += base.offset;
  }
  return out;
}

// Where only parts of arrays are known, those of another group may begin or end elsewhere in theirs: the kernel must reach
// nothing that was not compared.
void MadeBefore::add(const Likeness& l, Dispatch made, bool exact) {
  if (l.parts && !exact) return;
  for (BufferUse& u : made.step.uses) {
    const auto base = std::ranges::find(l.bases, u.buffer, &BufferRef::buffer);
    if (base == l.bases.end()) return;  // of a constant in the body of a loop
    u.buffer = static_cast<uint32_t>(base - l.bases.begin());
    u.offset -= base->offset;
  }
  made_.emplace(l.words, std::move(made));
}

void MadeBefore::erase_from(size_t kernel) {
  std::erase_if(made_, [&](const auto& m) { return m.second.step.kernel >= kernel; });
}

}  // namespace spirograd::lower
