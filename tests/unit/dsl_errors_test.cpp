// Mistakes in C++ programs: the first one comes back from trace() with the file and line of the user, later ones are silent.
#include <gtest/gtest.h>

#include <functional>

#include "spirograd/build.h"
#include "spirograd/loops.h"
#include "spirograd/ops.h"
#include "spirograd/trace.h"

namespace spirograd {
namespace dsl_errors_test {

template <class F>
Error error_of(std::vector<Type> types, F&& body) {
  std::vector<Param> params;
  for (size_t j = 0; j < types.size(); ++j) params.push_back({"p" + std::to_string(j), types[j]});
  const Result<Program> r = trace("test", params, body);
  if (!r) return r.error();
  ADD_FAILURE() << "no error";
  return {};
}

void expect_at(const Error& e, int line, const std::string& code, const std::string& part) {
  EXPECT_EQ(e.loc.line, line) << e.str();
  EXPECT_NE(e.loc.file.find("dsl_errors_test.cpp"), std::string::npos) << e.str();
  EXPECT_EQ(e.code, code) << e.str();
  EXPECT_NE(e.message.find(part), std::string::npos) << e.str();
}

TEST(DslErrors, OperatorPointsAtTheLineOfTheUser) {
  int line = 0;
  const Error e = error_of({f32({3}), f32({4})}, [&](Array a, Array b) {
    line = __LINE__ + 1;
    return a + b;
  });
  expect_at(e, line, "SG0101", "add: shapes [3] and [4] do not match");
  ASSERT_GE(e.notes.size(), 3u);
  EXPECT_EQ(e.notes[1], "operand 1, f32[3], is the parameter 'p0'");
}

TEST(DslErrors, NoteTellsWhereAnOperandWasMade) {
  int made = 0;
  const Error e = error_of({f32({3}), f32({4})}, [&](Array a, Array b) {
    made = __LINE__ + 1;
    const Array c = exp(a);
    return c * b;
  });
  ASSERT_GE(e.notes.size(), 3u);
  EXPECT_NE(e.notes[1].find(":" + std::to_string(made)), std::string::npos) << e.str();
}

TEST(DslErrors, FunctionPointsAtTheLineOfTheUser) {
  int line = 0;
  const Error e = error_of({f32({3})}, [&](Array a) {
    line = __LINE__ + 1;
    return sum(a, 1);
  });
  expect_at(e, line, "SG0101", "sum: axis 1 does not exist for f32[3]");
}

TEST(DslErrors, IndexingPointsAtTheLineOfTheUser) {
  int line = 0;
  const Error e = error_of({f32({3})}, [&](Array a) {
    line = __LINE__ + 1;
    return a(0, 1);
  });
  expect_at(e, line, "SG0101", "2 indices into f32[3]");
}

TEST(DslErrors, LeafPointsAtTheLineOfTheUser) {
  int line = 0;
  const Error e = error_of({}, [&] {
    line = __LINE__ + 1;
    return constant(f32({2}), {1, 2, 3});
  });
  expect_at(e, line, "SG0101", "3 values for f32[2]");
}

TEST(DslErrors, ErrorInsideABuildBodyHasItsOwnLine) {
  int line = 0;
  const Error e = error_of({f32({3}), i32({3})}, [&](Array a, Array k) {
    return build(3, [&](Index i) {
      line = __LINE__ + 1;
      return a(i) + k(i);
    });
  });
  expect_at(e, line, "SG0101", "add: element types of f32 and i32 differ");
}

TEST(DslErrors, LoopStateOfAnotherTypePointsAtTheLoop) {
  int line = 0;
  const Error e = error_of({f32({3})}, [&](Array a) {
    line = __LINE__ + 1;
    return fold([](Array s, Array x) { return s + x; }, constant(DType::I32, 0), a);
  });
  EXPECT_EQ(e.code, "SG0101");
  EXPECT_NE(e.message.find("add: element types of i32 and f32 differ"), std::string::npos) << e.str();
  const Error shape = error_of({f32({3})}, [&](Array a) {
    line = __LINE__ + 1;
    return fori(
        2, [&](Index, Array s) { return s + a; }, 0.0f);
  });
  expect_at(shape, line, "SG0101", "fori: the state is f32, the step returns f32[3]");
}

TEST(DslErrors, LogicWithoutAnArgFallsBackToThePlaceOfTheOperand) {
  int line = 0;
  const Error e = error_of({f32({3})}, [&](Array a) {
    line = __LINE__ + 1;
    const Array b = a + 1;
    return !b;
  });
  expect_at(e, line, "SG0101", "not: not defined for f32");
}

TEST(DslErrors, OnlyTheFirstMistakeIsReported) {
  int line = 0, told = 0;
  on_error([&](const Error&) { ++told; });
  const Error e = error_of({f32({3}), f32({4})}, [&](Array a, Array b) {
    line = __LINE__ + 1;
    const Array c = a + b;
    const Array d = exp(c) * 2 + sum(c, 5);
    return d;
  });
  on_error(nullptr);
  expect_at(e, line, "SG0101", "add");
  EXPECT_EQ(told, 1) << "consequences of a mistake are silent";
}

TEST(DslErrors, NumbersThatTheTypeCannotHold) {
  EXPECT_NE(error_of({i32()}, [](Array k) { return k + 0.5; }).message.find("the number 0.5 is no i32"), std::string::npos);
  EXPECT_NE(error_of({u32()}, [](Array k) { return k + -1; }).message.find("the number -1 is no u32"), std::string::npos);
  EXPECT_NE(error_of({i32()}, [](Array k) { return k + 3000000000u; }).message.find("3000000000 is no i32"),
            std::string::npos);
  EXPECT_NE(error_of({boolean()}, [](Array b) { return b == 1; }).message.find("1 is no bool"), std::string::npos);
  EXPECT_NE(error_of({f32()}, [](Array x) { return x * true; }).message.find("true is no f32"), std::string::npos);
  EXPECT_NE(error_of({f32()}, [](Array x) { return x * 1e300; }).message.find("too large for f32"), std::string::npos);
}

TEST(DslErrors, EachOperationChecksItsOperands) {
  struct Case {
    std::string part;
    std::function<Array(Array x, Array k)> body;  // x: f32[2,3], k: i32[2]
  };
  const std::vector<Case> cases = {
      {"div: / divides floats", [](Array, Array k) { return k / 2; }},
      {"quot: divides integers", [](Array x, Array) { return quot(x, 2); }},
      {"exp: needs floats", [](Array, Array k) { return exp(k); }},
      {"mean: not defined for i32", [](Array, Array k) { return mean(k); }},
      {"sum: not defined for bool", [](Array x, Array) { return sum(x > 0); }},
      {"sum: axis 1 of f32[2,3] stands twice",
       [](Array x, Array) {
         return sum(x, {1, -1});
       }},
      {"max: axis -3 does not exist", [](Array x, Array) { return max(x, {-3}); }},
      {"argmax: axis 2 does not exist", [](Array x, Array) { return argmax(x, 2); }},
      {"argmin: axis 0", [](Array, Array) { return argmin(zeros(f32({0}))); }},
      {"any: needs a bool array", [](Array x, Array) { return any(x); }},
      {"where: the mask must be bool", [](Array x, Array) { return where(x, x, x); }},
      {"select: the mask must be bool", [](Array x, Array) { return select(x, x, x); }},
      {"select: element types", [](Array x, Array k) { return select(x > 0, x, k); }},
      {"cond: the condition must be one bool", [](Array x, Array) { return cond(x > 0, x, x); }},
      {"reshape", [](Array x, Array) { return reshape(x, {4}); }},
      {"no extent makes",
       [](Array x, Array) {
         return reshape(x, {4, -1});
       }},
      {"only one extent",
       [](Array x, Array) {
         return reshape(x, {-1, -1});
       }},
      {"transpose: 1 axes", [](Array x, Array) { return transpose(x, {0}); }},
      {"transpose: axis 0 stands twice",
       [](Array x, Array) {
         return transpose(x, {0, 0});
       }},
      {"broadcast: f32[2,3] does not stretch to [2]", [](Array x, Array) { return broadcast_to(x, {2}); }},
      {"slice: 1 to 5 is not inside axis 1", [](Array x, Array) { return slice(x, 1, 5, 1); }},
      {"window: negative extent", [](Array x, Array) { return window(x, 0, -1); }},
      {"reverse: axis 2", [](Array x, Array) { return reverse(x, 2); }},
      {"replicate: axis 4", [](Array x, Array) { return replicate(x, 2, 4); }},
      {"replicate: negative count -2", [](Array x, Array) { return replicate(x, -2); }},
      {"concat: ranks",
       [](Array x, Array) {
         return concat({x, x(0)});
       }},
      {"concat: needs at least one", [](Array, Array) { return concat(std::vector<Array>{}); }},
      {"elements",
       [](Array x, Array) {
         return stack({x(0), x(0, 0)});
       }},
      {"index must be i32", [](Array x, Array) { return x(0.5); }},
      {"index: shapes", [](Array x, Array k) { return x(k, iota(3)); }},
      {"scatter: 1 indices for target axes [2,2]",
       [](Array x, Array k) {
         return scatter({2, 2}, x, {k});
       }},
      {"do not begin with the index shape", [](Array x, Array) { return scatter({2}, x, {iota(5)}); }},
      {"gather: needs at least one index", [](Array x, Array) { return gather(x, std::vector<Array>{}); }},
      {"one_hot: an index must be i32", [](Array x, Array) { return one_hot(x, 3); }},
      {"outer: needs two vectors", [](Array x, Array) { return outer(x, x); }},
      {"dot: needs two vectors", [](Array x, Array) { return dot(x, x); }},
      {"inner extents 3 and 2 differ", [](Array x, Array) { return matmul(x, x); }},
      {"both need at least one axis", [](Array x, Array) { return matmul(x, 2); }},
      {"iota: axis 1", [](Array, Array) { return iota({3}, 1); }},
      {"2.5 is no i32", [](Array, Array) { return full(i32(), 2.5); }},
      {"2 is no bool", [](Array, Array) { return full(boolean(), 2); }},
      {"build: negative extent", [](Array x, Array) { return build(-1, [&](Index i) { return x(i); }); }},
      {"has 1 extent, the body takes 2 indices",
       [](Array x, Array) { return build(2, [&](Index i, Index j) { return x(i, j); }); }},
      {"has 2 extents, the body takes 1 index",
       [](Array x, Array) {
         return build({2, 3}, [&](Index i) { return x(i); });
       }},
      {"fori: negative number of steps",
       [](Array x, Array) {
         return fori(
             -1, [](Index, Array s) { return s; }, x);
       }},
      {"fold: elements are the rows", [](Array x, Array) { return fold([](Array s, Array) { return s; }, x, x(0, 0)); }},
      {"different numbers of rows",
       [](Array x, Array) { return fold([](Array s, std::pair<Array, Array>) { return s; }, x, std::pair(x, iota(3))); }},
      {"no elements say how many steps",
       [](Array x, Array) { return fold([](Array s, std::vector<Array>) { return s; }, x, std::vector<Array>{}); }},
      {"the state has 1 arrays, the body returns 2",
       [](Array x, Array) {
         return fori(
             2,
             [](Index, std::vector<Array> s) {
               return std::vector<Array>{s[0], s[0]};
             },
             std::vector<Array>{x})[0];
       }},
  };
  for (const Case& c : cases) {
    const Error e = error_of({f32({2, 3}), i32({2})}, c.body);
    EXPECT_NE(e.message.find(c.part), std::string::npos) << c.part << "\n" << e.str();
    EXPECT_GT(e.loc.line, 100) << e.str();
    EXPECT_NE(e.loc.file.find("dsl_errors_test.cpp"), std::string::npos) << c.part << "\n" << e.str();
  }
}

TEST(DslErrors, SignatureOfTheProgram) {
  const auto one = [](Array x) { return x; };
  const auto code = [&](const Result<Program>& r) { return r ? "no error" : r.error().code + " " + r.error().message; };
  const auto expect = [&](const Result<Program>& r, const std::string& part) {
    EXPECT_NE(code(r).find(part), std::string::npos) << code(r);
    ASSERT_FALSE(r);
    EXPECT_NE(r.error().loc.line, 0) << part;
  };
  expect(trace("t", {{"x", f32()}, {"y", f32()}}, one), "the lambda takes 1 arrays, 2 parameters are declared");
  expect(trace("t", {{"x", f32()}, {"x", f32()}}, [](Array, Array y) { return y; }), "two parameters are called 'x'");
  expect(trace("t", {{"2x", f32()}}, one), "'2x': a name is made of letters");
  expect(trace("", {{"x", f32()}}, one), "a name is made of letters");
  expect(trace("t", {{"x", f32({1, 1, 1, 1, 1, 1, 1})}}, one), "SG0104");
  expect(trace("t", {{"x", f32({-1})}}, one), "an extent is negative");
  expect(trace("t", {{"x", f32({1 << 30, 1 << 30, 1 << 30})}}, one), "too many elements");
  expect(trace("t", {{"x", f32({1, 1, 1, 1, 1, 1})}}, [](Array x) { return replicate(x, 2); }), "SG0104");
  expect(trace("t", {{"x", f32()}}, [](Array x) { return std::tuple(Named("a", x), Named("a", x)); }),
         "two results are called 'a'");
  expect(trace("t", {{"x", f32()}}, [](Array x) { return Named("a b", x); }), "a name is made of letters");
  expect(trace("t", {{"x", f32()}}, [](Array) { return std::vector<Array>{}; }), "has no results");
  expect(trace("t", {{"x", f32()}}, [](Array) { return Array(); }), "an operand has no value");
}

TEST(DslErrors, ArrayOfAnotherTraceIsRefused) {
  Array leaked;
  int line = 0;
  ASSERT_TRUE(trace("first", {{"x", f32()}}, [&](Array x) { return leaked = x * 2; }));
  const Error e = error_of({f32()}, [&](Array x) {
    line = __LINE__ + 1;
    return x + leaked;
  });
  expect_at(e, line, "SG0404", "belongs to another trace");
  const Error inner = error_of({f32()}, [&](Array x) {
    const Result<Program> nested = trace("nested", {{"y", f32()}}, [&](Array y) { return x * y; });
    EXPECT_FALSE(nested);
    EXPECT_EQ(nested.error().code, "SG0404");
    return x + leaked;
  });
  EXPECT_EQ(inner.code, "SG0404");
}

TEST(DslErrors, ArrayOutsideOfAnyTraceIsToldToTheHook) {
  Array leaked;
  std::vector<Error> told;
  ASSERT_TRUE(trace("first", {{"x", f32()}}, [&](Array x) { return leaked = x * 2; }));
  on_error([&](const Error& e) { told.push_back(e); });
  const int line = __LINE__ + 1;
  const Array y = leaked + 1;
  on_error(nullptr);
  EXPECT_FALSE(y.has_value());
  ASSERT_EQ(told.size(), 1u);
  expect_at(told[0], line, "SG0404", "no trace() is running");
}

TEST(DslErrors, IndexMayNotLeaveItsBuild) {
  const Error e = error_of({f32({3})}, [](Array x) {
    Index leaked;
    const Array y = build(3, [&](Index i) {
      leaked = i;
      return x(i);
    });
    return y + x(leaked);
  });
  EXPECT_EQ(e.code, "SG0403");
  EXPECT_FALSE(e.help.empty());
}

TEST(DslErrors, ExceptionsOfTheBodyPassThroughAndEndTheTrace) {
  EXPECT_THROW((void)trace("t", {{"x", f32()}},
                           [](Array x) -> Array {
                             if (x.has_value()) throw std::runtime_error("mine");
                             return x;
                           }),
               std::runtime_error);
  Array a;
  std::vector<Error> told;
  on_error([&](const Error& e) { told.push_back(e); });
  a = a + 1;
  on_error(nullptr);
  ASSERT_EQ(told.size(), 1u);
  EXPECT_NE(told[0].message.find("no trace() is running"), std::string::npos);
}

TEST(DslErrors, LongProgramsDoNotRecurse) {
  const Result<Program> r = trace("t", {{"x", f32()}}, [](Array x) {
    for (int j = 0; j < 50000; ++j) x = sin(x) + 1;
    return x;
  });
  EXPECT_TRUE(r);
}

TEST(DslErrors, ResultsHaveNames) {
  const Result<Program> r = trace("t", {{"x", f32()}}, [](Array x) { return std::tuple(x, Named("twice", 2 * x), 3); });
  ASSERT_TRUE(r) << r.error().str();
  ASSERT_EQ(r->results.size(), 3u);
  EXPECT_EQ(r->results[0].name, "out0");
  EXPECT_EQ(r->results[1].name, "twice");
  EXPECT_EQ(r->results[2].type, i32());
  EXPECT_EQ(trace("t", {{"x", f32()}}, [](Array x) { return x; })->results[0].name, "out");
}

}  // namespace dsl_errors_test
}  // namespace spirograd
