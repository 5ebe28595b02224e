// The two spellings of a program read the same decisions in the same order: whatever the one needs is made for the other,
// too.
#include "support/random_source.h"

#include <array>
#include <utility>

#include "support/choices.h"

namespace spirograd::test {
namespace {

constexpr int kMostPieces = 26;      // expressions that are not leaves, in a program
constexpr int kMostDerivatives = 2;  // inside of one another

std::string in_parens(const std::string& e) { return "(" + e + ")"; }

class Writer {
 public:
  Writer(const Decisions& decisions, Spelling spelling)
      : choose_(decisions), rich_(spelling == Spelling::Rich), n_(std::to_string(1 + (choose_.below(4) + 1) % 4)) {}

  RandomSource made() {
    RandomSource out;
    numbers_ = {"s"};
    vectors_ = {"v", "w"};
    const std::string first = number(4), second = vector(4);
    const std::string array = "f32[" + n_ + "]";
    out.text = (rich_ ? "struct Pair { a: " + array + ", b: f32 }\n" : "") + defs_ + "def main(v: " + array +
               ", w: " + array + ", s: f32, k: i32[" + n_ + "], m: bool) -> (y: f32, z: " + array + ") = {\n  (" + first +
               ",\n   " + second + ")\n}\n";
    const int64_t n = std::stoi(n_);
    for (size_t slot = 0; slot < 2; ++slot) out.inputs.push_back(choose_.input_values(f32({n}), slot, false));
    out.inputs.push_back(choose_.input_values(f32({}), 2, false));
    out.inputs.push_back(choose_.input_values(i32({n}), 3, false));
    out.inputs.push_back(choose_.input_values(boolean({}), 4, false));
    return out;
  }

 private:
  std::string spelt(const std::string& rich, const std::string& plain) const { return rich_ ? rich : plain; }
  // i32 is a type: an index of that name would hide it.
  std::string fresh(const char* prefix) {
    const std::string name = prefix + std::to_string(++names_);
    return name == "i32" ? fresh(prefix) : name;
  }

  /// What `make` gives where these names can be read, too.
  template <class F>
  std::string with(std::vector<std::string> numbers, std::vector<std::string> vectors, F make) {
    const std::vector<std::string> before[] = {numbers_, vectors_};
    numbers_.insert(numbers_.end(), numbers.begin(), numbers.end());
    vectors_.insert(vectors_.end(), vectors.begin(), vectors.end());
    std::string out = make();
    numbers_ = before[0];
    vectors_ = before[1];
    return out;
  }
  /// The same where nothing else can be read, as in a definition.
  template <class F>
  std::string with_only(std::vector<std::string> numbers, std::vector<std::string> vectors, F make) {
    const std::vector<std::string> before[] = {std::exchange(numbers_, {}), std::exchange(vectors_, {})};
    const bool outside = std::exchange(in_main_, false);
    std::string out = with(std::move(numbers), std::move(vectors), make);
    in_main_ = outside;
    numbers_ = before[0];
    vectors_ = before[1];
    return out;
  }
  template <class F>
  std::string differentiated(F make) {
    ++derivatives_;
    std::string out = make();
    --derivatives_;
    return out;
  }

  std::string some_name(const std::vector<std::string>& names) {
    // The newest first: what stands in the innermost function.
    return names[names.size() - 1 - static_cast<size_t>(choose_.below(static_cast<int>(names.size())))];
  }
  // Exact in f32: what a definition declares as f32 is rounded, what is written out is computed in double.
  std::string literal() {
    constexpr std::array<const char*, 6> table = {"0.5", "1.25", "-0.75", "0.375", "-1.5", "2.0"};
    return choose_.one_of(table);
  }
  std::string condition() {
    switch (choose_.below(3)) {
      case 0: return in_main_ ? "m" : "true";
      case 1: return some_name(numbers_) + " > 0.1234";
      default: return in_main_ ? "k[0] < 2" : some_name(vectors_) + "[0] < 0.4321";
    }
  }
  std::string steps() { return std::to_string(choose_.below(6)); }
  std::string keep() {
    constexpr std::array<const char*, 5> table = {"", ", keep=sqrt", ", keep=least", ", keep=levels(3)", ", keep=all"};
    const std::string chosen = choose_.one_of(table);
    return rich_ ? chosen : "";
  }
  bool at_leaf(int depth) { return depth <= 0 || pieces_ >= kMostPieces; }

