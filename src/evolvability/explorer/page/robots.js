// From a robot's pose to the places of its shapes, as MuJoCo computes them. Robots are made of capsules and spheres,
// on free, slide and hinge joints.

// A quaternion (w, x, y, z, as MuJoCo's) of any length: the one between two poses is not of length one.
function rotated(matrix, [w, x, y, z]) {
  const length = Math.hypot(x, y, z);
  return length ? matrix.rotateAxisAngle(x, y, z, (360 / Math.PI) * Math.atan2(length, w)) : matrix;
}

// The place of every body, as a matrix.
export function bodies(robot, pose) {
  const places = [];
  for (const [index, body] of robot.bodies.entries()) {
    const parent = index ? places[body.parent] : new DOMMatrix(); // the first body is the world
    let place = rotated(parent.translate(...body.pos), body.quat);
    for (const joint of robot.joints) {
      if (joint.body !== index) continue;
      const { kind, at, pos, axis } = joint;
      const moved = pose[at] - robot.rest[at];
      const [position, turn] = [pose.slice(at, at + 3), pose.slice(at + 3, at + 7)]; // of a free joint
      if (kind === "free") place = rotated(new DOMMatrix().translate(...position), turn);
      else if (kind === "slide") place = place.translate(...axis.map((part) => part * moved));
      else {
        const turned = place.translate(...pos).rotateAxisAngle(...axis, (180 / Math.PI) * moved);
        place = turned.translate(...pos.map((part) => -part));
      }
    }
    places.push(place);
  }
  return places;
}

// The unit spheres and cylinders of a robot, as matrices, enlarged about a point of the ground, and set aside.
export function shapes(robot, pose, { size, ground: [x, y], aside }) {
  const found = { sphere: [], cylinder: [] };
  const enlarged = new DOMMatrix().translate(x, y + aside).scale3d(size).translate(-x, -y);
  const places = bodies(robot, pose).map((place) => enlarged.multiply(place));
  for (const { body, kind, pos, quat, size: [radius, half] } of robot.geoms) {
    const place = rotated(places[body].translate(...pos), quat);
    const ends = kind === "capsule" ? [-half, half] : [0];
    found.sphere.push(...ends.map((end) => place.translate(0, 0, end).scale3d(radius)));
    if (kind === "capsule") found.cylinder.push(place.scale(radius, radius, half));
  }
  return found;
}
