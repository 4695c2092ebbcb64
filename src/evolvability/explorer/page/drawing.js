// WebGL: a floor, points and ribbons lying on it, and solid shapes standing on it, with their shadows.

const SOLID_VERTEX = `#version 300 es
layout(location=0) in vec3 position; layout(location=1) in vec3 normal;
layout(location=2) in mat4 place; layout(location=6) in vec3 color;
uniform mat4 view; uniform vec3 light; uniform bool flat_;
out vec3 vNormal; out vec3 vColor; out vec3 vPoint;
void main() {
  vec4 point = place * vec4(position, 1.0);
  if (flat_) point.xyz = vec3(point.xy - light.xy * point.z / light.z, 0.0);
  vNormal = mat3(place) * (normal / vec3(dot(place[0], place[0]), dot(place[1], place[1]), dot(place[2], place[2])));
  vColor = color; vPoint = point.xyz;
  gl_Position = view * point;
}`;
const SOLID_FRAGMENT = `#version 300 es
precision highp float;
in vec3 vNormal; in vec3 vColor; in vec3 vPoint;
uniform vec3 light; uniform vec3 eye; uniform bool flat_; out vec4 pixel;
void main() {
  if (flat_) { pixel = vec4(0.0, 0.0, 0.0, 0.42); return; }
  vec3 n = normalize(vNormal), toEye = normalize(eye - vPoint);
  float lit = max(dot(n, light), 0.0), sky = 0.5 + 0.5 * n.z;
  float shine = pow(max(dot(n, normalize(light + toEye)), 0.0), 40.0);
  float rim = pow(1.0 - max(dot(n, toEye), 0.0), 3.0);
  pixel = vec4(vColor * (0.30 + 0.26 * sky + 0.62 * lit) + 0.22 * shine + 0.16 * rim, 1.0);
}`;
const POINT_VERTEX = `#version 300 es
layout(location=0) in vec2 position; layout(location=1) in vec3 color;
uniform mat4 view; uniform float size; uniform float height; out vec3 vColor;
void main() { gl_Position = view * vec4(position, height, 1.0); gl_PointSize = size; vColor = color; }`;
const POINT_FRAGMENT = `#version 300 es
precision mediump float;
in vec3 vColor; uniform float alpha; out vec4 pixel;
void main() {
  float r = length(gl_PointCoord - 0.5) * 2.0;
  if (r > 1.0) discard;
  pixel = vec4(vColor * (1.08 - 0.3 * r), alpha * smoothstep(1.0, 0.75, r));
}`;
const RIBBON_VERTEX = `#version 300 es
layout(location=0) in vec3 position; layout(location=1) in vec4 color; layout(location=2) in float time;
uniform mat4 view; out vec4 vColor; out float vTime;
void main() { gl_Position = view * vec4(position, 1.0); vColor = color; vTime = time; }`;
const RIBBON_FRAGMENT = `#version 300 es
precision highp float;
in vec4 vColor; in float vTime; uniform float now; out vec4 pixel;
void main() { pixel = vec4(vColor.rgb, vColor.a * (vTime > now ? 0.28 : 1.0)); }`;
const FLOOR_VERTEX = `#version 300 es
layout(location=0) in vec2 position; uniform mat4 view; uniform float extent; out vec2 ground;
void main() { ground = position * extent; gl_Position = view * vec4(ground, 0.0, 1.0); }`;
const FLOOR_FRAGMENT = `#version 300 es
precision highp float;
in vec2 ground; uniform float spacing; uniform float reach; uniform bool rings; uniform float density; uniform sampler2D heat;
uniform vec3 back; out vec4 pixel;
float lines(vec2 p, float width) {
  vec2 away = abs(fract(p - 0.5) - 0.5) / max(fwidth(p), 1e-6);
  return clamp(width - min(away.x, away.y), 0.0, 1.0);
}
void main() {
  float far = length(ground);
  vec3 color = mix(vec3(0.088, 0.106, 0.150), back, smoothstep(reach * 1.2, reach * 4.2, far));
  float fade = 1.0 - smoothstep(reach * 1.1, reach * 3.2, far);
  color += 0.030 * fade * lines(ground / spacing, 1.0);
  if (rings) {
    float ring = far / spacing;
    float on = clamp(1.25 - abs(fract(ring - 0.5) - 0.5) / max(fwidth(ring), 1e-6), 0.0, 1.0) * step(0.5, ring);
    color += 0.085 * fade * on;
  } else {
    color += 0.12 * fade * clamp(1.3 - abs(ground.y) / max(fwidth(ground.y), 1e-6), 0.0, 1.0);
  }
  if (density > 0.0) {
    vec4 hot = texture(heat, ground / (2.6 * reach) + 0.5);
    color = mix(color, hot.rgb, hot.a * density);
  }
  pixel = vec4(color, 1.0);
}`;

