// Two operands at a time, those with the smallest product first: operands that are left in the end are made of sums of
// products as matmul is, and run as it does.
#include "frontend/ir/einsum.h"

#include <algorithm>
#include <map>

#include "frontend/ir/composite.h"
#include "frontend/ir/make_node.h"

namespace spirograd::ir {
namespace {

// Letters of axes. Those of "..." are digits, counted from the right, so that they match as in broadcasting.
struct Term {
  Expr array;
  std::string axes;
};

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
bool has(const std::string& axes, char c) { return axes.find(c) != std::string::npos; }

[[noreturn]] void fail_spec(std::string_view letters, const std::string& why) {
  throw Error("SG0404", "einsum: \"" + std::string(letters) + "\" " + why)
      .hint("a letter for each axis, as in \"ij,jk->ik\"; letters that the result does not have are summed");
}

struct Spec {
  std::vector<std::string> inputs;
  std::string output;
  bool has_output = false;
};

// "..." becomes one '.'.
Spec parsed(std::string_view letters) {
  Spec spec;
  spec.inputs.emplace_back();
  std::string* part = &spec.inputs.back();
  for (size_t at = 0; at < letters.size(); ++at) {
    const std::string_view rest = letters.substr(at);
    if (rest[0] == ' ') continue;
    if (is_letter(rest[0])) {
      *part += rest[0];
    } else if (rest.starts_with("...")) {
      if (has(*part, '.')) fail_spec(letters, "has \"...\" twice in one operand");
      *part += '.';
      at += 2;
    } else if (rest.starts_with("->") && !spec.has_output) {
      spec.has_output = true;
      part = &spec.output;
      at += 1;
    } else if (rest[0] == ',' && !spec.has_output) {
      spec.inputs.emplace_back();
      part = &spec.inputs.back();
    } else {
      fail_spec(letters, "has an unexpected '" + std::string(1, rest[0]) + "'");
    }
  }
  return spec;
}

// `axes` with '.' as the digits of `count` axes.
std::string spelt_out(const std::string& axes, int count) {
  std::string out;
  for (char c : axes) {
    if (c != '.') out += c;
    for (int j = count; c == '.' && j-- > 0;) out += static_cast<char>('0' + j);
  }
  return out;
}

std::string implied_output(const std::vector<std::string>& inputs) {
  std::map<char, int> times;
  for (const std::string& axes : inputs)
    for (char c : axes) ++times[c];
  std::string out = times.contains('.') ? "." : "";
  for (const auto& [c, n] : times)
    if (c != '.' && n == 1) out += c;
  return out;
}

// Equal letters of one operand become one axis: the first of them.
Term without_repeats(Term term) {
  std::string axes;
  for (char c : term.axes)
    if (!has(axes, c)) axes += c;
  if (axes == term.axes) return term;
  Shape shape;
  for (char c : axes) shape.push_back(term.array.shape()[static_cast<int>(term.axes.find(c))]);
  std::vector<Expr> at;
  for (char c : term.axes) at.push_back(iota(*term.array.graph, shape, static_cast<int>(axes.find(c))));
  return {gather(term.array, at), axes};
}

Term summed(Term term, const std::string& keep) {
  std::vector<int64_t> lost;
  std::string axes;
  for (size_t j = 0; j < term.axes.size(); ++j)
    if (has(keep, term.axes[j]))
      axes += term.axes[j];
    else
      lost.push_back(static_cast<int64_t>(j));
  return lost.empty() ? term : Term{reduce(Op::Sum, term.array, lost), axes};
}

using ExtentOf = std::map<char, int64_t>;

// Over all of `axes`, in their order.
Expr spread(const Term& term, const std::string& axes, const ExtentOf& extents) {
  Shape shape;
  for (char c : axes) shape.push_back(extents.at(c));
  std::string order = term.axes;
  std::sort(order.begin(), order.end(), [&](char a, char b) { return axes.find(a) < axes.find(b); });
  std::vector<int64_t> perm, to;
  for (char c : order) perm.push_back(static_cast<int64_t>(term.axes.find(c)));
  for (char c : order) to.push_back(static_cast<int64_t>(axes.find(c)));
  const Expr turned = order == term.axes ? term.array : transpose(term.array, perm);
  return turned.shape() == shape ? turned : broadcast(turned, shape, to);
}

double count_of(const std::string& axes, const ExtentOf& extents) {
  double count = 1;
  for (char c : axes) count *= static_cast<double>(extents.at(c));
  return count;
}

// What both have, in the order of the result as far as it has them. What is summed comes last, but before axes that an
// operand ends in as the result does, as in matrices that are multiplied: that operand is not turned.
std::string joined_axes(const Term& a, const Term& b, const std::string& keep) {
  std::string kept, lost;
  for (char c : keep)
    if (has(a.axes, c) || has(b.axes, c)) kept += c;
  for (char c : a.axes + b.axes)
    if (!has(kept, c) && !has(lost, c)) lost += c;
  size_t first = kept.size();
  const auto ends_in = [&](const Term& t, size_t from) { return t.axes.ends_with(std::string_view(kept).substr(from)); };
  while (first > 0 && (ends_in(a, first - 1) || ends_in(b, first - 1))) --first;
  return kept.substr(0, first) + lost + kept.substr(first);
}

// Letters of the result, then of the other operands.
std::string wanted_by(const std::vector<Term>& terms, size_t a, size_t b, const std::string& output) {
  std::string keep = output;
  for (size_t j = 0; j < terms.size(); ++j)
    for (char c : j == a || j == b ? std::string() : terms[j].axes)
      if (!has(keep, c)) keep += c;
  return keep;
}

void contract_one_pair(std::vector<Term>& terms, const std::string& output, const ExtentOf& extents) {
  size_t first = 0, second = 1;
  double least = -1;
  for (size_t a = 0; a < terms.size(); ++a)
    for (size_t b = a + 1; b < terms.size(); ++b) {
      const double count = count_of(joined_axes(terms[a], terms[b], wanted_by(terms, a, b, output)), extents);
      if (least < 0 || count < least) least = count, first = a, second = b;
    }
  const std::string keep = wanted_by(terms, first, second, output);
  const std::string axes = joined_axes(terms[first], terms[second], keep);
  check_rank(static_cast<int>(axes.size()), "einsum");
  const Expr product = spread(terms[first], axes, extents) * spread(terms[second], axes, extents);
  terms[first] = summed({product, axes}, keep);
  terms.erase(terms.begin() + static_cast<std::ptrdiff_t>(second));
}

// Axes of extent 1 of "..." are dropped where another operand has more.
Term without_ones(Term term, const ExtentOf& extents) {
  Shape shape;
  std::string axes;
  for (size_t j = 0; j < term.axes.size(); ++j) {
    const int64_t n = term.array.shape()[static_cast<int>(j)];
    if (!is_letter(term.axes[j]) && n == 1 && extents.at(term.axes[j]) != 1) continue;
    shape.push_back(n);
    axes += term.axes[j];
  }
  return axes == term.axes ? term : Term{reshape(term.array, shape), axes};
}

void note_extents(std::string_view letters, const Term& term, ExtentOf& extents) {
  for (size_t j = 0; j < term.axes.size(); ++j) {
    const char c = term.axes[j];
    const int64_t n = term.array.shape()[static_cast<int>(j)];
    const auto [at, is_new] = extents.emplace(c, n);
    if (is_new || at->second == n || (!is_letter(c) && n == 1)) continue;
    if (!is_letter(c) && at->second == 1) {
      at->second = n;
      continue;
    }
    const std::string axis = is_letter(c) ? "'" + std::string(1, c) + "'" : "an axis of \"...\"";
    throw Error("SG0101", "einsum: in \"" + std::string(letters) + "\" " + axis + " is " + std::to_string(at->second) +
                              " and, in " + to_string(term.array.type()) + ", " + std::to_string(n))
        .hint("axes with the same letter have the same extent; another letter makes them independent");
  }
}

Term term_of(std::string_view letters, const std::string& axes, Expr array) {
  require_numbers(array, "einsum");
  const int named = static_cast<int>(axes.size()) - (has(axes, '.') ? 1 : 0), more = array.rank() - named;
  if (more < 0 || (more > 0 && !has(axes, '.')))
    throw Error("SG0101", "einsum: in \"" + std::string(letters) + "\" an operand has " + std::to_string(named) +
                              (named == 1 ? " letter" : " letters") + ", and " + to_string(array.type()) + " has " +
                              std::to_string(array.rank()) + (array.rank() == 1 ? " axis" : " axes"))
        .hint("one letter for each axis; \"...\" are all that are left");
  return {array, spelt_out(axes, more)};
}

}  // namespace

Expr einsum(std::string_view letters, std::span<const Expr> operands) {
  const Spec spec = parsed(letters);
  if (spec.inputs.size() != operands.size())
    fail_spec(letters, "is for " + std::to_string(spec.inputs.size()) + (spec.inputs.size() == 1 ? " array" : " arrays") +
                           ", it is given " + std::to_string(operands.size()));
  std::vector<Term> terms;
  ExtentOf extents;
  int most = 0;
  for (size_t j = 0; j < operands.size(); ++j) {
    if (operands[j].dtype() != operands[0].dtype())
      throw Error("SG0101", "einsum: element types of " + to_string(operands[0].type()) + " and " +
                                to_string(operands[j].type()) + " differ")
          .hint("element types never convert by themselves: cast one side");
    terms.push_back(term_of(letters, spec.inputs[j], operands[j]));
    note_extents(letters, terms.back(), extents);
    for (char c : terms.back().axes)
      if (!is_letter(c)) most = std::max(most, c - '0' + 1);
  }
  const std::string output = spelt_out(spec.has_output ? spec.output : implied_output(spec.inputs), most);
  for (size_t j = 0; j < output.size(); ++j) {
    const std::string axis(1, output[j]);
    if (!extents.contains(output[j])) fail_spec(letters, "has '" + axis + "' in the result alone");
    if (output.find(output[j], j + 1) != std::string::npos) fail_spec(letters, "has '" + axis + "' twice in the result");
  }
  for (size_t j = 0; j < terms.size(); ++j) {
    terms[j] = without_ones(without_repeats(terms[j]), extents);
    terms[j] = summed(terms[j], wanted_by(terms, j, j, output));
  }
  while (terms.size() > 1) contract_one_pair(terms, output, extents);
  return spread(terms[0], output, extents);
}

}  // namespace spirograd::ir