  std::string smooth(const std::string& x) {
    constexpr std::array<std::array<const char*, 2>, 9> table = {{{"sin(", ")"},
                                                                  {"tanh(", ")"},
                                                                  {"cos(", ")"},
                                                                  {"logistic(", ")"},
                                                                  {"exp(-square(", "))"},
                                                                  {"sqrt(1.0 + square(", "))"},
                                                                  {"atan(", ")"},
                                                                  {"log1p(square(", "))"},
                                                                  {"softplus(", ")"}}};
    const auto f = choose_.one_of(table);
    return f[0] + x + f[1];
  }
  std::string combined(const std::string& x, const std::string& y) {
    switch (choose_.below(5)) {
      case 0: return "(" + x + " + " + y + ")";
      case 1: return "(" + x + " - " + y + ")";
      case 2: return "sin(" + x + ") * tanh(" + y + ")";
      case 3: return x + " / (1.0 + square(" + y + "))";
      default: return "0.5 * " + in_parens(x) + " * logistic(" + y + ")";
    }
  }
  std::string let(const std::string& name, const std::string& value, const std::string& body) {
    return "{ let " + name + " = " + value + "; " + body + " }";
  }

  // ---- numbers

  std::string number(int depth) {
    if (at_leaf(depth)) return choose_.chance(20) ? literal() : some_name(numbers_);
    ++pieces_;
    switch (choose_.below(16)) {
      case 0: return some_name(numbers_);
      case 1: return smooth(number(depth - 1));
      case 2: return sequenced([&] { return number(depth - 1); }, [&] { return number(depth - 1); });
      case 3: return "sum(" + vector(depth - 1) + ")";
      case 4: {
        const std::string x = some_name(vectors_), at = std::to_string(choose_.below(4) - 1);
        return x + "[" + (in_main_ && choose_.chance(50) ? "k[0]" : at) + "]";
      }
      case 5: return closure(depth);
      case 6: return definition(depth, false);
      case 7: return slope(depth);
      case 8: return loop_of_numbers(depth);
      case 9: return early_end(depth);
      case 10: return loop_of_pairs(depth);
      case 11: return folded(depth);
      case 12: return pair(depth);
      case 13: return pulled_back(depth);
      case 14: {
        const std::string c = condition(), x = number(depth - 1), y = number(depth - 1);
        return "(if " + c + " then " + x + " else " + y + ")";
      }
      default: {
        const std::string x = vector(depth - 1), y = some_name(vectors_);
        return "dot(" + x + ", " + y + ")";
      }
    }
  }

  // Operands are made one after the other, before how they are combined is chosen.
  template <class F, class G>
  std::string sequenced(F first, G second) {
    const std::string x = first(), y = second();
    return combined(x, y);
  }

  // fn(t) => .., called twice; written out, t is a let.
  std::string closure(int depth) {
    const std::string f = fresh("h"), t = fresh("t"), x = number(depth - 1), y = some_name(numbers_),
                      body = with({t}, {}, [&] { return number(depth - 1); });
    return spelt(let(f, "fn(" + t + ") => " + body, f + "(" + x + ") - 0.5 * " + f + "(" + y + ")"),
                 "(" + let(t, x, body) + " - 0.5 * " + let(t, y, body) + ")");
  }

