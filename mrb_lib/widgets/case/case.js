// Zoom, pan, fit, turn, flip and the window of images. Nothing of the data becomes markup: elements are made one by one.
const mrbCase = (() => {
  const kept = new WeakMap(); // of a root: what takes its listeners off
  const views = new WeakMap(); // of a figure: its state
  const groups = new WeakMap(); // of a root: its images, and whether they are shown together
  const LARGEST = 40;
  const MOST_AT_ONCE = 4;
  // Centre and width in Hounsfield units, as radiologists commonly set them.
  const PRESETS = { "soft tissue": [40, 400], lung: [-600, 1500], bone: [400, 1800], brain: [40, 80], subdural: [75, 215], mediastinum: [50, 350], liver: [60, 160] };
  const KEYS = "Keys in the image: + − arrows, F fit, 1 for 1:1, R reset, E full screen, O turn, H flip, I invert, L distance, Q area";

  const element = (tag, attributes = {}, text = "") => {
    const made = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
    made.textContent = text;
    return made;
  };

  const clamp = (value, low, high) => Math.min(Math.max(value, low), high);

  function fitting(state, box = state.view.getBoundingClientRect()) {
    const scale = Math.min(box.width / state.across, box.height / state.down);
    return { scale, box };
  }

  // The image flipped, then turned clockwise by quarters, as the matrix of CSS; and how wide and tall it is then.
  function orient(state) {
    let [m, across, down] = [state.flipped ? [-1, 0, 0, 1, state.wide, 0] : [1, 0, 0, 1, 0, 0], state.wide, state.tall];
    for (let k = 0; k < state.quarters; k += 1) {
      m = [-m[1], m[0], -m[3], m[2], down - m[5], m[4]];
      [across, down] = [down, across];
    }
    Object.assign(state, { matrix: m, across, down });
    state.view.style.setProperty("--turn", `matrix(${m.join(", ")})`);
  }

  // A step on the screen as one in the image, whichever way it is turned; and a place likewise.
  function unturned({ matrix: [a, b, c, d], scale }, dx, dy) {
    const flip = a * d - b * c; // 1, or -1 where it is flipped
    return [(d * dx - c * dy) / (flip * scale), (a * dy - b * dx) / (flip * scale)];
  }

  function placeOf(state, event, box = state.view.getBoundingClientRect()) {
    const [, , , , e, f] = state.matrix;
    const [x, y] = unturned(state, event.clientX - box.left - state.x - e * state.scale, event.clientY - box.top - state.y - f * state.scale);
    return { x, y };
  }

  const middle = (state, box = state.view.getBoundingClientRect()) => placeOf(state, { clientX: box.left + box.width / 2, clientY: box.top + box.height / 2 }, box);

  function turn(state, quarters, flip = false) {
    const centre = middle(state);
    Object.assign(state, { quarters: (state.quarters + quarters) % 4, flipped: state.flipped !== flip });
    orient(state);
    if (state.fitted) return fit(state);
    const box = state.view.getBoundingClientRect();
    const [a, b, c, d, e, f] = state.matrix;
    state.x = box.width / 2 - state.scale * (a * centre.x + c * centre.y + e);
    state.y = box.height / 2 - state.scale * (b * centre.x + d * centre.y + f);
    return place(state, box);
  }

  function place(state, box = state.view.getBoundingClientRect()) {
    const { view } = state;
    const [width, height] = [state.across * state.scale, state.down * state.scale];
    state.x = clamp(state.x, Math.min(40, box.width) - width, box.width - Math.min(40, box.width));
    state.y = clamp(state.y, Math.min(40, box.height) - height, box.height - Math.min(40, box.height));
    if (state.scale >= 1) Object.assign(state, { x: snapped(state.x), y: snapped(state.y) });
    view.style.setProperty("--x", `${state.x}px`);
    view.style.setProperty("--y", `${state.y}px`);
    view.style.setProperty("--zoom", String(state.scale));
    view.classList.toggle("mrb-near", state.scale > 4);
    view.classList.toggle("mrb-moved", !state.fitted);
    mrbOverlay.paint(state);
    tell(state);
    if (!state.follows) together(state, box);
  }

  // Other images of the case at the same zoom and the same place, each by its own size.
  function together(state, box) {
    const group = groups.get(state.root);
    if (!group?.linked || !state.across) return;
    const share = state.scale / fitting(state, box).scale;
    const [u, v] = [(box.width / 2 - state.x) / (state.across * state.scale), (box.height / 2 - state.y) / (state.down * state.scale)];
    for (const other of group.states) {
      if (other === state || !other.across || other.figure.hidden) continue;
      const { scale, box: its } = fitting(other);
      Object.assign(other, { scale: scale * share, fitted: state.fitted, follows: true });
      other.x = its.width / 2 - u * other.across * other.scale;
      other.y = its.height / 2 - v * other.down * other.scale;
      place(other, its);
      other.follows = false;
      if (coarse(other)) enlarge(other);
    }
  }

  // A whole number of the screen's pixels: between them one pixel of the image would be blurred over two.
  const snapped = (at) => Math.round(at * devicePixelRatio) / devicePixelRatio;

  // `known` is the size of the view where it has been measured already: to measure again would lay the page out anew.
  function fit(state, known) {
    if (!state.across) return;
    const { scale, box } = fitting(state, known);
    Object.assign(state, { scale, fitted: true });
    state.x = (box.width - state.across * scale) / 2;
    state.y = (box.height - state.down * scale) / 2;
    place(state, box);
  }

  function zoom(state, scale, at) {
    if (!state.across) return;
    const { scale: whole, box } = fitting(state);
    const [px, py] = at ? [at.clientX - box.left, at.clientY - box.top] : [box.width / 2, box.height / 2];
    const wanted = clamp(scale, Math.min(whole, 1) / 2, LARGEST);
    state.x = px - ((px - state.x) * wanted) / state.scale;
    state.y = py - ((py - state.y) * wanted) / state.scale;
    Object.assign(state, { scale: wanted, fitted: false });
    place(state, box);
    if (coarse(state)) enlarge(state);
  }

  // Whether the screen shows more pixels of the image than are here.
  const coarse = (state) => !state.source && "wide" in state.figure.dataset && state.scale * state.wide > state.img.naturalWidth;

  // The image with every pixel it has, asked for once it is looked at so closely.
  async function enlarge(state) {
    if (!state.pixels || state.asked) return;
    state.asked = true;
    tell(state);
    try {
      const source = URL.createObjectURL(await state.pixels(Number(state.figure.dataset.index)));
      if (views.get(state.figure) !== state) return URL.revokeObjectURL(source);
      const packed = Boolean(state.figure.dataset.packed);
      Object.assign(state, { source, frame: null });
      if (!packed) {
        state.img.src = source;
        await state.img.decode();
      }
      if (packed || state.img.hidden) {
        await decoded(state);
        paint(state);
      }
    } catch (error) {
      state.trouble = error.message;
    }
    return tell(state);
  }

  function pan(state, dx, dy) {
    state.x += dx;
    state.y += dy;
    state.fitted = false;
    place(state);
  }

  const number = (value) => Number(value.toPrecision(5)).toString();

  function tell(state) {
    const way = `${state.quarters ? ` · turned ${90 * state.quarters}°` : ""}${state.flipped ? " · FLIPPED left to right" : ""}`;
    const size = `${Math.round(state.scale * 100)} %${way}`;
    const full = state.trouble ? ` · not at full size: ${state.trouble}` : state.asked ? " · loading the full size …" : ` · enlarged from ${state.img.naturalWidth} × ${state.img.naturalHeight}`;
    const shades = state.grey ? ` · level ${number(state.centre)} · window ${number(state.width)}${state.inverted === state.first.inverted ? "" : " · inverted"}` : changed(state) ? ` · brightness ${Math.round(100 * state.brightness)} % · contrast ${Math.round(100 * state.contrast)} %` : "";
    const said = `${size}${shades}${coarse(state) ? full : ""}`;
    if (state.output.textContent !== said) state.output.textContent = said;
  }

  const changed = (state) => state.brightness !== 1 || state.contrast !== 1;

  // The value under the pointer: in the units of the file where it is grey, red, green and blue where it is not.
  async function value(state, { x, y }) {
    const [column, row] = [Math.floor(x), Math.floor(y)];
    const asked = (state.under = {});
    if (!(column >= 0 && row >= 0 && column < state.wide && row < state.tall)) return write(state.pixel, "");
    await decoded(state);
    if (state.under !== asked) return undefined;
    const { frame } = state;
    const at = row * state.wide + column;
    const units = state.figure.dataset.unit ? ` ${state.figure.dataset.unit}` : "";
    const shown = frame.width !== state.wide ? "value at 1:1 only" : state.grey ? `${number(state.offset + state.step * state.values[at])}${units}` : state.rgb.slice(4 * at, 4 * at + 3).join(" ");
    return write(state.pixel, `x ${column}, y ${row}: ${shown}`);
  }

  const write = (where, words) => {
    if (where.textContent !== words) where.textContent = words;
  };

  async function decoded(state) {
    if (state.frame) return;
    const source = new Image();
    source.src = state.source || state.figure.dataset.packed || state.img.src;
    await source.decode();
    const canvas = element("canvas");
    [canvas.width, canvas.height] = [source.naturalWidth, source.naturalHeight];
    const context = canvas.getContext("2d", { willReadFrequently: true });
    context.drawImage(source, 0, 0);
    const read = context.getImageData(0, 0, canvas.width, canvas.height);
    if (!state.grey) return Object.assign(state, { frame: read, rgb: read.data });
    const packed = Boolean(state.figure.dataset.packed);
    const values = new Uint16Array(canvas.width * canvas.height);
    for (let i = 0; i < values.length; i += 1) values[i] = packed ? read.data[4 * i] * 256 + read.data[4 * i + 1] : read.data[4 * i];
    canvas.setAttribute("role", "img");
    canvas.setAttribute("aria-label", state.img.alt);
    if (state.canvas?.isConnected) state.canvas.remove();
    return Object.assign(state, { canvas, context, values, frame: read });
  }

  function paint(state) {
    const table = new Uint8Array(state.figure.dataset.packed ? 65536 : 256);
    const width = Math.max(state.width, 1e-9);
    for (let v = 0; v < table.length; v += 1) {
      const real = state.offset + state.step * v;
      const level = Math.floor(clamp((real - state.centre) / width + 0.5, 0, 1) * 255 + 0.5);
      table[v] = state.inverted ? 255 - level : level;
    }
    const shown = state.frame.data;
    for (let i = 0; i < state.values.length; i += 1) {
      const level = table[state.values[i]];
      shown[4 * i] = level;
      shown[4 * i + 1] = level;
      shown[4 * i + 2] = level;
      shown[4 * i + 3] = 255;
    }
    state.context.putImageData(state.frame, 0, 0);
    if (!state.canvas.isConnected) state.img.after(state.canvas);
    state.img.hidden = true;
  }

  async function setWindow(state, centre, width) {
    if (!state.grey) return;
    const span = state.high - state.low || 1;
    state.centre = clamp(centre, state.low - span, state.high + span);
    state.width = clamp(width, span / 4096, 4 * span);
    state.sliders.level.value = String(state.centre);
    state.sliders.window.value = String(Math.sqrt(state.width / span));
    tell(state);
    if (state.waiting) return;
    state.waiting = true;
    try {
      await decoded(state);
    } finally {
      state.waiting = false;
    }
    paint(state);
  }

  // Of colour images, as shares of what they are.
  function setColour(state, brightness, contrast) {
    Object.assign(state, { brightness, contrast });
    state.view.style.setProperty("--shades", changed(state) ? `brightness(${brightness}) contrast(${contrast})` : "none");
    Object.assign(state.sliders.brightness, { value: String(brightness) });
    Object.assign(state.sliders.contrast, { value: String(contrast) });
    tell(state);
  }

  function invert(state) {
    if (!state.grey) return;
    state.inverted = !state.inverted;
    setWindow(state, state.centre, state.width);
  }

  function reset(state) {
    Object.assign(state, { quarters: 0, flipped: false });
    orient(state);
    mrbOverlay.end(state);
    if (state.grey) {
      state.inverted = state.first.inverted;
      setWindow(state, state.first.centre, state.first.width);
    } else setColour(state, 1, 1);
    fit(state);
  }

  function full({ figure }) {
    if (document.fullscreenElement === figure) document.exitFullscreen();
    else figure.requestFullscreen();
  }

  const DOES = {
    in: (s) => zoom(s, s.scale * 1.25),
    out: (s) => zoom(s, s.scale / 1.25),
    fit: (s) => fit(s),
    whole: (s) => zoom(s, 1),
    reset,
    full,
    turn: (s) => turn(s, 1),
    flip: (s) => turn(s, s.quarters % 2 ? 2 : 0, true), // left to right on the screen, whichever way it is turned
    invert,
    region: (s) => s.mark && mrbOverlay.begin(s, "region", middle(s)),
    distance: (s) => mrbOverlay.begin(s, "distance", middle(s)),
    area: (s) => mrbOverlay.begin(s, "area", middle(s)),
  };

  const BUTTONS = [
    ["out", "−", "zoom out"], ["in", "+", "zoom in"], ["fit", "Fit", "fit the whole image"],
    ["whole", "1:1", "1:1, one pixel of the image to one of the screen"], ["reset", "Reset", "reset the view"],
  ];
  const MORE = [
    ["turn", "Turn", "turn by a quarter, clockwise (O)"], ["flip", "Flip", "flip left to right (H)"], ["invert", "Invert", "invert black and white (I)"],
    ["distance", "Distance", "measure a distance (L)"], ["area", "Area", "measure the area of a box (Q)"],
  ];

  function tools(state) {
    const bar = element("div", { class: "mrb-tools", role: "group", "aria-label": "view of the image" });
    const more = element("div", { class: "mrb-tools mrb-more", role: "group", "aria-label": "more for the image" });
    const legend = element("p", { class: "mrb-legend" });
    const button = ([what, text, words]) => element("button", { type: "button", "data-does": what, "aria-label": words, title: words }, text);
    const range = (what, min, max, value, into) => {
      const label = element("label", {}, what);
      const input = element("input", { type: "range", min, max, step: "any", "data-sets": what });
      input.value = String(value);
      label.append(input);
      into.append(label);
      return input;
    };
    const opens = (text, words, ...what) => {
      const made = element("button", { type: "button", "aria-expanded": "false", "aria-label": words, title: words }, text);
      made.addEventListener("click", () => {
        for (const one of what) one.hidden = !one.hidden;
        made.setAttribute("aria-expanded", String(!what[0].hidden));
      });
      return made;
    };
    bar.append(...BUTTONS.map(button));
    if (document.fullscreenEnabled) bar.append(button(["full", "⛶", "full screen (E)"]));
    more.append(...MORE.filter(([what]) => state.grey || what !== "invert").map(button));
    if (state.figure.dataset.unit === "HU") more.append(presets(state));
    if (state.grey) {
      const span = state.high - state.low || 1;
      state.sliders = { level: range("level", state.low - span / 2, state.high + span / 2, state.centre, bar), window: range("window", 0.02, 2, Math.sqrt(state.width / span), bar) };
    } else state.sliders = { brightness: range("brightness", 0.2, 3, 1, more), contrast: range("contrast", 0.2, 3, 1, more) };
    state.output = element("output", { "aria-live": "polite" });
    state.said = element("p", { class: "mrb-said-of-image", role: "status" });
    state.pixel = element("span", { class: "mrb-pixel" });
    const marks = state.mark ? ", M marks a region" : "";
    legend.textContent = `${KEYS}${marks}, ${state.grey ? "level , . and window [ ]" : "brightness , . and contrast [ ]"}. Drag to pan, Ctrl + wheel to zoom${state.grey ? ", Shift + drag for level and window" : ""}.`;
    for (const one of [more, legend]) one.hidden = true;
    bar.append(opens("⋯", "turn, flip, measure and more", more), opens("?", "keys in the image", legend), state.output);
    state.figure.append(bar, more, state.pixel, state.said, legend);
    state.made = [bar, more, state.pixel, state.said, legend];
  }

  function presets(state) {
    const choose = element("select", { "aria-label": "window preset" });
    choose.append(element("option", { value: "" }, "window …"), ...Object.entries(PRESETS).map(([name, [centre, width]]) => element("option", { value: name }, `${name} ${centre} / ${width}`)));
    choose.addEventListener("change", () => PRESETS[choose.value] && setWindow(state, ...PRESETS[choose.value]));
    return choose;
  }

  function open(root, figure, watch, pixels, mark) {
    const [view, img] = [figure.querySelector(".mrb-view"), figure.querySelector("img")];
    if (!view || !img || views.has(figure)) return;
    for (const one of figure.querySelectorAll(".mrb-shrunk")) one.hidden = Boolean(pixels);
    const data = figure.dataset;
    const state = { root, figure, view, img, pixels, small: img.src, wide: 0, tall: 0, across: 0, down: 0, scale: 1, x: 0, y: 0, fitted: true, grey: "low" in data, fingers: new Map(), quarters: 0, flipped: false, matrix: [1, 0, 0, 1, 0, 0], brightness: 1, contrast: 1, mode: "" };
    const index = Number(data.index);
    state.mark = mark && ((region) => mark({ image: index, ...region }));
    state.spacing = data.spacing ? data.spacing.split(" ").map(Number) : null;
    if (state.grey) {
      for (const name of ["low", "high", "centre", "width", "offset", "step"]) state[name] = Number(data[name]);
      state.inverted = data.inverted === "1";
      state.first = { centre: state.centre, width: state.width, inverted: state.inverted };
    }
    tools(state);
    views.set(figure, state);
    view.classList.add("mrb-live");
    view.tabIndex = 0;
    const ready = () => {
      if (views.get(figure) !== state) return;
      Object.assign(state, { wide: Number(data.wide) || img.naturalWidth, tall: Number(data.tall) || img.naturalHeight });
      orient(state);
      view.style.setProperty("--wide", `${state.wide}px`);
      view.style.setProperty("--tall", `${state.tall}px`);
      watch.observe(view);
      mrbOverlay.paint(state);
    };
    img.decode().then(ready, () => {});
  }

  function close(figure, watch) {
    const state = views.get(figure);
    if (!state) return;
    watch.unobserve(state.view);
    for (const made of [...state.made, state.canvas, state.svg]) made?.remove();
    if (state.source) {
      state.img.src = state.small;
      URL.revokeObjectURL(state.source);
    }
    state.img.hidden = false;
    state.view.classList.remove("mrb-live", "mrb-near", "mrb-moved", "mrb-marking");
    for (const name of ["--turn", "--shades"]) state.view.style.removeProperty(name);
    state.view.removeAttribute("tabindex");
    views.delete(figure);
  }

  const stateOf = (event, inside = "") => {
    const found = event.target instanceof Element && event.target.closest(`[data-mrb="image"] ${inside}`.trim());
    return found ? views.get(found.closest('[data-mrb="image"]')) : undefined;
  };

  function onClick(event) {
    const button = event.target instanceof Element && event.target.closest("[data-does]");
    const state = button && stateOf(event);
    if (state) DOES[button.dataset.does]?.(state);
  }

  function onInput(event) {
    const state = stateOf(event, "[data-sets]");
    if (!state) return;
    if (!state.grey) return setColour(state, Number(state.sliders.brightness.value), Number(state.sliders.contrast.value));
    const span = state.high - state.low || 1;
    const { level, window: width } = state.sliders;
    return setWindow(state, Number(level.value), Number(width.value) ** 2 * span);
  }

  function onKey(event) {
    const state = stateOf(event, ".mrb-view");
    if (!state || event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return undefined;
    const handled = () => {
      event.preventDefault();
      event.stopPropagation();
    };
    if (mrbOverlay.key(state, event, (dx, dy) => unturned(state, dx, dy))) return handled();
    const span = state.high - state.low || 1;
    const shades = (width, level) => (state.grey ? setWindow(state, state.centre + level * (span / 50), state.width * width) : setColour(state, clamp(state.brightness + level / 20, 0.2, 3), clamp(state.contrast * width, 0.2, 3)));
    const keys = {
      "+": () => DOES.in(state), "=": () => DOES.in(state), "-": () => DOES.out(state), f: () => fit(state), 1: () => DOES.whole(state), r: () => reset(state),
      ArrowLeft: () => pan(state, 40, 0), ArrowRight: () => pan(state, -40, 0), ArrowUp: () => pan(state, 0, 40), ArrowDown: () => pan(state, 0, -40),
      "[": () => shades(1 / 1.15, 0), "]": () => shades(1.15, 0), ",": () => shades(1, -1), ".": () => shades(1, 1),
      e: () => document.fullscreenEnabled && full(state), o: () => DOES.turn(state), h: () => DOES.flip(state), i: () => invert(state), l: () => DOES.distance(state), q: () => DOES.area(state),
      PageDown: () => step(state.root, 1), PageUp: () => step(state.root, -1), ...(state.mark ? { m: () => DOES.region(state) } : {}),
    };
    const act = keys[event.key];
    if (!act) return undefined;
    act();
    return handled();
  }

  function onWheel(event) {
    const state = stateOf(event, ".mrb-view");
    const zooms = event.ctrlKey || event.metaKey;
    if (!state || !(zooms || document.activeElement === state.view || groups.get(state.root)?.single)) return;
    event.preventDefault();
    if (!zooms && groups.get(state.root)?.single) {
      if (event.timeStamp - (state.root.mrbWheeled ?? 0) > 40) step(state.root, Math.sign(event.deltaY));
      state.root.mrbWheeled = event.timeStamp;
      return;
    }
    zoom(state, state.scale * Math.exp(-clamp(event.deltaY, -100, 100) / 300), event);
  }

  function onDown(event) {
    const state = stateOf(event, ".mrb-view");
    if (!state || event.button !== 0) return;
    state.view.setPointerCapture(event.pointerId);
    if (!mrbOverlay.press(state, placeOf(state, event))) state.fingers.set(event.pointerId, event);
  }

  function onMove(event) {
    const state = stateOf(event, ".mrb-view");
    if (!state?.across) return;
    const at = placeOf(state, event);
    if (!state.fingers.size && event.pointerType !== "touch") value(state, at);
    if (mrbOverlay.move(state, at)) return;
    const before = state.fingers.get(event.pointerId);
    if (!before) return;
    const [dx, dy] = [event.clientX - before.clientX, event.clientY - before.clientY];
    const other = [...state.fingers].find(([id]) => id !== event.pointerId)?.[1];
    const apart = (one) => Math.hypot(one.clientX - other.clientX, one.clientY - other.clientY) || 1;
    if (other) zoom(state, (state.scale * apart(event)) / apart(before), other);
    else if (event.shiftKey && state.grey) {
      const span = state.high - state.low || 1;
      setWindow(state, state.centre + (dy * span) / 400, state.width * Math.exp(dx / 200));
    } else pan(state, dx, dy);
    state.fingers.set(event.pointerId, event);
  }

  function onUp(event) {
    const state = stateOf(event, ".mrb-view");
    if (!state) return;
    state.fingers.delete(event.pointerId);
    mrbOverlay.release(state);
  }

  // The images of a case as a series: one at a time, and all at the same zoom. A long one starts so.
  function series(root, states) {
    const group = { states, linked: false, single: false, at: 0 };
    groups.set(root, group);
    if (states.length < 2) return null;
    const box = (words, name) => {
      const label = element("label", { class: "mrb-switch" });
      const input = element("input", { type: "checkbox" });
      input.addEventListener("change", () => set({ [name]: input.checked }));
      label.append(input, words);
      return { label, input };
    };
    const [linked, single] = [box("zoom together", "linked"), box("one at a time (wheel or Page keys)", "single")];
    const where = element("output", { "aria-live": "polite" });
    const bar = element("div", { class: "mrb-tools mrb-series", role: "group", "aria-label": "the images of the case" });
    bar.append(linked.label, single.label, where);
    const set = (now) => {
      Object.assign(group, now);
      linked.input.checked = group.linked;
      single.input.checked = group.single;
      states.forEach(({ figure }, i) => { figure.hidden = group.single && i !== group.at; });
      where.textContent = group.single ? `image ${group.at + 1} of ${states.length}` : "";
      if (group.linked && states[group.at].across) together(states[group.at], states[group.at].view.getBoundingClientRect());
    };
    group.set = set;
    set(states.length > MOST_AT_ONCE ? { linked: true, single: true } : {});
    states[0].figure.before(bar);
    return bar;
  }

  // The image before or after the one in sight, with its zoom, place and focus.
  function step(root, by) {
    const group = groups.get(root);
    if (!group?.single) return;
    const [before, at] = [group.states[group.at], clamp(group.at + by, 0, group.states.length - 1)];
    const after = group.states[at];
    if (after === before) return;
    const focused = document.activeElement === before.view;
    group.set({ at });
    for (const name of ["scale", "x", "y", "fitted"]) after[name] = before[name];
    if (after.across) place(after);
    if (focused) after.view.focus({ preventScroll: true });
  }

  // `pixels` resolves with the image at an index of the case, a Blob with every pixel; without it there are none but those here.
  // `mark` takes a region that was marked: the image's index, and x, y, width and height in its pixels (a point has neither).
  function attach(root, pixels, mark) {
    if (kept.has(root)) detach(root);
    const watch = new ResizeObserver((entries) => {
      for (const entry of entries) {
        const state = views.get(entry.target.closest('[data-mrb="image"]'));
        if (state && state.fitted) fit(state, entry.contentRect);
      }
    });
    const listeners = { click: onClick, input: onInput, keydown: onKey, wheel: onWheel, pointerdown: onDown, pointermove: onMove, pointerup: onUp, pointercancel: onUp };
    for (const [name, act] of Object.entries(listeners)) root.addEventListener(name, act, { passive: false });
    const figures = [...root.querySelectorAll('[data-mrb="image"]')];
    for (const figure of figures) open(root, figure, watch, pixels, mark);
    const bar = series(root, figures.map((figure) => views.get(figure)).filter(Boolean));
    kept.set(root, () => {
      for (const [name, act] of Object.entries(listeners)) root.removeEventListener(name, act);
      for (const figure of figures) close(figure, watch);
      bar?.remove();
      groups.delete(root);
      watch.disconnect();
    });
  }

  // The regions of a case over its images, and the start of marking another: in the image in sight.
  function regions(root, all) {
    for (const state of groups.get(root)?.states ?? []) {
      state.regions = all.filter((one) => one.image === Number(state.figure.dataset.index));
      if (state.across) mrbOverlay.paint(state);
    }
  }

  function region(root) {
    const { states = [], at = 0, single } = groups.get(root) ?? {};
    const state = (single ? states[at] : states.find(({ view }) => view === document.activeElement)) ?? states[0];
    if (!state?.across) return false;
    DOES.region(state);
    return true;
  }

  function detach(root) {
    kept.get(root)?.();
    kept.delete(root);
  }

  return { attach, detach, regions, region };
})();
