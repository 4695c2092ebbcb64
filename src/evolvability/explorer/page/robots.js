// From a robot's pose to the places of its shapes, as MuJoCo computes them. Robots are made of capsules and spheres,
// on free, slide and hinge joints. Places are matrices as WebGL has them, 16 numbers column by column: forty robots
// have two thousand shapes, and are placed anew for every frame.

const NOWHERE = [1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1];

function translated(m, [x, y, z]) {
  const made = m.slice();
  for (let k = 12; k < 15; k++) made[k] += m[k - 12] * x + m[k - 8] * y + m[k - 4] * z;
  return made;
}

function stretched(m, ...factors) {
  const made = m.slice();
  for (let k = 0; k < 12; k++) made[k] *= factors[k >> 2];
  return made;
}

// By a quaternion (w, x, y, z, as MuJoCo's) of any length: the one between two poses is not of length one.
function rotated(m, [w, x, y, z]) {
  const s = 2 / (w * w + x * x + y * y + z * z);
  const columns = [
    1 - s * (y * y + z * z), s * (x * y + w * z), s * (x * z - w * y),
    s * (x * y - w * z), 1 - s * (x * x + z * z), s * (y * z + w * x),
    s * (x * z + w * y), s * (y * z - w * x), 1 - s * (x * x + y * y),
  ];
  const made = m.slice();
  for (let k = 0; k < 9; k++) {
    const first = k - (k % 3); // of the column
    made[4 * (first / 3) + (k % 3)] =
      m[k % 3] * columns[first] + m[4 + (k % 3)] * columns[first + 1] + m[8 + (k % 3)] * columns[first + 2];
  }
  return made;
}

const about = ([x, y, z], angle) => [Math.cos(angle / 2), ...[x, y, z].map((part) => part * Math.sin(angle / 2))];

// The place of every body.
export function bodies(robot, pose) {
  const places = [];
  for (const [index, body] of robot.bodies.entries()) {
    const parent = index ? places[body.parent] : NOWHERE; // the first body is the world
    let place = rotated(translated(parent, body.pos), body.quat);
    for (const joint of robot.joints) {
      if (joint.body !== index) continue;
      const { kind, at, pos, axis } = joint;
      const moved = pose[at] - robot.rest[at];
      if (kind === "free") place = rotated(translated(NOWHERE, pose.slice(at, at + 3)), pose.slice(at + 3, at + 7));
      else if (kind === "slide") place = translated(place, axis.map((part) => part * moved));
      else {
        const turned = rotated(translated(place, pos), about(axis, moved));
        place = translated(turned, pos.map((part) => -part));
      }
    }
    places.push(place);
  }
  return places;
}

// The unit spheres and cylinders of a robot, as matrices, enlarged about a point of the ground, and set aside.
export function shapes(robot, pose, { size, ground: [x, y], aside }) {
  const found = { sphere: [], cylinder: [] };
  const places = bodies(robot, pose).map((place) => {
    const made = stretched(place, size, size, size);
    made[12] = x + size * (place[12] - x);
    made[13] = y + aside + size * (place[13] - y);
    made[14] = size * place[14];
    return made;
  });
  for (const { body, kind, pos, quat, size: [radius, half] } of robot.geoms) {
    const place = rotated(translated(places[body], pos), quat);
    const ends = kind === "capsule" ? [-half, half] : [0];
    found.sphere.push(...ends.map((end) => stretched(translated(place, [0, 0, end]), radius, radius, radius)));
    if (kind === "capsule") found.cylinder.push(stretched(place, radius, radius, half));
  }
  return found;
}
