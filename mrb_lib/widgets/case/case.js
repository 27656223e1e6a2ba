// Zoom, pan, fit and the window of grey images. Nothing of the data becomes markup: elements are made one by one.
const mrbCase = (() => {
  const kept = new WeakMap(); // of a root: what takes its listeners off
  const views = new WeakMap(); // of a figure: its state
  const LARGEST = 40;
  const HINT = "Keys in the image: + − arrows, F fit, 1 for 1:1, R reset";

  const element = (tag, attributes = {}, text = "") => {
    const made = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
    made.textContent = text;
    return made;
  };

  const clamp = (value, low, high) => Math.min(Math.max(value, low), high);

  function fitting(state, box = state.view.getBoundingClientRect()) {
    const scale = Math.min(box.width / state.wide, box.height / state.tall);
    return { scale, box };
  }

  function place(state, box = state.view.getBoundingClientRect()) {
    const { view } = state;
    const [width, height] = [state.wide * state.scale, state.tall * state.scale];
    state.x = clamp(state.x, Math.min(40, box.width) - width, box.width - Math.min(40, box.width));
    state.y = clamp(state.y, Math.min(40, box.height) - height, box.height - Math.min(40, box.height));
    if (state.scale >= 1) Object.assign(state, { x: snapped(state.x), y: snapped(state.y) });
    view.style.setProperty("--x", `${state.x}px`);
    view.style.setProperty("--y", `${state.y}px`);
    view.style.setProperty("--zoom", String(state.scale));
    view.classList.toggle("mrb-near", state.scale > 4);
    view.classList.toggle("mrb-moved", !state.fitted);
    tell(state);
  }

  // A whole number of the screen's pixels: between them one pixel of the image would be blurred over two.
  const snapped = (at) => Math.round(at * devicePixelRatio) / devicePixelRatio;

  // `known` is the size of the view where it has been measured already: to measure again would lay the page out anew.
  function fit(state, known) {
    if (!state.wide) return;
    const { scale, box } = fitting(state, known);
    Object.assign(state, { scale, fitted: true });
    state.x = (box.width - state.wide * scale) / 2;
    state.y = (box.height - state.tall * scale) / 2;
    place(state, box);
  }

  function zoom(state, scale, at) {
    if (!state.wide) return;
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
  const coarse = (state) => !state.source && "index" in state.figure.dataset && state.scale * state.wide > state.img.naturalWidth;

  // The image with every pixel it has, asked for once it is looked at so closely.
  async function enlarge(state) {
    if (!state.pixels || state.asked) return;
    state.asked = true;
    tell(state);
    try {
      const source = URL.createObjectURL(await state.pixels(Number(state.figure.dataset.index)));
      if (views.get(state.figure) !== state) return URL.revokeObjectURL(source);
      const packed = Boolean(state.figure.dataset.packed);
      Object.assign(state, { source, values: null });
      if (!packed) {
        state.img.src = source;
        await state.img.decode();
      }
      if (packed || state.img.hidden) {
        state.canvas?.remove();
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

  function tell(state) {
    const size = `${Math.round(state.scale * 100)} %`;
    const number = (value) => Number(value.toPrecision(5)).toString();
    const full = state.trouble ? ` · not at full size: ${state.trouble}` : state.asked ? " · loading the full size …" : ` · enlarged from ${state.img.naturalWidth} × ${state.img.naturalHeight}`;
    const said = `${size}${state.grey ? ` · level ${number(state.centre)} · window ${number(state.width)}` : ""}${coarse(state) ? full : ""}`;
    if (state.output.textContent !== said) state.output.textContent = said;
  }

  async function decoded(state) {
    if (state.values) return;
    const source = new Image();
    source.src = state.source || state.figure.dataset.packed || state.img.src;
    await source.decode();
    const canvas = element("canvas");
    [canvas.width, canvas.height] = [source.naturalWidth, source.naturalHeight];
    const context = canvas.getContext("2d", { willReadFrequently: true });
    context.drawImage(source, 0, 0);
    const read = context.getImageData(0, 0, canvas.width, canvas.height);
    const packed = Boolean(state.figure.dataset.packed);
    const values = new Uint16Array(canvas.width * canvas.height);
    for (let i = 0; i < values.length; i += 1) values[i] = packed ? read.data[4 * i] * 256 + read.data[4 * i + 1] : read.data[4 * i];
    canvas.setAttribute("role", "img");
    canvas.setAttribute("aria-label", state.img.alt);
    Object.assign(state, { canvas, context, values, frame: read });
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
    if (!state.canvas.isConnected) state.view.append(state.canvas);
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

  function reset(state) {
    if (state.grey) setWindow(state, state.first.centre, state.first.width);
    fit(state);
  }

  const DOES = {
    in: (s) => zoom(s, s.scale * 1.25),
    out: (s) => zoom(s, s.scale / 1.25),
    fit: (s) => fit(s),
    whole: (s) => zoom(s, 1),
    reset,
  };

  function tools(state) {
    const bar = element("div", { class: "mrb-tools", role: "group", "aria-label": "view of the image" });
    const buttons = [["out", "−", "zoom out"], ["in", "+", "zoom in"], ["fit", "Fit", "fit the whole image"], ["whole", "1:1", "1:1, one pixel of the image to one of the screen"], ["reset", "Reset", "reset the view"]];
    for (const [what, text, words] of buttons) bar.append(element("button", { type: "button", "data-does": what, "aria-label": words, title: words }, text));
    if (state.grey) {
      const span = state.high - state.low || 1;
      const range = (what, min, max, value) => {
        const label = element("label", {}, what);
        const input = element("input", { type: "range", min, max, step: "any", "data-sets": what });
        input.value = String(value);
        label.append(input);
        bar.append(label);
        return input;
      };
      state.sliders = { level: range("level", state.low - span / 2, state.high + span / 2, state.centre), window: range("window", 0.02, 2, Math.sqrt(state.width / span)) };
    }
    state.output = element("output", { "aria-live": "polite" });
    bar.append(state.output);
    const hint = state.grey ? `${HINT}, level , . and window [ ]. Drag to pan, Ctrl + wheel to zoom, Shift + drag for level and window.` : `${HINT}. Drag to pan, Ctrl + wheel to zoom.`;
    const legend = element("p", { class: "mrb-legend", hidden: true }, hint);
    const ask = element("button", { type: "button", "aria-expanded": "false", "aria-label": "keys in the image", title: "keys in the image" }, "?");
    ask.addEventListener("click", () => {
      legend.hidden = !legend.hidden;
      ask.setAttribute("aria-expanded", String(!legend.hidden));
    });
    state.output.before(ask);
    state.figure.append(bar, legend);
    state.made = [bar, legend];
  }

  function open(figure, watch, pixels) {
    const [view, img] = [figure.querySelector(".mrb-view"), figure.querySelector("img")];
    if (!view || !img || views.has(figure)) return;
    for (const one of figure.querySelectorAll(".mrb-shrunk")) one.hidden = Boolean(pixels);
    const data = figure.dataset;
    const state = { figure, view, img, pixels, small: img.src, wide: 0, tall: 0, scale: 1, x: 0, y: 0, fitted: true, grey: "low" in data, fingers: new Map() };
    if (state.grey) {
      for (const name of ["low", "high", "centre", "width", "offset", "step"]) state[name] = Number(data[name]);
      state.inverted = data.inverted === "1";
      state.first = { centre: state.centre, width: state.width };
    }
    tools(state);
    views.set(figure, state);
    view.classList.add("mrb-live");
    view.tabIndex = 0;
    const ready = () => {
      if (views.get(figure) !== state) return;
      Object.assign(state, { wide: Number(data.wide) || img.naturalWidth, tall: Number(data.tall) || img.naturalHeight });
      view.style.setProperty("--wide", `${state.wide}px`);
      view.style.setProperty("--tall", `${state.tall}px`);
      watch.observe(view);
    };
    img.decode().then(ready, () => {});
  }

  function close(figure, watch) {
    const state = views.get(figure);
    if (!state) return;
    watch.unobserve(state.view);
    for (const made of state.made) made.remove();
    if (state.canvas) state.canvas.remove();
    if (state.source) {
      state.img.src = state.small;
      URL.revokeObjectURL(state.source);
    }
    state.img.hidden = false;
    state.view.classList.remove("mrb-live", "mrb-near", "mrb-moved");
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
    const span = state.high - state.low || 1;
    const { level, window: width } = state.sliders;
    setWindow(state, Number(level.value), Number(width.value) ** 2 * span);
  }

  function onKey(event) {
    const state = stateOf(event, ".mrb-view");
    if (!state || event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return;
    const span = state.high - state.low || 1;
    const keys = {
      "+": () => DOES.in(state), "=": () => DOES.in(state), "-": () => DOES.out(state), f: () => fit(state), 1: () => DOES.whole(state), r: () => reset(state),
      ArrowLeft: () => pan(state, 40, 0), ArrowRight: () => pan(state, -40, 0), ArrowUp: () => pan(state, 0, 40), ArrowDown: () => pan(state, 0, -40),
      "[": () => setWindow(state, state.centre, state.width / 1.15), "]": () => setWindow(state, state.centre, state.width * 1.15),
      ",": () => setWindow(state, state.centre - span / 50, state.width), ".": () => setWindow(state, state.centre + span / 50, state.width),
    };
    const act = keys[event.key];
    if (!act) return;
    act();
    event.preventDefault();
    event.stopPropagation();
  }

  function onWheel(event) {
    const state = stateOf(event, ".mrb-view");
    if (!state || !(event.ctrlKey || event.metaKey || document.activeElement === state.view)) return;
    event.preventDefault();
    zoom(state, state.scale * Math.exp(-clamp(event.deltaY, -100, 100) / 300), event);
  }

  function onDown(event) {
    const state = stateOf(event, ".mrb-view");
    if (!state || event.button !== 0) return;
    state.view.setPointerCapture(event.pointerId);
    state.fingers.set(event.pointerId, event);
  }

  function onMove(event) {
    const state = stateOf(event, ".mrb-view");
    const before = state && state.fingers.get(event.pointerId);
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

  const onUp = (event) => stateOf(event, ".mrb-view")?.fingers.delete(event.pointerId);

  // `pixels` resolves with the image at an index of the case, a Blob with every pixel; without it there are none but those here.
  function attach(root, pixels) {
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
    for (const figure of figures) open(figure, watch, pixels);
    kept.set(root, () => {
      for (const [name, act] of Object.entries(listeners)) root.removeEventListener(name, act);
      for (const figure of figures) close(figure, watch);
      watch.disconnect();
    });
  }

  function detach(root) {
    kept.get(root)?.();
    kept.delete(root);
  }

  return { attach, detach };
})();
