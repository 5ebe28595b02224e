// .npy: what NumPy writes is read, what is written NumPy can read, and every damaged byte is refused or harmless.
#include "tools/io/npy.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <random>

namespace spirograd::io {
namespace npy_test {

template <class T>
std::string bytes_of(std::initializer_list<T> values) {
  std::string out;
  for (T v : values) out.append(reinterpret_cast<const char*>(&v), sizeof v);
  return out;
}

std::vector<uint8_t> file(const std::string& descr, const std::string& shape, const std::string& data, bool fortran = false,
                          int version = 1) {
  std::string header =
      "{'descr': '" + descr + "', 'fortran_order': " + (fortran ? "True" : "False") + ", 'shape': " + shape + ", }   \n";
  std::string out = std::string("\x93NUMPY") + static_cast<char>(version) + '\0';
  for (int i = 0; i < (version == 1 ? 2 : 4); ++i) out += static_cast<char>(header.size() >> (8 * i) & 255);
  out += header + data;
  return {out.begin(), out.end()};
}

std::vector<double> read(const std::vector<uint8_t>& f, DType t, bool cast = true) {
  return to_host(parse_npy(f, "x.npy"), t, cast, "x.npy").values();
}

std::string code_of(const auto& body) {
  try {
    body();
  } catch (const Error& e) {
    return e.code;
  }
  return "";
}

TEST(Npy, WhatIsWrittenReadsBackForEveryTypeAndRank) {
  for (DType t : kDTypes)
    for (const Shape& s : {Shape{}, Shape{0}, Shape{3}, Shape{2, 3}, Shape{2, 0, 4}, Shape{1, 2, 1, 2, 1, 2}}) {
      std::vector<double> values(static_cast<size_t>(s.count()));
      for (size_t j = 0; j < values.size(); ++j)
        values[j] = t == DType::Bool ? j % 2 : static_cast<double>(j) * (is_float(t) ? -1.5 : 3);
      const HostArray a({t, s}, values);
      const std::vector<uint8_t> f = npy_bytes(a);
      EXPECT_EQ((f.size() - a.bytes.size()) % 64, 0u);
      const HostArray b = to_host(parse_npy(f, "x"), t, false, "x");
      EXPECT_EQ(a.type, b.type);
      EXPECT_EQ(a.bytes, b.bytes);
      EXPECT_EQ(to_host(parse_npy(f, "x"), "x").type, a.type);
    }
}

TEST(Npy, HeaderIsTheOneThatNumPyWrites) {
  const std::vector<uint8_t> f = npy_bytes(HostArray(f32({3}), {1, 2, 3}));
  const std::string text(f.begin(), f.end());
  EXPECT_EQ(text.substr(0, 8), std::string("\x93NUMPY\x01\x00", 8));
  EXPECT_EQ(text.substr(10, 60), "{'descr': '<f4', 'fortran_order': False, 'shape': (3,), }   ");
  EXPECT_EQ(text[127], '\n');
  EXPECT_EQ(text.size(), 140u);
}

TEST(Npy, AllVersionsAreRead) {
  for (int version : {1, 2, 3})
    EXPECT_EQ(read(file("<f4", "(2,)", bytes_of<float>({1, 2}), false, version), DType::F32), (std::vector<double>{1, 2}));
  EXPECT_EQ(code_of([] { parse_npy(file("<f4", "(2,)", bytes_of<float>({1, 2}), false, 4), "x"); }), "SG0501");
}

TEST(Npy, FortranOrderIsTransposed) {
  // [[1,2,3],[4,5,6]] column by column.
  EXPECT_EQ(read(file("<i4", "(2, 3)", bytes_of<int32_t>({1, 4, 2, 5, 3, 6}), true), DType::I32),
            (std::vector<double>{1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(read(file("<i4", "(2, 1, 2)", bytes_of<int32_t>({1, 3, 2, 4}), true), DType::I32),
            (std::vector<double>{1, 2, 3, 4}));
  EXPECT_EQ(read(file("<f4", "(2, 0)", "", true), DType::F32), (std::vector<double>{}));
}

TEST(Npy, EveryNumberTypeConvertsOnRequest) {
  EXPECT_EQ(read(file("|i1", "(2,)", bytes_of<int8_t>({-128, 127})), DType::F32), (std::vector<double>{-128, 127}));
  EXPECT_EQ(read(file("<i2", "(1,)", bytes_of<int16_t>({-300})), DType::I32), (std::vector<double>{-300}));
  EXPECT_EQ(read(file("<i8", "(1,)", bytes_of<int64_t>({-2147483648LL})), DType::I32), (std::vector<double>{-2147483648.0}));
  EXPECT_EQ(read(file("|u1", "(1,)", bytes_of<uint8_t>({255})), DType::U32), (std::vector<double>{255}));
  EXPECT_EQ(read(file("<u8", "(1,)", bytes_of<uint64_t>({4294967295u})), DType::U32), (std::vector<double>{4294967295.0}));
  EXPECT_EQ(read(file("<f2", "(4,)", bytes_of<uint16_t>({0x3c00, 0xc000, 0x0001, 0x7c00})), DType::F32),
            (std::vector<double>{1, -2, 0x1p-24, std::numeric_limits<double>::infinity()}));
  EXPECT_EQ(read(file("<f8", "(1,)", bytes_of<double>({0.1})), DType::F32), (std::vector<double>{0.1f}));
  EXPECT_EQ(read(file("|b1", "(2,)", bytes_of<uint8_t>({0, 1})), DType::F32), (std::vector<double>{0, 1}));
}

TEST(Npy, NothingConvertsSilently) {
  EXPECT_EQ(code_of([] { read(file("<f8", "(1,)", bytes_of<double>({1})), DType::F32, false); }), "SG0507");
  EXPECT_EQ(code_of([] { read(file("<i8", "(1,)", bytes_of<int64_t>({1})), DType::I32, false); }), "SG0507");
  EXPECT_EQ(code_of([] { read(file("<i4", "(1,)", bytes_of<int32_t>({1})), DType::U32, false); }), "SG0507");
  EXPECT_EQ(code_of([] { to_host(parse_npy(file("<i8", "(1,)", bytes_of<int64_t>({1})), "x"), "x"); }), "SG0507");
}

TEST(Npy, CastRefusesWhatWouldChangeAValue) {
  const auto refused = [](const std::vector<uint8_t>& f, DType t) { return code_of([&] { read(f, t); }) == "SG0507"; };
  EXPECT_TRUE(refused(file("<i8", "()", bytes_of<int64_t>({2147483648LL})), DType::I32));
  EXPECT_TRUE(refused(file("<i8", "()", bytes_of<int64_t>({-1})), DType::U32));
  EXPECT_TRUE(refused(file("<f8", "()", bytes_of<double>({0.5})), DType::I32));
  EXPECT_TRUE(refused(file("<f8", "()", bytes_of<double>({std::nan("")})), DType::I32));
  EXPECT_TRUE(refused(file("<f8", "()", bytes_of<double>({1e300})), DType::F32));
  EXPECT_FALSE(refused(file("<f8", "()", bytes_of<double>({HUGE_VAL})), DType::F32));
  EXPECT_TRUE(refused(file("<f4", "()", bytes_of<float>({65520})), DType::F16));
  EXPECT_FALSE(refused(file("<f4", "()", bytes_of<float>({65519})), DType::F16));
  EXPECT_TRUE(refused(file("<i4", "()", bytes_of<int32_t>({2049})), DType::F16));
  EXPECT_TRUE(refused(file("<i4", "()", bytes_of<int32_t>({16777217})), DType::F32));
  EXPECT_FALSE(refused(file("<i4", "()", bytes_of<int32_t>({16777216})), DType::F32));
  EXPECT_TRUE(refused(file("<i8", "()", bytes_of<int64_t>({9007199254740993LL})), DType::F64));
  EXPECT_TRUE(refused(file("<i8", "()", bytes_of<int64_t>({INT64_MAX})), DType::F32));
  EXPECT_TRUE(refused(file("<u8", "()", bytes_of<uint64_t>({UINT64_MAX})), DType::F64));
  EXPECT_TRUE(refused(file("<i4", "()", bytes_of<int32_t>({2})), DType::Bool));
}

TEST(Npy, TruthValuesAreZeroOrOne) {
  EXPECT_EQ(to_host(parse_npy(file("|b1", "(3,)", bytes_of<uint8_t>({0, 1, 77})), "x"), "x").bytes,
            (std::vector<uint8_t>{0, 1, 1}));
}

TEST(Npy, EveryTruncationIsRefused) {
  const std::vector<uint8_t> f = npy_bytes(HostArray(f32({2, 3}), {1, 2, 3, 4, 5, 6}));
  for (size_t n = 0; n < f.size(); ++n)
    EXPECT_EQ(code_of([&] { parse_npy({f.begin(), f.begin() + static_cast<std::ptrdiff_t>(n)}, "x"); }), "SG0501") << n;
}

// Any file is either refused with an error of ours or gives an array that agrees with its bytes.
TEST(Npy, DamagedFilesNeverDoHarm) {
  const std::vector<uint8_t> f = npy_bytes(HostArray(f32({2, 3}), {1, 2, 3, 4, 5, 6}));
  std::mt19937 rng(7);
  int refused = 0;
  for (int round = 0; round < 20000; ++round) {
    std::vector<uint8_t> g = f;
    for (int k = 0; k < 1 + round % 3; ++k)
      g[rng() % 80] = round % 2 ? static_cast<uint8_t>(rng()) : "0123456789(),'{}:<f4i8O "[rng() % 24];
    try {
      const FileArray a = parse_npy(g, "x");
      EXPECT_EQ(a.bytes.size(), static_cast<size_t>(a.shape.count()) * static_cast<size_t>(a.width));
    } catch (const Error& e) {
      EXPECT_EQ(e.code, "SG0501");
      ++refused;
    }
  }
  EXPECT_GT(refused, 10000);
}

}  // namespace npy_test
}  // namespace spirograd::io
