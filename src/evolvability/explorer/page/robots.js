// From a robot's pose to the places of its shapes, as MuJoCo computes them.

export const degrees = (radians) => (180 / Math.PI) * radians;

// Quaternions are (w, x, y, z) as MuJoCo's, of any length: the one between two poses is not of length one.
function placed(within, pos, [w, x, y, z]) {
  return within.translate(...pos).rotateAxisAngle(x, y, z, degrees(2 * Math.atan2(Math.hypot(x, y, z), w)));
}

// The place of every body; the first one is the world.
export function bodies(robot, pose) {
  const places = [];
  for (const [index, { parent, pos, quat }] of robot.bodies.entries()) {
    let place = placed(places[parent] ?? new DOMMatrix(), pos, quat);
    for (const { body, kind, at, axis, pos: [x, y, z] } of robot.joints) {
      if (body !== index) continue;
      const moved = pose[at] - robot.rest[at];
      if (kind === "free") place = placed(new DOMMatrix(), pose.slice(at, at + 3), pose.slice(at + 3, at + 7));
      else if (kind === "slide") place = place.translate(...axis.map((part) => part * moved));
      else if (kind === "ball") place = placed(place, [x, y, z], pose.slice(at, at + 4)).translate(-x, -y, -z);
      else place = place.translate(x, y, z).rotateAxisAngle(...axis, degrees(moved)).translate(-x, -y, -z);
    }
    places.push(place);
  }
  return places;
}

const BROKEN = [0.2, 0.2, 0.22]; // the color of what a broken motor should move

// Numbers that draw a robot, enlarged about a point of the ground and set aside. Of balls and capsules: each one's
// matrix, color and length; of meshes: which it is, its matrix and its color.
export function shapes(robot, pose, { size, ground: [x, y], aside, color, broken = [] }) {
  const enlarged = new DOMMatrix().translate(x, y + aside).scale3d(size).translate(-x, -y);
  const places = bodies(robot, pose).map((place) => enlarged.multiply(place));
  const drawn = { solids: [], meshes: [] };
  for (const { body, kind, mesh, pos, quat, size: [a, b, c] } of robot.geoms) {
    const isCapsule = kind === "capsule"; // of a radius and a half length; others have three sizes
    const place = placed(places[body], pos, quat).scale(a, isCapsule ? a : b, isCapsule ? a : c);
    const row = [...place.toFloat32Array(), ...(broken.includes(body) ? BROKEN : color)];
    if (mesh === undefined) drawn.solids.push(...row, isCapsule ? b / a : 0);
    else drawn.meshes.push({ mesh, row });
  }
  return drawn;
}
