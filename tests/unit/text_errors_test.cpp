// One clear error per mistake: its code, its place, what it says.
#include <gtest/gtest.h>

#include "spirograd/text.h"

namespace spirograd {
namespace text_errors_test {

struct Case {
  const char* source;
  const char* code;
  int line, column;
  const char* fragment;  // of the whole text of the error
};

// clang-format off
const Case kCases[] = {
    // syntax
    {"fun f(x: f32) = x",                        "SG0401", 1, 1,  "expected 'def', 'let', 'struct', 'import', 'custom_jvp' or 'custom_vjp', found 'fun'"},
    {"def f(x: f32) = ",                         "SG0401", 1, 17, "expected an expression, found end of file"},
    {"def f(x: f32) = (x",                       "SG0401", 1, 17, "'(' is never closed"},
    {"def f(x: f32) = x)",                       "SG0401", 1, 18, "')' closes nothing"},
    {"def f(x: f32) = [x)",                      "SG0401", 1, 19, "does not close the '['"},
    {"def f(x) = x",                             "SG0401", 1, 8,  "expected ':' and a type"},
    {"def f(x: float) = x",                      "SG0401", 1, 10, "types look like f32"},
    {"def f(x: f32) x",                          "SG0401", 1, 15, "expected '=' or '{' before the body"},
    {"def f(x: f32) = x x",                      "SG0401", 1, 19, "expected the end of the line"},
    {"def f(x: f32) = { let a = x }",            "SG0401", 1, 29, "a block ends with the expression that is its value"},
    {"def f(x: f32) = {\n  a = x\n  a\n}",       "SG0401", 2, 3,  "write 'let a = ...'"},
    {"def f(x: f32) = {\n  let let = x\n  x\n}", "SG0401", 2, 7,  "'let' is a word of the language"},
    {"def f(x: f32) = if x > 0 then x",          "SG0401", 1, 32, "an if needs both branches"},
    {"def f(x: f32) = if x > 0 && x < 1 then x else x", "SG0401", 1, 26, "write 'and'"},
    {"def f(x: f32) = x = 1",                    "SG0401", 1, 19, "'==' compares"},
    {"def f(x: f32) = 0 < x < 1",                "SG0401", 1, 23, "write 'a < b and b < c'"},
    {"def f(x: f32[3]) = x[0:2:1]",              "SG0401", 1, 25, "slices have no step"},
    {"def f(x: f32[3]) = for i 3 => x[i]",       "SG0401", 1, 26, "expected ':' and an extent"},
    {"def f(x: f32[3]) = for i: 3 x[i]",         "SG0401", 1, 29, "expected '=>' before the body"},
    {"def f(x: f32) = x $ 2",                    "SG0401", 1, 19, "unexpected character '$'"},
    {"def `f(x: f32) = x",                       "SG0401", 1, 5,  "no closing '`'"},
    {"def f(x: f32) = max(axis=0, x)",           "SG0401", 1, 29, "follows one with a keyword"},
    {"def f(x: f32) = 2x",                       "SG0407", 1, 17, "'2x' is not a number"},
    {"def f() = 1e999",                          "SG0407", 1, 11, "too large"},
    {"def f(x: f32, x: f32) = x",                "SG0408", 1, 15, "parameter 'x' stands twice"},
    // names
    {"def f(image: f32) = imgae + 1",            "SG0402", 1, 21, "did you mean 'image'?"},
    {"def f(x: f32[3]) = sofmax(x)",             "SG0403", 1, 20, "did you mean 'softmax'?"},
    {"def f(x: f32[3]) = sum(x, axsi=0)",        "SG0404", 1, 20, "did you mean 'axis'?"},
    {"def f(x: f32[3]) = x + zeros(3, 4)",       "SG0404", 1, 24, "a shape is one list: zeros([n, m], dtype=f32)"},
    {"def f(x: f32[3]) = x.Shape",               "SG0402", 1, 21, "x.T and x.shape exist"},
    {"def f(x: f32) = f(x)",                     "SG0405", 1, 17, "calls itself"},
    {"def f(x: f32) = g(x)\ndef g(x: f32) = x\ndef h(x: f32) = f(x)", "SG0405", 1, 17, "before its definition in line 2"},
    {"def f(x: f32) = x(1)",                     "SG0403", 1, 17, "'x' is no function"},
    {"def f(x: f32) = exp(x, x)",                "SG0404", 1, 17, "takes 1 argument, it is given 2"},
    {"def g(x: f32, y: f32) = x\ndef f(x: f32) = g(x)", "SG0404", 2, 17, "'g' takes 2 arguments, it is given 1"},
    {"def f(x: f32) = { let (a, b) = x\n a }",   "SG0404", 1, 23, "a tuple of 2 names for f32"},
    {"def f(x: f32) = { let (a, b) = (x, x, x)\n a }", "SG0404", 1, 23, "2 names for a tuple of 3"},
    // definitions with names of operations
    {"def grad(x: f32, y: f32) = x * y\ndef g(x: f32) = x\ndef f(x: f32) = grad(g)(x)", "SG0404", 3, 17, "'grad' is the definition in line 1, which hides the operation"},
    {"def grad(x: f32) = x\ndef g(x: f32) = x\ndef f(x: f32) = grad(g)(x)", "SG0103", 3, 17, "'grad' is the definition in line 1, which hides the operation"},
    {"def grad(f: fn, x: f32) = f(x)\ndef g(w: f32) = w\ndef f(x: f32) = grad(g, wrt=w)(x)", "SG0402", 3, 29, "'grad' is the definition in line 1, which hides the operation"},
    {"def norm(x: f32[2]) = sum(x)\ndef f(x: f32[3]) = norm(x)", "SG0103", 2, 20, "'norm' is the definition in line 1, which hides the operation"},
    {"def pi(x: f32) = x",                       "SG0408", 1, 5,  "'pi' is a number of the language, no name for a function"},
    {"def f32(x: f32, y: f32) = x\ndef f(x: f32) = f32(x)", "SG0404", 2, 17, "'f32' is the definition in line 1, which hides"},
    // shapes and types
    {"def f(x: f32[4,3], y: f32[4,2]) =\n  x + y", "SG0101", 2, 5, "3 and 2 differ and neither is 1"},
    {"def f(x: f32, n: i32) = x + n",            "SG0102", 1, 27, "convert one of them, as in f32(x)"},
    {"def f(x: f32, y: f64) = x + y",            "SG0102", 1, 27, "convert the f32 one, as in f64(x): no digit is lost"},
    {"def f(x: f64, y: f32) = where(x > 0, x, y)", "SG0102", 1, 25, "element types of f64 and f32 differ"},
    {"def f(n: i32[3]) = zeros(3) + n",          "SG0102", 1, 29, "element types of i32[3] and f32[3] differ"},
    {"def f(n: i32[3]) = full([3], 0.5) * n",    "SG0102", 1, 35, "as in f32(x)"},
    {"def f(n: u32[1]) = full([1], -1) + n",     "SG0407", 1, 34, "-1 does not fit into u32"},
    {"def f() = full([2], 1e300)",               "SG0407", 1, 11, "too large for f32"},
    {"def f() = full([2], 3000000000)",          "SG0407", 1, 11, "does not fit into i32"},
    {"def f(x: f64) = fori(2, fn(i, s) => s + f32(i), 0.0) * x", "SG0102", 1, 54, "element types of f32 and f64 differ"},
    {"def f(x: f32, y: f64) = fori(2, fn(i, s) => s * x + s * y, 0.0)", "SG0102", 1, 51, "element types of f32 and f64"},
    {"def f(x: f32, y: f64) = fori(2, fn(i, s) => if i > 0 then s + y else s, x)", "SG0102", 1, 61, "f32 and f64 differ"},
    {"def f(x: f64) = fori(2, fn(i, s) => x > 0, 0.0)", "SG0102", 1, 17, "the state is f32, the step returns bool"},
    // type parameters
    {"def f(x: T[T]) = x",                       "SG0408", 1, 12, "'T' is an element type and a size"},
    {"def f(x: T[2]) -> f32[T] = x",             "SG0408", 1, 23, "'T' is an element type and a size"},
    {"def f(T: f32, x: T) = x",                  "SG0408", 1, 7,  "'T' is an element type and a parameter"},
    {"def f(x: F64) = x",                        "SG0401", 1, 10, "write f64"},
    {"def g(x: T, y: T) = x\ndef f(x: f32, y: f64) = g(x, y)", "SG0106", 2, 25, "'T' is f32 ('x') and f64 ('y')"},
    {"def g(x: T, n: T) = x\ndef f(x: f32, n: i32) = g(x, n)", "SG0106", 2, 25, "convert one of them, as in f32(x)"},
    {"def g(n: f32) -> T = n\ndef f(x: f32) = g(x)", "SG0106", 1, 18, "'T' has no value here"},
    {"def g(x: T, n: i32) -> T = x * n\ndef f(x: f32, n: i32) = g(x, n)", "SG0102", 1, 30, "element types of f32 and i32"},
    {"def g(x: f32[N]) = x\ndef f(y: f64[3]) = g(y)", "SG0103", 2, 20, "declare x as f64, or as T for any element type"},
    {"def f(x: f64[2*L]) = x",                   "SG0105", 1, 16, "give it: L=2 on the command line"},
    {"def g(x: f32[2*L]) = x\ndef f(x: f32[4]) = g(x)", "SG0105", 2, 20, "'L' has no value here"},
    {"def f(n: i32) = n / 2",                    "SG0102", 1, 19, "write quot(a, b)"},
    {"def f(n: i32) = n // 2",                   "SG0102", 1, 19, "write quot(a, b)"},
    {"def f(n: i32) = n + 0.5",                  "SG0102", 1, 19, "a float literal with i32"},
    {"def f(x: f32[3]) = if x > 0 then 1 else 2", "SG0102", 1, 25, "where(mask, a, b)"},
    {"def f(x: f32[3]) = x[0, 1]",               "SG0101", 1, 21, "2 indices into f32[3]"},
    {"def f(x: f32[3]) = x[0.5]",                "SG0102", 1, 22, "an index must be a whole number"},
    {"def f(x: f32[3], m: bool[3]) = x[m]",      "SG0102", 1, 34, "an index must be i32, not bool[3]"},
    {"def f(x: f32[3]) = x[1:5]",                "SG0101", 1, 22, "does not lie within 0:3"},
    {"def f(x: f32[3]) = x[:-1]",                "SG0101", 1, 22, "negative bounds do not count from the end"},
    {"def f(x: f32) = (x, x, x)[3]",             "SG0101", 1, 27, "item 3 of a tuple of 3 does not exist"},
    {"def f(x: f32) = (x, x)[-1]",               "SG0101", 1, 24, "items count from 0, and not from the end"},
    {"def f(x: f32) = ()[0]",                    "SG0101", 1, 20, "item 0 of a tuple of 0"},
    {"def f(x: f32, i: i32) = (x, x)[i]",        "SG0105", 1, 32, "the index into a tuple of 2 must be a whole number known before the program runs, not i32"},
    {"def f(x: f32) = for i: 2 => (x, x)[i]",    "SG0105", 1, 36, "stack(a, b)[i] chooses"},
    {"def f(x: f32) = (x, x)[0.0]",              "SG0105", 1, 24, "into a tuple of 2"},
    {"def f(x: f32) = (x, x)[0, 1]",             "SG0404", 1, 23, "a tuple of 2 takes one number, it is given 2 indices"},
    {"def f(x: f32) = (x, x)[0:1]",              "SG0102", 1, 24, "a tuple of 2 has no axes"},
    {"struct P { a: f32 }\ndef f(x: P) = x[0]",  "SG0102", 2, 16, "a P has no items by number"},
    {"def f(x: f32[3]) = sum(x, axis=1)",        "SG0101", 1, 20, "axis 1 does not exist for f32[3], which has 1 axis"},
    {"def f(x: f32[3]) = reshape(x, [2, -1])",   "SG0101", 1, 20, "no extent makes [2,-1] out of f32[3]"},
    {"def f(x: f32[2,3], y: f32[2,3]) = x @ y",  "SG0101", 1, 37, "inner extents 3 and 2 differ"},
    {"def f(x: f32[3]) = [x, 1.0]",              "SG0101", 1, 20, "array literal"},
    {"def f(x: f32[3]) = argmax(zeros(0))",      "SG0101", 1, 20, "is empty"},
    {"def f(x: f32, n: i32) = iota(n)",          "SG0105", 1, 25, "known before the program runs"},
    {"def f(x: f32[3], n: i32) = for i: n => x[i]", "SG0105", 1, 28, "the extent of a for"},
    {"def f(x: f32) = x * (1 / 2)",              "SG0105", 1, 24, "1 / 2 is not a whole number"},
    {"def f(x: f32) -> i32 = x",                 "SG0103", 1, 18, "returns f32, declared is i32"},
    {"def f(x: f32) -> (a: f32, b: f32) = x",    "SG0103", 1, 5,  "returns 1 values, 2 are declared"},
    {"def f(x: f32) = exp",                      "SG0103", 1, 5,  "returns a function"},
    {"def g(x: f32[3]) = x\ndef f(x: f32[4]) = g(x)", "SG0103", 2, 20, "'x' of 'g' is declared f32[3], given f32[4]"},
    {"def g(x: f32[N], y: f32[N]) = x\ndef f(x: f32[4], y: f32[3]) = g(x, y)", "SG0104", 2, 31, "'N' is 4 (axis 0 of 'x') and 3 (axis 0 of 'y')"},
    {"def f(x: f32[2 ** 60]) = x",                "SG0105", 1, 16, "an extent must be a whole number known before the program runs, not f32"},
    {"def f(x: f32[1.5]) = x",                   "SG0105", 1, 14, "not a float"},
    {"def f(x: f32[2]) = zeros(2 ** -1) + x",    "SG0105", 1, 20, "known before the program runs"},
    {"def f(x: f32, n: i32) = zeros(max(n, 1))", "SG0105", 1, 25, "known before the program runs, not i32"},
    {"def f(x: f32, n: i32) = zeros(if n > 1 then 2 else 3)", "SG0105", 1, 25, "not i32"},
    {"def f(x: f32[3]) = if len(x) > 3 then x else x[1:4]", "SG0101", 1, 48, "does not lie within 0:3"},
    {"def f(x: f32[3]) = zeros(if len(x) > 2 then 0 - 1 else 0)", "SG0101", 1, 20, "negative extent -1"},
    {"def f(x: f32[N]) = x",                     "SG0105", 1, 14, "the shape variable 'N' has no value here"},
    {"def f(x: f32) = 5000000000 + i32(x)",      "SG0407", 1, 28, "does not fit into i32"},
    // loops
    {"def f(x: f32[3]) = fold(fn(s, e) => [s, e], 0.0, x)", "SG0101", 1, 20, "the state is f32, the step returns f32[2]"},
    {"def f(x: f32[3]) = fold(x, 0.0, x)",       "SG0404", 1, 20, "needs a function as argument 1"},
    {"def f(x: f32[3]) = fold(fn(s) => s, 0.0, x)", "SG0404", 1, 25, "takes 1 arguments, it is given 2"},
    {"def f(x: f32[3], y: f32[4]) = fold(fn(s, e) => s, 0.0, (x, y))", "SG0101", 1, 31, "different numbers of rows"},
    {"def f(x: f32[3]) = map_accum_l(fn(s, e) => s, 0.0, x)", "SG0101", 1, 20, "the step returns (state, row)"},
    {"def g(x: f32) = log(x, x)\n\ndef f(x: f32) = exp(g(x))", "SG0404", 1, 17, "in the call of 'g' at line 3, column 21"},
    // derivatives as expressions
    {"def f(x: f32[3]) = grad(fn(v) => v * v)(x)",          "SG0204", 1, 20, "the function gives f32[3], not a scalar"},
    {"def f(x: f32) = grad(fn(v) => (v, v))(x)",            "SG0204", 1, 17, "the function gives 2 arrays, not a scalar"},
    {"def f(x: f32) = grad(fn(v) => floor(v))(x)",          "SG0205", 1, 17, "gives i32, which has no derivative"},
    {"def f(x: i32) = grad(fn(v) => f32(v))(x)",            "SG0201", 1, 17, "argument 1 is i32 and cannot carry a derivative"},
    {"def f(x: f32) = grad(x)(x)",                          "SG0404", 1, 17, "takes a function first, not f32"},
    {"def g(abc: f32) = abc\ndef f(x: f32) = grad(g, wrt=abd)(x)", "SG0404", 2, 17, "did you mean 'abc'?"},
    {"def f(x: f32) = grad(fn(a, b) => a, wrt=(a, a))(x, x)", "SG0404", 1, 17, "names a parameter twice"},
    {"def f(x: f32) = grad(fn(a) => a, wrt=1)(x)",          "SG0404", 1, 17, "there is no argument 2"},
    {"def f(x: f32) = grad(fn(a) => a, wrt=a + a)(x)",      "SG0404", 1, 17, "takes names or numbers of parameters"},
    {"def f(x: f32) = grad(fn(a) => a, wtr=a)(x)",          "SG0402", 1, 38, "unknown name 'a'"},
    {"def f(x: f32) = grad(fn(a) => a)(x, x)",              "SG0404", 1, 22, "takes 1 arguments, it is given 2"},
    {"def f(x: f32[2]) = { let (y, d) = jvp(fn(v) => v, x, 1.0)\n d }", "SG0101", 1, 35, "for f32[2] cannot be f32"},
    {"def f(x: f32[2]) = { let (y, b) = vjp(fn(v) => v, x)\n b(1.0) }", "SG0101", 2, 2, "a cotangent for f32[2] cannot be f32"},
    {"def f(x: f32[2]) = { let (y, b) = vjp(fn(v) => (v, v), x)\n b(x) }", "SG0404", 2, 2, "for 2 arrays, it is given 1"},
    {"def f(x: f32) = jacobian(fn(a, b) => a * b, wrt=(a, b))(x, x)", "SG0404", 1, 17, "by one array, not by 2"},
    {"def f(x: f32[2]) = jacobian(sin, chunk=0)(x)", "SG0404", 1, 20, "at least one direction at a time"},
    {"def f(x: f32) = vmap(sin)(x)",                        "SG0101", 1, 17, "an argument is f32 and has no axis 0"},
    {"def f(x: f32[2]) = vmap(sin, out_axes=1)(x)",          "SG0101", 1, 20, "results like f32 cannot be stacked along an axis 1"},
    {"def f(x: f32[2]) = vmap(sin, out_axes=(0, 1))(x)",     "SG0404", 1, 20, "out_axes= names 2 axes for 1 results"},
    {"def f(x: f32[2]) = vmap(sin, out_axes=None)(x)",       "SG0101", 1, 20, "along no axis"},
    {"def f(x: f32[2], y: f32[3]) = vmap(fn(a, b) => a)(x, y)", "SG0101", 1, 31, "are split into 2 and into 3"},
    {"def f(x: f32) = while(fn(s) => s, fn(s) => s, x, at_most=3)", "SG0102", 1, 17, "the condition must be one bool, not f32"},
    {"def f(x: f32) = while(fn(s) => s < 1, fn(s) => s, x)", "SG0404", 1, 17, "needs the keyword 'at_most='"},
    {"def f(x: f32) = while(fn(s) => s < 1, fn(s) => [s, s], x, at_most=3)", "SG0101", 1, 17, "while"},
};
// clang-format on

std::string line_of(const std::string& source, int number) {
  size_t begin = 0;
  for (int l = 1; l < number; ++l) begin = source.find('\n', begin) + 1;
  return source.substr(begin, source.find('\n', begin) - begin);
}

TEST(TextErrors, EachMistakeHasItsCodePlaceAndAdvice) {
  for (const Case& c : kCases) {
    const auto module = text::parse(c.source, "bad.sg");
    Error e;
    if (!module) {
      e = module.error();
    } else {
      const auto p = text::instantiate(*module);
      ASSERT_FALSE(p) << "no error: " << c.source;
      e = p.error();
    }
    const std::string all = e.str();
    EXPECT_EQ(e.code, c.code) << all;
    EXPECT_EQ(e.loc.file, "bad.sg") << all;
    EXPECT_EQ(e.loc.line, c.line) << all;
    EXPECT_EQ(e.loc.column, c.column) << all;
    EXPECT_EQ(e.source_line, line_of(c.source, c.line)) << all;
    EXPECT_NE(all.find(c.fragment), std::string::npos) << all;
  }
}

Error input_error(const std::string& source, const std::vector<text::NamedType>& inputs,
                  const text::ShapeVariables& shapes = {}, const std::string& function = "") {
  auto m = text::parse(source, "bad.sg");
  if (!m) return m.error();
  auto p = text::instantiate(*m, function, inputs, shapes);
  return p ? Error() : p.error();
}

TEST(TextErrors, InputsThatDoNotFit) {
  const std::string source = "def f(weights: f32[N,D],\n      m: i32) = weights * f32(m)";
  EXPECT_EQ(input_error(source, {{"weights", f32({2, 3})}, {"m", i32()}}).code, "");
  Error e = input_error(source, {{"weights", f32({2, 3})}});
  EXPECT_EQ(e.code, "SG0502");
  EXPECT_EQ(e.loc.line, 2);
  EXPECT_NE(e.str().find("input 'm' of 'f' is missing"), std::string::npos) << e.str();
  EXPECT_NE(e.str().find("m: i32"), std::string::npos) << e.str();
  e = input_error(source, {{"weights", f32({2, 3})}, {"m", i32()}, {"wieghts", f32()}});
  EXPECT_EQ(e.code, "SG0503");
  EXPECT_NE(e.str().find("did you mean 'weights'?"), std::string::npos) << e.str();
  e = input_error(source, {{"weights", f32({2, 3})}, {"m", i32()}, {"m", i32()}});
  EXPECT_EQ(e.code, "SG0503");
  e = input_error(source, {{"weights", f64({2, 3})}, {"m", i32()}});
  EXPECT_EQ(e.code, "SG0103");
  EXPECT_NE(e.str().find("'weights' of 'f' is declared f32[N,D], given f64[2,3]"), std::string::npos) << e.str();
  e = input_error(source, {{"weights", f32({2})}, {"m", i32()}});
  EXPECT_EQ(e.code, "SG0103");
  EXPECT_NE(e.str().find("rank 1 instead of 2"), std::string::npos) << e.str();
}

TEST(TextErrors, ShapesThatDisagree) {
  const std::string source = "def f(mu: f32[K,D], l: f32[K, D*(D-1)/2]) = sum(l)";
  EXPECT_EQ(input_error(source, {{"mu", f32({4, 3})}, {"l", f32({4, 3})}}).code, "");
  Error e = input_error(source, {{"mu", f32({4, 3})}, {"l", f32({5, 3})}});
  EXPECT_EQ(e.code, "SG0104");
  EXPECT_EQ(e.loc.column, 21);
  EXPECT_NE(e.str().find("'K' is 4 (axis 0 of 'mu') and 5 (axis 0 of 'l')"), std::string::npos) << e.str();
  e = input_error(source, {{"mu", f32({4, 3})}, {"l", f32({4, 7})}});
  EXPECT_EQ(e.code, "SG0103");
  EXPECT_NE(e.str().find("expected f32[4,3]"), std::string::npos) << e.str();
  EXPECT_NE(e.str().find("D = 3 from axis 1 of 'mu'"), std::string::npos) << e.str();
  e = input_error(source, {{"mu", f32({4, 3})}, {"l", f32({4, 3})}}, {{"K", 5}});
  EXPECT_EQ(e.code, "SG0104");
  e = input_error(source, {{"mu", f32({4, 3})}, {"l", f32({4, 3})}}, {{"K", -1}});
  EXPECT_EQ(e.code, "SG0101");
}

TEST(TextErrors, FunctionsThatAreNotThere) {
  EXPECT_EQ(input_error("# nothing\n", {}).code, "SG0403");
  const Error e = input_error("def loss(x: f32) = x", {}, {}, "los");
  EXPECT_EQ(e.code, "SG0403");
  EXPECT_NE(e.str().find("did you mean 'loss'?"), std::string::npos) << e.str();
}

void expect_no_crash(const std::string& source) {
  EXPECT_TRUE(text::parse(source, "ok.sg"));
  for (size_t n = 0; n < source.size(); ++n) {
    const auto m = text::parse(source.substr(0, n), "cut.sg");
    if (m && !m->functions().empty()) (void)text::instantiate(*m);
    // One character lost in the middle.
    const auto k = text::parse(source.substr(0, n) + source.substr(n + 1), "cut.sg");
    if (k && !k->functions().empty()) (void)text::instantiate(*k);
  }
}

TEST(TextErrors, EveryPrefixOfAProgramIsAnErrorOrAProgramAndNeverACrash) {
  const std::string source =
      "def f(x: f32[2,3], n: i32) -> (a: f32, b: f32[3]) {\n  let (s, r) = map_accum_l(fn((p, q), e) => ((p + e[0], q), e * "
      "2), (0.0, n), x)\n"
      "  let t = for i: 3, j: 2 => if x[j, i] > 1e-3 then x[1:2, :, None][0, i, 0] else -x[quot(i, n), j] ** 2\n  (sum(t), "
      "r[0])\n}\n";
  expect_no_crash(source);
  expect_no_crash(
      "struct Row[N] {\n  a: f32[N]\n  b: f32\n}\nstruct Two { r: Row[2], s: Row[K] }\n"
      "def g(t: Two, x: f32[K]) -> f32 = sum(t.s.a * x) * t.r.b\n"
      "def f(x: f32[3]) -> (y: Row[2], n: i32) {\n  let t = Two(Row([1, 2], b=0.5), s=Row(x, 1))\n"
      "  let (d, dx) = grad(g, wrt=(t, x))(t, x)\n"
      "  let (y, back) = vjp(fn(x) => vmap(fn(a, b) => a * b, in_axes=(0, None))(x, 2.0), x)\n"
      "  let (s, n) = while(fn(s) => s < 3, fn(s) => s + jacobian(sin)(s), back(y)[0], at_most=5)\n  (Row(d.r.a, s), "
      "n)\n}\n");
}

}  // namespace text_errors_test
}  // namespace spirograd
