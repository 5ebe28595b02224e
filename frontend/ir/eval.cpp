// Runs plans (eval_plan.h): blocks, builds, loops, and the checks of what the user feeds in.
#include "frontend/ir/eval.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <stdexcept>
#include <string>
#include <unordered_map>

#include "frontend/ir/eval_ops.h"
#include "frontend/ir/eval_plan.h"
#include "frontend/ir/own_graph.h"

namespace spirograd::ir {
namespace {

// The values of one activation of a function. Buffers are kept from one iteration to the next.
struct Frame {
  const Plan* plan = nullptr;
  std::vector<std::vector<double>> own;       // per slot
  std::vector<const double*> at;              // per slot: own, an argument or a constant
  std::vector<const double*> args;            // per parameter
  std::array<int64_t, 64> index{};            // per level
  std::vector<std::unique_ptr<Frame>> loops;  // per loop of the plan: the body's frame

  explicit Frame(const Plan& p)
      : plan(&p), own(static_cast<size_t>(p.slots)), at(static_cast<size_t>(p.slots)), loops(static_cast<size_t>(p.loops)) {}

  double* make(int slot, int64_t count) {
    auto& buffer = own[static_cast<size_t>(slot)];
    buffer.resize(static_cast<size_t>(count));
    at[static_cast<size_t>(slot)] = buffer.data();
    return buffer.data();
  }
  const double* get(int slot) const { return at[static_cast<size_t>(slot)]; }
  void release(int slot) {
    std::vector<double>().swap(own[static_cast<size_t>(slot)]);
    at[static_cast<size_t>(slot)] = nullptr;
  }
};

bool reads_params(const Plan& plan, size_t first, size_t last) {
  return std::ranges::any_of(plan.blocks[static_cast<size_t>(plan.outermost)].steps, [&](const Step& s) {
    if (s.node->op != Op::Param) return false;
    const auto j = static_cast<size_t>(s.node->attr[0]);
    return first <= j && j < last;
  });
}

bool same_bits(const std::vector<std::vector<double>>& a, const std::vector<std::vector<double>>& b) {
  return std::ranges::equal(a, b, [](const std::vector<double>& x, const std::vector<double>& y) {
    return x.size() == y.size() && (x.empty() || std::memcmp(x.data(), y.data(), x.size() * sizeof(double)) == 0);
  });
}

class Evaluator {
 public:
  explicit Evaluator(const Graph& g) : g_(g) {}

  // `once`: no further activation will reuse the buffers, so they are freed after their last use.
  void run(Frame& frame, bool once) { run_block(frame, frame.plan->outermost, once); }

 private:
  void run_block(Frame& frame, int block, bool once) {
    for (const Step& step : frame.plan->blocks[static_cast<size_t>(block)].steps) {
      run_step(frame, step);
      if (!once) continue;
      for (int slot : step.release) frame.release(slot);
    }
  }

  void run_step(Frame& frame, const Step& step) {
    const Node& n = *step.node;
    switch (info(n.op).kind) {
      case Kind::Leaf: return run_leaf(frame, step);
      case Kind::Binder: return run_build(frame, step);
      case Kind::Loop: return run_loop(frame, step);
      case Kind::Pointwise:
      case Kind::Layout:
      case Kind::Reduce:
      case Kind::Indexed:
      case Kind::Rule: break;
    }
    views_.clear();
    for (size_t j = 0; j < step.in.size(); ++j) views_.push_back({step.in_type[j], frame.get(step.in[j])});
    double* out = frame.make(step.slot, n.type.shape.count());
    if (is_pointwise(n.op)) return eval_pointwise(n, views_, out);
    if (info(n.op).kind == Kind::Layout) return eval_layout(n, views_, out);
    if (info(n.op).kind == Kind::Reduce) return eval_reduce(n, views_[0], out);
    if (info(n.op).kind == Kind::Rule) return void(std::copy_n(views_[0].data, n.type.shape.count(), out));
    if (n.op == Op::Gather) return eval_gather(views_, out);
    eval_scatter(n, views_, out);
  }

  void run_leaf(Frame& frame, const Step& step) {
    const Node& n = *step.node;
    if (n.op == Op::Param) {
      frame.at[static_cast<size_t>(step.slot)] = frame.args.at(static_cast<size_t>(n.attr[0]));
    } else if (n.op == Op::Const) {
      frame.at[static_cast<size_t>(step.slot)] = n.data.data();
    } else if (n.op == Op::Iota) {
      eval_iota(n, frame.make(step.slot, n.type.shape.count()));
    } else {
      *frame.make(step.slot, 1) = static_cast<double>(frame.index[static_cast<size_t>(n.attr[0])]);
    }
  }

  void run_build(Frame& frame, const Step& step) {
    const Node& n = *step.node;
    const int64_t extent = n.attr[1], inner = g_[n.in[0]].type.shape.count();
    const int result = frame.plan->blocks[static_cast<size_t>(step.block)].result;
    double* out = frame.make(step.slot, extent * inner);
    if (inner == 0) return;
    for (int64_t i = 0; i < extent; ++i) {
      frame.index[static_cast<size_t>(n.attr[0])] = i;
      run_block(frame, step.block, false);
      out = std::copy_n(frame.get(result), inner, out);
    }
  }

