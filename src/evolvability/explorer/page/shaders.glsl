// What the page draws with, a vertex and a fragment shader for each kind of thing. A line of dashes begins one.

---- all
precision highp float;
#define CORNER(id) vec2(ivec2(0x1a, 0x34) >> (id % 6) & 1) // of the two triangles that a rectangle has, each side 0 to 1
#define SHADOW vec4(0.0, 0.0, 0.0, 0.42)
vec3 shaded(vec3 color, vec3 n, vec3 toEye, vec3 light) {
  float lit = max(dot(n, light), 0.0), sky = 0.5 + 0.5 * n.z;
  float shine = pow(max(dot(n, normalize(light + toEye)), 0.0), 40.0);
  float rim = pow(1.0 - max(dot(n, toEye), 0.0), 3.0);
  return color * (0.30 + 0.26 * sky + 0.62 * lit) + 0.22 * shine + 0.16 * rim;
}

---- solid vertex
layout(location=0) in mat4 place; layout(location=4) in vec3 color; layout(location=5) in float halfLength;
uniform mat4 view; uniform vec3 light; uniform bool shadow;
out vec3 vNormal; out vec3 vColor; out vec3 vToEye;
void main() {
  // A sphere of 7 rows and 12 sides. No corner is at the equator: its halves are pulled apart, and the row between them
  // becomes a capsule's side.
  int rectangle = gl_VertexID / 6;
  vec2 angle = (vec2(rectangle / 12, rectangle % 12) + CORNER(gl_VertexID)) * vec2(3.14159265 / 7.0, 3.14159265 / 6.0);
  vec3 normal = vec3(sin(angle.x) * cos(angle.y), sin(angle.x) * sin(angle.y), cos(angle.x));
  vec4 point = place * vec4(normal.xy, normal.z + sign(normal.z) * halfLength, 1.0);
  // A shadow is the shape itself, pressed flat along the light.
  if (shadow) point.xyz = vec3(point.xy - light.xy * point.z / light.z, 0.0);
  vec4 eye = inverse(view) * vec4(0.0, 0.0, 1.0, 0.0); // what is seen at no depth at all
  vNormal = mat3(place) * normal; vColor = color; vToEye = eye.xyz / eye.w - point.xyz;
  gl_Position = view * point;
}

---- solid fragment
in vec3 vNormal; in vec3 vColor; in vec3 vToEye;
uniform vec3 light; uniform bool shadow; out vec4 pixel;
void main() {
  pixel = shadow ? SHADOW : vec4(shaded(vColor, normalize(vNormal), normalize(vToEye), light), 1.0);
}

---- mesh vertex
layout(location=0) in mat4 place; layout(location=4) in vec3 color; layout(location=5) in vec3 corner;
uniform mat4 view; uniform vec3 light; uniform bool shadow;
out vec3 vColor; out vec3 vToEye; out vec3 vPoint;
void main() {
  vec4 point = place * vec4(corner, 1.0);
  if (shadow) point.xyz = vec3(point.xy - light.xy * point.z / light.z, 0.0);
  vec4 eye = inverse(view) * vec4(0.0, 0.0, 1.0, 0.0);
  vColor = color; vPoint = point.xyz; vToEye = eye.xyz / eye.w - point.xyz;
  gl_Position = view * point;
}

---- mesh fragment
in vec3 vColor; in vec3 vToEye; in vec3 vPoint;
uniform vec3 light; uniform bool shadow; out vec4 pixel;
void main() {
  // Triangles are flat, and which way round their corners are does not matter.
  vec3 n = normalize(cross(dFdx(vPoint), dFdy(vPoint))), toEye = normalize(vToEye);
  pixel = shadow ? SHADOW : vec4(shaded(vColor, dot(n, toEye) < 0.0 ? -n : n, toEye, light), 1.0);
}

---- point vertex
layout(location=0) in vec3 position; layout(location=1) in vec3 color;
uniform mat4 view; uniform float size; uniform bool shadow; out vec3 vColor;
void main() {
  gl_Position = view * vec4(position.xy, shadow ? 0.0 : position.z + 0.01, 1.0);
  gl_PointSize = size; vColor = shadow ? vec3(0.0) : color;
}

---- point fragment
in vec3 vColor; uniform float alpha; out vec4 pixel;
void main() {
  float r = length(gl_PointCoord - 0.5) * 2.0;
  if (r > 1.0) discard;
  pixel = vec4(vColor * (1.08 - 0.3 * r), alpha * smoothstep(1.0, 0.75, r));
}

---- ribbon vertex
layout(location=0) in vec3 from; layout(location=1) in vec3 to; // x, y, time
uniform mat4 view; uniform float width; out float vTime;
void main() {
  vec2 corner = CORNER(gl_VertexID);
  vec2 along = to.xy == from.xy ? vec2(0.0) : normalize(to.xy - from.xy);
  vec3 end = mix(from, to, corner.x);
  vTime = end.z;
  gl_Position = view * vec4(end.xy + vec2(-along.y, along.x) * width * (corner.y - 0.5), 0.02, 1.0);
}

---- ribbon fragment
in float vTime; uniform float now; uniform vec3 color; out vec4 pixel;
void main() { pixel = vec4(color, vTime > now ? 0.28 : 1.0); }

---- floor vertex
uniform mat4 view; uniform float extent; out vec2 ground;
void main() { ground = (2.0 * CORNER(gl_VertexID) - 1.0) * extent; gl_Position = view * vec4(ground, 0.0, 1.0); }

---- floor fragment
in vec2 ground; uniform float spacing; uniform float reach; uniform bool rings; uniform float density;
uniform sampler2D heat; uniform vec3 back; out vec4 pixel;
// A line so many pixels wide, however far away it is.
float line(float away, float pixelSize, float width) { return clamp(width - away / max(pixelSize, 1e-6), 0.0, 1.0); }
float lines(float place, float width) { return line(abs(fract(place - 0.5) - 0.5), fwidth(place), width); }
void main() {
  float far = length(ground);
  vec3 color = mix(vec3(0.088, 0.106, 0.150), back, smoothstep(reach * 1.2, reach * 4.2, far));
  float fade = 1.0 - smoothstep(reach * 1.1, reach * 3.2, far);
  color += 0.030 * fade * max(lines(ground.x / spacing, 1.0), lines(ground.y / spacing, 1.0));
  if (rings) color += 0.085 * fade * lines(far / spacing, 1.25) * step(0.5, far / spacing);
  else color += 0.12 * fade * line(abs(ground.y), fwidth(ground.y), 1.3);
  if (density > 0.0) {
    vec4 hot = texture(heat, ground / (2.6 * reach) + 0.5);
    color = mix(color, hot.rgb, hot.a * density);
  }
  pixel = vec4(color, 1.0);
}
