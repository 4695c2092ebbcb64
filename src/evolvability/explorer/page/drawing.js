// WebGL: a floor, points and ribbons lying on it, and solid shapes standing on it, with their shadows.

export const BACKGROUND = [0.043, 0.055, 0.082];
const MANY = 500; // spheres, of some twenty robots: more are made of fewer triangles
const LIGHT = [-0.36, -0.34, 0.87];

// Numbers per attribute, in the order of the shaders' locations.
const LAYOUTS = { floor: [2], point: [3, 3], ribbon: [3, 4, 1], solid: [3, 3] };
const INSTANCE = [4, 4, 4, 4, 3]; // the columns of a matrix, and a color

// The shaders' code by name, such as "floor vertex".
const CODE = document.getElementById("shaders").textContent;
const SHADERS = Object.fromEntries(CODE.split("---- ").slice(1).map((part) => part.split(/\n([^]*)/, 2)));

export class Painter {
  constructor(canvas) {
    const gl = canvas.getContext("webgl2", { stencil: true, alpha: false, preserveDrawingBuffer: true });
    if (!gl) throw new Error("This browser has no WebGL 2, which the scene is drawn with.");
    this.gl = gl;
    this.programs = Object.fromEntries(Object.keys(LAYOUTS).map((name) => [name, this.program(name)]));
    this.square = this.upload("floor", [-1, -1, 1, -1, -1, 1, 1, 1]);
    this.instances = gl.createBuffer();
    const shapes = (rows, sides) => ({ sphere: this.mesh(sphere(rows, sides)), cylinder: this.mesh(cylinder(sides)) });
    [this.fine, this.coarse] = [shapes(8, 14), shapes(5, 8)];
    this.blank = this.texture(1, new Uint8Array(4));
    gl.enable(gl.BLEND);
    gl.blendFunc(gl.SRC_ALPHA, gl.ONE_MINUS_SRC_ALPHA);
  }

  program(name) {
    const gl = this.gl;
    const program = gl.createProgram();
    for (const [kind, stage] of [[gl.VERTEX_SHADER, "vertex"], [gl.FRAGMENT_SHADER, "fragment"]]) {
      const shader = gl.createShader(kind);
      gl.shaderSource(shader, `#version 300 es\nprecision highp float;\n${SHADERS[`${name} ${stage}`]}`);
      gl.compileShader(shader);
      if (!gl.getShaderParameter(shader, gl.COMPILE_STATUS)) throw new Error(gl.getShaderInfoLog(shader));
      gl.attachShader(program, shader);
    }
    gl.linkProgram(program);
    return program;
  }

  // Numbers to draw, laid out for one of the programs; in place of older ones, if given.
  upload(layout, numbers, old = null) {
    const gl = this.gl;
    const made = old ?? { vertexArray: gl.createVertexArray(), buffer: gl.createBuffer() };
    gl.bindVertexArray(made.vertexArray);
    gl.bindBuffer(gl.ARRAY_BUFFER, made.buffer);
    gl.bufferData(gl.ARRAY_BUFFER, new Float32Array(numbers), gl.DYNAMIC_DRAW);
    made.count = numbers.length / this.attributes(LAYOUTS[layout]);
    return made;
  }

  // Says how the numbers of the buffer that is bound lie in it; returns how many there are per vertex.
  attributes(sizes, first = 0, divisor = 0) {
    const gl = this.gl;
    const stride = sizes.reduce((a, b) => a + b);
    let offset = 0;
    for (const [k, size] of sizes.entries()) {
      gl.enableVertexAttribArray(first + k);
      gl.vertexAttribPointer(first + k, size, gl.FLOAT, false, 4 * stride, 4 * offset);
      gl.vertexAttribDivisor(first + k, divisor);
      offset += size;
    }
    return stride;
  }

  release(made) {
    this.gl.deleteVertexArray(made?.vertexArray ?? null);
    this.gl.deleteBuffer(made?.buffer ?? null);
  }

  // A shape of which many are drawn at once, each at a place and in a color of its own.
  mesh(vertices) {
    const made = this.upload("solid", vertices);
    this.gl.bindBuffer(this.gl.ARRAY_BUFFER, this.instances);
    this.attributes(INSTANCE, LAYOUTS.solid.length, 1);
    return made;
  }

  texture(side, bytes, old = null) {
    const gl = this.gl;
    const texture = old ?? gl.createTexture();
    gl.bindTexture(gl.TEXTURE_2D, texture);
    gl.texImage2D(gl.TEXTURE_2D, 0, gl.RGBA, side, side, 0, gl.RGBA, gl.UNSIGNED_BYTE, bytes);
    for (const name of [gl.TEXTURE_MIN_FILTER, gl.TEXTURE_MAG_FILTER]) gl.texParameteri(gl.TEXTURE_2D, name, gl.LINEAR);
    for (const name of [gl.TEXTURE_WRAP_S, gl.TEXTURE_WRAP_T]) gl.texParameteri(gl.TEXTURE_2D, name, gl.CLAMP_TO_EDGE);
    return texture;
  }