export const BACKGROUND = [0.043, 0.055, 0.082];
const LIGHT = [-0.36, -0.34, 0.87];

export class Painter {
  constructor(canvas) {
    const gl = canvas.getContext("webgl2", { antialias: true, stencil: true, alpha: false, preserveDrawingBuffer: true });
    if (!gl) throw new Error("This browser has no WebGL 2, which the scene is drawn with.");
    this.gl = gl;
    this.programs = {
      solid: this.program(SOLID_VERTEX, SOLID_FRAGMENT),
      point: this.program(POINT_VERTEX, POINT_FRAGMENT),
      ribbon: this.program(RIBBON_VERTEX, RIBBON_FRAGMENT),
      floor: this.program(FLOOR_VERTEX, FLOOR_FRAGMENT),
    };
    this.square = this.buffer(new Float32Array([-1, -1, 1, -1, -1, 1, 1, 1]));
    this.shapes = Object.fromEntries(Object.entries({ sphere: sphere(), cylinder: cylinder(), box: box() }).map(([name, mesh]) => [name, this.mesh(mesh)]));
    this.instances = gl.createBuffer();
    this.scratch = gl.createBuffer();
    this.blank = this.texture(1, new Uint8Array(4));
    gl.enable(gl.BLEND);
    gl.blendFunc(gl.SRC_ALPHA, gl.ONE_MINUS_SRC_ALPHA);
  }

  program(vertex, fragment) {
    const gl = this.gl;
    const program = gl.createProgram();
    for (const [kind, source] of [[gl.VERTEX_SHADER, vertex], [gl.FRAGMENT_SHADER, fragment]]) {
      const shader = gl.createShader(kind);
      gl.shaderSource(shader, source);
      gl.compileShader(shader);
      if (!gl.getShaderParameter(shader, gl.COMPILE_STATUS)) throw new Error(gl.getShaderInfoLog(shader));
      gl.attachShader(program, shader);
    }
    gl.linkProgram(program);
    const places = {};
    for (let k = 0; k < gl.getProgramParameter(program, gl.ACTIVE_UNIFORMS); k++) {
      const { name } = gl.getActiveUniform(program, k);
      places[name] = gl.getUniformLocation(program, name);
    }
    return { program, places };
  }

  buffer(data) {
    const gl = this.gl;
    const buffer = gl.createBuffer();
    gl.bindBuffer(gl.ARRAY_BUFFER, buffer);
    gl.bufferData(gl.ARRAY_BUFFER, data, gl.STATIC_DRAW);
    return buffer;
  }

  release(...buffers) {
    for (const buffer of buffers) if (buffer) this.gl.deleteBuffer(buffer);
  }

  texture(side, bytes, old = null) {
    const gl = this.gl;
    const texture = old ?? gl.createTexture();
    gl.bindTexture(gl.TEXTURE_2D, texture);
    gl.texImage2D(gl.TEXTURE_2D, 0, gl.RGBA, side, side, 0, gl.RGBA, gl.UNSIGNED_BYTE, bytes);
    for (const [name, value] of [["MIN_FILTER", gl.LINEAR], ["MAG_FILTER", gl.LINEAR], ["WRAP_S", gl.CLAMP_TO_EDGE], ["WRAP_T", gl.CLAMP_TO_EDGE]])
      gl.texParameteri(gl.TEXTURE_2D, gl[`TEXTURE_${name}`], value);
    return texture;
  }

