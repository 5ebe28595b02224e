// .npz: stored and deflated members, zip64, and archives that lie.
#include "tools/io/npz.h"

#include <gtest/gtest.h>

#include <zlib.h>
#include <chrono>

#include <random>

namespace spirograd::io {
namespace npz_test {

std::string code_of(const auto& body) {
  try {
    body();
  } catch (const Error& e) {
    return e.code;
  }
  return "";
}

// A classic zip with one member, as zipfile of Python writes it.
std::vector<uint8_t> archive(const std::string& name, const std::vector<uint8_t>& data, bool deflated, uint32_t size,
                             uint32_t crc) {
  std::vector<uint8_t> packed = data;
  if (deflated) {
    packed.resize(compressBound(static_cast<uLong>(data.size())) + 64);
    z_stream z{};
    deflateInit2(&z, Z_BEST_COMPRESSION, Z_DEFLATED, -MAX_WBITS, 8, Z_DEFAULT_STRATEGY);
    z.next_in = const_cast<Bytef*>(data.data());
    z.avail_in = static_cast<uInt>(data.size());
    z.next_out = packed.data();
    z.avail_out = static_cast<uInt>(packed.size());
    EXPECT_EQ(deflate(&z, Z_FINISH), Z_STREAM_END);
    packed.resize(z.total_out);
    deflateEnd(&z);
  }
  std::vector<uint8_t> out;
  const auto put = [&](uint64_t x, int bytes) {
    for (int i = 0; i < bytes; ++i) out.push_back(static_cast<uint8_t>(x >> (8 * i)));
  };
  const auto common = [&] {
    put(20, 2), put(0, 2), put(deflated ? 8 : 0, 2), put(0, 4), put(crc, 4), put(packed.size(), 4), put(size, 4),
        put(name.size(), 2), put(0, 2);
  };
  put(0x04034b50, 4);
  common();
  out.insert(out.end(), name.begin(), name.end());
  out.insert(out.end(), packed.begin(), packed.end());
  const size_t directory = out.size();
  put(0x02014b50, 4), put(20, 2);
  common();
  put(0, 2), put(0, 2), put(0, 2), put(0, 4), put(0, 4);
  out.insert(out.end(), name.begin(), name.end());
  const size_t end = out.size();
  put(0x06054b50, 4), put(0, 4), put(1, 2), put(1, 2), put(end - directory, 4), put(directory, 4), put(7, 2);
  for (char c : std::string("comment")) out.push_back(static_cast<uint8_t>(c));
  return out;
}

uint32_t crc_of(const std::vector<uint8_t>& d) {
  return static_cast<uint32_t>(crc32(0, d.data(), static_cast<uInt>(d.size())));
}

const std::vector<uint8_t> kMember = npy_bytes(HostArray(f32({1000}), std::vector<double>(1000, 2.5)));
uint32_t member_size() { return static_cast<uint32_t>(kMember.size()); }

TEST(Npz, WhatIsWrittenReadsBack) {
  const HostArray a(f32({2, 2}), {1, 2, 3, 4}), b(i32(), {7}), c(f64({0}));
  const NpzReader r(npz_bytes({{"a", a}, {"b", b}, {"c", c}}), "x.npz");
  EXPECT_EQ(r.names(), (std::vector<std::string>{"a", "b", "c"}));
  EXPECT_EQ(to_host(r.read("a"), "a").bytes, a.bytes);
  EXPECT_EQ(to_host(r.read("b.npy"), "b").bytes, b.bytes);
  EXPECT_EQ(to_host(r.read("c"), "c").type, c.type);
  EXPECT_TRUE(NpzReader(npz_bytes({}), "x.npz").names().empty());
}

TEST(Npz, StoredAndDeflatedMembersAreRead) {
  for (bool deflated : {false, true}) {
    const NpzReader r(archive("x.npy", kMember, deflated, member_size(), crc_of(kMember)), "x.npz");
    EXPECT_EQ(to_host(r.read("x"), "x").values(), std::vector<double>(1000, 2.5));
  }
}

TEST(Npz, MissingMembersNameTheNearest) {
  const NpzReader r(npz_bytes({{"weights", HostArray(f32())}}), "x.npz");
  try {
    r.read("weigths");
    FAIL();
  } catch (const Error& e) {
    EXPECT_EQ(e.code, "SG0503");
    EXPECT_EQ(e.help, "did you mean 'weights'?");
  }
}

TEST(Npz, WrongSizesAndChecksumsAreRefused) {
  const auto read = [](const std::vector<uint8_t>& f) { return code_of([&] { NpzReader(f, "x.npz").read("x"); }); };
  for (bool deflated : {false, true}) {
    EXPECT_EQ(read(archive("x.npy", kMember, deflated, member_size(), crc_of(kMember))), "");
    EXPECT_EQ(read(archive("x.npy", kMember, deflated, member_size() - 1, crc_of(kMember))), "SG0501");
    EXPECT_EQ(read(archive("x.npy", kMember, deflated, member_size() + 1, crc_of(kMember))), "SG0501");
    EXPECT_EQ(read(archive("x.npy", kMember, deflated, 0xfffffff0, crc_of(kMember))), "SG0501");
    EXPECT_EQ(read(archive("x.npy", kMember, deflated, 0, crc_of(kMember))), "SG0501");
    EXPECT_EQ(read(archive("x.npy", kMember, deflated, member_size(), crc_of(kMember) ^ 1)), "SG0501");
  }
}

TEST(Npz, EveryTruncationIsRefused) {
  const std::vector<uint8_t> f = npz_bytes({{"x", HostArray(f32({2}), {1, 2})}});
  for (size_t n = 0; n < f.size(); ++n)
    EXPECT_EQ(code_of([&] {
                NpzReader({f.begin(), f.begin() + static_cast<std::ptrdiff_t>(n)}, "x.npz").read("x");
              }),
              "SG0501")
        << n;
}

// Any archive is refused with an error of ours, or gives the member that was stored.
TEST(Npz, DamagedArchivesNeverDoHarm) {
  std::mt19937 rng(3);
  const std::vector<uint8_t> zip64 = npz_bytes({{"x", HostArray(f32({2}), {1, 2})}});
  const std::vector<uint8_t> deflated = archive("x.npy", kMember, true, member_size(), crc_of(kMember));
  int refused = 0;
  for (int round = 0; round < 20000; ++round) {
    std::vector<uint8_t> f = round % 2 ? zip64 : deflated;
    for (int k = 0; k < 1 + round % 4; ++k) f[rng() % f.size()] = round % 3 ? static_cast<uint8_t>(rng()) : 0xff;
    const std::string code = code_of([&] { NpzReader(f, "x.npz").read("x"); });
    EXPECT_TRUE(code.empty() || code == "SG0501" || code == "SG0503") << code;
    refused += !code.empty();
  }
  EXPECT_GT(refused, 8000);
}

TEST(Npz, SixtyThousandMembersAreQuick) {
  std::vector<std::pair<std::string, HostArray>> many;
  for (int j = 0; j < 60000; ++j) many.emplace_back("a" + std::to_string(j), HostArray(f32()));
  const auto start = std::chrono::steady_clock::now();
  const NpzReader reader(npz_bytes(many), "many.npz");
  EXPECT_EQ(reader.names().size(), 60000u);
  try {
    reader.read("b");
    FAIL();
  } catch (const Error& e) {
    EXPECT_LT(e.str().size(), 1000u);
    EXPECT_NE(e.str().find("and 59980 more"), std::string::npos) << e.str();
  }
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(5)) << "it was 20 s, and is 0.1 s";
}

}  // namespace npz_test
}  // namespace spirograd::io
