// The images of a case under buttons, keys, wheel and fingers. Nothing of the data becomes markup: elements are made one by one.
const mrbCase = (() => {
  const { groups, clamp, fit, graded, invert, middle, orient, pan, place, placeOf, reset, setColour, setWindow, spacing, together, turn, turnTo, unturned, value, zoom } = mrbPicture;
  const kept = new WeakMap(); // of a root: what takes its listeners off
  const views = new WeakMap(); // of a figure: its state
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
    if (document.fullscreenEnabled) bar.append(button(["full", "Full", "full screen (E)"]));
    bar.append(opens("⋯", "turn, flip, measure and more", more), opens("?", "keys in the image", legend));
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
    bar.append(state.output);
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
    const state = { root, figure, view, img, pixels, small: img.src, wide: 0, tall: 0, across: 0, down: 0, scale: 1, x: 0, y: 0, fitted: true, grey: "low" in data, fingers: new Map(), quarters: 0, flipped: false, matrix: [1, 0, 0, 1, 0, 0], brightness: 1, contrast: 1, mode: "", frames: (pixels && Number(data.frames)) || 1, wanted: 1, shown: 1 };
    const index = Number(data.index);
    state.mark = mark && ((region) => mark({ image: index, frame: state.shown, ...region }));
    spacing(state, data);
    if (state.grey) {
      Object.assign(state, graded(data));
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
    for (const counted of figure.querySelectorAll(".mrb-frame")) counted.textContent = "1";
    state.img.hidden = false;
    state.view.classList.remove("mrb-live", "mrb-near", "mrb-moved", "mrb-marking");
    for (const name of ["--turn", "--shades"]) state.view.style.removeProperty(name);
    state.view.removeAttribute("tabindex");
    views.delete(figure);
    state.closed = true;
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
      PageDown: () => step(state, 1), PageUp: () => step(state, -1), ...(state.mark ? { m: () => DOES.region(state) } : {}),
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
      if (event.timeStamp - (state.root.mrbWheeled ?? 0) > 40) step(state, Math.sign(event.deltaY));
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

  // The images of a case, and the frames of their files, as a series: one at a time, and all images at the same zoom.
  // A long one starts so, and so does one with frames, which are never beside each other.
  function series(root, states) {
    const entries = states.flatMap((state) => Array.from({ length: state.frames }, (_, k) => ({ state, frame: k + 1 })));
    const group = { states, entries, linked: false, single: false, at: 0 };
    groups.set(root, group);
    if (entries.length < 2) return null;
    const box = (words, name) => {
      const label = element("label", { class: "mrb-switch" });
      const input = element("input", { type: "checkbox" });
      input.addEventListener("change", () => set({ [name]: input.checked }));
      label.append(input, words);
      label.hidden = states.length < 2;
      return { label, input };
    };
    const button = (by, text, words) => {
      const made = element("button", { type: "button", "aria-label": words, title: words }, text);
      made.addEventListener("click", () => step(entries[group.at].state, by));
      return made;
    };
    const [linked, single] = [box("zoom together", "linked"), box("one at a time (wheel or Page keys)", "single")];
    const steps = [button(-1, "‹", "the one before (Page up)"), button(1, "›", "the one after (Page down)")];
    const where = element("output", { "aria-live": "polite" });
    const bar = element("div", { class: "mrb-tools mrb-series", role: "group", "aria-label": "the images of the case" });
    bar.append(linked.label, single.label, ...steps, where);
    const set = (now) => {
      Object.assign(group, now);
      linked.input.checked = group.linked;
      single.input.checked = group.single;
      const { state: here, frame } = entries[group.at];
      for (const one of steps) one.hidden = !group.single;
      for (const { state } of entries) state.figure.hidden = group.single && state !== here;
      if (group.single) turnTo(here, frame);
      const place = [states.length > 1 ? `image ${states.indexOf(here) + 1} of ${states.length}` : "", here.frames > 1 ? `frame ${frame} of ${here.frames}${states.length > 1 ? "" : " (wheel or Page keys)"}` : ""];
      where.textContent = group.single ? place.filter(Boolean).join(" · ") : "";
      if (group.linked && here.across) together(here, here.view.getBoundingClientRect());
    };
    group.set = set;
    const many = states.length > MOST_AT_ONCE;
    set({ linked: many, single: many || entries.length > states.length });
    states[0].figure.before(bar);
    return bar;
  }

  // The image or frame before or after the one in sight, with its zoom, place and focus.
  function step(before, by) {
    const group = groups.get(before.root);
    if (!group?.single) return before.frames > 1 ? turnTo(before, clamp(before.wanted + by, 1, before.frames)) : undefined;
    const at = clamp(group.at + by, 0, group.entries.length - 1);
    if (at === group.at) return undefined;
    const { state: after } = group.entries[at];
    const focused = document.activeElement === before.view;
    group.set({ at });
    if (after === before) return undefined;
    for (const name of ["scale", "x", "y", "fitted"]) after[name] = before[name];
    if (after.across) place(after);
    if (focused) after.view.focus({ preventScroll: true });
    return undefined;
  }

  // `pixels` resolves with a frame of the image at an index of the case, a Blob with every pixel and its shades; without it
  // there are none but those here. `mark` takes a region that was marked: the image's index, the frame, from 1, and x, y,
  // width and height in its pixels (a point has neither).
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
    const { states = [], entries = [], at = 0, single } = groups.get(root) ?? {};
    const state = (single ? entries[at].state : states.find(({ view }) => view === document.activeElement)) ?? states[0];
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
