// Bad input: one clear error, the right exit status, no crash, and no output, not even in part.
#include <signal.h>
#include <sys/stat.h>

#include "tool/process.h"
#include "tools/io/npz.h"

namespace spirograd::tool_test {
namespace bad_input_test {

struct Case {
  const char* name;
  Words words;
  int status;
  Words fragments;  // all stand on stderr
  Words environment = {};
};
void PrintTo(const Case& c, std::ostream* out) { *out << c.name; }

// What all cases find in their folder.
void furnish(const Folder& f) {
  f.write("model.sg", kModel);
  f.write("bracket.sg", "def f(x: f32[N]) -> f32 {\n  sum(x\n}\n");
  f.write("character.sg", "def f(x: f32[N]) -> f32 {\n  sum(x) $ 2\n}\n");
  f.write("operation.sg", "def f(x: f32[N]) -> f32 {\n  let y = sofmax(x)\n  sum(y)\n}\n");
  f.write("unknown.sg", "def f(velocity: f32[N]) -> f32 {\n  sum(velocty)\n}\n");
  f.write("shapes.sg", "def f(x: f32[3], y: f32[4]) -> f32 {\n  sum(x + y)\n}\n");
  f.write("dtypes.sg", "def f(x: f32[3], y: i32[3]) -> f32 {\n  sum(x * y)\n}\n");
  f.write("binary.sg", std::string("\x00\xff\x7f\x45LF\x02\x01", 8));
  f.write("empty.sg", "");
  f.write("self.sg", "def f(x: f32) -> f32 {\n  f(x)\n}\n");
  f.write("deep.sg", "def f(x: f32) -> f32 {\n  " + std::string(100000, '(') + "x" + std::string(100000, ')') + "\n}\n");
  f.write("square.sg", "def f(x: f32[N, N]) -> f32 {\n  sum(x)\n}\n");
  f.write("w.npy", npy_of("<f4", "(3,)", 12));
  f.write("f64.npy", npy_of("<f8", "(3,)", 24));
  f.write("huge_f64.npy", raw_npy("{'descr': '<f8', 'fortran_order': False, 'shape': (1,), }",
                                  std::string("\x9c\x75\x00\x88\x3c\xe4\x37\x7e", 8)));
  f.write("i64.npy", raw_npy("{'descr': '<i8', 'fortran_order': False, 'shape': (), }",
                             std::string("\x00\x00\x00\x00\x01\x00\x00\x00", 8)));
  f.write("object.npy", npy_of("|O", "(3,)", 24));
  f.write("record.npy", raw_npy("{'descr': [('a', '<f4'), ('b', '<i4')], 'fortran_order': False, 'shape': (3,), }",
                                std::string(24, '\0')));
  f.write("complex.npy", npy_of("<c8", "(3,)", 24));
  f.write("big_endian.npy", npy_of(">f4", "(3,)", 12));
  f.write("truncated.npy", npy_of("<f4", "(3,)", 11));
  f.write("surplus.npy", npy_of("<f4", "(3,)", 13));
  f.write("lying.npy", npy_of("<f4", "(4611686018427387904,)", 12));
  f.write("overflow.npy", npy_of("<f4", "(4294967296, 4294967296, 4)", 12));
  f.write("empty_overflow.npy", npy_of("<f4", "(0, 9223372036854775807, 4)", 0));
  f.write("wide.npy", npy_of("<f4", "(99999999999999999999999,)", 12));
  f.write("negative.npy", npy_of("<f4", "(-3,)", 12));
  f.write("rank7.npy", npy_of("<f4", "(1, 1, 1, 1, 1, 1, 3)", 12));
  f.write("no_key.npy", raw_npy("{'descr': '<f4', 'shape': (3,), }", std::string(12, '\0')));
  f.write("python.npy", raw_npy("__import__('os').system('true')", std::string(12, '\0')));
  f.write("magic.npy", "PK\x03\x04 this is no array");
  f.write("short.npy", "\x93NUM");
  f.write("version.npy", std::string("\x93NUMPY\x09\x00\x02\x00{}", 12));
  f.write("header.npy", std::string("\x93NUMPY\x02\x00\xff\xff\xff\xff{}", 14));
  const std::vector<uint8_t> npz = io::npz_bytes({{"w", HostArray(f32({3}))}});
  f.write("w.npz", npz);
  f.write("cut.npz", std::vector<uint8_t>(npz.begin(), npz.end() - 30));
  std::vector<uint8_t> flipped = npz;
  flipped[npz.size() / 2 - 60] ^= 1;
  f.write("flipped.npz", flipped);
  f.write("no.npz", "this is no archive, it is long enough to be one");
  fs::create_directory(f.path("folder"));
  f.write("uses.sg", "import \"folder/used.sg\"\ndef f(x: f32[N]) -> f32 = used(x)\n");
  f.write("folder/used.sg", "import \"../unknown.sg\"\ndef used(x: f32[N]) -> f32 = sum(velocity)\n");
  f.write("lost.sg", "\nimport \"folder/lost.sg\"\ndef f(x: f32) = x\n");
  f.write("imports_folder.sg", "import \"folder\"\ndef f(x: f32) = x\n");
  mkfifo(f.path("pipe.sg").c_str(), 0600);
  f.write("imports_pipe.sg", "import \"pipe.sg\"\ndef f(x: f32) = x\n");
  f.write("clash.sg", "import \"model.sg\"\nimport \"square.sg\"\nimport \"shapes.sg\"\ndef g(x: f32) = x\n");
  f.write("cycle.sg", "import \"folder/cycle.sg\"\ndef g(x: f32) = x\n");
  f.write("folder/cycle.sg", "import \"../cycle.sg\"\n");
  fs::create_symlink("out.npy", f.path("link.npy"));
  fs::create_hard_link(f.path("w.npy"), f.path("w_too.npy"));
  f.write("defined_twice.sg", "def f(x: f32) = x\n\ndef g(x: f32) = f(x)\n\ndef f(x: f32) = x * 2.0\n");
  f.write("escape.sg", "def f(x: f32) -> (`red\x1b[31m`: f32) {\n  x\n}\n");
  f.write("c1.sg",
          "def f(x: f32) -> (`red\xc2\x9b"
          "31m`: f32) {\n  x\n}\n");
  f.write("climb.sg", "def f(x: f32) -> (`../../y`: f32) {\n  x\n}\n");
  f.write("updates.sg", "def f(k: i32[100000,80000]) -> f32[10] {\n  scatter([10], ones([100000, 80000]), k)\n}\n");
  f.write("huge.sg", "def f(x: f32[N]) -> f32 {\n  sum(x) + sum(f32(iota([M])))\n}\n");
  f.write("huge_type.sg", "def f(x: f32[4611686018427387904]) -> f32 {\n  sum(x)\n}\n");
}

const Words kGood = {"w=[1,2,3]", "x=zeros:2x3xf32", "k=4", "--device", "interpreter"};

Words run(Words more, Words first = {"run", "model.sg"}) {
  first.insert(first.end(), kGood.begin(), kGood.end());
  first.insert(first.end(), more.begin(), more.end());
  return first;
}
// The model with another w.
Words with_w(const std::string& w, Words more = {}) {
  Words out = {"run", "model.sg", "w=" + w, "x=zeros:2x3xf32", "k=4", "--device", "interpreter", "-o", "loss=out.npy"};
  out.insert(out.end(), more.begin(), more.end());
  return out;
}
Words of(const std::string& file, Words inputs) {
  inputs.insert(inputs.begin(), {"run", file, "--device", "interpreter", "-o", "out.npy"});
  return inputs;
}

const Case kCases[] = {
    // usage
    {"NoCommand", {}, 2, {"a command is missing", "--help"}},
    {"MistypedCommand", {"rnu", "model.sg"}, 2, {"unknown command 'rnu'", "did you mean 'run'?"}},
    {"MistypedHelp", {"--hlp"}, 2, {"unknown option '--hlp'"}},
    {"MistypedOption", run({"--devise", "x"}), 2, {"no option '--devise'", "did you mean '--device'?"}},
    {"OptionWithoutValue", {"run", "model.sg", "--device"}, 2, {"'--device' needs"}},
    {"FlagWithValue", run({"--json=yes"}), 2, {"'--json' takes no value"}},
    {"OptionTwice", run({"--device", "0"}), 2, {"'--device' is given twice"}},
    {"NoProgram", {"run"}, 2, {"'run' needs a program"}},
    {"StrayWord", run({"w.npy"}), 2, {"'w.npy' is no input", "w: f32[N]"}},
    {"UnknownForm", run({"--form", "images"}), 2, {"'address' or 'descriptors'"}},
    {"SamplesNotANumber", run({"--samples", "many"}, {"check", "model.sg"}), 2, {"whole number", "'many'"}},
    {"SamplesNotPositive", run({"--samples=0"}, {"check", "model.sg"}), 2, {"at least 1"}},
    {"EmptyWrt", run({"--wrt", "w,"}, {"grad", "model.sg"}), 2, {"'--wrt' needs names"}},
    {"TwoModes", run({"--jvp", "--hvp"}, {"grad", "model.sg"}), 2, {"exclude each other"}},
    {"TwoViews", {"opt", "model.sg", "--kernels", "--spirv"}, 2, {"exclude each other"}},
    {"UnknownPass", {"opt", "model.sg", "--print-after", "magic"}, 2, {"'magic' is no pass", "vectorise"}},
    {"NegativeRules", {"opt", "model.sg", "--rules-at-most", "-1"}, 2, {"at least 0"}},
    {"MoreUpdatesThanCanBeCounted",
     {"opt", "updates.sg", "--schedule"},
     4,
     {"SG0303", "8000000000 updates", "updates.sg:2"}},
    {"UnknownErrorCode", {"explain", "SG9999"}, 2, {"no error code 'SG9999'"}},
    {"DevicesTakeNothing", {"devices", "model.sg"}, 2, {"'devices' takes no 'model.sg'"}},
    // inputs by name
    {"MissingInput", {"run", "model.sg", "w=[1]", "k=1", "-o", "loss=out.npy"}, 2, {"SG0502", "input 'x'", "f32[M, N]"}},
    {"NoInputAtAll", {"run", "model.sg"}, 2, {"SG0502", "input 'w'"}},
    {"SuperfluousInput", run({"weight=3.5"}), 2, {"SG0503", "no parameter 'weight'"}},
    {"MistypedInput", {"run", "unknown.sg", "velocityy=ones:3"}, 2, {"SG0503", "did you mean 'velocity'?"}},
    {"InputTwice", run({"k=5"}), 2, {"SG0503", "'k' is given twice"}},
    {"UnknownShapeVariable", run({"Q=5"}), 2, {"SG0503", "'Q'"}},
    {"MissingDirection", run({"--wrt", "w", "--jvp"}, {"grad", "model.sg"}), 2, {"SG0502", "dot_w", "dot_w=random:1:3xf32"}},
    {"DirectionOfWrongShape",
     run({"--wrt", "w", "--jvp", "dot_w=ones:4"}, {"grad", "model.sg"}),
     3,
     {"SG0103", "f32[3]", "f32[4]"}},
    {"DirectionWithoutUse", run({"--wrt", "w", "dot_w=ones:3"}, {"grad", "model.sg"}), 2, {"SG0503", "dot_w"}},
    // values of inputs
    {"EmptyValue", with_w(""), 2, {"SG0506", "no value"}},
    {"RaggedLiteral", with_w("[[1,2],[3]]"), 2, {"SG0506", "no rectangular array"}},
    {"OpenLiteral", with_w("[1,2"), 2, {"SG0506", "no list of numbers"}},
    {"RealForInteger", {"run", "model.sg", "w=[1]", "x=[[1]]", "k=3.5"}, 2, {"SG0506", "'3.5' is no i32"}},
    {"IntegerOutOfRange", {"run", "model.sg", "w=[1]", "x=[[1]]", "k=3000000000"}, 2, {"SG0506", "does not fit i32"}},
    {"TooLargeForFloat", with_w("[1e39,0,0]"), 2, {"SG0506", "does not fit f32"}},
    {"MistypedMaker", with_w("onse:3"), 2, {"SG0506", "did you mean 'ones'?"}},
    {"PseudoFileWithBadShape", with_w("zeros:3yf32"), 2, {"SG0506", "'3yf32' is no extent"}},
    {"PseudoFileWithNegativeExtent", with_w("zeros:-3xf32"), 2, {"SG0506", "'-3' is no extent"}},
    {"PseudoFileWithoutSeed", with_w("random:3xf32"), 2, {"SG0506", "random:7:64x64xf32"}},
    {"PseudoFileOfWrongType", with_w("ones:3xf64"), 5, {"SG0507", "float32 is wanted", "--cast"}},
    {"PseudoFileTooLarge", with_w("zeros:999999999x999999999xf32"), 6, {"SG0601", "memory"}},
    {"NeitherFileNorNumber", with_w("w.nyp"), 2, {"SG0506", "neither a file nor a number"}},
    // arrays in files
    {"NoSuchFile", with_w("absent.npy"), 5, {"SG0504", "'absent.npy'", "No such file"}},
    {"FolderAsFile", with_w("folder"), 5, {"SG0504", "directory"}},
    {"DoubleForFloat", with_w("f64.npy"), 5, {"SG0507", "float64 [3]", "--cast"}},
    {"CastBeyondRange", with_w("huge_f64.npy", {"--cast"}), 5, {"SG0507", "float32 cannot hold"}},
    {"CastBeyondInteger",
     {"run", "model.sg", "w=[1]", "x=[[1]]", "k=i64.npy", "--cast"},
     5,
     {"SG0507", "4294967296", "int32 cannot hold"}},
    {"PythonObjects", with_w("object.npy"), 5, {"SG0501", "Python objects", "pickle"}},
    {"Records", with_w("record.npy"), 5, {"SG0501", "records"}},
    {"Complex", with_w("complex.npy"), 5, {"SG0501", "'<c8'"}},
    {"BigEndian", with_w("big_endian.npy"), 5, {"SG0501", "big-endian"}},
    {"TruncatedNpy", with_w("truncated.npy"), 5, {"SG0501", "needs 12 bytes", "has 11"}},
    {"SurplusBytes", with_w("surplus.npy"), 5, {"SG0501", "needs 12 bytes", "has 13"}},
    {"LyingShape", with_w("lying.npy"), 5, {"SG0501"}},
    {"OverflowingShape", with_w("overflow.npy"), 5, {"SG0501", "too large"}},
    {"OverflowingEmptyShape", with_w("empty_overflow.npy"), 5, {"SG0501", "too large"}},
    {"ExtentBeyond64Bits", with_w("wide.npy"), 5, {"SG0501", "too large"}},
    {"NegativeExtent", with_w("negative.npy"), 5, {"SG0501", "no number"}},
    {"SevenAxes", with_w("rank7.npy"), 5, {"SG0501", "7 axes"}},
    {"HeaderWithoutOrder", with_w("no_key.npy"), 5, {"SG0501", "fortran_order"}},
    {"HeaderWithCode", with_w("python.npy"), 5, {"SG0501", "'{' expected"}},
    {"WrongMagic", with_w("magic.npy"), 5, {"SG0501", "does not begin"}},
    {"ShorterThanMagic", with_w("short.npy"), 5, {"SG0501", "too short"}},
    {"UnknownVersion", with_w("version.npy"), 5, {"SG0501", "version 9.0"}},
    {"LyingHeaderLength", with_w("header.npy"), 5, {"SG0501", "4294967295 bytes"}},
    {"NpzWithoutMember", with_w("w.npz"), 2, {"SG0506", "w=w.npz:w"}},
    {"NpzLacksMember", with_w("w.npz:ww"), 2, {"SG0503", "no array 'ww'", "did you mean 'w'?"}},
    {"TruncatedNpz", with_w("cut.npz:w"), 5, {"SG0501"}},
    {"DamagedNpz", with_w("flipped.npz:w"), 5, {"SG0501"}},
    {"NotAnArchive", with_w("no.npz:w"), 5, {"SG0501", "no zip directory"}},
    {"LiteralBeyondAllFloats", with_w("[1e400,0,0]"), 2, {"SG0506", "holds 1e400"}},
    {"NegativeLiteralBeyondAllFloats", with_w("[0,-1e400,0]"), 2, {"SG0506", "holds -1e400"}},
    {"PseudoFileBeyondAllMachines", with_w("zeros:4611686018427387904"), 6, {"SG0601", "4611686018427387904"}},
    {"PseudoFileWithOverflowingShape", with_w("zeros:4611686018427387904x4611686018427387904x0"), 6, {"SG0601"}},
    {"ExtentBeyondAllMachines", of("huge.sg", {"x=[1]", "M=4611686018427387904"}), 6, {"SG0601", "larger than any memory"}},
    {"TypeBeyondAllMachines", {"opt", "huge_type.sg", "--kernels"}, 3, {"4611686018427387904"}},
    // programs
    {"FunctionDefinedTwice", of("defined_twice.sg", {"x=1"}), 3, {"SG0408", "defined_twice.sg:5:5", "defined_twice.sg:1"}},
    {"EscapeInAName", of("escape.sg", {"x=1"}), 3, {"SG0401", "escape.sg:1:19", "control character", "\\x1b"}},
    {"LongEscapeInAName", of("c1.sg", {"x=1"}), 3, {"SG0401", "\\xc2\\x9b"}},
    {"NoSuchProgram", of("absent.sg", {}), 5, {"SG0504", "absent.sg"}},
    {"FolderAsProgram", of("folder", {}), 5, {"SG0504", "directory"}},
    {"OpenBracket", of("bracket.sg", {"x=[1]"}), 3, {"SG0401", "bracket.sg:"}},
    {"StrangeCharacter", of("character.sg", {"x=[1]"}), 3, {"SG0401", "character.sg:2:", "'$'"}},
    {"BinaryAsProgram", of("binary.sg", {}), 3, {"SG0401", "'\\x00'", "binary.sg:1:1"}},
    {"EmptyProgram", of("empty.sg", {}), 3, {"SG0403", "no function"}},
    {"ErrorInAnImportedFile",
     of("uses.sg", {"x=[1]"}),
     3,
     {"SG0402", "folder/used.sg:2:34", "sum(velocity)", "in the call of 'used' at uses.sg:2:27"}},
    {"ImportOfNoFile", of("lost.sg", {"x=1"}), 3, {"SG0410", "lost.sg:2:8", "folder/lost.sg", "no such file"}},
    {"ImportOfAFolder", of("imports_folder.sg", {"x=1"}), 3, {"SG0410", "imports_folder.sg:1:8", "no regular file"}},
    {"ImportOfAPipe", of("imports_pipe.sg", {"x=1"}), 3, {"SG0410", "imports_pipe.sg:1:8", "no regular file"}},
    {"ImportsThatClash", of("clash.sg", {"x=1"}), 3, {"SG0408", "clash.sg:3:8", "'shapes.sg' defines 'f'", "square.sg:1"}},
    {"ImportsInACircle", of("cycle.sg", {"x=1"}), 3, {"SG0410", "cycle.sg -> folder/cycle.sg -> cycle.sg"}},
    {"MistypedOperation", of("operation.sg", {"x=[1]"}), 3, {"SG0403", "operation.sg:2:11", "did you mean 'softmax'?"}},
    {"UnknownName", of("unknown.sg", {"velocity=[1]"}), 3, {"SG0402", "did you mean 'velocity'?"}},
    {"ShapesDiffer", of("shapes.sg", {"x=ones:3", "y=ones:4"}), 3, {"SG0101", "shapes.sg:2:", "[3]", "[4]"}},
    {"TypesDiffer", of("dtypes.sg", {"x=ones:3", "y=ones:3"}), 3, {"SG0102", "f32", "i32"}},
    {"FunctionCallsItself", of("self.sg", {"x=1"}), 3, {"SG0405", "calls itself"}},
    {"NestedTooDeep", of("deep.sg", {"x=1"}), 3, {"SG0406", "nested"}},
    {"InputOfWrongShape", of("square.sg", {"x=ones:2x3"}), 3, {"SG0104", "'N'"}},
    {"InputOfWrongRank", of("square.sg", {"x=ones:2"}), 3, {"SG0103", "f32[2]"}},
    {"NoSuchFunction", run({"--function", "modl"}), 3, {"SG0403", "no function 'modl'", "did you mean 'model'?"}},
    {"ShapeNotGiven", {"opt", "square.sg"}, 3, {"SG0105", "'N'"}},
    // derivatives
    {"GradientByInteger", run({"--wrt", "k", "-o", "out.npz"}, {"grad", "model.sg"}), 3, {"SG0201", "'k' is i32"}},
    {"GradientByNothing", run({"--wrt", "ww", "-o", "out.npz"}, {"grad", "model.sg"}), 3, {"SG0202", "did you mean 'w'?"}},
    {"GradientOfArray", run({"--wrt", "w", "--of", "rows"}, {"grad", "model.sg"}), 3, {"SG0204", "not a scalar"}},
    {"GradientOfInteger", run({"--wrt", "w", "--of", "count"}, {"grad", "model.sg"}), 3, {"SG0205", "'count'"}},
    {"GradientOfNothing", run({"--wrt", "w", "--of", "los"}, {"grad", "model.sg"}), 3, {"SG0203", "did you mean 'loss'?"}},
    {"TangentOfNothing",
     run({"--wrt", "w", "--jvp", "--of", "los", "dot_w=ones:3"}, {"grad", "model.sg"}),
     3,
     {"SG0203", "'los'"}},
    {"SameParameterTwice", run({"--wrt", "w,w"}, {"grad", "model.sg"}), 3, {"SG0206", "'w'"}},
    // outputs
    {"MistypedOutput", run({"-o", "los=out.npy"}), 2, {"SG0508", "no result 'los'", "did you mean 'loss'?"}},
    {"WhichOutput", run({"-o", "out.npy"}), 2, {"SG0508", "3 results", "loss, rows, count"}},
    {"OutputIsAFolder", run({"-o", "loss=folder"}), 5, {"SG0505", "'folder'", "folder"}},
    {"OutputFolderIsMissing", run({"-o", "loss=absent/out.npy"}), 5, {"SG0505", "no folder 'absent'"}},
    {"OutputFolderIsAFile", run({"-o", "loss=w.npy/out.npy"}), 5, {"SG0505", "w.npy/out.npy"}},
    {"OutputDeviceIsFull", run({"-o", "rows=out.npy", "-o", "loss=/dev/full"}), 5, {"SG0505", "No space left"}},
    {"OutputOfUnknownKind", run({"-o", "loss=out.tiff"}), 2, {"does not end in .npy, .npz, .csv"}},
    {"TwoOutputsInOneFile", run({"-o", "loss=out.npy", "-o", "rows=out.npy"}), 2, {"two outputs"}},
    {"OneFileByTwoPaths", run({"-o", "loss=out.npy", "-o", "rows=./out.npy"}), 2, {"two outputs", "'./out.npy'"}},
    {"OneFileByALink", run({"-o", "loss=out.npy", "-o", "rows=link.npy"}), 2, {"two outputs", "'link.npy'"}},
    {"OneFileByAHardLink", run({"-o", "loss=w.npy", "-o", "rows=w_too.npy"}), 2, {"two outputs", "'w_too.npy'"}},
    {"OneArchiveByTwoPaths", run({"-o", "out.npz", "-o", "folder/../out.npz"}), 2, {"two outputs"}},
    {"StdoutTwice", run({"-o", "loss=-", "-o", "loss=-"}), 2, {"two outputs"}},
    {"StdoutByTwoNames", run({"-o", "loss=-", "-o", "rows=/dev/stdout"}), 2, {"two outputs", "'/dev/stdout'"}},
    {"MemberThatClimbs",
     {"run", "climb.sg", "x=1", "--device", "interpreter", "-o", "out.npz"},
     2,
     {"SG0508", "'../../y'", "is a path"}},
    {"NamedOutputInNpz", run({"-o", "loss=out.npz"}), 2, {"takes all results"}},
    {"OneBadOutputOfTwo", run({"-o", "loss=out.npy", "-o", "rows=absent/rows.npy"}), 5, {"SG0505"}},
    // devices
    {"UnknownDevice", {"run", "square.sg", "x=ones:2x2", "--device", "no such device", "-o", "out.npy"}, 4, {"error[SG030"}},
    {"UnknownDeviceOfEnvironment",
     {"run", "square.sg", "x=ones:2x2", "-o", "out.npy"},
     4,
     {"error[SG030"},
     {"SPIROGRAD_DEVICE=no such device"}},
    {"NoDriver",
     {"run", "square.sg", "x=ones:2x2", "-o", "out.npy"},
     4,
     {"error[SG030", "interpreter"},
     {"VK_DRIVER_FILES=/nonexistent.json", "VK_ICD_FILENAMES=/nonexistent.json"}},
};

class BadInput : public testing::TestWithParam<Case> {};

TEST_P(BadInput, EndsWithOneErrorAndNoOutput) {
  const Case& c = GetParam();
  const Folder folder;
  furnish(folder);
  const std::vector<std::string> before = folder.files();
  const Finished f = folder.run(c.words, c.environment);
  EXPECT_EQ(f.status, c.status) << f.err << f.out;
  EXPECT_EQ(f.err.rfind("error", 0), 0u) << f.err;
  for (const std::string& fragment : c.fragments)
    EXPECT_NE(f.err.find(fragment), std::string::npos) << fragment << "\n" << f.err;
  size_t errors = 0;
  for (size_t at = f.err.find("error"); at != std::string::npos; at = f.err.find("error", at + 1))
    errors += (at == 0 || f.err[at - 1] == '\n') ? 1 : 0;
  EXPECT_EQ(errors, 1u) << f.err;
  EXPECT_EQ(f.err.find("internal"), std::string::npos) << f.err;
  EXPECT_EQ(f.out, "");
  EXPECT_EQ(folder.files(), before);
}

INSTANTIATE_TEST_SUITE_P(Table, BadInput, testing::ValuesIn(kCases),
                         [](const auto& test) { return std::string(test.param.name); });

TEST(BadOutput, StdoutThatTakesNothingIsAnError) {
  const Folder folder;
  furnish(folder);
  const Finished f = folder.run(run({}), {}, "/dev/full");
  EXPECT_EQ(f.status, 5);
  EXPECT_NE(f.err.find("SG0505"), std::string::npos) << f.err;
}

TEST(BadOutput, StdoutThatIsTheOutputIsAnError) {
  const Folder folder;
  furnish(folder);
  const Finished f = folder.run(run({"-o", "loss=out.npy"}), {}, folder.path("out.npy").string());
  EXPECT_EQ(f.status, 2);
  EXPECT_NE(f.err.find("stdout"), std::string::npos) << f.err;
}

TEST(BadOutput, ASignalLeavesNoTemporaryFile) {
  for (const int number : {SIGTERM, SIGINT, SIGHUP}) {
    const Folder folder;
    furnish(folder);
    ASSERT_EQ(mkfifo(folder.path("pipe.npy").c_str(), 0600), 0);
    const std::vector<std::string> before = folder.files();
    // The first output stands in its temporary file while the second waits for somebody who reads the pipe.
    const pid_t child = folder.start(run({"-o", "rows=out.npy", "-o", "loss=pipe.npy"}));
    for (int j = 0; j < 1000 && folder.files() == before; ++j) usleep(10000);
    EXPECT_EQ(folder.files().size(), before.size() + 1) << "the temporary file";
    usleep(50000);
    kill(child, number);
    int status = 0;
    waitpid(child, &status, 0);
    EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == number) << status;
    EXPECT_EQ(folder.files(), before);
  }
}

TEST(BadOutput, AnOldFileStaysWhenTheRunFails) {
  const Folder folder;
  furnish(folder);
  folder.write("out.npy", std::string("precious"));
  EXPECT_EQ(folder.run(with_w("truncated.npy")).status, 5);
  EXPECT_EQ(folder.run(run({"-o", "rows=out.npy", "-o", "loss=/dev/full"})).status, 5);
  EXPECT_EQ(folder.read("out.npy"), "precious");
}

}  // namespace bad_input_test
}  // namespace spirograd::tool_test
