#version 450
// Added to what is there.
layout(location = 0) in vec2 offset;
layout(location = 1) in vec3 tint;
layout(location = 0) out vec4 colour;

void main() { colour = vec4(tint * exp(-0.5 * dot(offset, offset)), 0); }