  mesh({ vertices, indices }) {
    const gl = this.gl;
    const elements = gl.createBuffer();
    gl.bindBuffer(gl.ELEMENT_ARRAY_BUFFER, elements);
    gl.bufferData(gl.ELEMENT_ARRAY_BUFFER, new Uint16Array(indices), gl.STATIC_DRAW);
    return { vertices: this.buffer(new Float32Array(vertices)), elements, count: indices.length };
  }

  // Everything that follows goes into this part of the canvas, in its pixels from the lower left.
  begin([x, y, width, height], view, eye) {
    const gl = this.gl;
    this.view = view;
    this.eye = eye;
    gl.viewport(x, y, width, height);
    gl.enable(gl.SCISSOR_TEST);
    gl.scissor(x, y, width, height);
    gl.depthMask(true);
    gl.clearColor(...BACKGROUND, 1);
    gl.clear(gl.COLOR_BUFFER_BIT | gl.DEPTH_BUFFER_BIT | gl.STENCIL_BUFFER_BIT);
    gl.disable(gl.DEPTH_TEST);
  }

  use(name, values) {
    const gl = this.gl;
    const { program, places } = this.programs[name];
    gl.useProgram(program);
    gl.uniformMatrix4fv(places.view, false, this.view);
    for (const [key, value] of Object.entries(values)) {
      if (Array.isArray(value)) gl.uniform3fv(places[key], value);
      else if (typeof value === "boolean") gl.uniform1i(places[key], value ? 1 : 0);
      else gl.uniform1f(places[key], value);
    }
  }

  attributes(buffer, stride, parts, divisor = 0) {
    const gl = this.gl;
    gl.bindBuffer(gl.ARRAY_BUFFER, buffer);
    for (const [location, size, offset] of parts) {
      gl.enableVertexAttribArray(location);
      gl.vertexAttribPointer(location, size, gl.FLOAT, false, 4 * stride, 4 * offset);
      gl.vertexAttribDivisor(location, divisor);
    }
  }

  detach(...locations) {
    for (const location of locations) {
      this.gl.vertexAttribDivisor(location, 0);
      this.gl.disableVertexAttribArray(location);
    }
  }

  floor({ extent, spacing, reach, rings, density, heat }) {
    const gl = this.gl;
    this.use("floor", { extent, spacing, reach, rings, density: heat ? density : 0, back: BACKGROUND });
    gl.activeTexture(gl.TEXTURE0);
    gl.bindTexture(gl.TEXTURE_2D, heat ?? this.blank);
    this.attributes(this.square, 2, [[0, 2, 0]]);
    gl.drawArrays(gl.TRIANGLE_STRIP, 0, 4);
    this.detach(0);
  }

  points(buffer, count, size, { alpha = 1, height = 0.01, first = 0 } = {}) {
    if (!count) return;
    this.use("point", { size, alpha, height });
    this.attributes(buffer, 5, [[0, 2, 0], [1, 3, 2]]);
    this.gl.drawArrays(this.gl.POINTS, first, count);
    this.detach(0, 1);
  }

  ribbon(vertices, now = Infinity) {
    const gl = this.gl;
    this.use("ribbon", { now: Number.isFinite(now) ? now : 1e9 });
    const isBuffer = !(vertices instanceof Float32Array);
    const buffer = isBuffer ? vertices.buffer : this.scratch;
    if (!isBuffer) {
      gl.bindBuffer(gl.ARRAY_BUFFER, buffer);
      gl.bufferData(gl.ARRAY_BUFFER, vertices, gl.STREAM_DRAW);
    }
    this.attributes(buffer, 8, [[0, 3, 0], [1, 4, 3], [2, 1, 7]]);
    gl.drawArrays(gl.TRIANGLES, 0, isBuffer ? vertices.count : vertices.length / 8);
    this.detach(0, 1, 2);
  }

  // places: {sphere, cylinder, box}, each numbers of 16 + 3 an instance.
  solids(places) {
    const gl = this.gl;
    gl.enable(gl.STENCIL_TEST);  // where shadows overlap, the floor is not darkened twice
    gl.stencilFunc(gl.EQUAL, 0, 255);
    gl.stencilOp(gl.KEEP, gl.KEEP, gl.INCR);
    this.instanced(places, true);
    gl.disable(gl.STENCIL_TEST);
    gl.enable(gl.DEPTH_TEST);
    this.instanced(places, false);
    gl.disable(gl.DEPTH_TEST);
  }

