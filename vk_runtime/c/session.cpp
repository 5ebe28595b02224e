// Sessions: programs made ready for a device.
#include "spirograd/bundle_file.h"
#include "spirograd/compile.h"
#include "vk_runtime/c/call.h"
#include "vk_runtime/c/handles.h"

using namespace spirograd;
using namespace spirograd::c;

namespace {

Executable executable_of(const sg_program& program, const vk::Device& device, bool deterministic) {
  if (!program.program) {
    if (deterministic)
      throw Error("SG0509", "sg_session_create: '" + program.name + "' comes from a bundle, which is compiled already")
          .hint("write the bundle with --deterministic");
    return form_for(*program.bundle, device.target(), device.preferred_form(), program.file).value();
  }
  CompileOptions how;
  how.form = device.preferred_form();
  how.deterministic = deterministic;
  how.choices = device.tuned();
  return compile(*program.program, device.target(), how).value();
}

std::string in_words(const char* role, const Param& p) { return std::string(role) + " '" + p.name + "'"; }

// The argument that the session takes for `name`: inputs before outputs. Null: none, which the session tells.
const Param* find(const std::vector<Param>& all, const std::string& name) {
  for (const Param& p : all)
    if (p.name == name) return &p;
  return nullptr;
}

void check_count(const char* what, size_t want, size_t have) {
  if (want != have)
    throw Error("SG0501", "sg_session_run: the program has " + std::to_string(want) + " " + what + ", and " +
                              std::to_string(have) + " are given")
        .hint("sg_program_input() and sg_program_output() tell names and types, in order");
}

}  // namespace

sg_status sg_session_create(const sg_device* device, const sg_program* program, const sg_compile_options* options,
                            sg_session** out) {
  constexpr auto kHere = "sg_session_create";
  return call([&] {
    const sg_device& on = given(device, kHere, "device");
    const sg_program& p = given(program, kHere, "program");
    const bool deterministic = options_of(options, kHere).deterministic != 0;
    auto& to = given(out, kHere, "out");
    auto made = std::make_unique<sg_session>();
    made->inputs = p.inputs;
    made->outputs = p.outputs;
    made->session = vk::Session::create(on.device, executable_of(p, *on.device, deterministic)).value();
    to = made.release();
  });
}

sg_status sg_session_run(sg_session* session, const sg_input* inputs, size_t n_inputs, const sg_output* outputs,
                         size_t n_outputs) {
  constexpr auto kHere = "sg_session_run";
  return call([&] {
    sg_session& s = given(session, kHere, "session");
    check_count("inputs", s.inputs.size(), n_inputs);
    check_count("outputs", s.outputs.size(), n_outputs);
    if (n_inputs > 0) given(inputs, kHere, "inputs");
    if (n_outputs > 0) given(outputs, kHere, "outputs");
    std::vector<HostArray> in;
    for (size_t i = 0; i < n_inputs; ++i)
      in.push_back(array_of(inputs[i], s.inputs[i].type, kHere, in_words("input", s.inputs[i])));
    for (size_t i = 0; i < n_outputs; ++i)
      check_output(outputs[i], s.outputs[i].type, kHere, in_words("output", s.outputs[i]));
    const std::vector<HostArray> results = s.session->run(in).value();
    for (size_t i = 0; i < n_outputs; ++i) copy_out(results[i], outputs[i]);
  });
}

sg_status sg_session_write(sg_session* session, const char* input, const sg_input* contents) {
  constexpr auto kHere = "sg_session_write";
  return call([&] {
    sg_session& s = given(session, kHere, "session");
    const std::string name = text_of(input, kHere, "input");
    const sg_input& from = given(contents, kHere, "contents");
    const Param* p = find(s.inputs, name);
    s.session->write(name, p ? array_of(from, p->type, kHere, in_words("input", *p)) : HostArray()).value();
  });
}

sg_status sg_session_read(sg_session* session, const char* name, const sg_output* contents) {
  constexpr auto kHere = "sg_session_read";
  return call([&] {
    sg_session& s = given(session, kHere, "session");
    const std::string what = text_of(name, kHere, "name");
    const sg_output& to = given(contents, kHere, "contents");
    const HostArray array = s.session->read(what).value();
    check_output(to, array.type, kHere, "'" + what + "'");
    copy_out(array, to);
  });
}

sg_status sg_session_bind(sg_session* session, const char* name, sg_array* array, sg_role role) {
  constexpr auto kHere = "sg_session_bind";
  return call([&] {
    sg_session& s = given(session, kHere, "session");
    const std::string what = text_of(name, kHere, "name");
    sg_array& to = given(array, kHere, "array");
    std::optional<Role> as;
    switch (role) {
      case SG_ANY_ROLE: break;
      case SG_INPUT_ROLE: as = Role::Input; break;
      case SG_OUTPUT_ROLE: as = Role::Output; break;
      default:
        throw Error("SG0509", std::string(kHere) + ": " + std::to_string(role) + " is no role")
            .hint("SG_ANY_ROLE, SG_INPUT_ROLE or SG_OUTPUT_ROLE");
    }
    s.session->bind(what, to.array, as).value();
  });
}

sg_status sg_session_feed(sg_session* session, const char* output, const char* input) {
  constexpr auto kHere = "sg_session_feed";
  return call([&] {
    sg_session& s = given(session, kHere, "session");
    s.session->feed(&given(output, kHere, "output"), &given(input, kHere, "input")).value();
  });
}

sg_status sg_session_donate(sg_session* session, const char* input, const char* output) {
  constexpr auto kHere = "sg_session_donate";
  return call([&] {
    sg_session& s = given(session, kHere, "session");
    s.session->donate(&given(input, kHere, "input"), &given(output, kHere, "output")).value();
  });
}

sg_status sg_session_run_steps(sg_session* session, uint64_t steps) {
  constexpr auto kHere = "sg_session_run_steps";
  return call([&] { given(session, kHere, "session").session->run(steps).value(); });
}

sg_status sg_session_submit(sg_session* session, uint64_t steps, uint64_t* point) {
  constexpr auto kHere = "sg_session_submit";
  return call([&] {
    sg_session& s = given(session, kHere, "session");
    uint64_t& to = given(point, kHere, "point");
    to = s.session->submit(steps).value().value;
  });
}

sg_status sg_session_wait(sg_session* session, uint64_t point) {
  constexpr auto kHere = "sg_session_wait";
  return call([&] { given(session, kHere, "session").session->wait({point}).value(); });
}

sg_status sg_session_done(sg_session* session, uint64_t point, int32_t* out) {
  constexpr auto kHere = "sg_session_done";
  return call([&] {
    sg_session& s = given(session, kHere, "session");
    int32_t& to = given(out, kHere, "out");
    to = s.session->done({point}).value() ? 1 : 0;
  });
}

void sg_session_destroy(sg_session* session) { delete session; }