  // A def of an array and a number, with the derivative of its body, one that is given, or one that serves reverse mode.
  std::string definition(int depth, bool gives_vector) {
    const std::string x = fresh("x"), y = fresh("y"), array = vector(depth - 2), value = number(depth - 2),
                      body = with_only({y}, {x}, [&] { return gives_vector ? vector(depth - 1) : number(depth - 1); });
    const int rule = choose_.below(3);
    if (!rich_) return "{ let (" + x + ", " + y + ") = (" + array + ", " + value + "); " + body + " }";
    const std::string name = fresh("d"), inside = "fn(" + x + ", " + y + ") => " + body;
    defs_ += "def " + name + "(" + x + ": f32[" + n_ + "], " + y + ": f32) -> f32" + (gives_vector ? "[" + n_ + "]" : "") +
             " = " + body + "\n";
    if (rule == 1)
      defs_ +=
          "custom_jvp " + name + "(" + x + ", " + y + ", da, db) = jvp(" + inside + ", (" + x + ", " + y + "), (da, db))\n";
    if (rule == 2)
      defs_ += "custom_vjp " + name + "(" + x + ", " + y + ", ct) = { let (value, back) = vjp(" + inside + ", " + x + ", " +
               y + "); back(ct) }\n";
    return name + "(" + array + ", " + value + ")";
  }

  // The derivative of a number by a number.
  std::string slope(int depth) {
    if (derivatives_ >= kMostDerivatives) return some_name(numbers_);
    const std::string t = fresh("t"), x = number(depth - 2),
                      body = differentiated([&] { return with({t}, {}, [&] { return number(depth - 1); }); });
    const std::string f = "fn(" + t + ") => " + body;
    const bool both = choose_.chance(30);
    const std::string y = fresh("y"), g = fresh("g"), sum = y + " + sin(" + g + ")";
    if (both)
      return "{ let (" + y + ", " + g +
             ") = " + spelt("value_and_grad(" + f + ")(" + x + ")", "jvp(" + f + ", " + x + ", 1.0)") + "; " + sum + " }";
    return "sin(" + spelt("grad(" + f + ")(" + x + ")", "jvp(" + f + ", " + x + ", 1.0)[1]") + ")";
  }

  std::string loop_of_numbers(int depth) {
    const std::string i = fresh("i"), a = fresh("a"), start = number(depth - 2),
                      body = with({a, "f32(" + i + ")"}, {}, [&] { return number(depth - 1); }), n = steps(), k = keep();
    return "fori(" + n + ", fn(" + i + ", " + a + ") => sin(" + body + "), " + start + k + ")";
  }

  // A while; written out, a loop whose state stays when the condition is false.
  std::string early_end(int depth) {
    const std::string a = fresh("a"), start = number(depth - 2), body = with({a}, {}, [&] { return number(depth - 1); });
    const std::string go = a + " < 1.7654", step = a + " + 0.4 + 0.2 * tanh(" + body + ")", n = steps();
    return "sin(" +
           spelt("while(fn(" + a + ") => " + go + ", fn(" + a + ") => " + step + ", " + start + ", at_most=" + n + ")[0]",
                 "fori(" + n + ", fn(_, " + a + ") => if " + go + " then " + step + " else " + a + ", " + start + ")") +
           ")";
  }

  // A state of an array and a number: a struct, or a tuple.
  std::string loop_of_pairs(int depth) {
    const std::string i = fresh("i"), r = fresh("r"), a = fresh("a"), b = fresh("b"), start_a = vector(depth - 2),
                      start_b = number(depth - 2);
    std::string next_a, next_b;
    with({b}, {a}, [&] {
      next_a = "tanh(" + vector(depth - 2) + ")";
      next_b = "cos(" + number(depth - 2) + ")";
      return std::string();
    });
    const std::string n = steps(), k = keep(), last = fresh("r");
    const std::string take = "let (" + a + ", " + b + ") = " + r + "; ";
    if (rich_)
      return "{ let " + last + " = fori(" + n + ", fn(" + i + ", " + r + ") => { let (" + a + ", " + b + ") = (" + r +
             ".a, " + r + ".b); Pair(" + next_a + ", " + next_b + ") }, Pair(b=" + start_b + ", a=" + start_a + ")" + k +
             "); " + last + ".b + sum(" + last + ".a) }";
    return "{ let " + last + " = fori(" + n + ", fn(" + i + ", " + r + ") => { " + take + "(" + next_a + ", " + next_b +
           ") }, (" + start_a + ", " + start_b + ")); " + last + "[1] + sum(" + last + "[0]) }";
  }

