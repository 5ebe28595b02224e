// Whether results are sums, means or concatenated is asked of the program itself: five elements of the data, evaluated
// whole and in two pieces.
#include <algorithm>
#include <cmath>
#include <optional>

#include "frontend/ir/eval.h"
#include "vk_runtime/shards/pieces.h"

namespace spirograd {
namespace {

constexpr int64_t kAsked = 5, kFirstPiece = 2;  // pieces of two sizes, so that a mean with weights differs from one without
constexpr double kSame = 1e-6;

using Values = std::vector<ir::Array>;

// Elements from all over the axis; the same ones again where there are fewer.
HostArray spread(const HostArray& whole, int axis) {
  std::vector<HostArray> picked;
  std::vector<shards::Part> parts;
  const int64_t n = whole.type.shape[axis];
  for (int64_t k = 0; k < kAsked; ++k)
    picked.push_back(shards::piece_of(whole, axis, n >= kAsked ? k * n / kAsked : k % n, 1));
  for (const HostArray& p : picked) parts.push_back({1, &p});
  Type type = whole.type;
  type.shape[axis] = kAsked;
  return shards::joined(type, {"", Joined::Concatenate, axis}, parts);
}

// What is asked, and the answers.
class Question {
 public:
  Question(const MakeProgram& make, const std::vector<Param>& params, const std::vector<Cut>& cut,
           std::span<const HostArray> inputs)
      : cut_(cut) {
    if (inputs.size() != params.size())
      throw Error("SG0501", std::to_string(inputs.size()) + " inputs for " + std::to_string(params.size()) + " parameters");
    for (size_t i = 0; i < params.size(); ++i) {
      const auto c = cut_of(params[i].name);
      arrays_.push_back(c ? spread(inputs[i], c->axis) : inputs[i]);
    }
    whole_ = evaluated(make, params, 0, kAsked);
    first_ = evaluated(make, params, 0, kFirstPiece);
    second_ = evaluated(make, params, kFirstPiece, kAsked - kFirstPiece);
  }

  const Program& program() const { return program_; }

  JoinedResult answer(size_t j) const {
    const std::string& name = program_.results[j].name;
    const ir::Array &whole = whole_[j], &a = first_[j], &b = second_[j];
    for (int axis = 0; axis < whole.type.shape.rank(); ++axis)
      if (is_cut_along(axis, whole.type, a.type, b.type)) return concatenated(name, axis, j);
    if (a.type != whole.type || b.type != whole.type)
      throw refused(name).note("it is " + to_string(a.type) + " for " + std::to_string(kFirstPiece) + " elements, " +
                               to_string(whole.type) + " for " + std::to_string(kAsked));
    constexpr double kShare = static_cast<double>(kFirstPiece) / kAsked;
    const bool sum = agrees(whole.data, [&](size_t i) { return a.data[i] + b.data[i]; });
    const bool mean = is_float(whole.type.dtype) &&
                      agrees(whole.data, [&](size_t i) { return kShare * a.data[i] + (1 - kShare) * b.data[i]; });
    if (sum && mean)
      throw Error("SG0511", "these inputs do not tell whether '" + name + "' is a sum over the data or a mean: it is 0");
    if (!sum && !mean) throw refused(name);
    return {name, sum ? Joined::Sum : Joined::Mean, 0};
  }

 private:
  std::optional<Cut> cut_of(const std::string& name) const {
    const auto at = std::find_if(cut_.begin(), cut_.end(), [&](const Cut& c) { return c.input == name; });
    return at == cut_.end() ? std::nullopt : std::optional(*at);
  }

  Values evaluated(const MakeProgram& make, const std::vector<Param>& params, int64_t first, int64_t count) {
    program_ = shards::made_program(make, shards::params_of_piece(params, cut_, count));
    std::vector<std::vector<double>> values;
    for (size_t i = 0; i < params.size(); ++i) {
      const auto c = cut_of(params[i].name);
      values.push_back(c ? shards::piece_of(arrays_[i], c->axis, first, count).values() : arrays_[i].values());
    }
    return ir::try_evaluate(program_, values).value();
  }

  static bool is_cut_along(int axis, const Type& whole, const Type& a, const Type& b) {
    const auto with = [&](int64_t n) {
      Type t = whole;
      t.shape[axis] = n;
      return t;
    };
    return whole.shape[axis] == kAsked && a == with(kFirstPiece) && b == with(kAsked - kFirstPiece);
  }

  JoinedResult concatenated(const std::string& name, int axis, size_t j) const {
    const JoinedResult how{name, Joined::Concatenate, axis};
    const HostArray a(f64(first_[j].type.shape), first_[j].data), b(f64(second_[j].type.shape), second_[j].data);
    const std::vector<shards::Part> parts = {{kFirstPiece, &a}, {kAsked - kFirstPiece, &b}};
    const std::vector<double> both = shards::joined(f64(whole_[j].type.shape), how, parts).values();
    if (!agrees(whole_[j].data, [&](size_t i) { return both[i]; }))
      throw refused(name).note("its extent follows that of the data, but its elements depend on those of other pieces");
    return how;
  }

  template <class F>
  static bool agrees(const std::vector<double>& whole, F&& other) {
    double scale = 0;
    for (const double x : whole) scale = std::max(scale, std::abs(x));
    for (size_t i = 0; i < whole.size(); ++i)
      if (!(std::abs(whole[i] - other(i)) <= kSame * scale)) return false;
    return true;
  }

  static Error refused(const std::string& name) {
    return Error("SG0511", "result '" + name + "' is neither a sum over the data, nor a mean, nor concatenated")
        .hint("give the sums that it is made of as results, and what follows from them elsewhere");
  }

  const std::vector<Cut>& cut_;
  std::vector<HostArray> arrays_;
  Program program_;
  Values whole_, first_, second_;
};

}  // namespace

Result<std::vector<JoinedResult>> how_joined(const MakeProgram& make, const std::vector<Param>& params,
                                             const std::vector<Cut>& cut, std::span<const HostArray> inputs,
                                             std::vector<JoinedResult> told) {
  return guarded([&] {
    if (shards::common_extent(params, cut) == 0)
      throw Error("SG0511", "data without elements do not tell how results are joined");
    const Question question(make, params, cut, inputs);
    const std::vector<ProgramResult>& results = question.program().results;
    for (size_t j = 0; j < results.size(); ++j)
      if (std::none_of(told.begin(), told.end(), [&](const JoinedResult& t) { return t.result == results[j].name; }))
        told.push_back(question.answer(j));
    return told;
  });
}

}  // namespace spirograd