  // Everything that follows goes into this part of the canvas, in its pixels from the lower left.
  begin(box, view, eye) {
    const gl = this.gl;
    Object.assign(this, { view, eye });
    gl.viewport(...box);
    gl.enable(gl.SCISSOR_TEST); // a viewport alone does not bound what is cleared
    gl.scissor(...box);
    gl.clearColor(...BACKGROUND, 1);
    gl.clear(gl.COLOR_BUFFER_BIT | gl.DEPTH_BUFFER_BIT | gl.STENCIL_BUFFER_BIT);
  }

  // Draws what was uploaded, with the values of its program's settings.
  draw(name, mesh, values, { mode = this.gl.TRIANGLES, instances = 1 } = {}) {
    const gl = this.gl;
    const program = this.programs[name];
    gl.useProgram(program);
    gl.uniformMatrix4fv(gl.getUniformLocation(program, "view"), false, this.view);
    for (const [key, value] of Object.entries(values)) {
      const place = gl.getUniformLocation(program, key);
      if (Array.isArray(value)) gl.uniform3fv(place, value);
      else if (typeof value === "boolean") gl.uniform1i(place, value ? 1 : 0);
      else gl.uniform1f(place, value);
    }
    gl.bindVertexArray(mesh.vertexArray);
    gl.drawArraysInstanced(mode, 0, mesh.count, instances);
  }

  floor({ heat, ...values }) {
    this.gl.bindTexture(this.gl.TEXTURE_2D, heat ?? this.blank);
    const density = heat ? 0.9 : 0;
    this.draw("floor", this.square, { ...values, density, back: BACKGROUND }, { mode: this.gl.TRIANGLE_STRIP });
  }

  // Those above the ground hide each other, and have shadows.
  points(points, size, alpha, isHigh = false) {
    const [gl, how] = [this.gl, { mode: this.gl.POINTS }];
    if (isHigh) this.draw("point", points, { size: 0.8 * size, alpha: 0.3, shadow: true }, how);
    if (isHigh) gl.enable(gl.DEPTH_TEST);
    this.draw("point", points, { size, alpha, shadow: false }, how);
    gl.disable(gl.DEPTH_TEST);
  }

  // places: {sphere, cylinder}, each a row of numbers as INSTANCE has them. First all shadows, then what casts them.
  solids(places) {
    const gl = this.gl;
    const meshes = places.sphere.length / 19 > MANY ? this.coarse : this.fine;
    gl.stencilFunc(gl.EQUAL, 0, 255);
    gl.stencilOp(gl.KEEP, gl.KEEP, gl.INCR);
    for (const shadow of [true, false]) {
      const test = shadow ? gl.STENCIL_TEST : gl.DEPTH_TEST; // where shadows overlap, the floor is not darkened twice
      gl.enable(test);
      for (const [name, numbers] of Object.entries(places)) {
        gl.bindBuffer(gl.ARRAY_BUFFER, this.instances);
        gl.bufferData(gl.ARRAY_BUFFER, new Float32Array(numbers), gl.STREAM_DRAW);
        const instances = numbers.length / 19;
        if (instances) this.draw("solid", meshes[name], { light: LIGHT, eye: this.eye, shadow }, { instances });
      }
      gl.disable(test);
    }
  }
}

// The triangles of a bent sheet: `at` gives position and normal for two shares from 0 to 1.
function sheet(rows, columns, at) {
  const triangles = [];
  for (let i = 0; i < rows; i++)
    for (let j = 0; j < columns; j++)
      for (const [a, b] of [[0, 0], [1, 0], [0, 1], [1, 0], [1, 1], [0, 1]])
        triangles.push(...at((i + a) / rows, (2 * Math.PI * (j + b)) / columns));
  return triangles;
}

function sphere(rows, sides) {
  return sheet(rows, sides, (share, angle) => {
    const [height, radius] = [Math.cos(Math.PI * share), Math.sin(Math.PI * share)];
    const normal = [radius * Math.cos(angle), radius * Math.sin(angle), height];
    return [...normal, ...normal];
  });
}

function cylinder(sides) {
  return sheet(1, sides, (share, angle) => {
    const [x, y] = [Math.cos(angle), Math.sin(angle)];
    return [x, y, 1 - 2 * share, x, y, 0];
  });
}

// A ribbon lying on the ground along some points, as the numbers of its triangles.
export function band(points, width, color, { alpha = 1, times = null, height = 0.02 } = {}) {
  const numbers = [];
  let before = null;
  for (const [k, [x, y]] of points.entries()) {
    const [from, to] = [points[Math.max(0, k - 1)], points[Math.min(points.length - 1, k + 1)]];
    const [dx, dy] = [to[0] - from[0], to[1] - from[1]];
    const half = width / 2 / (Math.hypot(dx, dy) || 1);
    const look = [height, ...color, alpha, times?.[k] ?? 0];
    const [left, right] = [1, -1].map((side) => [x - side * half * dy, y + side * half * dx].concat(look));
    if (before) numbers.push(...before.left, ...before.right, ...left, ...left, ...before.right, ...right);
    before = { left, right };
  }
  return numbers;
}

export function circle([x, y, z = 0], radius, width, color, alpha = 1) {
  const angles = Array.from({ length: 41 }, (_, k) => (Math.PI * k) / 20);
  const points = angles.map((angle) => [x + radius * Math.cos(angle), y + radius * Math.sin(angle)]);
  return band(points, width, color, { alpha, height: z + 0.03 });
}
