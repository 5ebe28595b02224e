#include "vk_runtime/probe_findings.h"

#include <algorithm>
#include <bit>
#include <cstdio>
#include <cstring>

namespace spirograd::vk {
namespace {

std::string hex(uint32_t word) {
  char text[11];
  std::snprintf(text, sizeof text, "0x%08x", word);
  return text;
}

// Distance of two f32 in last places, 0 for two NaN.
uint64_t distance(uint32_t a, uint32_t b) {
  const auto is_nan = [](uint32_t x) { return (x & 0x7fffffff) > 0x7f800000; };
  if (is_nan(a) && is_nan(b)) return 0;
  if (is_nan(a) || is_nan(b)) return ~uint32_t{0};
  const auto ordered = [](uint32_t x) { return x >> 31 ? -static_cast<int64_t>(x & 0x7fffffff) : static_cast<int64_t>(x); };
  return static_cast<uint64_t>(std::abs(ordered(a) - ordered(b)));
}

uint32_t expected(const Expectation& e, uint32_t i) { return e.steps ? e.words[0] + i * e.words[1] : e.words[i]; }

struct Comparison {
  bool right = true;
  uint64_t worst = 0;  // in last places
  std::string text;    // of what is wrong
};

Comparison compare(const Expectation& e, std::span<const uint32_t> found) {
  uint64_t worst = 0;
  uint32_t wrong = 0, first = 0;
  for (uint32_t i = 0; i < e.count; ++i) {
    const uint32_t want = expected(e, i);
    const uint64_t far = e.ulps > 0 ? distance(found[i], want) : uint64_t{found[i] != want};
    worst = std::max(worst, far);
    if (far > e.ulps && wrong++ == 0) first = i;
  }
  if (wrong == 0) return {true, worst, ""};
  return {false, worst,
          e.what + ": " + std::to_string(wrong) + " of " + std::to_string(e.count) + " wrong, number " +
              std::to_string(first) + " is " + hex(found[first]) + " instead of " + hex(expected(e, first)) +
              (e.ulps == 0 ? "" : ", " + std::to_string(worst) + " ULP away at most")};
}

// Iterations that one invocation gets over all its loops together, as far as this was tried: what nobody has seen run does
// not count. 0: the loops did not even compute what they counted.
uint64_t proved_iterations(std::span<const uint32_t> report) {
  uint64_t all = 0, limit = kNoLimit;
  for (size_t i = 0; i < kLoopCases.size(); ++i) {
    const auto [outer, inner] = kLoopCases[i];
    const uint32_t state = report[kLoopReport * i], steps = report[kLoopReport * i + 1],
                   rounds = report[kLoopReport * i + 2];
    if (steps > outer * inner || rounds > outer) return 0;
    uint32_t want = 1;
    for (uint32_t k = 0; k < steps; ++k) want = next_state(want);
    if (state != want) return 0;
    if (outer == 1) all = std::max<uint64_t>(all, steps);
    if (steps < outer * inner || rounds < outer) limit = std::min<uint64_t>(limit, outer == 1 ? steps : steps + rounds);
  }
  return std::min(all, limit);
}

}  // namespace

std::vector<Finding> judged(const Probe& probe, BindingForm form, std::span<const std::vector<uint32_t>> outputs) {
  std::vector<Finding> out;
  for (const Expectation& e : probe.expected) {
    const auto words = std::span(outputs[e.output]).subspan(e.first, e.count);
    const auto [right, worst, text] = compare(e, words);
    auto known =
        std::find_if(out.begin(), out.end(), [&](const Finding& f) { return f.number == e.number && f.part == e.part; });
    if (known == out.end()) known = out.insert(out.end(), {e.number, e.part, form, Outcome::Passed, 0, ""});
    if (e.number == 5) {
      known->value = proved_iterations(words);
      known->text = std::to_string(known->value) + " iterations of one invocation";
      known->outcome = right ? Outcome::Passed : Outcome::Wrong;
    } else if (!right && known->outcome == Outcome::Passed) {
      known->outcome = Outcome::Wrong;
      known->text = text;  // the first mistake
    } else if (right && known->outcome == Outcome::Passed && e.ulps > 0 && (known->text.empty() || worst > known->value)) {
      known->value = worst;  // the farthest away
      known->text = std::to_string(worst) + " ULP at most, in " + e.what;
    }
  }
  return out;
}

std::vector<Finding> same_for_all(const Probe& probe, BindingForm form, Outcome outcome, const std::string& text) {
  std::vector<Finding> out;
  for (const Expectation& e : probe.expected)
    if (std::none_of(out.begin(), out.end(), [&](const Finding& f) { return f.number == e.number && f.part == e.part; }))
      out.push_back({e.number, e.part, form, outcome, 0, text});
  return out;
}

namespace {

constexpr uint64_t kMostFindings = 1000, kMostText = 100'000;

// Little-endian numbers one after another; reading beyond the end gives zeros and is remembered.
struct Bytes {
  std::vector<uint8_t> data;
  size_t at = 0;
  bool ended = false;