  std::string folded(int depth) {
    const std::string a = fresh("a"), e = fresh("e"), i = fresh("i"), over = fresh("q"), xs = vector(depth - 2),
                      start = number(depth - 2), body = with({a, e}, {}, [&] { return number(depth - 1); }), k = keep();
    return spelt("fold(fn(" + a + ", " + e + ") => sin(" + body + "), " + start + ", " + xs + k + ")",
                 let(over, xs,
                     "fori(" + n_ + ", fn(" + i + ", " + a + ") => " + let(e, over + "[" + i + "]", "sin(" + body + ")") +
                         ", " + start + ")"));
  }

  std::string pair(int depth) {
    const std::string r = fresh("r"), a = vector(depth - 1), b = number(depth - 2);
    return spelt(let(r, "Pair(" + a + ", " + b + ")", r + ".b * tanh(sum(" + r + ".a))"),
                 let(r, "(" + b + ", " + a + ")", r + "[0] * tanh(sum(" + r + "[1]))"));
  }

  // A loop whose step changes one element, if there is one of that number.
  std::string updated(int depth) {
    const std::string i = fresh("i"), a = fresh("a"), j = fresh("j"), start = vector(depth - 2), n = steps(), k = keep(),
                      body = with({a + "[" + i + "]", a + "[" + i + " - 1]"}, {}, [&] { return number(depth - 2); });
    const std::string at = choose_.chance(50) ? i : "(3 * " + i + ") % 5 - 1";
    return "fori(" + n + ", fn(" + i + ", " + a + ") => for " + j + ": " + n_ + " => if " + j + " == " + at + " then tanh(" +
           body + ") else " + a + "[" + j + "], " + start + k + ")";
  }

  // A pullback, called with a number that has derivatives of its own.
  std::string pulled_back(int depth) {
    if (derivatives_ >= kMostDerivatives) return some_name(numbers_);
    const std::string t = fresh("t"), x = vector(depth - 2), ct = some_name(numbers_),
                      body = differentiated([&] { return with({}, {t}, [&] { return number(depth - 1); }); });
    const std::string f = "fn(" + t + ") => " + body, y = fresh("y"), back = fresh("b"), c = fresh("c");
    return spelt(
        "{ let (" + y + ", " + back + ") = vjp(" + f + ", " + x + "); let " + c + " = " + back + "(" + ct + "); " + y +
            " + sum(sin(" + c + ")) }",
        "{ let " + c + " = " + x + "; " + let(t, c, body) + " + sum(sin(" + ct + " * " + in_parens(column(f, c)) + ")) }");
  }
  // The gradient of a number by an array, one forward derivative for each element.
  std::string column(const std::string& f, const std::string& x) {
    const std::string i = fresh("i");
    return "for " + i + ": " + n_ + " => jvp(" + f + ", " + x + ", one_hot(" + i + ", " + n_ + ", dtype=f32))[1]";
  }

  // ---- arrays

