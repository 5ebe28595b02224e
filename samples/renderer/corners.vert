#version 450
// A soft disc per instance: a square around it, large enough for all of it that can be seen.
layout(location = 0) in vec2 centre;
layout(location = 1) in vec3 shape;  // a, b, c: of the offset d from the centre, (a d.x, b d.x + c d.y) has the length 1 at one deviation
layout(location = 2) in vec3 tint;
layout(location = 0) out vec2 offset;  // in deviations
layout(location = 1) out vec3 colour;

void main() {
  const float reach = 4;
  offset = reach * vec2((gl_VertexIndex & 1) != 0 ? 1 : -1, (gl_VertexIndex & 2) != 0 ? 1 : -1);
  const float x = offset.x / shape.x;
  gl_Position = vec4(centre + vec2(x, (offset.y - shape.y * x) / shape.z), 0, 1);
  colour = tint;
}
