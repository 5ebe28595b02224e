// Value and gradient of a line through four points, from C: links libspirograd, and needs no C++ compiler.
#include <spirograd/spirograd.h>
#include <stdio.h>
#include <stdlib.h>

static const char* text = "def loss(w: f32[2], x: f32[N], y: f32[N]) -> (loss: f32) = mean(square(w[0] + w[1] * x - y))\n";

static void check(sg_status status) {
  if (status == SG_OK) return;
  fprintf(stderr, "%s\n", sg_error_text(sg_last_error()));
  exit(1);
}

int main(void) {
  sg_device* device = NULL;
  sg_program *line = NULL, *gradient = NULL;
  sg_session* session = NULL;
  check(sg_device_create(NULL, &device));

  const sg_size sizes[] = {{"N", 4}};
  const sg_text_options options = {.struct_size = sizeof options, .file = "line", .sizes = sizes, .n_sizes = 1};
  const char* by[] = {"w"};
  check(sg_program_from_text(text, &options, &line));
  check(sg_program_derive(line, SG_VALUE_AND_GRAD, by, 1, &gradient));
  check(sg_session_create(device, gradient, NULL, &session));

  const float w[] = {1, 0}, x[] = {0, 1, 2, 3}, y[] = {1, 3, 5, 7};
  float loss, d_w[2];
  const sg_input in[] = {{w, sizeof w, SG_F32}, {x, sizeof x, SG_F32}, {y, sizeof y, SG_F32}};
  const sg_output out[] = {{&loss, sizeof loss, SG_F32}, {d_w, sizeof d_w, SG_F32}};
  check(sg_session_run(session, in, 3, out, 2));
  printf("loss %g\nd_w %g %g\n", loss, d_w[0], d_w[1]);

  sg_session_destroy(session);
  sg_program_destroy(gradient);
  sg_program_destroy(line);
  sg_device_destroy(device);
  return 0;
}
