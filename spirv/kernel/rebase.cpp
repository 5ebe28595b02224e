#include "spirv/kernel/rebase.h"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "spirv/kernel/finish.h"
#include "spirv/kernel/scalar.h"

namespace spirograd::kernel {
namespace {

bool reaches_binding(const Inst& i) { return info(i.op).memory == Memory::Binding; }

// Numbers of invocations, lanes and iterations.
bool counts(KOp op) {
  return op == KOp::Index || op == KOp::LocalIndex || op == KOp::GroupIndex || op == KOp::LaneIndex || op == KOp::Loop;
}

bool is_natural_of_naturals(KOp op) {
  return op == KOp::Add || op == KOp::Mul || op == KOp::Min || op == KOp::Quot || op == KOp::Rem;
}

// Which integers are never negative, by what they are made of.
std::vector<bool> naturals(const std::vector<Inst>& body) {
  std::vector<bool> out(body.size());
  for (size_t at = 0; at < body.size(); ++at) {
    const Inst& i = body[at];
    const auto natural = [&](size_t operand) { return out[i.in[operand]]; };
    if (!is_integer(i.type)) continue;
    if (i.op == KOp::Const) out[at] = as_i32(i.imm) >= 0;
    if (counts(i.op)) out[at] = true;
    if (i.op == KOp::Bitcast || is_shift(i.op)) out[at] = natural(0);
    if (is_natural_of_naturals(i.op)) out[at] = natural(0) && natural(1);
    if (i.op == KOp::Max || i.op == KOp::And) out[at] = natural(0) || natural(1);
  }
  return out;
}

// A position: a constant, and what it is added to, if anything: v without what is known of it.
struct Position {
  bool starts = false;
  int64_t constant = 0;
};

class Positions {
 public:
  explicit Positions(const std::vector<Inst>& body) : natural_(naturals(body)), known_(body.size()) {
    for (Value v = 0; v < body.size(); ++v) known_[v] = of(body[v], v);
  }
  Position operator[](Value v) const { return known_[v]; }

 private:
  // What the constant is added to is never negative: nobody reads in front of where an array is said to begin. Constants of
  // either integer type that wrap around count as negative.
  Position of(const Inst& i, Value v) const {
    if (i.op == KOp::Const) return {false, as_i32(i.imm)};
    const Position all = {true, 0};
    if ((i.op != KOp::Add && i.op != KOp::Mul) || !is_integer(i.type) || !natural_[v]) return all;
    const Position x = known_[i.in[0]], y = known_[i.in[1]];
    if (x.starts && x.constant == 0 && y.starts && y.constant == 0) return all;
    Position out = {x.starts || y.starts, x.constant + y.constant};
    if (i.op == KOp::Mul) {
      if (x.starts && y.starts) return all;
      out.constant = x.constant * y.constant;
    }
    return out.constant == static_cast<int32_t>(out.constant) ? out : all;
  }

  std::vector<bool> natural_;
  std::vector<Position> known_;
};

struct Range {
  int64_t least = INT64_MAX, greatest = INT64_MIN;
  bool all_constant = true;
};

std::vector<Range> ranges_of(const Kernel& k, const Positions& positions) {
  std::vector<Range> out(k.bindings.size());
  for (const Inst& i : k.body) {
    if (!reaches_binding(i)) continue;
    Range& r = out[i.in[0]];
    const Position p = positions[i.in[1]];
    r.least = std::min(r.least, p.constant);
    r.greatest = std::max(r.greatest, p.constant);
    r.all_constant = r.all_constant && !p.starts;
  }
  return out;
}

// Writes the body again, with these constants less in the positions of each binding.
class Rewriter {
 public:
  Rewriter(const std::vector<Inst>& body, const Positions& positions, const std::vector<int64_t>& less)
      : body_(body), positions_(positions), less_(less) {
    for (const Inst& i : body) {
      if (!moves(i)) continue;
      const Position p = positions[i.in[1]];
      if (const int64_t left = p.constant - less[i.in[0]]; left != 0 || !p.starts) constant(body[i.in[1]].type, left);
    }
  }

  std::vector<Inst> rewritten() {
    std::vector<Value> moved(body_.size());
    for (size_t at = 0; at < body_.size(); ++at) {
      const Inst& before = body_[at];
      Inst i = before;
      for (Value& v : operands(i)) v = moved[v];
      if (kind(i.op) == Kind::Control) starts_.clear();  // what a block has made ends with it
      if (moves(before)) i.in[1] = less_by(before.in[1], less_[i.in[0]], moved);
      out_.push_back(i);
      moved[at] = static_cast<Value>(out_.size() - 1);
    }
    return finished(out_, {});
  }

 private:
  bool moves(const Inst& i) const { return reaches_binding(i) && (less_[i.in[0]] != 0 || body_[i.in[1]].op == KOp::Const); }

  Value less_by(Value position, int64_t less, const std::vector<Value>& moved) {
    const Scalar type = body_[position].type;
    const Position p = positions_[position];
    const int64_t left = p.constant - less;
    if (!p.starts) return constant(type, left);
    const Value start = without_constant(position, moved);
    return left == 0 ? start : added(KOp::Add, type, start, constant(type, left));
  }

  // What a position starts from.
  Value without_constant(Value v, const std::vector<Value>& moved) {
    if (positions_[v].constant == 0) return moved[v];
    const auto known = starts_.find(v);
    return known != starts_.end() ? known->second : starts_[v] = made_without_constant(v, moved);
  }

  Value made_without_constant(Value v, const std::vector<Value>& moved) {
    const Inst& i = body_[v];
    const Value x = i.in[0], y = i.in[1];
    const auto starts = [&](Value operand) { return positions_[operand].starts; };
    if (i.op == KOp::Mul) {
      const bool by_second = starts(x);
      return added(KOp::Mul, i.type, without_constant(by_second ? x : y, moved), moved[by_second ? y : x]);
    }
    if (!starts(y)) return without_constant(x, moved);
    if (!starts(x)) return without_constant(y, moved);
    const Value first = without_constant(x, moved), second = without_constant(y, moved);
    return added(KOp::Add, i.type, first, second);
  }

  Value added(KOp op, Scalar type, Value a, Value b) {
    out_.push_back({op, type, {a, b, 0}});
    return static_cast<Value>(out_.size() - 1);
  }

  // Constants stand before everything else, in the order in which they are needed.
  Value constant(Scalar type, int64_t value) {
    const auto [it, fresh] = constants_.try_emplace({type, value}, static_cast<Value>(out_.size()));
    if (fresh) out_.push_back({KOp::Const, type, {}, static_cast<uint32_t>(value)});
    return it->second;
  }

  const std::vector<Inst>& body_;
  const Positions& positions_;
  const std::vector<int64_t>& less_;
  std::vector<Inst> out_;
  std::map<std::pair<Scalar, int64_t>, Value> constants_;
  std::map<Value, Value> starts_;  // of positions, in this block
};

}  // namespace

std::vector<Reach> rebase(Kernel& k) {
  std::vector<Reach> out;
  std::vector<int64_t> less;
  const Positions positions(k.body);
  for (const Range& r : ranges_of(k, positions)) {
    const int64_t first = r.least == INT64_MAX ? 0 : std::max<int64_t>(r.least, 0);
    less.push_back(first);
    const bool known = r.least >= 0 && r.all_constant && r.greatest >= r.least;
    out.push_back({static_cast<uint64_t>(first), known ? static_cast<uint64_t>(r.greatest - first + 1) : 0});
  }
  k.body = Rewriter(k.body, positions, less).rewritten();
  return out;
}

}  // namespace spirograd::kernel