  instanced(places, isShadow) {
    const gl = this.gl;
    this.use("solid", { light: LIGHT, eye: this.eye, flat_: isShadow });
    for (const [name, numbers] of Object.entries(places)) {
      if (!numbers.length) continue;
      const mesh = this.shapes[name];
      this.attributes(mesh.vertices, 6, [[0, 3, 0], [1, 3, 3]]);
      gl.bindBuffer(gl.ARRAY_BUFFER, this.instances);
      gl.bufferData(gl.ARRAY_BUFFER, new Float32Array(numbers), gl.STREAM_DRAW);
      this.attributes(this.instances, 19, [[2, 4, 0], [3, 4, 4], [4, 4, 8], [5, 4, 12], [6, 3, 16]], 1);
      gl.bindBuffer(gl.ELEMENT_ARRAY_BUFFER, mesh.elements);
      gl.drawElementsInstanced(gl.TRIANGLES, mesh.count, gl.UNSIGNED_SHORT, 0, numbers.length / 19);
    }
    this.detach(0, 1, 2, 3, 4, 5, 6);
  }
}

function grid(rows, columns, at) {
  const vertices = [];
  const indices = [];
  for (let i = 0; i <= rows; i++)
    for (let j = 0; j <= columns; j++) vertices.push(...at(i / rows, j / columns));
  for (let i = 0; i < rows; i++)
    for (let j = 0; j < columns; j++) {
      const a = i * (columns + 1) + j;
      const b = a + columns + 1;
      indices.push(a, b, a + 1, b, b + 1, a + 1);
    }
  return { vertices, indices };
}

function sphere() {
  return grid(8, 14, (u, v) => {
    const n = [Math.sin(Math.PI * u) * Math.cos(2 * Math.PI * v), Math.sin(Math.PI * u) * Math.sin(2 * Math.PI * v), Math.cos(Math.PI * u)];
    return [...n, ...n];
  });
}

function cylinder() {
  return grid(1, 14, (u, v) => {
    const n = [Math.cos(2 * Math.PI * v), Math.sin(2 * Math.PI * v), 0];
    return [n[0], n[1], 1 - 2 * u, ...n];
  });
}

function box() {
  const vertices = [];
  const indices = [];
  for (const axis of [0, 1, 2])
    for (const side of [-1, 1]) {
      const first = vertices.length / 6;
      for (const [a, b] of [[-1, -1], [1, -1], [-1, 1], [1, 1]]) {
        const point = [];
        point[axis] = side;
        point[(axis + 1) % 3] = a;
        point[(axis + 2) % 3] = b;
        const normal = [0, 0, 0];
        normal[axis] = side;
        vertices.push(...point, ...normal);
      }
      indices.push(first, first + 1, first + 2, first + 2, first + 1, first + 3);
    }
  return { vertices, indices };
}

// Ribbons lying on the ground: numbers of 8 a vertex, position, color with alpha, time.
export function band(points, width, color, { alpha = 1, times = null, height = 0.02 } = {}) {
  const numbers = [];
  let before = null;
  for (let k = 0; k < points.length; k++) {
    const a = points[Math.max(0, k - 1)];
    const b = points[Math.min(points.length - 1, k + 1)];
    const length = Math.hypot(b[0] - a[0], b[1] - a[1]) || 1;
    const side = [(-(b[1] - a[1]) / length) * width * 0.5, ((b[0] - a[0]) / length) * width * 0.5];
    const time = times ? times[k] : 0;
    const edge = [1, -1].map((s) => [points[k][0] + s * side[0], points[k][1] + s * side[1], height, ...color, alpha, time]);
    if (before) numbers.push(...before[0], ...before[1], ...edge[0], ...edge[0], ...before[1], ...edge[1]);
    before = edge;
  }
  return numbers;
}

export function circle([x, y], radius, width, color, alpha = 1) {
  const points = [];
  for (let k = 0; k <= 40; k++) points.push([x + radius * Math.cos((Math.PI * k) / 20), y + radius * Math.sin((Math.PI * k) / 20)]);
  return band(points, width, color, { alpha, height: 0.03 });
}
