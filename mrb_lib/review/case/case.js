// The images of a case under buttons, keys, wheel, mouse and fingers. Nothing of the data becomes markup: elements are made one by one.
const mrbCase = (() => {
  const { clamp, fit, graded, invert, middle, pan, place, placeOf, reset, setWindow, spacing, span, turnTo, value, zoom } = mrbPicture;
  const kept = new WeakMap(); // of a root: what takes its listeners off
  const groups = new WeakMap(); // of a root: its images, and whether they are shown one at a time
  const views = new WeakMap(); // of a figure: its state
  const MOST_AT_ONCE = 4;
  // Centre and width in Hounsfield units, as radiologists commonly set them.
  const PRESETS = { "soft tissue": [40, 400], lung: [-600, 1500], bone: [400, 1800], brain: [40, 80], subdural: [75, 215], mediastinum: [50, 350], liver: [60, 160] };
  const MOVES = "The wheel zooms. Shift and drag, or the right button, moves the image; two fingers do both. Keys: + − 0 and arrows.";
  const WINDOWS = "Drag: up and down for the level, left and right for the window. ";

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
    invert,
    region: (s) => mrbOverlay.begin(s, "region", middle(s)),
    distance: (s) => mrbOverlay.begin(s, "distance", middle(s)),
    marks: (s, button) => button.setAttribute("aria-pressed", String(s.view.classList.toggle("mrb-unmarked"))),
  };
  const BUTTONS = [["out", "−", "zoom out (−)"], ["in", "+", "zoom in (+)"], ["fit", "Fit", "fit the whole image (0)"], ["full", "Full", "full screen"]];
  const MORE = [
    ["whole", "1:1", "1:1, one pixel of the image to one of the screen"], ["reset", "Reset", "reset the view"], ["invert", "Invert", "invert black and white"],
    ["distance", "Distance", "measure a distance"], ["marks", "Hide marks", "hide the marked regions"],
  ];

  function tools(state) {
    const bar = element("div", { class: "mrb-tools", role: "group", "aria-label": "view of the image" });
    const more = element("div", { class: "mrb-tools mrb-more", role: "group", "aria-label": "more for the image" });
    const button = ([what, text, words]) => element("button", { type: "button", "data-does": what, "aria-label": words, title: words }, text);
    const range = (what, min, max) => {
      const [label, input] = [element("label", {}, what), element("input", { type: "range", min, max, step: "any", "data-sets": what })];
      label.append(input);
      more.append(label);
      return input;
    };
    const menu = element("button", { type: "button", "aria-expanded": "false", "aria-label": "more for the image", title: "window, invert, measure and more" }, "⋯");
    menu.addEventListener("click", () => {
      more.hidden = !more.hidden;
      menu.setAttribute("aria-expanded", String(!more.hidden));
    });
    state.output = element("output", { "aria-live": "polite" });
    bar.append(...BUTTONS.filter(([what]) => what !== "full" || document.fullscreenEnabled).map(button), menu, state.output);
    const has = { invert: state.grey, marks: state.mark };
    more.append(...MORE.filter(([what]) => has[what] ?? true).map(button));
    if (state.figure.dataset.unit === "HU") more.append(presets(state));
    if (state.grey) state.sliders = { level: range("level", state.low - span(state) / 2, state.high + span(state) / 2), window: range("window", 0.02, 2) };
    const hint = (state.grey ? WINDOWS : "") + MOVES;
    more.append(element("p", { class: "mrb-legend" }, hint));
    more.hidden = true;
    state.view.title = hint;
    state.said = element("p", { class: "mrb-said-of-image", role: "status" });
    state.pixel = element("span", { class: "mrb-pixel" });
    state.made = [bar, more, state.said, state.pixel];
    state.figure.append(...state.made);
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
    const state = { root, figure, view, img, pixels, small: img.src, wide: 0, tall: 0, scale: 1, x: 0, y: 0, fitted: true, grey: "low" in data, fingers: new Map(), mode: "", frames: (pixels && Number(data.frames)) || 1, wanted: 1, shown: 1, spacing: spacing(data) };
    const index = Number(data.index);
    state.mark = mark && ((region) => mark({ image: index, frame: state.shown, ...region }));
    if (state.grey) {
      Object.assign(state, graded(data));
      state.first = { centre: state.centre, width: state.width, inverted: state.inverted };
    }
    tools(state);
    views.set(figure, state);
    view.classList.add("mrb-live");
    view.tabIndex = 0;
    view.style.setProperty("--ratio", String(img.getAttribute("width") / img.getAttribute("height")));
    const ready = () => {
      if (views.get(figure) !== state) return;
      Object.assign(state, { wide: Number(data.wide) || img.naturalWidth, tall: Number(data.tall) || img.naturalHeight });
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
    state.view.classList.remove("mrb-live", "mrb-near", "mrb-moved", "mrb-marking", "mrb-unmarked");
    for (const name of ["tabindex", "title"]) state.view.removeAttribute(name);
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
    if (state) DOES[button.dataset.does]?.(state, button);
  }

  function onInput(event) {
    const state = stateOf(event, "[data-sets]");
    if (state) setWindow(state, Number(state.sliders.level.value), Number(state.sliders.window.value) ** 2 * span(state));
  }

  const KEYS = {
    "+": DOES.in, "=": DOES.in, "-": DOES.out, 0: DOES.fit, PageDown: (s) => step(s, 1), PageUp: (s) => step(s, -1),
    ArrowLeft: (s) => pan(s, 40, 0), ArrowRight: (s) => pan(s, -40, 0), ArrowUp: (s) => pan(s, 0, 40), ArrowDown: (s) => pan(s, 0, -40),
  };
  // A key that the page offers beside what it does, such as 0 for a category, is the page's.
  const offered = (key) => [...document.querySelectorAll("kbd")].some((one) => one.textContent === key && one.checkVisibility());

  function onKey(event) {
    const state = stateOf(event, ".mrb-view");
    if (!state || event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return;
    if (!mrbOverlay.key(state, event)) {
      if (!KEYS[event.key] || offered(event.key)) return;
      KEYS[event.key](state);
    }
    event.preventDefault();
    event.stopPropagation();
  }

  // Over an image that the mouse was moved onto, or that has the focus: where the page scrolled and brought it there, the page goes on.
  function onWheel(event) {
    const state = stateOf(event, ".mrb-view");
    const zooms = event.ctrlKey || event.metaKey;
    if (!state || !(zooms || state.entered || document.activeElement === state.view)) return;
    if (groups.get(state.root)?.single && !zooms) {
      if (event.timeStamp - (state.root.mrbWheeled ?? 0) > 40) step(state, Math.sign(event.deltaY));
      state.root.mrbWheeled = event.timeStamp;
    } else {
      const lines = event.deltaMode === WheelEvent.DOM_DELTA_LINE ? 33 : 1;
      if (!zoom(state, state.scale * Math.exp(-clamp(event.deltaY * lines, -100, 100) / 300), event) && !zooms) return;
    }
    event.preventDefault();
  }

  function onDown(event) {
    const state = stateOf(event, ".mrb-view");
    if (!state || event.button === 1) return;
    state.view.removeAttribute("title"); // who drags knows
    state.view.setPointerCapture(event.pointerId);
    if (event.button !== 0 || !mrbOverlay.press(state, placeOf(state, event))) state.fingers.set(event.pointerId, event);
  }

  // Of a grey image the mouse sets the window, as in a radiologist's viewer; a finger moves what is zoomed, and scrolls the page else.
  function onMove(event) {
    const state = stateOf(event, ".mrb-view");
    if (!state?.wide) return;
    const [at, touch] = [placeOf(state, event), event.pointerType === "touch"];
    state.entered ||= Boolean(event.movementX || event.movementY);
    if (!state.fingers.size && !touch) value(state, at);
    const before = state.fingers.get(event.pointerId);
    if (!before) {
      mrbOverlay.move(state, at);
      return;
    }
    const [dx, dy] = [event.clientX - before.clientX, event.clientY - before.clientY];
    const other = [...state.fingers].find(([id]) => id !== event.pointerId)?.[1];
    const apart = (one) => Math.hypot(one.clientX - other.clientX, one.clientY - other.clientY) || 1;
    if (other) zoom(state, (state.scale * apart(event)) / apart(before), other);
    else if (state.grey && !touch && !event.shiftKey && event.buttons === 1) setWindow(state, state.centre + (dy * span(state)) / 400, state.width * Math.exp(dx / 200));
    else if (!(touch && state.fitted)) pan(state, dx, dy);
    state.fingers.set(event.pointerId, event);
  }

  function onUp(event) {
    const state = stateOf(event, ".mrb-view");
    if (!state) return;
    state.fingers.delete(event.pointerId);
    mrbOverlay.release(state);
  }

  function onOut(event) {
    const state = stateOf(event, ".mrb-view");
    if (state && !state.view.contains(event.relatedTarget)) state.entered = false;
  }

  const onMenu = (event) => stateOf(event, ".mrb-view") && event.preventDefault();

  // The images of a case, and the frames of their files, as a series: one at a time.
  // A long one starts so, and so does one with frames, which are never beside each other.
  function series(root, states) {
    const entries = states.flatMap((state) => Array.from({ length: state.frames }, (_, k) => ({ state, frame: k + 1 })));
    const group = { states, entries, single: false, at: 0 };
    groups.set(root, group);
    if (entries.length < 2) return null;
    const label = element("label", { class: "mrb-switch" });
    const single = element("input", { type: "checkbox" });
    label.append(single, "one at a time (wheel or Page keys)");
    label.hidden = states.length < 2;
    const steps = [[-1, "‹", "the one before (Page up)"], [1, "›", "the one after (Page down)"]].map(([by, text, words]) => {
      const made = element("button", { type: "button", "aria-label": words, title: words }, text);
      made.addEventListener("click", () => step(entries[group.at].state, by));
      return made;
    });
    const where = element("output", { "aria-live": "polite" });
    const bar = element("div", { class: "mrb-tools mrb-series", role: "group", "aria-label": "the images of the case" });
    bar.append(label, ...steps, where);
    group.set = (now) => {
      Object.assign(group, now);
      single.checked = group.single;
      const { state: here, frame } = entries[group.at];
      for (const one of steps) one.hidden = !group.single;
      for (const { state } of entries) state.figure.hidden = group.single && state !== here;
      if (group.single) turnTo(here, frame);
      const place = [states.length > 1 ? `image ${states.indexOf(here) + 1} of ${states.length}` : "", here.frames > 1 ? `frame ${frame} of ${here.frames}${states.length > 1 ? "" : " (wheel or Page keys)"}` : ""];
      where.textContent = group.single ? place.filter(Boolean).join(" · ") : "";
    };
    single.addEventListener("change", () => group.set({ single: single.checked }));
    group.set({ single: states.length > MOST_AT_ONCE || entries.length > states.length });
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
    for (const name of ["scale", "x", "y", "fitted", "entered"]) after[name] = before[name];
    if (after.wide) place(after);
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
    const listeners = { click: onClick, input: onInput, keydown: onKey, wheel: onWheel, pointerdown: onDown, pointermove: onMove, pointerup: onUp, pointercancel: onUp, pointerout: onOut, contextmenu: onMenu };
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
      if (state.wide) mrbOverlay.paint(state);
    }
  }

  function region(root) {
    const { states = [], entries = [], at = 0, single } = groups.get(root) ?? {};
    const state = (single ? entries[at].state : states.find(({ view }) => view === document.activeElement)) ?? states[0];
    if (!state?.wide) return false;
    DOES.region(state);
    return true;
  }

  function detach(root) {
    kept.get(root)?.();
    kept.delete(root);
  }

  return { attach, detach, regions, region };
})();
