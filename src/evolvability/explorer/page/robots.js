// From a robot's pose to the places of its shapes, as MuJoCo computes them.

import { add, about, placed, scale, subtract, turn, turned } from "explorer/vectors";

// Position and quaternion of every body.
export function bodies(robot, pose) {
  const places = [{ pos: [0, 0, 0], quat: [1, 0, 0, 0] }];
  for (let b = 1; b < robot.bodies.length; b++) {
    const body = robot.bodies[b];
    const parent = places[body.parent];
    let pos = add(parent.pos, turned(parent.quat, body.pos));
    let quat = turn(parent.quat, body.quat);
    for (const joint of robot.joints) {
      if (joint.body !== b) continue;
      const value = pose[joint.at];
      if (joint.kind === "free") {
        pos = [value, pose[joint.at + 1], pose[joint.at + 2]];
        quat = Array.from(pose.slice(joint.at + 3, joint.at + 7));
      } else if (joint.kind === "slide") {
        pos = add(pos, scale(turned(quat, joint.axis), value - joint.zero));
      } else {
        const anchor = add(pos, turned(quat, joint.pos));
        const own = joint.kind === "ball" ? Array.from(pose.slice(joint.at, joint.at + 4)) : about(joint.axis, value - joint.zero);
        quat = turn(quat, own);
        pos = subtract(anchor, turned(quat, joint.pos));
      }
    }
    places.push({ pos, quat });
  }
  return places;
}

// Matrices of the unit spheres, cylinders and boxes that a robot is made of, enlarged about a point of the ground.
export function shapes(robot, pose, size, ground, offset) {
  const found = { sphere: [], cylinder: [], box: [] };
  const places = bodies(robot, pose);
  const enlarged = (p) => [
    ground[0] + (p[0] - ground[0]) * size,
    ground[1] + (p[1] - ground[1]) * size + offset,
    p[2] * size,
  ];
  for (const geom of robot.geoms) {
    const body = places[geom.body];
    const pos = add(body.pos, turned(body.quat, geom.pos));
    const quat = turn(body.quat, geom.quat);
    const [a, b, c] = geom.size.map((s) => s * size);
    if (geom.kind === "capsule") {
      found.cylinder.push(placed(enlarged(pos), quat, [a, a, b]));
      for (const side of [-1, 1]) {
        const end = add(pos, turned(quat, [0, 0, side * geom.size[1]]));
        found.sphere.push(placed(enlarged(end), quat, [a, a, a]));
      }
    } else if (geom.kind === "cylinder") found.cylinder.push(placed(enlarged(pos), quat, [a, a, b]));
    else if (geom.kind === "sphere") found.sphere.push(placed(enlarged(pos), quat, [a, a, a]));
    else if (geom.kind === "ellipsoid") found.sphere.push(placed(enlarged(pos), quat, [a, b, c]));
    else found.box.push(placed(enlarged(pos), quat, [a, b, c]));
  }
  return found;
}
