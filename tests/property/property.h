// What the property tests over random programs share: the seed, shrinking, printing, comparing.
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <cmath>
#include <cstdlib>
#include <functional>
#include <iostream>
#include <map>
#include <sstream>
#include <string>

#include "frontend/ir/algebra.h"
#include "frontend/ir/eval.h"
#include "frontend/ir/own_graph.h"
#include "frontend/ir/traverse.h"
#include "spirograd/host_array.h"
#include "spirograd/text.h"
#include "spirv/lower/plan.h"
#include "support/random_program.h"

namespace spirograd::property {

using test::Decisions;
using test::RandomOptions;
using test::RandomProgram;
using Values = std::vector<double>;

/// SPIROGRAD_SEED, or a fixed number; printed, so that a run can be repeated.
inline uint64_t base_seed() {
  static const uint64_t seed = [] {
    const char* given = std::getenv("SPIROGRAD_SEED");
    const uint64_t s = given ? std::strtoull(given, nullptr, 10) : 20240229;
    std::cout << "SPIROGRAD_SEED=" << s << (given ? "\n" : " (the default)\n");
    return s;
  }();
  return seed;
}

/// The program as text, and its inputs.
inline std::string show(const RandomProgram& r) {
  std::ostringstream out;
  out.precision(17);
  out << text::print(r.program);
  for (size_t j = 0; j < r.inputs.size(); ++j) {
    out << "# " << r.program.params[j].name << " =";
    for (double x : r.inputs[j]) out << " " << x;
    out << "\n";
  }
  return out.str();
}

/// What is wrong with a program; "" if nothing.
using Property = std::function<std::string(const RandomProgram&)>;

/// Makes programs of decisions, and shows them to people.
struct Generator {
  std::function<RandomProgram(const Decisions&)> made;
  std::function<std::string(const Decisions&)> shown;
};
inline Generator generator(const RandomOptions& options) {
  const auto made = [options](const Decisions& d) { return test::random_program(d, options); };
  return {made, [made](const Decisions& d) { return show(made(d)); }};
}

/// Checks `count` programs, the first of which has number `first`, or as many as SPIROGRAD_SECONDS have room for. A failure
/// is shrunk and printed; after three the test ends. How many there were.
inline uint64_t check_generated(uint64_t first, uint64_t count, const Generator& generate, const Property& property,
                                int shrink_tries = 2000) {
  const char* given = std::getenv("SPIROGRAD_SECONDS");
  const std::chrono::duration<double> time(given ? std::strtod(given, nullptr) : 0);
  const auto start = std::chrono::steady_clock::now();
  const auto goes_on = [&](uint64_t k) {
    return given ? std::chrono::steady_clock::now() - start < time : k < first + count;
  };
  const auto defect = [&](const Decisions& d) -> std::string {
    try {
      return property(generate.made(d));
    } catch (const Error& e) {
      return e.str();
    } catch (const std::exception& e) {
      return e.what();
    }
  };
  int failures = 0;
  uint64_t k = first;
  for (; failures < 3 && goes_on(k); ++k) {
    const Decisions decisions = test::random_decisions(base_seed() * 1000003 + k);
    const std::string what = defect(decisions);
    if (what.empty()) continue;
    ++failures;
    // Shrink towards the same kind of failure: the words before the first number or bracket.
    const auto kind = [](const std::string& s) { return s.substr(0, s.find_first_of("0123456789[\n")); };
    const Decisions least = test::shrink(
        decisions, [&](const Decisions& d) { return kind(defect(d)) == kind(what); }, shrink_tries);
    ADD_FAILURE() << "SPIROGRAD_SEED=" << base_seed() << ", program " << k << ": " << what << "\nshrunk: " << defect(least)
                  << "\n"
                  << generate.shown(least);
  }
  return k - first;
}
inline void check_programs(uint64_t first, uint64_t count, const RandomOptions& options, const Property& property,
                           int shrink_tries = 2000) {
  check_generated(first, count, generator(options), property, shrink_tries);
}

inline std::vector<ir::NodeId> roots_of(const Program& p) {
  std::vector<ir::NodeId> roots;
  for (const ProgramResult& r : p.results) roots.push_back({r.node});
  return roots;
}

inline std::vector<HostArray> host_arrays(const Program& p, const std::vector<Values>& inputs) {
  std::vector<HostArray> arrays;
  for (size_t j = 0; j < inputs.size(); ++j) arrays.emplace_back(p.params[j].type, inputs[j]);
  return arrays;
}
inline std::vector<Values> values_of(const std::vector<HostArray>& arrays) {
  std::vector<Values> out;
  for (const HostArray& a : arrays) out.push_back(a.values());
  return out;
}
inline std::vector<Values> run(const Program& p, const std::vector<Values>& inputs) {
  std::vector<Values> out;
  for (ir::Array& a : ir::evaluate(p, inputs)) out.push_back(std::move(a.data));
  return out;
}

/// `message` with its origin in front, if there is one.
inline std::string named(const char* what, const std::string& message) {
  return message.empty() ? message : std::string(what) + ": " + message;
}

/// The first element that differs by more than `tolerance` max(1, |want|); "" if none. Beyond `huge` all values are alike.
inline std::string difference(const std::vector<Values>& want, const std::vector<Values>& have, double tolerance,
                              double huge = HUGE_VAL) {
  if (want.size() != have.size()) return "the number of results differs";
  for (size_t j = 0; j < want.size(); ++j) {
    if (want[j].size() != have[j].size()) return "the size of a result differs";
    for (size_t i = 0; i < want[j].size(); ++i) {
      const double a = want[j][i], b = have[j][i];
      if (a == b || (std::isnan(a) && std::isnan(b)) || std::abs(a - b) <= tolerance * std::max(1.0, std::abs(a))) continue;
      if (std::abs(a) >= huge && std::abs(b) >= huge && std::signbit(a) == std::signbit(b)) continue;
      std::ostringstream out;
      out.precision(9);
      out << "result " << j << "[" << i << "]: " << a << " expected, got " << b;
      return out.str();
    }
  }
  return {};
}

/// The program with every node, in loop bodies too, given to `f` with its operands replaced, and with other types.
inline Program mapped(
    Program p, const std::function<ir::NodeId(ir::Graph&, ir::Node)>& f,
    const std::function<Type(Type)>& retype = [](Type t) { return t; }) {
  ir::Graph& g = *ir::make_graph_private(p);
  std::map<int64_t, int64_t> functions;
  std::function<std::vector<ir::NodeId>(const std::vector<ir::NodeId>&)> map = [&](const std::vector<ir::NodeId>& roots) {
    ir::Memo memo;  // one per scope: parameters of loop bodies are nodes of their own scope
    return ir::rebuild(g, roots, memo, [&](ir::NodeId, ir::NodeId built) {
      ir::Node n = g[built];
      if (n.op == ir::Op::MapAccum) {
        const auto [at, fresh] = functions.try_emplace(n.attr[0], 0);
        if (fresh) {
          ir::Function body = g.function(n.attr[0]);
          for (Type& t : body.params) t = retype(t);
          body.results = map(body.results);
          at->second = g.intern(std::move(body));
        }
        n.attr[0] = at->second;
      }
      return f(g, std::move(n));
    });
  };
  Program out = p;
  const std::vector<ir::NodeId> roots = map(roots_of(p));
  for (Param& q : out.params) q.type = retype(q.type);
  for (size_t j = 0; j < roots.size(); ++j) {
    out.results[j].node = roots[j].v;
    out.results[j].type = retype(out.results[j].type);
  }
  return out;
}

/// The program with each operand whose sign of zero shows made +0 where it is 0: of atan2, divisors, bases of powers.
/// Rewrites keep values up to the sign of zeros only.
inline Program with_plain_zeros(const Program& p) {
  return mapped(p, [](ir::Graph& g, ir::Node n) {
    const auto plain = [&](size_t j) {
      const ir::Expr x = {&g, n.in[j]}, zero = ir::full(g, x.type(), 0);
      n.in[j] = ir::select(ir::binary(ir::Op::Eq, x, zero), zero, x).id;
    };
    if (n.op == ir::Op::Atan2 || n.op == ir::Op::Pow) plain(0);
    if (n.op == ir::Op::Atan2 || n.op == ir::Op::Div || n.op == ir::Op::MaskedDiv) plain(1);
    return g.intern(std::move(n));
  });
}

/// The same program with f64 for every f32: tells a mistake of lowering from what f32 rounding does to it.
inline Program in_f64(const Program& p) {
  const auto wide = [](Type t) { return t.dtype == DType::F32 ? Type{DType::F64, t.shape} : t; };
  return mapped(
      p,
      [&](ir::Graph& g, ir::Node n) {
        n.type = wide(n.type);
        return n.op == ir::Op::Cast && g[n.in[0]].type == n.type ? n.in[0] : g.intern(std::move(n));
      },
      wide);
}

}  // namespace spirograd::property