  void run_loop(Frame& frame, const Step& step) {
    const Node& n = *step.node;
    const Function& f = g_.function(n.attr[0]);
    const bool reverse = n.attr[1] != 0;
    const int64_t k = n.attr[2];
    const auto n_acc = static_cast<size_t>(n.attr[3]), n_es = static_cast<size_t>(n.attr[4]);
    auto& body = frame.loops[static_cast<size_t>(step.loop)];
    if (!body) body = std::make_unique<Frame>(plan_of(n.attr[0]));
    body->args.resize(f.params.size());
    for (size_t j = n_acc + n_es; j < f.params.size(); ++j) body->args[j] = frame.get(step.in[j]);

    // Accumulators are double-buffered: a body may return its parameters in another order.
    std::vector<std::vector<double>> acc(n_acc), next(n_acc);
    for (size_t j = 0; j < n_acc; ++j) {
      const int64_t count = f.params[j].shape.count();
      acc[j].assign(frame.get(step.in[j]), frame.get(step.in[j]) + count);
      next[j].resize(acc[j].size());
    }
    std::vector<double*> stack(f.results.size());
    for (size_t j = n_acc; j < f.results.size(); ++j)
      stack[j] = frame.make(step.slot + static_cast<int>(j), k * g_[f.results[j]].type.shape.count());
    // What a step leaves as it was, all later ones leave: the end of a `while` long before its bound.
    const bool may_rest = f.results.size() == n_acc && !reads_params(*body->plan, n_acc, n_acc + n_es);
    for (int64_t round = 0; round < k; ++round) {
      const int64_t i = reverse ? k - 1 - round : round;
      for (size_t j = 0; j < n_acc; ++j) body->args[j] = acc[j].data();
      for (size_t j = n_acc; j < n_acc + n_es; ++j) body->args[j] = frame.get(step.in[j]) + i * f.params[j].shape.count();
      run(*body, false);
      for (size_t j = 0; j < f.results.size(); ++j) {
        const double* value = body->get(body->plan->results[j]);
        const int64_t count = g_[f.results[j]].type.shape.count();
        std::copy_n(value, count, j < n_acc ? next[j].data() : stack[j] + i * count);
      }
      acc.swap(next);
      if (may_rest && same_bits(acc, next)) break;
    }
    for (size_t j = 0; j < n_acc; ++j) {
      const auto slot = static_cast<size_t>(step.slot) + j;
      frame.own[slot] = std::move(acc[j]);
      frame.at[slot] = frame.own[slot].data();
    }
  }

  const Plan& plan_of(int64_t function) {
    auto& plan = plans_[function];
    if (!plan) plan = std::make_unique<Plan>(make_plan(g_, g_.function(function).results));
    return *plan;
  }

  const Graph& g_;
  std::unordered_map<int64_t, std::unique_ptr<Plan>> plans_;
  std::vector<View> views_;
};

void check_inputs(const Program& program, std::span<const std::vector<double>> inputs) {
  if (inputs.size() != program.params.size())
    throw Error("SG0501", program.name + ": " + std::to_string(inputs.size()) + " inputs for " +
                              std::to_string(program.params.size()) + " parameters");
  for (size_t j = 0; j < inputs.size(); ++j) {
    const Param& p = program.params[j];
    if (static_cast<int64_t>(inputs[j].size()) != p.type.shape.count())
      throw Error("SG0501", program.name + ": input " + p.name + " has " + std::to_string(inputs[j].size()) +
                                " elements, the parameter is " + to_string(p.type));
    for (double x : inputs[j])
      if (!fits(x, p.type.dtype))
        throw Error("SG0501", program.name + ": input " + p.name + " holds " + std::to_string(x) +
                                  ", which is no value of " + std::string(name(p.type.dtype)));
  }
}

}  // namespace

bool fits(double x, DType t) {
  switch (t) {
    case DType::Bool: return x == 0 || x == 1;
    case DType::I32: return x >= -2147483648.0 && x <= 2147483647.0 && x == static_cast<double>(static_cast<int64_t>(x));
    case DType::U32: return x >= 0 && x <= 4294967295.0 && x == static_cast<double>(static_cast<int64_t>(x));
    case DType::F16:
    case DType::F32:
    case DType::F64: return true;
  }
  return false;
}

std::vector<Array> evaluate(const Program& program, std::span<const std::vector<double>> inputs) {
  require_made(program);
  check_inputs(program, inputs);
  const Graph& g = *program.graph;
  std::vector<NodeId> roots;
  for (const ProgramResult& r : program.results) roots.push_back({r.node});
  const Plan plan = make_plan(g, roots);
  Frame frame(plan);
  for (const auto& input : inputs) frame.args.push_back(input.data());
  Evaluator(g).run(frame, true);
  std::vector<Array> out;
  for (size_t j = 0; j < roots.size(); ++j) {
    const Type& type = g[roots[j]].type;
    const double* data = frame.get(plan.results[j]);
    out.push_back({type, {data, data + type.shape.count()}});
  }
  return out;
}

Result<std::vector<Array>> try_evaluate(const Program& program, std::span<const std::vector<double>> inputs) {
  return guarded([&] {
    try {
      return evaluate(program, inputs);
    } catch (const std::length_error&) {
      throw Error("SG0601", "an array of the program '" + program.name + "' is larger than any memory");
    }
  });
}

}  // namespace spirograd::ir
