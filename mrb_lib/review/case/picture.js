// One image in its view: where it lies, at which zoom, which way it is turned, and in which window its values are shown.
const mrbPicture = (() => {
  const groups = new WeakMap(); // of a root: its images, and whether they are shown together
  const LARGEST = 40;

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
  const enlarge = (state) => (state.trouble || state.source ? undefined : load(state));

  // Another frame of its file, from 1. The zoom and the window stay; of several asked for in a row, the last counts.
  function turnTo(state, frame) {
    if (frame === state.wanted) return;
    state.wanted = frame;
    if (state.draft) mrbOverlay.end(state);
    load(state);
  }

  // The frame that is wanted, with every pixel it has.
  async function load(state) {
    if (!state.pixels || state.loading) return;
    Object.assign(state, { loading: true, trouble: "" });
    tell(state);
    try {
      do {
        const frame = state.wanted;
        const { blob, shades } = await state.pixels(Number(state.figure.dataset.index), frame);
        if (state.closed) return;
        await install(state, frame, URL.createObjectURL(blob), shades);
      } while (state.wanted !== state.shown);
    } catch (error) {
      Object.assign(state, { trouble: error.message, wanted: state.shown });
    } finally {
      state.loading = false;
    }
    tell(state);
  }

  async function install(state, frame, source, shades) {
    if (state.source) URL.revokeObjectURL(state.source);
    const packed = Boolean(state.figure.dataset.packed);
    const other = frame !== state.shown;
    Object.assign(state, { source, shown: frame, frame: null });
    if (other) adopt(state, shades);
    if (!packed) {
      state.img.src = source;
      await state.img.decode();
    }
    if (packed || state.img.hidden) {
      await decoded(state);
      paint(state);
    }
    if (state.pointer) value(state, state.pointer);
    mrbOverlay.paint(state);
  }

  // What the stored values of another frame stand for. The window stays as it is, the sliders reach all frames seen.
  function adopt(state, shades) {
    spacing(state, shades);
    if (!state.grey) return;
    const own = graded(shades);
    Object.assign(state, { low: Math.min(state.low, own.low), high: Math.max(state.high, own.high), offset: own.offset, step: own.step });
    state.first = { centre: own.centre, width: own.width, inverted: own.inverted };
    const span = state.high - state.low || 1;
    const { level, window: width } = state.sliders;
    [level.min, level.max] = [state.low - span / 2, state.high + span / 2];
    [level.value, width.value] = [state.centre, Math.sqrt(state.width / span)];
  }

  // The numbers of a figure or of a frame of it: how far its pixels are apart, and what its stored values stand for.
  function spacing(state, shades) {
    state.spacing = shades.spacing ? shades.spacing.split(" ").map(Number) : null;
  }

  function graded(shades) {
    const numbers = ["low", "high", "centre", "width", "offset", "step"].map((name) => [name, Number(shades[name])]);
    return { ...Object.fromEntries(numbers), inverted: shades.inverted === "1" };
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
    const full = state.loading ? " · loading the full size …" : ` · enlarged from ${state.img.naturalWidth} × ${state.img.naturalHeight}`;
    const turning = state.wanted === state.shown ? "" : ` · loading frame ${state.wanted} …`;
    const shades = state.grey ? ` · level ${number(state.centre)} · window ${number(state.width)}${state.inverted === state.first.inverted ? "" : " · inverted"}` : changed(state) ? ` · brightness ${Math.round(100 * state.brightness)} % · contrast ${Math.round(100 * state.contrast)} %` : "";
    const trouble = state.trouble ? ` · not loaded: ${state.trouble}` : "";
    write(state.output, `${size}${shades}${turning || (coarse(state) && !trouble ? full : "")}${trouble}`);
    const counted = state.figure.querySelector(".mrb-frame");
    if (counted) write(counted, String(state.shown));
  }

  const changed = (state) => state.brightness !== 1 || state.contrast !== 1;

  // The value under the pointer: in the units of the file where it is grey, red, green and blue where it is not.
  async function value(state, { x, y }) {
    const [column, row] = [Math.floor(x), Math.floor(y)];
    const asked = (state.under = {});
    state.pointer = { x, y };
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
    if (state.frame) return undefined;
    const source = new Image();
    source.src = state.source || state.figure.dataset.packed || state.img.src;
    const from = state.source;
    await source.decode();
    if (from !== state.source) return decoded(state); // another frame came in the meantime
    const canvas = document.createElement("canvas");
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

  return { groups, clamp, fit, graded, invert, middle, orient, pan, place, placeOf, reset, setColour, setWindow, spacing, together, turn, turnTo, unturned, value, zoom };
})();
