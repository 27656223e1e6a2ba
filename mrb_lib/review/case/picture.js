// One image of a case under buttons, keys, wheel, mouse and fingers. Nothing of the data becomes markup: elements are made one by one.
const MrbPicture = (() => {
  const { button, element } = mrbElements;
  const LARGEST = 40;
  const MOVES = "Drag moves the image, the wheel zooms; two fingers do both. ";
  const WINDOWS = "The right button, or Alt and drag, sets the window: up and down its level, left and right its width. ";
  const KEYS_HELP = "Keys, with Alt: + and − zoom, 0 fits, arrows move, Page up and Page down turn to another image or frame.";

  // Centre and width in Hounsfield units, as radiologists commonly set them.
  const PRESETS = { "soft tissue": [40, 400], lung: [-600, 1500], bone: [400, 1800], brain: [40, 80], subdural: [75, 215], mediastinum: [50, 350], liver: [60, 160] };

  const clamp = (value, low, high) => Math.min(Math.max(value, low), high);
  const number = (value) => Number(value.toPrecision(5)).toString();
  const spacing = (shades) => (shades.spacing ? shades.spacing.split(" ").map(Number) : null);

  // What the stored values of a grey image, or of a frame of it, stand for, and the window to begin with.
  function graded(shades) {
    const numbers = ["low", "high", "centre", "width", "offset", "step"].map((name) => [name, Number(shades[name])]);
    return { ...Object.fromEntries(numbers), inverted: shades.inverted === "1" };
  }

  const [IN, OUT, FIT] = [(one) => one.zoom(one.scale * 1.25), (one) => one.zoom(one.scale / 1.25), (one) => one.fit()];
  const FULL = ({ figure }) => (document.fullscreenElement === figure ? document.exitFullscreen() : figure.requestFullscreen());
  const TOOLS = [["out", "−", "zoom out (Alt −)", OUT], ["in", "+", "zoom in (Alt +)", IN], ["fit", "Fit", "fit the whole image (Alt 0)", FIT], ["full", "Full", "full screen", FULL]];
  const MORE = [
    ["whole", "1:1", "1:1, one pixel of the image to one of the screen", (one) => one.zoom(1)], ["reset", "Reset", "reset the view", (one) => one.reset()],
    ["distance", "Distance", "measure a distance", (one) => one.overlay.begin("distance")], ["invert", "Invert", "invert black and white", (one) => one.setWindow(one.centre, one.width, !one.inverted)],
  ];
  // With Alt: without it every key means what it means elsewhere on the page. Where Alt makes another letter, the key's place counts.
  const KEYS = {
    "+": IN, "=": IN, Equal: IN, "-": OUT, Minus: OUT, 0: FIT, Digit0: FIT, PageDown: (one) => one.series.step(one, 1), PageUp: (one) => one.series.step(one, -1),
    ArrowLeft: (one) => one.pan(40, 0), ArrowRight: (one) => one.pan(-40, 0), ArrowUp: (one) => one.pan(0, 40), ArrowDown: (one) => one.pan(0, -40),
  };

  return class MrbPicture {
    // `series` are the images of the case, which knows how to get every pixel of one and what to do with a marked region.
    constructor(series, figure) {
      const [view, img, { dataset: data }] = [figure.querySelector(".mrb-view"), figure.querySelector("img"), figure];
      Object.assign(this, { series, figure, before: figure.cloneNode(true), view, img, index: Number(data.index), packed: data.packed, unit: data.unit ?? "", ratio: img.getAttribute("width") / img.getAttribute("height") });
      Object.assign(this, { wide: 0, tall: 0, scale: 1, x: 0, y: 0, fitted: true, fingers: new Map(), wanted: 1, shown: 1, frames: (series.pixels && Number(data.frames)) || 1 });
      Object.assign(this, { grey: "low" in data, spacing: spacing(data), first: graded(data), ...graded(data) });
      this.overlay = new MrbOverlay(this);
      this.drawTools();
      for (const one of figure.querySelectorAll(".mrb-shrunk")) one.hidden = Boolean(series.pixels);
      view.classList.add("mrb-live");
      view.tabIndex = 0;
      view.style.setProperty("--ratio", String(this.ratio));
      this.ended = new AbortController();
      const up = ({ pointerId }) => this.fingers.delete(pointerId) || this.overlay.release();
      const acts = { keydown: this.onKey, wheel: this.onWheel, pointerdown: this.onDown, pointermove: this.onMove, pointerup: up, pointercancel: up, pointerleave() { this.entered = false; }, contextmenu: (event) => event.preventDefault() };
      for (const [name, act] of Object.entries(acts)) view.addEventListener(name, act.bind(this), { passive: false, signal: this.ended.signal });
      this.watch = new ResizeObserver(([{ contentRect }]) => this.fitted && this.fit(contentRect));
      img.decode().then(() => this.begin(data), () => {});
    }

    begin({ wide, tall }) {
      if (this.closed) return;
      Object.assign(this, { shrunk: Boolean(wide), wide: Number(wide) || this.img.naturalWidth, tall: Number(tall) || this.img.naturalHeight });
      this.view.style.setProperty("--wide", `${this.wide}px`);
      this.view.style.setProperty("--tall", `${this.tall}px`);
      this.watch.observe(this.view);
      this.overlay.paint();
    }

    // The figure as it was before stands in its place: it may be shown again.
    close() {
      this.closed = true;
      this.ended.abort();
      this.watch.disconnect();
      if (this.source) URL.revokeObjectURL(this.source);
      this.figure.replaceWith(this.before);
    }

    drawTools() {
      const has = { full: document.fullscreenEnabled, invert: this.grey };
      const buttons = (all) => all.map(([does, text, words, act]) => button(text, () => act(this), { "data-does": does, "aria-label": words, title: words, hidden: has[does] === false }));
      const hint = MOVES + (this.grey ? WINDOWS : "") + KEYS_HELP;
      const more = element("div", { class: "mrb-tools", role: "group", "aria-label": "more for the image", hidden: true }, ...buttons(MORE), ...(this.unit === "HU" ? [this.presets()] : []), ...(this.grey ? this.ranges() : []), element("p", { class: "mrb-legend" }, hint));
      const unfold = ({ currentTarget }) => currentTarget.setAttribute("aria-expanded", String(!(more.hidden = !more.hidden)));
      const menu = button("⋯", unfold, { "aria-expanded": "false", "aria-label": "more for the image", title: "window, invert, measure and more" });
      this.output = element("output", { "aria-live": "polite" });
      this.said = element("p", { class: "mrb-said-of-image", role: "status" });
      this.pixel = element("span", { class: "mrb-pixel" });
      const bar = element("div", { class: "mrb-tools", role: "group", "aria-label": "view of the image" }, ...buttons(TOOLS), menu, this.output);
      this.figure.append(bar, more, this.said, this.pixel);
      this.view.title = hint;
    }

    presets() {
      const named = Object.entries(PRESETS).map(([name, window]) => element("option", { value: name }, `${name} ${window.join(" / ")}`));
      const choose = ({ target: { value } }) => PRESETS[value] && this.setWindow(...PRESETS[value]);
      return element("select", { "aria-label": "window preset", onchange: choose }, element("option", { value: "" }, "window …"), ...named);
    }

    // The slider of the window moves by its root, so that narrow ones are as easy to set as wide ones.
    ranges() {
      const set = () => this.setWindow(Number(this.sliders.level.value), Number(this.sliders.window.value) ** 2 * this.span);
      const range = (what, min, max) => element("input", { type: "range", min, max, step: "any", "data-sets": what, oninput: set });
      this.sliders = { level: range("level", this.low - this.span / 2, this.high + this.span / 2), window: range("window", 0.02, 2) };
      return Object.entries(this.sliders).map(([what, input]) => element("label", {}, what, input));
    }

    get box() {
      return this.view.getBoundingClientRect();
    }

    // The pixel of the image at a place of the screen; the middle of the view where none is named.
    placeOf(at) {
      const { left, top, width, height } = this.box;
      const { clientX, clientY } = at ?? { clientX: left + width / 2, clientY: top + height / 2 };
      return { x: (clientX - left - this.x) / this.scale, y: (clientY - top - this.y) / this.scale };
    }

    place(box = this.box) {
      const { view, scale } = this;
      // A whole number of the screen's pixels: between them one pixel of the image would be blurred over two.
      const snapped = (at) => (scale < 1 ? at : Math.round(at * devicePixelRatio) / devicePixelRatio);
      const kept = (at, size, room) => snapped(clamp(at, Math.min(40, room) - size, room - Math.min(40, room)));
      this.x = kept(this.x, this.wide * scale, box.width);
      this.y = kept(this.y, this.tall * scale, box.height);
      view.style.setProperty("--x", `${this.x}px`);
      view.style.setProperty("--y", `${this.y}px`);
      view.style.setProperty("--zoom", String(scale));
      view.classList.toggle("mrb-near", scale > 4);
      view.classList.toggle("mrb-moved", !this.fitted);
      this.overlay.paint();
      this.tell();
      if (this.coarse && !this.trouble) this.load();
    }

    // `box` is given where it has been measured already: to measure again would lay the page out anew.
    fit(box = this.box) {
      if (!this.wide) return;
      const scale = Math.min(box.width / this.wide, box.height / this.tall);
      Object.assign(this, { scale, fitted: true, x: (box.width - this.wide * scale) / 2, y: (box.height - this.tall * scale) / 2 });
      this.place(box);
    }

    // About a place on the screen, or the middle. False where it is as small as it gets.
    zoom(scale, at) {
      const box = this.box;
      const whole = Math.min(box.width / this.wide, box.height / this.tall);
      const wanted = clamp(scale, Math.min(whole, 1), LARGEST);
      if (!this.wide || wanted === this.scale) return false;
      const [px, py] = at ? [at.clientX - box.left, at.clientY - box.top] : [box.width / 2, box.height / 2];
      const grown = wanted / this.scale;
      Object.assign(this, { scale: wanted, fitted: false, x: px - (px - this.x) * grown, y: py - (py - this.y) * grown });
      if (wanted === whole) this.fit(box);
      else this.place(box);
      return true;
    }

    // Lie elsewhere, as where the image before it in the series lies.
    take({ scale, x, y, fitted, entered = this.entered }) {
      Object.assign(this, { scale, x, y, fitted, entered });
      if (this.wide) this.place();
    }

    pan(dx, dy) {
      this.take({ scale: this.scale, x: this.x + dx, y: this.y + dy, fitted: false });
    }

    reset() {
      this.overlay.end();
      if (this.grey) this.setWindow(this.first.centre, this.first.width, this.first.inverted);
      this.fit();
    }

    onKey(event) {
      if (event.ctrlKey || event.metaKey || event.isComposing) return;
      const act = event.altKey ? (KEYS[event.key] ?? KEYS[event.code]) : null;
      if (act) act(this);
      else if (event.altKey || !this.overlay.key(event)) return;
      event.preventDefault();
      event.stopPropagation();
    }

    // Over an image that the mouse was moved onto, or that has the focus: where the page scrolled and brought it there, the page goes on.
    onWheel(event) {
      const zooms = event.ctrlKey || event.metaKey;
      if (!(zooms || this.entered || document.activeElement === this.view)) return;
      if (zooms || !this.series.wheel(this, event)) {
        const lines = event.deltaMode === WheelEvent.DOM_DELTA_LINE ? 33 : 1;
        if (!this.zoom(this.scale * Math.exp(-clamp(event.deltaY * lines, -100, 100) / 300), event) && !zooms) return;
      }
      event.preventDefault();
    }

    onDown(event) {
      if (event.button === 1) return;
      this.view.removeAttribute("title"); // who drags knows
      this.view.setPointerCapture(event.pointerId);
      if (event.button !== 0 || !this.overlay.press(this.placeOf(event))) this.fingers.set(event.pointerId, event);
    }

    // A finger moves what is zoomed, and scrolls the page else.
    onMove(event) {
      if (!this.wide) return;
      const [at, touch, before] = [this.placeOf(event), event.pointerType === "touch", this.fingers.get(event.pointerId)];
      this.entered ||= Boolean(event.movementX || event.movementY);
      if (!this.fingers.size && !touch) this.value(at);
      if (this.overlay.held) this.overlay.stretch(at);
      if (!before) return;
      const [dx, dy] = [event.clientX - before.clientX, event.clientY - before.clientY];
      const other = [...this.fingers].find(([id]) => id !== event.pointerId)?.[1];
      const apart = (one) => Math.hypot(one.clientX - other.clientX, one.clientY - other.clientY) || 1;
      if (other) this.zoom((this.scale * apart(event)) / apart(before), other);
      else if (this.grey && (event.altKey || event.buttons === 2)) this.setWindow(this.centre + (dy * this.span) / 400, this.width * Math.exp(dx / 200));
      else if (!(touch && this.fitted)) this.pan(dx, dy);
      this.fingers.set(event.pointerId, event);
    }

    // Whether the screen shows more pixels of the image than are here.
    get coarse() {
      return !this.source && this.shrunk && this.scale * this.wide > this.img.naturalWidth;
    }

    // Another frame of its file, from 1. The zoom and the window stay; of several asked for in a row, the last counts.
    turnTo(frame) {
      if (frame === this.wanted) return;
      this.wanted = frame;
      if (this.overlay.draft) this.overlay.end();
      this.load();
    }

    async load() {
      if (!this.series.pixels || this.loading) return;
      Object.assign(this, { loading: true, trouble: "" });
      this.tell();
      try {
        do {
          const frame = this.wanted;
          const { blob, shades } = await this.series.pixels(this.index, frame);
          if (this.closed) return;
          await this.install(frame, URL.createObjectURL(blob), shades);
        } while (this.wanted !== this.shown);
      } catch (error) {
        Object.assign(this, { trouble: error.message, wanted: this.shown });
      } finally {
        this.loading = false;
      }
      this.tell();
    }

    async install(frame, source, shades) {
      if (this.source) URL.revokeObjectURL(this.source);
      if (frame !== this.shown) this.adopt(shades);
      Object.assign(this, { source, shown: frame, read: null });
      if (!this.packed) {
        this.img.src = source;
        await this.img.decode();
      }
      if (this.packed || this.img.hidden) await this.paint();
      if (this.pointer) this.value(this.pointer);
      this.overlay.paint();
    }

    // What the stored values of another frame stand for. The window stays as it is, the sliders reach all frames seen.
    adopt(shades) {
      this.spacing = spacing(shades);
      if (!this.grey) return;
      this.first = graded(shades);
      Object.assign(this, this.first, { low: Math.min(this.low, this.first.low), high: Math.max(this.high, this.first.high), centre: this.centre, width: this.width, inverted: this.inverted });
      Object.assign(this.sliders.level, { min: this.low - this.span / 2, max: this.high + this.span / 2 });
      this.slide();
    }

    tell() {
      const shades = this.grey ? ` · level ${number(this.centre)} · window ${number(this.width)}${this.inverted === this.first.inverted ? "" : " · inverted"}` : "";
      const full = this.loading ? " · loading the full size …" : ` · enlarged from ${this.img.naturalWidth} × ${this.img.naturalHeight}`;
      const turning = this.wanted === this.shown ? "" : ` · loading frame ${this.wanted} …`;
      const trouble = this.trouble ? ` · not loaded: ${this.trouble}` : "";
      this.output.textContent = `${Math.round(this.scale * 100)} %${shades}${turning || (this.coarse && !trouble ? full : "")}${trouble}`;
      for (const counted of this.figure.querySelectorAll(".mrb-frame")) counted.textContent = String(this.shown);
    }

    // The value under the pointer: in the units of the file where it is grey, red, green and blue where it is not.
    async value({ x, y }) {
      const [column, row] = [Math.floor(x), Math.floor(y)];
      const asked = (this.pointer = { x, y });
      this.pixel.hidden = !(column >= 0 && row >= 0 && column < this.wide && row < this.tall);
      if (this.pixel.hidden) return;
      await this.decoded();
      if (this.pointer !== asked) return;
      const at = row * this.wide + column;
      const grey = () => `${number(this.offset + this.step * this.values[at])}${this.unit && ` ${this.unit}`}`;
      const shown = this.read.width !== this.wide ? "value at 1:1 only" : this.grey ? grey() : this.read.data.slice(4 * at, 4 * at + 3).join(" ");
      this.pixel.textContent = `x ${column}, y ${row}: ${shown}`;
    }

    // `read`, the pixels of the source as it is now, and of a grey image its stored `values`.
    async decoded() {
      if (this.read) return undefined;
      const { source: from, packed } = this;
      const source = new Image();
      source.src = from || packed || this.img.src;
      await source.decode();
      if (from !== this.source) return this.decoded(); // another frame came in the meantime
      const canvas = element("canvas", { role: "img", "aria-label": this.img.alt, width: source.naturalWidth, height: source.naturalHeight });
      const context = canvas.getContext("2d", { willReadFrequently: true });
      context.drawImage(source, 0, 0);
      this.read = context.getImageData(0, 0, canvas.width, canvas.height);
      if (!this.grey) return undefined;
      const { data } = this.read;
      this.values = new Uint16Array(data.length / 4);
      for (let i = 0; i < this.values.length; i += 1) this.values[i] = packed ? data[4 * i] * 256 + data[4 * i + 1] : data[4 * i];
      this.canvas?.remove();
      return Object.assign(this, { canvas, context });
    }

    async paint() {
      await this.decoded();
      const table = new Uint32Array(this.packed ? 65536 : 256); // of a value the pixel: alpha, blue, green, red
      for (let v = 0; v < table.length; v += 1) {
        const level = Math.floor(clamp((this.offset + this.step * v - this.centre) / Math.max(this.width, 1e-9) + 0.5, 0, 1) * 255 + 0.5);
        table[v] = 0xff000000 + 0x010101 * (this.inverted ? 255 - level : level);
      }
      const shown = new Uint32Array(this.read.data.buffer);
      for (let i = 0; i < this.values.length; i += 1) shown[i] = table[this.values[i]];
      this.context.putImageData(this.read, 0, 0);
      if (!this.canvas.isConnected) this.img.after(this.canvas);
      this.img.hidden = true;
    }

    get span() {
      return this.high - this.low || 1;
    }

    slide() {
      this.sliders.level.value = String(this.centre);
      this.sliders.window.value = String(Math.sqrt(this.width / this.span));
    }

    async setWindow(centre, width, inverted = this.inverted) {
      Object.assign(this, { inverted, centre: clamp(centre, this.low - this.span, this.high + this.span), width: clamp(width, this.span / 4096, 4 * this.span) });
      this.slide();
      this.tell();
      if (this.waiting) return;
      this.waiting = true;
      await this.decoded().finally(() => { this.waiting = false; });
      await this.paint();
    }
  };
})();
