#version 450
// What is to be imitated: an evening by the sea.
layout(location = 0) in vec2 place;
layout(location = 0) out vec4 colour;

float hills(float x, float height, float shift) {
  return height - 0.10 * sin(2.3 * x + shift) - 0.06 * sin(5.1 * x + 2 * shift) - 0.02 * sin(13 * x + shift);
}

vec3 sky(vec2 p) {
  const vec2 sun = vec2(0.35, -0.28);
  const float d = distance(p, sun);
  vec3 c = mix(vec3(0.10, 0.16, 0.38), vec3(0.98, 0.62, 0.30), smoothstep(-1.0, 0.25, p.y));
  c += vec3(0.55, 0.30, 0.10) * exp(-5 * d);
  c = mix(c, vec3(1.0, 0.93, 0.70), smoothstep(0.20, 0.17, d));
  c = mix(c, vec3(0.44, 0.30, 0.44), smoothstep(-0.01, 0.01, p.y - hills(p.x, -0.02, 0.7)));
  return mix(c, vec3(0.20, 0.16, 0.30), smoothstep(-0.01, 0.01, p.y - hills(p.x, 0.17, 2.6)));
}

void main() {
  const float shore = 0.32;
  vec3 c = sky(place);
  if (place.y > shore) {  // what lies above it, mirrored, in waves that lengthen towards the viewer
    const float depth = place.y - shore;
    const float wave = 0.05 * sin(70 * depth / (0.3 + depth)) * (0.3 + depth);
    c = mix(sky(vec2(place.x + wave, shore - 1.3 * depth)), vec3(0.08, 0.18, 0.34), 0.25 + 0.45 * depth);
  }
  const vec2 boat = place - vec2(-0.42, 0.52);
  const bool hull = boat.y > 0 && boat.y < 0.10 && abs(boat.x) < 0.24 - 0.9 * boat.y;
  const bool sail = boat.y < -0.02 && boat.y > -0.55 && boat.x > 0.02 && boat.x < 0.26 * (boat.y + 0.57) / 0.55;
  const bool jib = boat.y < -0.02 && boat.y > -0.45 && boat.x < -0.02 && boat.x > -0.18 * (boat.y + 0.47) / 0.45;
  if (hull) c = vec3(0.35, 0.10, 0.10);
  if (sail) c = vec3(0.97, 0.94, 0.88);
  if (jib) c = vec3(0.85, 0.30, 0.22);
  colour = vec4(c, 1);
}
