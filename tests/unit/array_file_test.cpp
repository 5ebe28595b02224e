// CSV, PNG, IDX and safetensors: what is written is read back, and files that are cut, or lie, are refused.
#include "tools/io/array_file.h"

#include <gtest/gtest.h>
#include <zlib.h>

#include <cmath>
#include <functional>

#include "tools/io/csv.h"
#include "tools/io/idx.h"
#include "tools/io/png_array.h"
#include "tools/io/safetensors.h"

namespace spirograd::io {
namespace array_file_test {

using Bytes = std::vector<uint8_t>;

Bytes bytes_of(const std::string& s) { return {s.begin(), s.end()}; }

std::string code_of(const std::function<void()>& body) {
  try {
    body();
  } catch (const Error& e) {
    return e.code;
  }
  return "";
}

std::vector<double> values_as(FileArray a, DType t) { return to_host(std::move(a), t, true, "x").values(); }
HostArray floats(Shape shape, const std::vector<double>& values) { return HostArray(Type{DType::F32, shape}, values); }

// No beginning of a whole file is taken for one.
void expect_no_beginning_is_read(const Bytes& whole, const std::function<void(const Bytes&)>& read) {
  EXPECT_EQ(code_of([&] { read(whole); }), "");
  for (size_t n = 0; n < whole.size(); ++n)
    EXPECT_EQ(code_of([&] { read(Bytes(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(n))); }), "SG0501") << n;
}

// Any byte may be wrong: an error of ours, or an array, and nothing else.
void expect_no_byte_crashes(const Bytes& whole, const std::function<void(const Bytes&)>& read) {
  for (size_t at = 0; at < whole.size(); ++at)
    for (const int flip : {1, 0x80, 0xff}) {
      Bytes b = whole;
      b[at] = static_cast<uint8_t>(b[at] ^ flip);
      const std::string code = code_of([&] { read(b); });
      EXPECT_TRUE(code.empty() || code.starts_with("SG05")) << at << " " << code;
    }
}

TEST(Csv, LinesAreRowsAndAFirstLineOfWordsIsPassedOver) {
  const FileArray a = parse_csv(bytes_of("\xef\xbb\xbfweight, height\r\n1,2.5\r\n-3e2 ,\"4\"\r\n\r\n5,inf\n"), "x.csv");
  EXPECT_EQ(a.shape, (Shape{3, 2}));
  EXPECT_EQ(values_as(a, DType::F32), (std::vector<double>{1, 2.5, -300, 4, 5, INFINITY}));
  EXPECT_EQ(parse_csv(bytes_of("1\n2\n3"), "x").shape, (Shape{3}));
  EXPECT_EQ(values_as(parse_csv(bytes_of("1;2\n3;4\n"), "x"), DType::I32), (std::vector<double>{1, 2, 3, 4}));
  EXPECT_EQ(parse_csv(bytes_of("a\tb\n1\t2\n"), "x").shape, (Shape{1, 2}));
}

TEST(Csv, WhatIsNoTableIsRefusedWithItsLine) {
  for (const char* text : {"", "\n\n", "a,b\n", "1,2\n3\n", "1,2\n3,4,5\n", "1\n2\nthree\n", "a,b\n1,\n", "1,2\nx,y\n",
                           "a,b,c\n1,2\n", "1\n1e999\n", "1\n0x10\n"})
    EXPECT_EQ(code_of([&] { parse_csv(bytes_of(text), "x.csv"); }), "SG0501") << text;
  try {
    parse_csv(bytes_of("h\n1\n\nfour\n"), "x.csv");
    FAIL();
  } catch (const Error& e) {
    EXPECT_EQ(e.message, "x.csv, line 4: 'four' is no number");
  }
}

TEST(Csv, NumbersComeBackAsTheyWere) {
  const HostArray a = floats({2, 3}, {0.1f, -1e-40f, 3e38f, 16777216, 1.0 / 3, -0.0});
  EXPECT_EQ(to_host(parse_csv(bytes_of(csv_text(a)), "x"), DType::F32, true, "x").bytes, a.bytes);
  EXPECT_EQ(csv_text(HostArray(Type{DType::F64, {2}}, {0.1, 2})), "0.1\n2\n");
  EXPECT_EQ(csv_text(HostArray(Type{DType::I32, {}}, {-7})), "-7\n");
  EXPECT_EQ(code_of([] { csv_text(floats({1, 1, 1}, {0})); }), "SG0508");
}

TEST(Idx, IsReadAsWrittenPackedOrNot) {
  for (const HostArray& a : {floats({2, 3}, {0, 1, 2, 3.5, -4, 5}), HostArray(Type{DType::I32, {3}}, {1, -2, 1 << 30}),
                             HostArray(Type{DType::F64, {1, 1, 2}}, {0.1, 7}), HostArray(Type{DType::F32, {0, 4}})}) {
    const Bytes file = idx_bytes(a);
    EXPECT_EQ(to_host(parse_idx(file, "x.idx"), "x").bytes, a.bytes);
    EXPECT_EQ(to_host(parse_idx(file, "x.idx"), "x").type, a.type);
  }
  EXPECT_EQ(code_of([] { idx_bytes(HostArray(Type{DType::U32, {1}})); }), "SG0508");
  EXPECT_EQ(values_as(parse_idx({0, 0, 8, 1, 0, 0, 0, 2, 7, 255}, "x"), DType::F32), (std::vector<double>{7, 255}));
  EXPECT_TRUE(is_idx("d/train-images-idx3-ubyte.gz") && is_idx("x.idx") && !is_idx("x.gz") && !is_idx("a.idx/x.npy"));
}

Bytes gzip(const Bytes& data) {
  Bytes out(compressBound(static_cast<uLong>(data.size())) + 64);
  z_stream z{};
  EXPECT_EQ(deflateInit2(&z, Z_BEST_COMPRESSION, Z_DEFLATED, MAX_WBITS + 16, 8, Z_DEFAULT_STRATEGY), Z_OK);
  z.next_in = const_cast<Bytef*>(data.data());
  z.avail_in = static_cast<uInt>(data.size());
  z.next_out = out.data();
  z.avail_out = static_cast<uInt>(out.size());
  EXPECT_EQ(deflate(&z, Z_FINISH), Z_STREAM_END);
  out.resize(z.total_out);
  deflateEnd(&z);
  return out;
}

TEST(Idx, WhatIsCutOrLiesIsRefused) {
  const auto read = [](const Bytes& b) { parse_idx(b, "x.idx"); };
  std::vector<double> many(3000);
  for (size_t j = 0; j < many.size(); ++j) many[j] = static_cast<double>(j * j % 977);
  const Bytes plain = idx_bytes(floats({3, 4}, std::vector<double>(many.begin(), many.begin() + 12)));
  expect_no_beginning_is_read(plain, read);
  expect_no_byte_crashes(plain, read);
  const Bytes packed = gzip(plain);
  EXPECT_EQ(parse_idx(packed, "x").shape, (Shape{3, 4}));
  EXPECT_EQ(parse_idx(gzip(idx_bytes(floats({3000}, many))), "x").shape, (Shape{3000}));
  expect_no_byte_crashes(packed, read);
  for (size_t n = 0; n + 8 < packed.size(); ++n)  // the last eight bytes are a checksum
    EXPECT_EQ(code_of([&] { read(Bytes(packed.begin(), packed.begin() + static_cast<std::ptrdiff_t>(n))); }), "SG0501") << n;
  Bytes more = plain, huge = {0, 0, 14, 3, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255};
  more.push_back(0);
  for (const Bytes& b : {more, huge, gzip(more), gzip(huge), gzip(Bytes(1 << 20)), Bytes{0, 0, 8, 200}})
    EXPECT_EQ(code_of([&] { read(b); }), "SG0501");
}

TEST(Safetensors, AreReadAsWritten) {
  const std::vector<std::pair<std::string, HostArray>> all = {{"w", floats({2, 2}, {1, 2, 3, 4})},
                                                              {"a.b", HostArray(Type{DType::Bool, {3}}, {1, 0, 1})},
                                                              {"none", HostArray(Type{DType::F64, {0}})},
                                                              {"n", HostArray(Type{DType::U32, {}}, {4e9})}};
  const Bytes file = safetensors_bytes(all);
  for (const auto& [name, a] : all) {
    const HostArray back = to_host(parse_safetensors(file, name, "x"), "x");
    EXPECT_EQ(back.type, a.type) << name;
    EXPECT_EQ(back.bytes, a.bytes) << name;
  }
  EXPECT_EQ(code_of([&] { parse_safetensors(file, "v", "x"); }), "SG0503");
  EXPECT_EQ(code_of([&] { parse_safetensors(file, "", "x"); }), "SG0503");
  EXPECT_EQ(parse_safetensors(safetensors_bytes({all[0]}), "", "x").shape, (Shape{2, 2}));
}

Bytes tensors(const std::string& header, size_t data) {
  Bytes out(8);
  for (size_t j = 0; j < 8; ++j) out[j] = static_cast<uint8_t>(header.size() >> (8 * j));
  out.insert(out.end(), header.begin(), header.end());
  out.resize(out.size() + data);
  return out;
}

TEST(Safetensors, WhatIsCutOrLiesIsRefused) {
  const auto read = [](const Bytes& b) { parse_safetensors(b, "w", "x"); };
  const Bytes whole = safetensors_bytes({{"w", floats({3}, {1, 2, 3})}});
  expect_no_beginning_is_read(whole, read);
  expect_no_byte_crashes(whole, read);
  for (const char* header :
       {R"([])", R"({"w":1})", R"({"w":{"dtype":"F32","shape":[2]}})",
        R"({"w":{"dtype":"F32","shape":[2],"data_offsets":[0,4]}})",
        R"({"w":{"dtype":"F32","shape":[-2],"data_offsets":[0,8]}})",
        R"({"w":{"dtype":"F32","shape":[2],"data_offsets":[8,0]}})",
        R"({"w":{"dtype":"F32","shape":[2],"data_offsets":[4,12]}})",
        R"({"w":{"dtype":1,"shape":[2],"data_offsets":[0,8]}})",
        R"({"w":{"dtype":"F32","shape":[4611686018427387904,4],"data_offsets":[0,8]}})",
        R"({"w":{"dtype":"F32","shape":[1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,2],"data_offsets":[0,8]}})",
        R"({"w":{"dtype":"F32","shape":2,"data_offsets":[0,8]}})",
        R"({"w":{"dtype":"F32","shape":[0.5],"data_offsets":[0,8]}})",
        R"({"w":{"dtype":"F32","shape":[2],"data_offsets":[0,18446744073709551615]}})", "{", "\xff\xff"})
    EXPECT_EQ(code_of([&] { read(tensors(header, 8)); }), "SG0501") << header;
  EXPECT_EQ(code_of([&] { read(tensors(R"({"w":{"dtype":"F8_E4M3","shape":[8],"data_offsets":[0,8]}})", 8)); }), "SG0507");
  Bytes long_header = whole;
  long_header[7] = 0x7f;
  EXPECT_EQ(code_of([&] { read(long_header); }), "SG0501");
  EXPECT_EQ(code_of([&] { read(tensors(std::string(100000, '['), 0)); }), "SG0501");
}

TEST(Safetensors, Bfloat16BecomesFloat32) {
  Bytes file = tensors(R"({"w":{"dtype":"BF16","shape":[2],"data_offsets":[0,4]}})", 4);
  file[file.size() - 3] = 0x3f, file[file.size() - 4] = 0x80, file[file.size() - 1] = 0xc0;  // 1, -2
  EXPECT_EQ(to_host(parse_safetensors(file, "w", "x"), "x").values(), (std::vector<double>{1, -2}));
}

TEST(Png, IsReadAsWritten) {
  for (const Shape& shape : {Shape{2, 3}, Shape{1, 2, 2}, Shape{3, 1, 3}, Shape{2, 2, 4}}) {
    std::vector<double> values;
    for (int64_t j = 0; j < shape.count(); ++j) values.push_back(static_cast<double>(j * 20 % 256) / 255);
    const Bytes file = png_array_bytes(floats(shape, values));
    const FileArray a = parse_png(file, "x.png");
    EXPECT_EQ(a.shape, shape);
    const std::vector<double> back = to_host(a, "x").values();
    for (size_t j = 0; j < values.size(); ++j) EXPECT_EQ(back[j], static_cast<double>(static_cast<float>(values[j]))) << j;
  }
  const FileArray beyond = parse_png(png_array_bytes(floats({1, 3}, {-5, 0.5, INFINITY})), "x");
  EXPECT_EQ(to_host(beyond, "x").values(), (std::vector<double>{0, 128.0f / 255.0f, 1}));
}

TEST(Png, WhatIsNoPictureIsNotWritten) {
  for (const HostArray& a : {floats({4}, {0, 0, 0, 0}), floats({1, 1, 5}, {0, 0, 0, 0, 0}), floats({0, 3}, {}),
                             floats({1, 1}, {NAN}), HostArray(Type{DType::I32, {1, 1}})})
    EXPECT_EQ(code_of([&] { png_array_bytes(a); }), "SG0508") << to_string(a.type);
}

TEST(Png, WhatIsCutOrLiesIsRefused) {
  const auto read = [](const Bytes& b) { parse_png(b, "x.png"); };
  const Bytes whole = png_array_bytes(floats({2, 2, 3}, std::vector<double>(12, 0.5)));
  expect_no_beginning_is_read(Bytes(whole.begin(), whole.end()), read);
  expect_no_byte_crashes(whole, read);
  Bytes wide = whole;  // 65,535 pixels wide, checksum and all, of twelve bytes
  wide[18] = 0xff, wide[19] = 0xff, wide[22] = 0xff, wide[23] = 0xff;
  const uLong sum = crc32(0, wide.data() + 12, 17);
  for (size_t j = 0; j < 4; ++j) wide[29 + j] = static_cast<uint8_t>(sum >> (24 - 8 * j));
  try {
    read(wide);
    FAIL();
  } catch (const Error& e) {
    EXPECT_NE(e.message.find("too short for its size"), std::string::npos) << e.message;
  }
}

TEST(ArrayFile, IsToldByTheEnding) {
  EXPECT_TRUE(takes_all_arrays("a.safetensors") && takes_all_arrays("a.npz") && !takes_all_arrays("a.csv"));
  for (const char* one : {"a.npy", "a.csv", "a.png", "a.idx"}) EXPECT_TRUE(takes_one_array(one)) << one;
  for (const char* none : {"a.idx.gz", "a.txt", "csv", "a.npz"}) EXPECT_FALSE(takes_one_array(none)) << none;
  EXPECT_EQ(code_of([] { read_array_file("x", "nowhere.csv"); }), "SG0504");
  EXPECT_EQ(code_of([] { read_array_file("x", "a.npz"); }), "SG0506");
  EXPECT_FALSE(read_array_file("x", "3.5").has_value());
}

}  // namespace array_file_test
}  // namespace spirograd::io
