#include "spirv/kernel/invariant.h"

#include <algorithm>
#include <limits>
#include <unordered_map>

namespace spirograd::kernel {
namespace {

// Loads that leave a loop. Drivers take quadratic time for what is loaded, and put aside, in one go: where invocations wait
// for each other in the loop, they do before it, too, after every kPart loads. Still more would take room in the cache that
// the loop needs.
constexpr int kMostMoved = 128, kMostInParts = 512, kPart = 64;

constexpr Value kStays = std::numeric_limits<Value>::max();

struct Block {
  size_t around = 0;    // the block around it
  Value opened_by = 0;  // the instruction
  int depth = 0;
  bool repeats = false;  // a loop that certainly runs all of its iterations, two at least
  bool waits = false;    // invocations wait for each other in it
  int moved = 0;         // loads that leave it

  bool has_room() const { return moved < (waits ? kMostInParts : kMostMoved); }
};

bool repeats(const std::vector<Inst>& body, const Inst& i) {
  if (i.op != KOp::Loop) return false;
  const Inst& count = body[i.in[0]];
  return count.op == KOp::Const && count.imm >= 2;
}

bool only_computes(KOp op) {
  switch (kind(op)) {
    case Kind::Leaf:
    case Kind::Arithmetic:
    case Kind::Float:
    case Kind::Integer:
    case Kind::Bitwise:
    case Kind::Comparison:
    case Kind::Select:
    case Kind::Conversion: return true;
    case Kind::Memory:
    case Kind::Subgroup:
    case Kind::Variable:
    case Kind::Control: return false;
  }
  return false;
}

class Mover {
 public:
  explicit Mover(Kernel& k)
      : k_(k), body_(k.body), block_(body_.size()), home_(body_.size()), leaves_(body_.size(), kStays) {}

  void run() {
    find_blocks();
    find_homes();
    if (choose()) rewrite();
  }

 private:
  void find_blocks() {
    size_t now = 0;
    for (Value at = 0; at < body_.size(); ++at) {
      const KOp op = body_[at].op;
      if (op == KOp::EndIf || op == KOp::EndLoop || op == KOp::Else) now = blocks_[now].around;
      block_[at] = now;
      if (op == KOp::Break) blocks_[now].repeats = false;
      for (size_t b = now; op == KOp::Barrier && b > 0; b = blocks_[b].around) blocks_[b].waits = true;
      if (op != KOp::If && op != KOp::Else && op != KOp::Loop) continue;
      blocks_.push_back({now, at, blocks_[now].depth + 1, repeats(body_, body_[at])});
      now = blocks_.size() - 1;
      home_[at] = now;  // a loop's value is its counter
    }
  }

  bool is_load(const Inst& i) const { return i.op == KOp::Load && k_.bindings[i.in[0]].access == Access::Read; }

  // The outermost block that each value could be computed in: all that it is made of could be, too.
  void find_homes() {
    for (Value at = 0; at < body_.size(); ++at) {
      const Inst& i = body_[at];
      if (i.op == KOp::Loop) continue;
      size_t home = block_[at];
      const bool load = is_load(i);
      if (load || only_computes(i.op)) {
        int depth = 0;
        for (const Value v : operands(i)) depth = std::max(depth, blocks_[home_[v]].depth);
        while (blocks_[home].depth > depth && blocks_[home].repeats && (!load || blocks_[home].has_room())) {
          blocks_[home].moved += load;
          home = blocks_[home].around;
        }
      }
      home_[at] = home;
    }
  }

  // Loads that leave a loop, and what is computed inside of it for them.
  bool choose() {
    std::vector<bool> moves(body_.size(), false);
    bool any = false;
    for (size_t at = body_.size(); at-- > 0;) {
      moves[at] = moves[at] || (is_load(body_[at]) && home_[at] != block_[at]);
      if (!moves[at]) continue;
      any = true;
      for (const Value v : operands(body_[at]))
        if (blocks_[block_[v]].depth > blocks_[home_[at]].depth) moves[v] = true;
      size_t left = block_[at];
      while (blocks_[left].around != home_[at]) left = blocks_[left].around;
      leaves_[at] = blocks_[left].opened_by;
    }
    return any;
  }

  void rewrite() {
    std::unordered_map<Value, std::vector<Value>> in_front;  // of loops
    for (Value at = 0; at < body_.size(); ++at)
      if (leaves_[at] != kStays) in_front[leaves_[at]].push_back(at);
    std::vector<Inst> out;
    std::vector<Value> moved(body_.size());
    std::vector<std::unordered_map<Inst, Value, InstHash>> known(blocks_.size());  // what was moved into a block
    const auto put = [&](Value at) {
      Inst i = body_[at];
      for (Value& v : operands(i)) v = moved[v];
      if (leaves_[at] != kStays) {
        const auto [it, fresh] = known[home_[at]].try_emplace(i, static_cast<Value>(out.size()));
        moved[at] = it->second;
        if (!fresh) return;
      }
      moved[at] = static_cast<Value>(out.size());
      out.push_back(i);
    };
    for (Value at = 0; at < body_.size(); ++at) {
      if (const auto it = in_front.find(at); it != in_front.end())
        for (int loads = 0; const Value v : it->second) {
          put(v);
          if (blocks_[home_[at]].waits && is_load(body_[v]) && ++loads % kPart == 0)
            out.push_back({KOp::Barrier, Scalar::Bool, {}, 0});
        }
      if (leaves_[at] == kStays) put(at);
    }
    k_.body = std::move(out);
  }

  Kernel& k_;
  const std::vector<Inst>& body_;
  std::vector<Block> blocks_ = std::vector<Block>(1);
  std::vector<size_t> block_, home_;  // of a value: where it is computed, and where it could be
  std::vector<Value> leaves_;         // the loop in front of which it goes
};

}  // namespace

void move_loads_out_of_loops(Kernel& kernel) { Mover(kernel).run(); }

}  // namespace spirograd::kernel
