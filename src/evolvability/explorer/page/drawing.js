// WebGL: a floor, points and ribbons lying on it, and solid shapes standing on it, with their shadows.

export const BACKGROUND = [0.043, 0.055, 0.082];
const LIGHT = [-0.36, -0.34, 0.87];

// What there is to draw comes as rows of numbers, so many per attribute of a shader, in the order of their locations.
// A solid has the columns of a matrix, a color, and half the length between a capsule's ends.
// A mesh has a matrix and a color per place; its corners follow in a buffer of their own.
const LAYOUTS = { floor: [], point: [3, 3], ribbon: [3, 3], solid: [4, 4, 4, 4, 3, 1], mesh: [4, 4, 4, 4, 3] };
const CORNERS = { floor: 6, point: 1, ribbon: 6, solid: 504 }; // of what a row stands for

// The shaders' code by name, such as "floor vertex".
const CODE = document.getElementById("shaders").textContent;
const SHADERS = Object.fromEntries(CODE.split("---- ").slice(1).map((part) => part.split(/\n([^]*)/, 2)));

export class Painter {
  constructor(canvas) {
    const gl = canvas.getContext("webgl2", { stencil: true, alpha: false, preserveDrawingBuffer: true });
    if (!gl) throw new Error("This browser has no WebGL 2, which the scene is drawn with.");
    this.gl = gl;
    this.programs = Object.fromEntries(Object.keys(LAYOUTS).map((name) => [name, this.program(name)]));
    this.blank = this.texture(new Uint8Array(4));
    gl.enable(gl.BLEND);
    gl.blendFunc(gl.SRC_ALPHA, gl.ONE_MINUS_SRC_ALPHA);
  }

  program(name) {
    const gl = this.gl;
    const program = gl.createProgram();
    for (const [kind, stage] of [[gl.VERTEX_SHADER, "vertex"], [gl.FRAGMENT_SHADER, "fragment"]]) {
      const shader = gl.createShader(kind);
      gl.shaderSource(shader, `#version 300 es\n${SHADERS.all}${SHADERS[`${name} ${stage}`]}`);
      gl.compileShader(shader);
      if (!gl.getShaderParameter(shader, gl.COMPILE_STATUS)) throw new Error(gl.getShaderInfoLog(shader));
      gl.attachShader(program, shader);
    }
    gl.linkProgram(program);
    return program;
  }

  // Numbers to draw, laid out for one of the programs; in place of older ones, if given.
  upload(name, numbers, old = null) {
    const gl = this.gl;
    const made = old ?? { name, vertexArray: gl.createVertexArray(), buffer: gl.createBuffer() };
    gl.bindVertexArray(made.vertexArray);
    gl.bindBuffer(gl.ARRAY_BUFFER, made.buffer);
    gl.bufferData(gl.ARRAY_BUFFER, new Float32Array(numbers), gl.DYNAMIC_DRAW);
    const stride = LAYOUTS[name].reduce((a, b) => a + b);
    let offset = 0;
    for (const [k, size] of LAYOUTS[name].entries()) {
      gl.enableVertexAttribArray(k);
      gl.vertexAttribPointer(k, size, gl.FLOAT, false, 4 * stride, 4 * offset);
      gl.vertexAttribDivisor(k, 1);
      offset += size;
    }
    return Object.assign(made, { count: numbers.length / stride });
  }

  // A mesh of triangles, of nine numbers each, to be drawn in many places.
  mesh(triangles) {
    const gl = this.gl;
    const made = this.upload("mesh", []);
    const at = LAYOUTS.mesh.length;
    gl.bindBuffer(gl.ARRAY_BUFFER, gl.createBuffer());
    gl.bufferData(gl.ARRAY_BUFFER, new Float32Array(triangles), gl.STATIC_DRAW);
    gl.enableVertexAttribArray(at);
    gl.vertexAttribPointer(at, 3, gl.FLOAT, false, 0, 0);
    return Object.assign(made, { corners: triangles.length / 3 });
  }

  texture(bytes) {
    const gl = this.gl;
    const [texture, side] = [gl.createTexture(), Math.sqrt(bytes.length / 4)];
    gl.bindTexture(gl.TEXTURE_2D, texture);
    gl.texImage2D(gl.TEXTURE_2D, 0, gl.RGBA, side, side, 0, gl.RGBA, gl.UNSIGNED_BYTE, bytes);
    for (const name of [gl.TEXTURE_MIN_FILTER, gl.TEXTURE_MAG_FILTER]) gl.texParameteri(gl.TEXTURE_2D, name, gl.LINEAR);
    for (const name of [gl.TEXTURE_WRAP_S, gl.TEXTURE_WRAP_T]) gl.texParameteri(gl.TEXTURE_2D, name, gl.CLAMP_TO_EDGE);
    return texture;
  }

  // Everything that follows goes into this part of the canvas, in its pixels from the lower left.
  begin(box, view) {
    const gl = this.gl;
    this.view = view;
    gl.viewport(...box);
    gl.enable(gl.SCISSOR_TEST); // a viewport alone does not bound what is cleared
    gl.scissor(...box);
    gl.clearColor(...BACKGROUND, 1);
    gl.clear(gl.COLOR_BUFFER_BIT | gl.DEPTH_BUFFER_BIT | gl.STENCIL_BUFFER_BIT);
  }

  // Draws what was uploaded, with the values of its program's settings.
  draw({ name, vertexArray, count, corners = CORNERS[name] }, values) {
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
    gl.bindVertexArray(vertexArray);
    gl.drawArraysInstanced(name === "point" ? gl.POINTS : gl.TRIANGLES, 0, corners, count);
  }

  floor({ heat, ...values }) {
    this.gl.bindTexture(this.gl.TEXTURE_2D, heat ?? this.blank);
    const density = heat ? 0.9 : 0;
    this.draw({ name: "floor", vertexArray: null, count: 1 }, { ...values, density, back: BACKGROUND });
  }

  // Those above the ground hide each other, and have shadows.
  points(points, size, isHigh) {
    const gl = this.gl;
    if (isHigh) this.draw(points, { size: 0.8 * size, alpha: 0.3, shadow: true });
    if (isHigh) gl.enable(gl.DEPTH_TEST);
    this.draw(points, { size, alpha: 0.9, shadow: false });
    gl.disable(gl.DEPTH_TEST);
  }

  // First all shadows, then what casts them. meshes: [what `mesh` made, the numbers of its places].
  solids(numbers, meshes) {
    const gl = this.gl;
    this.shapes = this.upload("solid", numbers, this.shapes);
    const all = [this.shapes, ...meshes.map(([made, places]) => this.upload("mesh", places, made))];
    gl.stencilFunc(gl.EQUAL, 0, 255);
    gl.stencilOp(gl.KEEP, gl.KEEP, gl.INCR);
    for (const shadow of [true, false]) {
      const test = shadow ? gl.STENCIL_TEST : gl.DEPTH_TEST; // where shadows overlap, the floor is not darkened twice
      gl.enable(test);
      for (const one of all) if (one.count) this.draw(one, { light: LIGHT, shadow });
      gl.disable(test);
    }
  }
}