  void put(uint64_t x) {
    for (int i = 0; i < 8; ++i) data.push_back(static_cast<uint8_t>(x >> (8 * i)));
  }
  uint64_t get() {
    if (data.size() - at < 8) return ended = true, 0;
    uint64_t x = 0;
    for (int i = 0; i < 8; ++i) x |= uint64_t{data[at++]} << (8 * i);
    return x;
  }
};

}  // namespace

std::vector<uint8_t> encode(const Findings& findings, uint64_t key) {
  Bytes b;
  b.put(key);
  b.put(findings.thorough);
  for (double x : {findings.speeds.iterations, findings.speeds.compile, findings.speeds.written, findings.speeds.read})
    b.put(std::bit_cast<uint64_t>(x));
  b.put(findings.list.size());
  for (const Finding& f : findings.list) {
    for (uint64_t x : {uint64_t{f.number}, uint64_t{f.part}, static_cast<uint64_t>(f.form), static_cast<uint64_t>(f.outcome),
                       f.value, uint64_t{f.text.size()}})
      b.put(x);
    b.data.insert(b.data.end(), f.text.begin(), f.text.end());
  }
  return std::move(b.data);
}

std::optional<Findings> decode(std::span<const uint8_t> bytes, uint64_t key) {
  Bytes b{{bytes.begin(), bytes.end()}};
  if (b.get() != key) return std::nullopt;
  Findings out;
  out.thorough = b.get() != 0;
  for (double* x : {&out.speeds.iterations, &out.speeds.compile, &out.speeds.written, &out.speeds.read})
    *x = std::bit_cast<double>(b.get());
  const uint64_t count = b.get();
  for (uint64_t i = 0; i < count && count <= kMostFindings && !b.ended; ++i) {
    Finding f;
    f.number = static_cast<uint32_t>(b.get());
    f.part = static_cast<uint32_t>(b.get());
    f.form = b.get() == 0 ? BindingForm::Address : BindingForm::Descriptors;
    const uint64_t outcome = b.get();
    f.outcome = static_cast<Outcome>(std::min(outcome, static_cast<uint64_t>(Outcome::Hung)));
    f.value = b.get();
    const uint64_t length = b.get();
    if (b.ended || length > std::min<uint64_t>(kMostText, b.data.size() - b.at)) return std::nullopt;
    f.text.assign(b.data.begin() + static_cast<ptrdiff_t>(b.at), b.data.begin() + static_cast<ptrdiff_t>(b.at + length));
    b.at += length;
    out.list.push_back(std::move(f));
  }
  if (b.ended || b.at != b.data.size() || out.list.size() != count) return std::nullopt;
  return out;
}

}  // namespace spirograd::vk
