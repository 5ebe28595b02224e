// From invented findings to facts: what each probe decides, how forms are chosen, how findings are kept.
#include "vk_runtime/probe_verdicts.h"

#include <gtest/gtest.h>

#include <functional>

#include "vk_runtime/probe_table.h"

namespace spirograd::vk {
namespace probe_verdicts_test {

constexpr auto kAddress = BindingForm::Address;
constexpr auto kDescriptors = BindingForm::Descriptors;

Target offered() {
  Target t;
  t.float64 = t.float16_storage = t.float16_addresses = t.atomic_float_add = t.device_address = true;
  t.subgroup_size = 32;
  t.subgroup_operations = 31;
  return t;
}

// Of a device on which everything is right.
std::vector<Finding> good() {
  std::vector<Finding> out;
  for (BindingForm form : {kAddress, kDescriptors})
    for (const ProbeRow& row : probe_table()) {
      out.push_back({row.number, kWholeProbe, form, Outcome::Passed, row.number == 5 ? 1'000'003u : 0u, ""});
      if (row.number == 30)
        for (uint32_t part : {kLanePart, kLaneSumPart}) out.push_back({30, part, form, Outcome::Passed, 0, ""});
      if (row.number == 4) out.push_back({4, kBasePart, form, Outcome::Passed, 0, ""});
    }
  return out;
}

// The same, but for one number: in both forms, or in one.
std::vector<Finding> bad(uint32_t number, Outcome outcome, uint32_t part = kWholeProbe,
                         std::optional<BindingForm> form = std::nullopt, uint64_t value = 0) {
  std::vector<Finding> all = good();
  for (Finding& f : all)
    if (f.number == number && f.part == part && (!form || f.form == *form))
      f.outcome = outcome, f.value = value, f.text = "an invented reason";
  return all;
}

Target after(uint32_t number, Outcome outcome = Outcome::Wrong, uint32_t part = kWholeProbe) {
  return conclude(offered(), bad(number, outcome, part)).target;
}

TEST(ProbeVerdicts, AGoodDeviceKeepsAllThatItOffers) {
  const Proof p = conclude(offered(), good());
  Target expected = offered();
  expected.max_loop_iterations = 1'000'003;
  EXPECT_EQ(p.target, expected);
  EXPECT_EQ(p.unusable, "");
  EXPECT_FALSE(p.full_barriers);
  ASSERT_EQ(p.verdicts.size(), 31u);
  for (size_t i = 0; i < 31; ++i) {
    EXPECT_EQ(p.verdicts[i].number, i + 1);
    EXPECT_EQ(p.verdicts[i].name, probe_table()[i].name);
    EXPECT_EQ(p.verdicts[i].outcome, Outcome::Passed);
  }
  EXPECT_EQ(p.verdicts[0].text, "by addresses and descriptors");
}

// Whatever goes wrong is said, with what is done about it; and each row of the table that decides changes something.
TEST(ProbeVerdicts, EveryRowIsSaidAndEveryDecidingOneDecides) {
  const Proof right = conclude(offered(), good());
  for (const ProbeRow& row : probe_table())
    for (Outcome outcome : {Outcome::Wrong, Outcome::Failed, Outcome::Hung}) {
      const Proof p = conclude(offered(), bad(row.number, outcome));
      EXPECT_EQ(p.verdicts[row.number - 1].outcome, outcome);
      EXPECT_NE(p.verdicts[row.number - 1].text.find("an invented reason"), std::string::npos);
      EXPECT_NE(p.verdicts[row.number - 1].text.find(row.otherwise), std::string::npos);
      const bool changes = p.target != right.target || p.full_barriers || !p.unusable.empty();
      EXPECT_EQ(changes, row.weight == Weight::Decides) << row.name << ", " << name(outcome);
    }
}

TEST(ProbeVerdicts, FactsFall) {
  EXPECT_LT(after(3).max_array, uint64_t{1} << 31);
  EXPECT_FALSE(after(4).folded_grids);
  EXPECT_TRUE(after(4).dispatch_base);
  EXPECT_FALSE(after(4, Outcome::Wrong, kBasePart).dispatch_base);
  EXPECT_TRUE(after(4, Outcome::Wrong, kBasePart).folded_grids);
  EXPECT_FALSE(after(6).exchange_float_add);
  EXPECT_TRUE(after(6).atomic_float_add);
  EXPECT_FALSE(after(7).atomic_float_add);
  EXPECT_TRUE(after(7).exchange_float_add);
  EXPECT_FALSE(after(8).integer_atomics);
  EXPECT_FALSE(after(9, Outcome::Hung).exchange_float_add);
  EXPECT_TRUE(conclude(offered(), bad(10, Outcome::Wrong)).full_barriers);
  EXPECT_FALSE(after(25).float64);
  EXPECT_FALSE(after(31).float16_storage || after(31).float16_addresses);
  EXPECT_FALSE(after(30).shared_memory);
  EXPECT_EQ(after(30, Outcome::Wrong, kLanePart).subgroup_operations & kSubgroupShuffle, 0u);
  EXPECT_TRUE(after(30, Outcome::Wrong, kLanePart).shared_memory);
  EXPECT_EQ(after(30, Outcome::Wrong, kLaneSumPart).subgroup_operations,
            uint32_t{kSubgroupBasic | kSubgroupVote | kSubgroupShuffle});
}

TEST(ProbeVerdicts, SomeMistakesMakeADeviceUnusableByName) {
  for (uint32_t number : {12u, 13u, 14u, 24u}) {
    const std::string why = conclude(offered(), bad(number, Outcome::Wrong)).unusable;
    EXPECT_NE(why.find(probe_table()[number - 1].name), std::string::npos) << why;
    EXPECT_NE(why.find("an invented reason"), std::string::npos) << why;
  }
  EXPECT_NE(conclude(offered(), bad(5, Outcome::Wrong)).unusable.find("long loops"), std::string::npos);
}

TEST(ProbeVerdicts, LoopsThatEndEarlyAreALimit) {
  const auto limit = [](std::vector<Finding> f) { return conclude(offered(), f).target.max_loop_iterations; };
  EXPECT_EQ(limit(bad(5, Outcome::Wrong, kWholeProbe, std::nullopt, 65471)), 65471u);
  EXPECT_EQ(limit(bad(5, Outcome::Wrong, kWholeProbe, kDescriptors, 70000)), 70000u) << "the least of both forms";
  EXPECT_EQ(limit(bad(5, Outcome::Hung)), 65535u) << "what is assumed where nothing was counted";
  EXPECT_EQ(limit({}), 65535u);
}

TEST(ProbeVerdicts, TheFormThatCannotComputeIsNotUsed) {
  for (uint32_t number : {1u, 2u}) {
    Proof p = conclude(offered(), bad(number, Outcome::Wrong, kWholeProbe, kAddress));
    EXPECT_FALSE(p.target.device_address);
    EXPECT_TRUE(p.target.descriptors);
    EXPECT_EQ(p.unusable, "");
    p = conclude(offered(), bad(number, Outcome::Failed, kWholeProbe, kDescriptors));
    EXPECT_TRUE(p.target.device_address);
    EXPECT_FALSE(p.target.descriptors);
    EXPECT_EQ(p.unusable, "");
    p = conclude(offered(), bad(number, Outcome::Hung));
    EXPECT_NE(p.unusable.find("binding form"), std::string::npos);
    EXPECT_NE(p.unusable.find("an invented reason"), std::string::npos);
  }
}

// A driver that adds wrongly through addresses only: descriptors serve, and lose nothing.
TEST(ProbeVerdicts, TheFormThatIsRightIsPreferredToFewerFacts) {
  const std::vector<Finding> findings = bad(6, Outcome::Wrong, kWholeProbe, kAddress);
  EXPECT_TRUE(doubts_addresses(findings));
  const Proof p = conclude(offered(), findings);
  EXPECT_FALSE(p.target.device_address);
  EXPECT_TRUE(p.target.exchange_float_add);
  EXPECT_TRUE(doubts_addresses(bad(12, Outcome::Failed)));
  EXPECT_FALSE(doubts_addresses(bad(6, Outcome::Wrong, kWholeProbe, kDescriptors)));
  EXPECT_FALSE(doubts_addresses(bad(5, Outcome::Wrong))) << "loops end early in both";
  EXPECT_FALSE(doubts_addresses(bad(21, Outcome::Wrong))) << "decides nothing";
  // One form is wrong in this, the other one in that: addresses go, and not both.
  std::vector<Finding> both = bad(6, Outcome::Wrong, kWholeProbe, kAddress);
  for (Finding& f : both)
    if (f.number == 8 && f.form == kDescriptors) f.outcome = Outcome::Wrong;
  EXPECT_FALSE(conclude(offered(), both).target.device_address);
  EXPECT_TRUE(conclude(offered(), both).target.descriptors);
  EXPECT_FALSE(conclude(offered(), both).target.integer_atomics);
}

TEST(ProbeVerdicts, WhatWasNotRunIsNotProvedAndNotRefused) {
  const Proof p = conclude(offered(), {});
  EXPECT_FALSE(p.target.atomic_float_add);
  EXPECT_EQ(p.target.subgroup_operations, uint32_t{kSubgroupBasic});
  EXPECT_TRUE(p.target.exchange_float_add);
  EXPECT_TRUE(p.target.device_address);
  EXPECT_TRUE(p.target.float64);
  EXPECT_EQ(p.unusable, "");
  for (const Verdict& v : p.verdicts) EXPECT_EQ(v.outcome, Outcome::NotRun);
}

TEST(ProbeVerdicts, WhatIsNotOfferedIsSaid) {
  const Proof p = conclude(offered(), bad(7, Outcome::NotOffered));
  EXPECT_EQ(p.verdicts[6].outcome, Outcome::NotOffered);
  EXPECT_FALSE(p.target.atomic_float_add);
  // Sixteen pointers are too many for this device, four are right.
  std::vector<Finding> some = good();
  some.push_back({2, kWholeProbe, kDescriptors, Outcome::NotOffered, 0, ""});
  EXPECT_EQ(conclude(offered(), some).verdicts[1].outcome, Outcome::Passed);
}

Probe invented(const std::vector<Expectation>& expected) {
  Probe p;
  p.expected = expected;
  return p;
}

TEST(ProbeFindings, TellTheFirstMistake) {
  const Probe p = invented({{6, 0, "sums", 0, 1, 3, true, 0, {10, 5}}, {7, 0, "others", 1, 0, 1, false, 0, {3}}});
  const std::vector<std::vector<uint32_t>> right = {{99, 10, 15, 20, 99}, {3}}, wrong = {{10, 10, 16, 21}, {3}};
  for (const Finding& f : judged(p, kAddress, right)) EXPECT_EQ(f.outcome, Outcome::Passed) << f.text;
  const std::vector<Finding> found = judged(p, kAddress, wrong);
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[0].outcome, Outcome::Wrong);
  EXPECT_EQ(found[0].text, "sums: 2 of 3 wrong, number 1 is 0x00000010 instead of 0x0000000f");
  EXPECT_EQ(found[1].outcome, Outcome::Passed);
}

TEST(ProbeFindings, CountLastPlaces) {
  const uint32_t one = 0x3f800000, nan = 0x7fc00000;
  const Probe p =
      invented({{23, 0, "exp", 0, 0, 2, false, 4, {one, nan}}, {23, 0, "log", 0, 2, 2, false, 4, {1, 0x80000001}}});
  const std::vector<Finding> near =
      judged(p, kAddress, std::vector<std::vector<uint32_t>>{{one + 2, nan + 1, 1, 0x80000002}});
  ASSERT_EQ(near.size(), 1u);
  EXPECT_EQ(near[0].outcome, Outcome::Passed);
  EXPECT_EQ(near[0].text, "2 ULP at most, in exp");
  // From -1 to 1 of the least denormal are two steps; NaN is far from everything else.
  EXPECT_EQ(judged(p, kAddress, std::vector<std::vector<uint32_t>>{{one, nan, 0x80000001, 1}})[0].text,
            "2 ULP at most, in log");
  EXPECT_EQ(judged(p, kAddress, std::vector<std::vector<uint32_t>>{{one + 5, nan, 1, 1}})[0].outcome, Outcome::Wrong);
  EXPECT_EQ(judged(p, kAddress, std::vector<std::vector<uint32_t>>{{one, one, 1, 1}})[0].outcome, Outcome::Wrong);
}

// Reports of drivers that end loops after `most` steps and rounds, all loops together.
std::vector<uint32_t> report(uint32_t most) {
  std::vector<uint32_t> out;
  for (const auto& [outer, inner] : kLoopCases) {
    uint32_t state = 1, steps = 0, rounds = 0;
    for (; rounds < outer && steps + rounds < most; ++rounds)
      for (uint32_t j = 0; j < inner && steps + rounds < most; ++j, ++steps) state = next_state(state);
    out.insert(out.end(), {state, steps, rounds});
  }
  return out;
}

TEST(ProbeFindings, CountIterations) {
  const auto words = static_cast<uint32_t>(kLoopReport * kLoopCases.size());
  const Probe p = invented({{5, 0, "loops", 0, 0, words, false, 0, report(~0u)}});
  const auto found = [&](std::vector<uint32_t> out) {
    return judged(p, kAddress, std::vector<std::vector<uint32_t>>{std::move(out)})[0];
  };
  EXPECT_EQ(found(report(~0u)).outcome, Outcome::Passed);
  EXPECT_EQ(found(report(~0u)).value, 1'000'003u);
  EXPECT_EQ(found(report(65535)).outcome, Outcome::Wrong);
  EXPECT_EQ(found(report(65535)).value, 65535u);
  EXPECT_NE(found(report(65535)).text.find("65535"), std::string::npos);
  std::vector<uint32_t> wrong = report(~0u);
  wrong[kLoopReport * 2] ^= 1;
  EXPECT_EQ(found(wrong).value, 0u) << "two steps were counted, but not computed";
}

TEST(ProbeFindings, AreKeptUnderTheirKey) {
  Findings f;
  f.list = bad(6, Outcome::Hung);
  f.speeds.read = 1.5e9;
  f.thorough = true;
  const std::vector<uint8_t> bytes = encode(f, 77);
  ASSERT_TRUE(decode(bytes, 77));
  EXPECT_EQ(*decode(bytes, 77), f);
  EXPECT_FALSE(decode(bytes, 78)) << "other probes, or another device";
  for (size_t n = 0; n < bytes.size(); ++n) EXPECT_FALSE(decode(std::span(bytes).first(n), 77)) << n;
  std::vector<uint8_t> longer = bytes;
  longer.push_back(0);
  EXPECT_FALSE(decode(longer, 77));
}

}  // namespace probe_verdicts_test
}  // namespace spirograd::vk
