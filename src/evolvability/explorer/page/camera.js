// How hands move a view: drag turns, shift-drag or the right button moves, the wheel or two fingers zoom.

const CLICK_PIXELS = 4; // a hand that moves less has clicked

// Listens to a canvas; `changed` is told of a camera that has moved, `click` and `hover` of places on the page.
export function steer(canvas, scene, { click, changed, hover = () => {} }) {
  const fingers = new Map();
  let held = null;
  const set = (values) => {
    Object.assign(scene.camera, values);
    changed();
  };
  canvas.onpointerdown = (event) => {
    canvas.setPointerCapture(event.pointerId);
    fingers.set(event.pointerId, event);
    held = { x: event.offsetX, y: event.offsetY, moved: fingers.size > 1, pan: event.shiftKey || event.button !== 0 };
  };
  canvas.onpointermove = (event) => {
    if (!held) return hover(event.offsetX, event.offsetY);
    if (fingers.size === 2) return set(pinched(scene, fingers, event));
    const [dx, dy] = [event.offsetX - held.x, event.offsetY - held.y];
    if (!held.moved && Math.hypot(dx, dy) < CLICK_PIXELS) return;
    Object.assign(held, { moved: true, x: event.offsetX, y: event.offsetY });
    set(held.pan ? shifted(scene, dx / canvas.clientHeight, dy / canvas.clientHeight) : turned(scene, dx, dy));
  };
  canvas.onpointerup = canvas.onpointercancel = ({ type, button, pointerId, offsetX, offsetY }) => {
    fingers.delete(pointerId);
    const isClick = held && !held.moved && button === 0 && type === "pointerup";
    if (!fingers.size) held = null;
    if (isClick) click(offsetX, offsetY);
  };
  canvas.onpointerleave = () => hover(-100, -100);
  canvas.oncontextmenu = (event) => event.preventDefault(); // the right button moves
  canvas.onwheel = (event) => {
    event.preventDefault();
    set(zoomed(scene, Math.exp(event.deltaY * 0.0011)));
  };
}

function turned({ camera: { yaw, pitch } }, dx, dy) {
  return { yaw: yaw - dx * 0.006, pitch: Math.min(1.56, Math.max(0.06, pitch + dy * 0.006)) };
}

function shifted({ camera: { target: [x, y], yaw, distance } }, dx, dy) {
  const [c, s] = [distance * Math.cos(yaw), distance * Math.sin(yaw)];
  return { target: [x + s * dx - c * dy, y - c * dx - s * dy, 0] };
}

export function zoomed({ reach, camera }, factor) {
  return { distance: Math.min(8 * reach, Math.max(0.02 * reach, camera.distance * factor)) };
}

const apart = ([one, other]) => Math.hypot(one.offsetX - other.offsetX, one.offsetY - other.offsetY);

function pinched(scene, fingers, event) {
  const before = apart([...fingers.values()]);
  fingers.set(event.pointerId, event);
  return zoomed(scene, before / Math.max(1, apart([...fingers.values()])));
}