  std::string vector(int depth) {
    if (at_leaf(depth)) return some_name(vectors_);
    ++pieces_;
    switch (choose_.below(14)) {
      case 0: return some_name(vectors_);
      case 1: return smooth(vector(depth - 1));
      case 2:
        return sequenced([&] { return vector(depth - 1); },
                         [&] { return choose_.chance(50) ? vector(depth - 1) : number(depth - 2); });
      case 3: {
        const std::string i = fresh("i");
        return "(for " + i + ": " + n_ + " => " +
               with({some_name(vectors_) + "[" + i + "]", "f32(" + i + ")"}, {}, [&] { return number(depth - 1); }) + ")";
      }
      case 4: return mapped(depth);
      case 5: return gradient(depth);
      case 6: return scanned(depth);
      case 7: return curvature(depth);
      case 8: {
        if (choose_.chance(40)) return updated(depth);
        const std::string i = fresh("i"), a = fresh("a"), start = vector(depth - 2),
                          body = with({"f32(" + i + ")"}, {a}, [&] { return vector(depth - 1); }), n = steps(),
                          kept = keep();
        return "fori(" + n + ", fn(" + i + ", " + a + ") => tanh(" + body + "), " + start + kept + ")";
      }
      case 9: return in_main_ ? "scatter([" + n_ + "], " + vector(depth - 1) + ", k)" : "reverse(" + vector(depth - 1) + ")";
      case 10: return in_main_ ? some_name(vectors_) + "[k]" : "cumsum(" + vector(depth - 1) + ")";
      case 11: {
        const std::string c = condition(), x = vector(depth - 1), y = vector(depth - 1);
        return "(if " + c + " then " + x + " else " + y + ")";
      }
      case 12: return definition(depth, true);
      default: return "softmax(" + vector(depth - 1) + ")";
    }
  }

  std::string mapped(int depth) {
    const std::string t = fresh("t"), xs = vector(depth - 1), q = fresh("q"), i = fresh("i"),
                      body = with({t}, {}, [&] { return number(depth - 1); });
    return spelt("vmap(fn(" + t + ") => " + body + ")(" + xs + ")",
                 let(q, xs, "for " + i + ": " + n_ + " => " + let(t, q + "[" + i + "]", body)));
  }

  std::string gradient(int depth) {
    if (derivatives_ >= kMostDerivatives) return some_name(vectors_);
    const std::string t = fresh("t"), x = some_name(vectors_),
                      body = differentiated([&] { return with({}, {t}, [&] { return number(depth - 1); }); });
    const std::string f = "fn(" + t + ") => " + body;
    return "tanh(" + spelt("grad(" + f + ")(" + x + ")", column(f, x)) + ")";
  }

  std::string scanned(int depth) {
    const std::string a = fresh("a"), e = fresh("e"), t = fresh("t"), xs = vector(depth - 2), start = number(depth - 2),
                      body = with({a, e}, {}, [&] { return number(depth - 1); }), k = keep();
    return spelt("scan(fn(" + a + ", " + e + ") => sin(" + body + "), " + start + ", " + xs + k + ")[1:" + n_ + " + 1]",
                 "map_accum_l(fn(" + a + ", " + e + ") => " + let(t, "sin(" + body + ")", "(" + t + ", " + t + ")") + ", " +
                     start + ", " + xs + ")[1]");
  }

  // Second derivatives times a direction: the whole matrix, or the change of the gradient.
  std::string curvature(int depth) {
    if (derivatives_ > 0) return some_name(vectors_);
    derivatives_ += 2;
    const std::string t = fresh("t"), x = some_name(vectors_), d = some_name(vectors_),
                      body = with({}, {t}, [&] { return number(depth - 1); });
    derivatives_ -= 2;
    const std::string f = "fn(" + t + ") => " + body;
    const bool whole = choose_.chance(50);
    return "sin(" +
           spelt(whole ? "hessian(" + f + ")(" + x + ") @ " + d : "hvp(" + f + ")(" + x + ", " + d + ")",
                 "jvp(grad(" + f + "), " + x + ", " + d + ")[1]") +
           ")";
  }

  Choices choose_;
  bool rich_;
  std::string n_;
  std::string defs_;
  std::vector<std::string> numbers_, vectors_;
  int names_ = 0, pieces_ = 0, derivatives_ = 0;
  bool in_main_ = true;
};

}  // namespace

RandomSource random_source(const Decisions& decisions, Spelling spelling) { return Writer(decisions, spelling).made(); }

}  // namespace spirograd::test
