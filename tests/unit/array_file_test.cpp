// CSV, PNG, EXR, IDX and safetensors: what is written is read back, and files that are cut, or lie, are refused.
#include "tools/io/array_file.h"

#include <gtest/gtest.h>
#include <zlib.h>

#include <bit>
#include <cmath>
#include <functional>

#include "tools/io/csv.h"
#include "tools/io/exr_array.h"
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

class Exr : public testing::Test {
  void SetUp() override {
    if (code_of([] { exr_array_bytes(floats({1, 1}, {0})); }) == "SG0505") GTEST_SKIP() << "this build has no OpenEXR";
  }
};

TEST_F(Exr, IsReadAsWritten) {
  for (const Shape& shape : {Shape{2, 3}, Shape{1, 2, 2}, Shape{3, 1, 3}, Shape{70, 41, 4}})
    for (const DType t : {DType::F32, DType::F16}) {
      std::vector<double> values;
      for (int64_t j = 0; j < shape.count(); ++j) values.push_back(static_cast<double>(j) / 8 - 100);
      values[0] = INFINITY, values[1] = -0.0;
      const HostArray a(Type{t, shape}, values);
      const FileArray back = parse_exr(exr_array_bytes(a), "", "x.exr");
      EXPECT_EQ(back.shape, shape);
      EXPECT_EQ(to_host(back, "x").type.dtype, DType::F32) << "halves, too";
      EXPECT_EQ(to_host(back, "x").values(), a.values());
    }
}

TEST_F(Exr, AChannelIsTakenByItsName) {
  const Bytes file = exr_array_bytes(floats({1, 2, 3}, {1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(to_host(parse_exr(file, "G", "x"), "x").values(), (std::vector<double>{2, 5}));
  EXPECT_EQ(parse_exr(file, "G", "x").shape, (Shape{1, 2}));
  try {
    parse_exr(file, "Z", "x.exr");
    FAIL();
  } catch (const Error& e) {
    EXPECT_EQ(e.code + " " + e.message, "SG0506 x.exr has no channel and no layer 'Z'");
    EXPECT_EQ(e.help, "its channels are B, G, R");
  }
}

// Two pixels beside each other, not packed: numbers of things, and a layer of colours. As the format's description has it.
Bytes exr_of_layers() {
  Bytes out;
  const auto put = [&](auto... words) {
    for (const uint32_t w : {static_cast<uint32_t>(words)...})
      for (int j = 0; j < 4; ++j) out.push_back(static_cast<uint8_t>(w >> 8 * j));
  };
  const auto text = [&](const std::string& s) { out.insert(out.end(), s.c_str(), s.c_str() + s.size() + 1); };
  const auto attribute = [&](const std::string& name, const std::string& type, uint32_t bytes) {
    text(name), text(type), put(bytes);
  };
  const float one = 1;
  put(20000630, 2);
  attribute("channels", "chlist", 3 * 20 + 21 + 1);
  for (const char* name : {"d.B", "d.G", "d.R", "name"}) text(name), put(*name == 'd' ? 2 : 0, 0, 1, 1);
  out.push_back(0);
  attribute("compression", "compression", 1), out.push_back(0);
  for (const char* window : {"dataWindow", "displayWindow"}) attribute(window, "box2i", 16), put(0, 0, 1, 0);
  attribute("lineOrder", "lineOrder", 1), out.push_back(0);
  attribute("pixelAspectRatio", "float", 4), put(std::bit_cast<uint32_t>(one));
  attribute("screenWindowCenter", "v2f", 8), put(0, 0);
  attribute("screenWindowWidth", "float", 4), put(std::bit_cast<uint32_t>(one));
  out.push_back(0);
  put(out.size() + 8, 0, 0, 4 * 2 * 4);
  for (const float x : {5.0f, 6.0f, 3.0f, 4.0f, 1.0f, 2.0f}) put(std::bit_cast<uint32_t>(x));
  put(7, 4000000000u);
  return out;
}

TEST_F(Exr, ALayerIsAPictureAndWholeNumbersStayThem) {
  const Bytes file = exr_of_layers();
  const FileArray colours = parse_exr(file, "d", "x"), names = parse_exr(file, "name", "x");
  EXPECT_EQ(colours.shape, (Shape{1, 2, 3}));
  EXPECT_EQ(to_host(colours, "x").values(), (std::vector<double>{1, 3, 5, 2, 4, 6}));
  EXPECT_EQ(to_host(names, "x").type, (Type{DType::U32, {1, 2}}));
  EXPECT_EQ(to_host(names, "x").values(), (std::vector<double>{7, 4e9}));
  try {
    parse_exr(file, "", "x.exr");
    FAIL();
  } catch (const Error& e) {
    EXPECT_EQ(e.message, "x.exr holds more than one picture: its channels are d.B, d.G, d.R, name");
    EXPECT_EQ(e.help, "name a channel or a layer: x.exr:d.B");
  }
}

TEST_F(Exr, WhatIsNoPictureIsNotWritten) {
  for (const HostArray& a : {floats({4}, {0, 0, 0, 0}), floats({1, 1, 5}, {0, 0, 0, 0, 0}), floats({0, 3}, {}),
                             HostArray(Type{DType::I32, {1, 1}}), HostArray(Type{DType::F64, {1, 1}})})
    EXPECT_EQ(code_of([&] { exr_array_bytes(a); }), "SG0508") << to_string(a.type);
}

TEST_F(Exr, WhatIsCutOrLiesIsRefused) {
  const auto read = [](const Bytes& b) { parse_exr(b, "", "x.exr"); };
  const Bytes whole = exr_array_bytes(floats({2, 2, 3}, std::vector<double>(12, 0.5)));
  expect_no_beginning_is_read(whole, read);
  expect_no_byte_crashes(whole, read);
}

TEST(ArrayFile, IsToldByTheEnding) {
  EXPECT_TRUE(takes_all_arrays("a.safetensors") && takes_all_arrays("a.npz") && !takes_all_arrays("a.csv"));
  for (const char* one : {"a.npy", "a.csv", "a.png", "a.exr", "a.idx"}) EXPECT_TRUE(takes_one_array(one)) << one;
  for (const char* none : {"a.idx.gz", "a.txt", "csv", "a.npz"}) EXPECT_FALSE(takes_one_array(none)) << none;
  EXPECT_EQ(code_of([] { read_array_file("x", "nowhere.csv"); }), "SG0504");
  EXPECT_EQ(code_of([] { read_array_file("x", "a.npz"); }), "SG0506");
  EXPECT_FALSE(read_array_file("x", "3.5").has_value());
}

}  // namespace array_file_test
}  // namespace spirograd::io
