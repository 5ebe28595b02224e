// The C interface without a device: programs, their derivatives and bundles, what it says of mistakes.
#include <fstream>
#include <thread>

#include "tests/support/c_handles.h"

namespace spirograd::c_test {
namespace c_interface_test {

sg_status parse(const char* text, const sg_text_options* options = nullptr) {
  sg_program* out = nullptr;
  const sg_status status = sg_program_from_text(text, options, &out);
  EXPECT_TRUE(status == SG_OK || out == nullptr);
  sg_program_destroy(out);
  return status;
}

std::vector<uint8_t> bytes_of(const sg_bytes* bytes) {
  const void* data = nullptr;
  size_t size = 0;
  expect_ok(sg_bytes_get(bytes, &data, &size));
  const auto* first = static_cast<const uint8_t*>(data);
  return {first, first + size};
}

sg_status load(const std::vector<uint8_t>& bytes, const char* file = "line.sgb") {
  sg_program* out = nullptr;
  const sg_status status = sg_program_from_bundle(bytes.data(), bytes.size(), file, &out);
  EXPECT_TRUE(status == SG_OK || out == nullptr);
  sg_program_destroy(out);
  return status;
}

TEST(CInterface, TellsNamesAndTypesInOrder) {
  const auto line = from_text(kLine, {{"N", 4}});
  EXPECT_EQ(inputs_of(line.get()), "w: 4[2] x: 4[4] y: 4[4]");
  EXPECT_EQ(outputs_of(line.get()), "loss: 4[]");
  const char* name = nullptr;
  expect_ok(sg_program_name(line.get(), &name));
  EXPECT_STREQ(name, "loss");
  sg_type type = {};
  expect_ok(sg_program_input(line.get(), 1, nullptr, &type));
  EXPECT_EQ(type.extents[0], 4);
  expect_ok(sg_program_input(line.get(), 2, &name, nullptr));
  EXPECT_STREQ(name, "y");
}

TEST(CInterface, EveryElementTypeHasItsNumber) {
  const auto p = from_text("def f(a: bool[0], b: i32, c: u32[2,3], d: f32, e: T[1]) = e\n", {}, SG_F64);
  EXPECT_EQ(inputs_of(p.get()), "a: 1[0] b: 2[] c: 3[2,3] d: 4[] e: 5[1]");
  const size_t bytes[] = {0, 4, 24, 4, 8};
  for (size_t i = 0; i < 5; ++i) {
    sg_type type = {};
    size_t n = 99;
    expect_ok(sg_program_input(p.get(), i, nullptr, &type));
    expect_ok(sg_type_bytes(&type, &n));
    EXPECT_EQ(n, bytes[i]);
  }
}

TEST(CInterface, DerivativesArePrograms) {
  const auto line = from_text(kLine, {{"N", 3}});
  const auto both = derived(line, SG_VALUE_AND_GRAD, {"w", "x"});
  EXPECT_EQ(inputs_of(both.get()), "w: 4[2] x: 4[3] y: 4[3]");
  EXPECT_EQ(outputs_of(both.get()), "loss: 4[] d_w: 4[2] d_x: 4[3]");
  EXPECT_EQ(outputs_of(derived(line, SG_GRAD).get()), "d_w: 4[2] d_x: 4[3] d_y: 4[3]");
  const auto forward = derived(line, SG_JVP, {"w"});
  EXPECT_EQ(inputs_of(forward.get()), "w: 4[2] x: 4[3] y: 4[3] dot_w: 4[2]");
  EXPECT_EQ(outputs_of(forward.get()), "loss: 4[] dot_loss: 4[]");
  EXPECT_EQ(inputs_of(derived(line, SG_VJP, {"w"}).get()), "w: 4[2] x: 4[3] y: 4[3] ct_loss: 4[]");
  EXPECT_EQ(outputs_of(derived(line, SG_SPLIT_FORWARD, {"w"}).get()), "loss: 4[] r_0: 4[3]");
  const auto backward = derived(line, SG_SPLIT_BACKWARD, {"w"});
  EXPECT_EQ(inputs_of(backward.get()), "x: 4[3] r_0: 4[3] ct_loss: 4[]");
  EXPECT_EQ(outputs_of(backward.get()), "d_w: 4[2]");
  EXPECT_EQ(outputs_of(derived(derived(line, SG_GRAD, {"w"}), SG_JVP, {"w"}).get()), "d_w: 4[2] dot_d_w: 4[2]");
}

TEST(CInterface, AFunctionIsChosenByName) {
  const char* two = "def f(x: f32) = 2 * x\ndef g(x: f32[3]) = x\n";
  EXPECT_EQ(inputs_of(from_text(two).get()), "x: 4[3]");
  sg_text_options o = {};
  o.struct_size = sizeof o;
  o.function = "f";
  const auto f = made<sg_program>([&](sg_program** out) { return sg_program_from_text(two, &o, out); });
  EXPECT_EQ(inputs_of(f.get()), "x: 4[]");
  o.function = "h";
  expect_error(parse(two, &o), "SG0403", "'h'");
}

TEST(CInterface, SizesAndElementTypesFollowFromWhatIsGiven) {
  const char* text = "def f(a: T[N,K], b: T[K], n: i32, s: f32) -> (y: T[N]) = a @ b\n";
  const sg_type matrix{SG_F64, 2, {3, 2}}, untyped{0, 1, {2}}, number{0, 0, {}};
  std::vector<sg_named_type> given = {{nullptr, matrix}, {nullptr, untyped}, {nullptr, number}, {nullptr, number}};
  sg_text_options o = {};
  o.struct_size = sizeof o;
  const auto made_of = [&](const char* source, sg_program** out) {
    o.inputs = given.data();
    o.n_inputs = given.size();
    return sg_program_from_text(source, &o, out);
  };
  const auto types = [&] { return made<sg_program>([&](sg_program** out) { return made_of(text, out); }); };
  const auto refused = [&](const char* source) {
    sg_program* none = nullptr;
    return made_of(source, &none);
  };
  EXPECT_EQ(inputs_of(types().get()), "a: 5[3,2] b: 5[2] n: 2[] s: 4[]");
  EXPECT_EQ(outputs_of(types().get()), "y: 5[3]");
  given = {{"s", number}, {"b", {SG_F32, 1, {7}}}, {"n", number}, {"a", {0, 2, {0, 7}}}};
  EXPECT_EQ(inputs_of(types().get()), "a: 4[0,7] b: 4[7] n: 2[] s: 4[]");

  given.pop_back();
  expect_error(refused(text), "SG0502", "'a'");
  given.push_back({"a", {SG_F32, 2, {3, 8}}});
  expect_error(refused(text), "SG0104", "'K'");
  given.back() = {"c", matrix};
  expect_error(refused(text), "SG0503", "no parameter 'c'");
  given.back() = {"s", number};
  expect_error(refused(text), "SG0503", "'s' is given twice");
  given.push_back({nullptr, number});
  expect_error(refused(text), "SG0503", "no parameter 5");
  given = {{"a", {0, 2, {3, 2}}}, {"b", untyped}, {"n", number}, {"s", number}};
  expect_error(refused(text), "SG0106", "what T stands for");
  o.dtype = SG_F32;
  EXPECT_EQ(inputs_of(types().get()), "a: 4[3,2] b: 4[2] n: 2[] s: 4[]");
  given[0].type.rank = 7;
  expect_error(refused(text), "SG0509", "7 are given");
  o.inputs = nullptr;
  expect_error(parse(text, &o), "SG0509", "options->inputs");
  o = {};
  o.struct_size = sizeof o;
  given.clear();
  given.reserve(1);
  expect_error(refused(text), "SG0502", "'a'");
  expect_error(refused(""), "SG0403", "no function");
}

TEST(CInterface, MistakesInTextHaveTheirPlace) {
  sg_text_options o = {};
  o.struct_size = sizeof o;
  o.file = "model.sg";
  expect_error(parse("def f(x: f32[3]) = x\ndef g(x: f32[3]) {\n  let y = sine(x)\n  y\n}\n", &o), "SG0403", "'sine'");
  const sg_error* e = sg_last_error();
  EXPECT_STREQ(sg_error_file(e), "model.sg");
  EXPECT_EQ(sg_error_line(e), 3);
  EXPECT_EQ(sg_error_column(e), 11);
  EXPECT_NE(std::strstr(sg_error_text(e), "let y = sine(x)"), nullptr) << sg_error_text(e);
  EXPECT_NE(std::strstr(sg_error_help(e), "sin"), nullptr) << sg_error_help(e);
  expect_error(parse("def f(x: f32 = x"), "SG0401", "");
  EXPECT_STREQ(sg_error_file(sg_last_error()), "text");
  EXPECT_EQ(sg_error_line(sg_last_error()), 1);
  EXPECT_NE(parse(""), SG_OK);
  expect_error(parse("import \"other.sg\"\ndef f(x: f32) = x\n"), "SG0410", "other.sg");
}

TEST(CInterface, SizesThatAreMissingOrWrongAreNamed) {
  expect_error(parse(kLine), "SG0105", "N");
  sg_size sizes[] = {{"N", -1}, {"M", 4}};
  sg_text_options o = {};
  o.struct_size = sizeof o;
  o.sizes = sizes;
  o.n_sizes = 1;
  EXPECT_NE(parse(kLine, &o), SG_OK);
  sizes[0].extent = 0;
  expect_ok(parse("def f(x: f32[N]) = sum(x)\n", &o));
  expect_error(parse("def f(x: T) = x\n", &o), "SG0106", "T");
  o.dtype = 7;
  expect_error(parse("def f(x: T) = x\n", &o), "SG0509", "7 is no element type");
}

TEST(CInterface, DerivativesThatThereAreNotAreErrors) {
  const auto line = from_text(kLine, {{"N", 3}});
  const auto derive = [](const Handle<sg_program>& p, sg_derivative how, std::vector<const char*> by) {
    sg_program* out = nullptr;
    const sg_status status = sg_program_derive(p.get(), how, by.data(), by.size(), &out);
    EXPECT_EQ(out, nullptr);
    return status;
  };
  expect_error(derive(line, SG_GRAD, {"v"}), "SG0202", "'v'");
  expect_error(derive(line, SG_GRAD, {"w", "w"}), "SG0206", "'w'");
  expect_error(derive(line, SG_GRAD, {nullptr}), "SG0509", "one of the names is NULL");
  expect_error(derive(line, 0, {}), "SG0509", "0 is no derivative");
  expect_error(derive(from_text("def f(x: f32[2]) = x\n"), SG_GRAD, {}), "SG0204", "");
  expect_error(derive(from_text("def f(k: i32) = k\n"), SG_JVP, {"k"}), "SG0201", "'k'");
}

TEST(CInterface, FilesImportOthers) {
  const std::string folder = testing::TempDir() + "c_interface_";
  const std::string model = folder + "model.sg", part = folder + "part.sg";
  std::ofstream(part) << "def twice(x: f32[N]) = 2 * x\n";
  std::ofstream(model) << "import \"" + part.substr(part.rfind('/') + 1) + "\"\ndef f(x: f32[N]) = sum(twice(x))\n";
  const sg_size n = {"N", 5};
  sg_text_options o = {};
  o.struct_size = sizeof o;
  o.sizes = &n;
  o.n_sizes = 1;
  const auto p = made<sg_program>([&](sg_program** out) { return sg_program_from_file(model.c_str(), &o, out); });
  EXPECT_EQ(inputs_of(p.get()), "x: 4[5]");
  sg_program* none = nullptr;
  expect_error(sg_program_from_file((folder + "none.sg").c_str(), &o, &none), "SG0504", "there is no such file");
  EXPECT_EQ(none, nullptr);
}

TEST(CInterface, ABundleKeepsWhatAProgramTakesAndGives) {
  const auto both = derived(from_text(kLine, {{"N", 4}}), SG_VALUE_AND_GRAD, {"w"});
  const auto saved = made<sg_bytes>([&](sg_bytes** out) { return sg_program_save(both.get(), nullptr, nullptr, out); });
  const std::vector<uint8_t> bytes = bytes_of(saved.get());
  const auto back =
      made<sg_program>([&](sg_program** out) { return sg_program_from_bundle(bytes.data(), bytes.size(), nullptr, out); });
  EXPECT_EQ(inputs_of(back.get()), inputs_of(both.get()));
  EXPECT_EQ(outputs_of(back.get()), outputs_of(both.get()));
  const char* name = nullptr;
  expect_ok(sg_program_name(back.get(), &name));
  EXPECT_STREQ(name, "loss");
  const auto again = made<sg_bytes>([&](sg_bytes** out) { return sg_program_save(back.get(), nullptr, nullptr, out); });
  EXPECT_EQ(bytes_of(again.get()), bytes);
  sg_program* out = nullptr;
  expect_error(sg_program_derive(back.get(), SG_GRAD, nullptr, 0, &out), "SG0509", "comes from a bundle");
}

TEST(CInterface, BrokenBundlesAreRefused) {
  const auto line = from_text(kLine, {{"N", 4}});
  const auto saved = made<sg_bytes>([&](sg_bytes** out) { return sg_program_save(line.get(), nullptr, nullptr, out); });
  const std::vector<uint8_t> bytes = bytes_of(saved.get());
  expect_ok(load(bytes));
  expect_error(load({bytes.begin(), bytes.begin() + static_cast<long>(bytes.size() / 2)}), "SG0501", "");
  EXPECT_NE(std::strstr(sg_error_text(sg_last_error()), "line.sgb"), nullptr) << sg_error_text(sg_last_error());
  std::vector<uint8_t> flipped = bytes;
  flipped[flipped.size() / 2] ^= 1;
  expect_error(load(flipped), "SG0501", "");
  expect_error(load({'n', 'o'}), "SG0501", "");
  const uint8_t nothing = 0;
  sg_program* out = nullptr;
  expect_error(sg_program_from_bundle(&nothing, 0, nullptr, &out), "SG0501", "");
}

TEST(CInterface, IndicesOutOfRangeAreErrors) {
  const auto line = from_text(kLine, {{"N", 4}});
  const char* name = "untouched";
  for (size_t index : {size_t{3}, SIZE_MAX})
    expect_error(sg_program_input(line.get(), index, &name, nullptr), "SG0509", "among 3");
  expect_error(sg_program_output(line.get(), 1, &name, nullptr), "SG0509", "there is no number 1 among 1");
  EXPECT_STREQ(name, "untouched");
}

TEST(CInterface, TypesThatThereAreNotAreErrors) {
  const auto bytes = [](sg_type type) {
    size_t out = 7;
    const sg_status status = sg_type_bytes(&type, &out);
    EXPECT_TRUE(status == SG_OK || out == 7);
    return status;
  };
  expect_error(bytes({0, 0, {}}), "SG0509", "0 is no element type");
  expect_error(bytes({SG_F32, -1, {}}), "SG0509", "and -1 are given");
  expect_error(bytes({SG_F32, 7, {}}), "SG0509", "and 7 are given");
  expect_error(bytes({SG_F32, 2, {3, -4}}), "SG0509", "axis 1 has the extent -4");
  expect_error(bytes({SG_F64, 3, {INT64_MAX, INT64_MAX, 2}}), "SG0601", "more bytes than can be counted");
  expect_error(bytes({SG_F64, 1, {INT64_MAX / 8 + 1}}), "SG0601", "more bytes");
  expect_ok(bytes({SG_F64, 1, {INT64_MAX / 8}}));
  expect_ok(bytes({SG_F64, 3, {INT64_MAX, 0, INT64_MAX}}));
}

// A caller that was compiled with an older header gives less, one with a newer header more.
TEST(CInterface, StructsOfOtherVersionsAreReadAsFarAsTheyGo) {
  struct Newer {
    sg_text_options known;
    int32_t more;
  } o = {};
  o.known.function = "f";
  const char* two = "def f(x: f32) = 2 * x\ndef g(x: f32[3]) = x\n";
  const auto inputs = [&](size_t size) {
    o.known.struct_size = size;
    return inputs_of(made<sg_program>([&](sg_program** out) { return sg_program_from_text(two, &o.known, out); }).get());
  };
  EXPECT_EQ(inputs(sizeof(Newer)), "x: 4[]");
  EXPECT_EQ(inputs(sizeof(size_t) + sizeof(char*)), "x: 4[]");
  EXPECT_EQ(inputs(sizeof(size_t)), "x: 4[3]");
  o.known.struct_size = sizeof(Newer);
  o.more = 1;
  expect_error(parse(two, &o.known), "SG0509", "members that this library, of version 0.");
  o.known.struct_size = 0;
  expect_error(parse(two, &o.known), "SG0509", "struct_size of the options is 0");
}

TEST(CInterface, NullIsAnErrorThatNamesTheParameter) {
  const auto line = from_text(kLine, {{"N", 4}});
  const auto saved = made<sg_bytes>([&](sg_bytes** out) { return sg_program_save(line.get(), nullptr, nullptr, out); });
  sg_program* program = nullptr;
  sg_bytes* bytes = nullptr;
  sg_device* device = nullptr;
  const char* text = nullptr;
  const void* data = nullptr;
  size_t n = 0;
  sg_type type = {SG_F32, 0, {}};
  uint64_t point = 0;
  int32_t yes = 0;
  sg_text_options o = {};
  o.struct_size = sizeof o;
  o.n_sizes = 1;
  const sg_size unnamed = {nullptr, 1};
  sg_text_options u = o;
  u.sizes = &unnamed;
  const auto expect_null = [](sg_status status, const std::string& words) {
    expect_error(status, "SG0509", words + " is NULL");
  };
  expect_null(sg_type_bytes(nullptr, &n), "sg_type_bytes: type");
  expect_null(sg_type_bytes(&type, nullptr), "sg_type_bytes: out");
  expect_null(sg_device_list_create(nullptr), "sg_device_list_create: out");
  expect_null(sg_device_list_count(nullptr, &n), "sg_device_list_count: list");
  expect_null(sg_device_list_name(nullptr, 0, &text), "sg_device_list_name: list");
  expect_null(sg_device_list_driver(nullptr, 0, &text), "sg_device_list_driver: list");
  expect_null(sg_device_list_lacks(nullptr, 0, &text), "sg_device_list_lacks: list");
  expect_null(sg_device_create(nullptr, nullptr), "sg_device_create: out");
  expect_null(sg_device_name(nullptr, &text), "sg_device_name: device");
  expect_null(sg_program_from_text(nullptr, nullptr, &program), "sg_program_from_text: text");
  expect_null(sg_program_from_text(kLine, nullptr, nullptr), "sg_program_from_text: out");
  expect_null(sg_program_from_text(kLine, &o, &program), "sg_program_from_text: options->sizes");
  expect_null(sg_program_from_text(kLine, &u, &program), "sg_program_from_text: the name of a size");
  expect_null(sg_program_from_file(nullptr, nullptr, &program), "sg_program_from_file: path");
  expect_null(sg_program_from_file("x.sg", nullptr, nullptr), "sg_program_from_file: out");
  expect_null(sg_program_from_bundle(nullptr, 0, nullptr, &program), "sg_program_from_bundle: data");
  expect_null(sg_program_from_bundle("x", 1, nullptr, nullptr), "sg_program_from_bundle: out");
  expect_null(sg_program_derive(nullptr, SG_GRAD, nullptr, 0, &program), "sg_program_derive: program");
  expect_null(sg_program_derive(line.get(), SG_GRAD, nullptr, 1, &program), "sg_program_derive: names");
  expect_null(sg_program_derive(line.get(), SG_GRAD, nullptr, 0, nullptr), "sg_program_derive: out");
  expect_null(sg_program_name(nullptr, &text), "sg_program_name: program");
  expect_null(sg_program_name(line.get(), nullptr), "sg_program_name: out");
  expect_null(sg_program_input_count(nullptr, &n), "sg_program_input_count: program");
  expect_null(sg_program_input_count(line.get(), nullptr), "sg_program_input_count: out");
  expect_null(sg_program_output_count(nullptr, &n), "sg_program_output_count: program");
  expect_null(sg_program_output_count(line.get(), nullptr), "sg_program_output_count: out");
  expect_null(sg_program_input(nullptr, 0, &text, &type), "sg_program_input: program");
  expect_null(sg_program_input(line.get(), 0, nullptr, nullptr), "sg_program_input: what is asked for, name and type,");
  expect_null(sg_program_output(nullptr, 0, &text, &type), "sg_program_output: program");
  expect_null(sg_program_output(line.get(), 0, nullptr, nullptr), "sg_program_output: what is asked for, name and type,");
  expect_null(sg_program_save(nullptr, nullptr, nullptr, &bytes), "sg_program_save: program");
  expect_null(sg_program_save(line.get(), nullptr, nullptr, nullptr), "sg_program_save: out");
  expect_null(sg_bytes_get(nullptr, &data, &n), "sg_bytes_get: bytes");
  expect_null(sg_bytes_get(saved.get(), nullptr, &n), "sg_bytes_get: data");
  expect_null(sg_bytes_get(saved.get(), &data, nullptr), "sg_bytes_get: size");
  expect_null(sg_array_create(device, &type, nullptr), "sg_array_create: device");
  expect_null(sg_array_type(nullptr, &type), "sg_array_type: array");
  expect_null(sg_array_write(nullptr, nullptr), "sg_array_write: array");
  expect_null(sg_array_read(nullptr, nullptr), "sg_array_read: array");
  expect_null(sg_session_create(device, line.get(), nullptr, nullptr), "sg_session_create: device");
  expect_null(sg_session_run(nullptr, nullptr, 0, nullptr, 0), "sg_session_run: session");
  expect_null(sg_session_write(nullptr, "x", nullptr), "sg_session_write: session");
  expect_null(sg_session_read(nullptr, "x", nullptr), "sg_session_read: session");
  expect_null(sg_session_bind(nullptr, "x", nullptr, SG_ANY_ROLE), "sg_session_bind: session");
  expect_null(sg_session_feed(nullptr, "x", "y"), "sg_session_feed: session");
  expect_null(sg_session_donate(nullptr, "x", "y"), "sg_session_donate: session");
  expect_null(sg_session_run_steps(nullptr, 1), "sg_session_run_steps: session");
  expect_null(sg_session_submit(nullptr, 1, &point), "sg_session_submit: session");
  expect_null(sg_session_wait(nullptr, 0), "sg_session_wait: session");
  expect_null(sg_session_done(nullptr, 0, &yes), "sg_session_done: session");
  EXPECT_EQ(program, nullptr);
  EXPECT_EQ(bytes, nullptr);
}

TEST(CInterface, DestroyingNothingAndAskingNoErrorAreSafe) {
  End end;
  end(static_cast<sg_device_list*>(nullptr));
  end(static_cast<sg_device*>(nullptr));
  end(static_cast<sg_program*>(nullptr));
  end(static_cast<sg_bytes*>(nullptr));
  end(static_cast<sg_array*>(nullptr));
  end(static_cast<sg_session*>(nullptr));
  for (const auto ask : {sg_error_code, sg_error_message, sg_error_help, sg_error_file, sg_error_text})
    EXPECT_STREQ(ask(nullptr), "");
  EXPECT_EQ(sg_error_line(nullptr), 0);
  EXPECT_EQ(sg_error_column(nullptr), 0);
}

TEST(CInterface, ErrorsAreThoseOfTheThread) {
  EXPECT_NE(parse("def"), SG_OK);
  const std::string mine = sg_error_text(sg_last_error());
  std::thread([] {
    EXPECT_EQ(sg_last_error(), nullptr);
    expect_error(sg_type_bytes(nullptr, nullptr), "SG0509", "type");
  }).join();
  EXPECT_EQ(sg_error_text(sg_last_error()), mine);
  expect_ok(parse("def f(x: f32) = x\n"));
  EXPECT_EQ(sg_error_text(sg_last_error()), mine);  // a call that succeeds leaves it
}

TEST(CInterface, TheVersionIsThatOfTheProject) { EXPECT_STREQ(sg_version(), SPIROGRAD_VERSION); }

}  // namespace c_interface_test
}  // namespace spirograd::c_test
