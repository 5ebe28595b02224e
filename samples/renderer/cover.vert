#version 450
// One triangle that covers the picture.
layout(location = 0) out vec2 place;  // [-1, 1], y downwards

void main() {
  place = vec2(gl_VertexIndex == 1 ? 3 : -1, gl_VertexIndex == 2 ? 3 : -1);
  gl_Position = vec4(place, 0, 1);
}
