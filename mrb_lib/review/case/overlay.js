// What is drawn over an image: the regions that a reviewer marks, and the distance or area that is being measured.
const mrbOverlay = (() => {
  const SVG = "http://www.w3.org/2000/svg";
  const SMALLEST = 3; // pixels of the screen: what is dragged less far is a point
  const STEP = 8; // pixels of the screen that an arrow key moves; one with Shift

  const shape = (tag, attributes) => {
    const made = document.createElementNS(SVG, tag);
    for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, String(value));
    return made;
  };

  const between = ({ from, to }) => ({ x: Math.min(from.x, to.x), y: Math.min(from.y, to.y), width: Math.abs(from.x - to.x), height: Math.abs(from.y - to.y) });
  const inside = ({ wide, tall }, { x, y }) => ({ x: Math.min(Math.max(x, 0), wide), y: Math.min(Math.max(y, 0), tall) });
  const rounded = (value) => Math.round(value * 10) / 10;

  // A box, a point as a cross, or a line, in pixels of the image; outlines are as thick at every zoom.
  function drawn(state, { x, y, width, height, line }, kind) {
    const look = { class: `mrb-${kind}`, "vector-effect": "non-scaling-stroke", fill: "none" };
    if (line) return shape("line", { ...look, x1: line.from.x, y1: line.from.y, x2: line.to.x, y2: line.to.y });
    if (width || height) return shape("rect", { ...look, x, y, width, height });
    const arm = 9 / state.scale;
    return shape("path", { ...look, d: `M${x - arm} ${y}H${x + arm}M${x} ${y - arm}V${y + arm}` });
  }

  function paint(state) {
    const { draft } = state;
    const regions = (state.regions ?? []).filter(({ frame }) => frame === state.shown);
    if (!state.svg && !regions.length && !draft) return;
    if (!state.svg) {
      state.svg = shape("svg", { class: "mrb-overlay", viewBox: `0 0 ${state.wide} ${state.tall}`, preserveAspectRatio: "none", role: "img" });
      state.view.append(state.svg);
    }
    state.svg.setAttribute("aria-label", regions.length === 1 ? "1 marked region" : `${regions.length} marked regions`);
    const open = draft ? [drawn(state, draft.what === "distance" && !same(draft) ? { line: draft } : between(draft), "draft")] : [];
    state.svg.replaceChildren(...regions.map((one) => drawn(state, one, "region")), ...open);
  }

  const same = ({ from, to }) => from.x === to.x && from.y === to.y;

  // Millimetres, where the file says how far its pixels are apart; nothing is guessed.
  const measured = ({ spacing: [down, across] }, { from, to }) => `distance ${Math.hypot((from.x - to.x) * across, (from.y - to.y) * down).toFixed(1)} mm`;

  const HINTS = {
    region: "Drag a box or click a point; or arrows, Enter for a corner, arrows, Enter for the opposite one. Esc ends.",
    distance: "Drag from one end to the other; or arrows, Enter, arrows, Enter. Esc ends.",
  };

  // `what` is region or distance; `centre` is the middle of what is in view, where the keyboard starts.
  function begin(state, what, centre) {
    if (what !== "region" && !state.spacing) return say(state, `No ${what}: this file does not say how far its pixels are apart.`);
    const at = inside(state, centre);
    Object.assign(state, { mode: what, draft: { what, from: at, to: at, set: false } });
    state.view.classList.add("mrb-marking");
    state.view.focus({ preventScroll: true });
    paint(state);
    return say(state, HINTS[what]);
  }

  function end(state, words = "") {
    Object.assign(state, { mode: "", draft: null, held: null });
    state.view.classList.remove("mrb-marking");
    paint(state);
    say(state, words);
  }

  function say(state, words) {
    state.said.textContent = words;
  }

  function finish(state) {
    const { mode, draft } = state;
    if (mode !== "region") {
      say(state, `${measured(state, draft)} · Esc ends`);
      draft.set = false;
      return;
    }
    const box = between(draft);
    const tiny = Math.max(box.width, box.height) * state.scale < SMALLEST;
    const whole = Object.fromEntries(Object.entries(tiny ? { ...draft.from, width: 0, height: 0 } : box).map(([name, value]) => [name, rounded(value)]));
    end(state, "Marked.");
    state.mark(whole);
  }

  // The pointer at a place of the image: pressed, moved, let go. True where it was taken.
  function press(state, at) {
    if (!state.mode) return false;
    const start = inside(state, at);
    state.draft = { what: state.mode, from: start, to: start, set: true };
    state.held = true;
    paint(state);
    return true;
  }

  function move(state, at) {
    if (!state.mode || !state.held) return Boolean(state.mode);
    state.draft.to = inside(state, at);
    paint(state);
    if (state.mode !== "region") say(state, measured(state, state.draft));
    return true;
  }

  function release(state) {
    if (!state.mode || !state.held) return;
    state.held = false;
    finish(state);
  }

  // Arrows move the corner, Enter sets it.
  function key(state, event) {
    if (!state.mode) return false;
    const step = (event.shiftKey ? 1 : STEP) / state.scale;
    const steps = { ArrowLeft: [-step, 0], ArrowRight: [step, 0], ArrowUp: [0, -step], ArrowDown: [0, step] };
    const { draft } = state;
    if (event.key === "Escape") end(state);
    else if (event.key === "Enter" && !draft.set) Object.assign(draft, { from: draft.to, set: true });
    else if (event.key === "Enter") finish(state);
    else if (steps[event.key]) {
      const [dx, dy] = steps[event.key];
      draft.to = inside(state, { x: draft.to.x + dx, y: draft.to.y + dy });
      if (!draft.set) draft.from = draft.to;
      if (draft.set && state.mode !== "region") say(state, measured(state, draft));
    } else return false;
    paint(state);
    return true;
  }

  return { paint, begin, end, press, move, release, key };
})();
