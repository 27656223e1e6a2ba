// One image in its view: where it lies, at which zoom, and through which window its values are shown.
const mrbPicture = (() => {
  const LARGEST = 40;

  const clamp = (value, low, high) => Math.min(Math.max(value, low), high);
  const boxOf = (state) => state.view.getBoundingClientRect();
  const fitting = (state, box) => Math.min(box.width / state.wide, box.height / state.tall);
  // A whole number of the screen's pixels: between them one pixel of the image would be blurred over two.
  const snapped = (at) => Math.round(at * devicePixelRatio) / devicePixelRatio;
  const placeOf = (state, { clientX, clientY }, box = boxOf(state)) => ({ x: (clientX - box.left - state.x) / state.scale, y: (clientY - box.top - state.y) / state.scale });
  const middle = (state, box = boxOf(state)) => placeOf(state, { clientX: box.left + box.width / 2, clientY: box.top + box.height / 2 }, box);

  function place(state, box = boxOf(state)) {
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
    mrbOverlay.paint(state);
    tell(state);
    if (coarse(state) && !state.trouble) load(state);
  }

  // Whether the screen shows more pixels of the image than are here.
  const coarse = (state) => !state.source && "wide" in state.figure.dataset && state.scale * state.wide > state.img.naturalWidth;

  // `known` is the size of the view where it has been measured already: to measure again would lay the page out anew.
  function fit(state, known = boxOf(state)) {
    if (!state.wide) return;
    const scale = fitting(state, known);
    Object.assign(state, { scale, fitted: true, x: (known.width - state.wide * scale) / 2, y: (known.height - state.tall * scale) / 2 });
    place(state, known);
  }

  // About a place on the screen, or the middle. False where it is as small as it gets.
  function zoom(state, scale, at) {
    const box = boxOf(state);
    const whole = fitting(state, box);
    const wanted = clamp(scale, Math.min(whole, 1), LARGEST);
    if (!state.wide || wanted === state.scale) return false;
    if (wanted === whole) fit(state, box);
    else {
      const [px, py] = at ? [at.clientX - box.left, at.clientY - box.top] : [box.width / 2, box.height / 2];
      const grown = wanted / state.scale;
      Object.assign(state, { scale: wanted, fitted: false, x: px - (px - state.x) * grown, y: py - (py - state.y) * grown });
      place(state, box);
    }
    return true;
  }

  function pan(state, dx, dy) {
    Object.assign(state, { x: state.x + dx, y: state.y + dy, fitted: false });
    place(state);
  }

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
    state.spacing = spacing(shades);
    if (!state.grey) return;
    const own = graded(shades);
    Object.assign(state, { low: Math.min(state.low, own.low), high: Math.max(state.high, own.high), offset: own.offset, step: own.step });
    state.first = { centre: own.centre, width: own.width, inverted: own.inverted };
    const { level } = state.sliders;
    [level.min, level.max] = [state.low - span(state) / 2, state.high + span(state) / 2];
    slide(state);
  }

  // The numbers of a figure or of a frame of it: how far its pixels are apart, and what its stored values stand for.
  const spacing = (shades) => (shades.spacing ? shades.spacing.split(" ").map(Number) : null);
  const span = ({ low, high }) => high - low || 1;

  function graded(shades) {
    const numbers = ["low", "high", "centre", "width", "offset", "step"].map((name) => [name, Number(shades[name])]);
    return { ...Object.fromEntries(numbers), inverted: shades.inverted === "1" };
  }

  const number = (value) => Number(value.toPrecision(5)).toString();

  function tell(state) {
    const shades = state.grey ? ` · level ${number(state.centre)} · window ${number(state.width)}${state.inverted === state.first.inverted ? "" : " · inverted"}` : "";
    const full = state.loading ? " · loading the full size …" : ` · enlarged from ${state.img.naturalWidth} × ${state.img.naturalHeight}`;
    const turning = state.wanted === state.shown ? "" : ` · loading frame ${state.wanted} …`;
    const trouble = state.trouble ? ` · not loaded: ${state.trouble}` : "";
    const rough = coarse(state) && !trouble ? full : "";
    write(state.output, `${Math.round(state.scale * 100)} %${shades}${turning || rough}${trouble}`);
    const counted = state.figure.querySelector(".mrb-frame");
    if (counted) write(counted, String(state.shown));
  }

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
    const table = new Uint32Array(state.figure.dataset.packed ? 65536 : 256); // of a value the pixel: alpha, blue, green, red
    const width = Math.max(state.width, 1e-9);
    for (let v = 0; v < table.length; v += 1) {
      const real = state.offset + state.step * v;
      const level = Math.floor(clamp((real - state.centre) / width + 0.5, 0, 1) * 255 + 0.5);
      table[v] = 0xff000000 + 0x010101 * (state.inverted ? 255 - level : level);
    }
    const shown = new Uint32Array(state.frame.data.buffer);
    for (let i = 0; i < state.values.length; i += 1) shown[i] = table[state.values[i]];
    state.context.putImageData(state.frame, 0, 0);
    if (!state.canvas.isConnected) state.img.after(state.canvas);
    state.img.hidden = true;
  }

  function slide(state) {
    state.sliders.level.value = String(state.centre);
    state.sliders.window.value = String(Math.sqrt(state.width / span(state)));
  }

  async function setWindow(state, centre, width) {
    state.centre = clamp(centre, state.low - span(state), state.high + span(state));
    state.width = clamp(width, span(state) / 4096, 4 * span(state));
    slide(state);
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

  function invert(state) {
    state.inverted = !state.inverted;
    setWindow(state, state.centre, state.width);
  }

  function reset(state) {
    mrbOverlay.end(state);
    if (state.grey) {
      state.inverted = state.first.inverted;
      setWindow(state, state.first.centre, state.first.width);
    }
    fit(state);
  }

  return { clamp, fit, graded, invert, middle, pan, place, placeOf, reset, setWindow, spacing, span, turnTo, value, zoom };
})();
