// What is drawn over an image: the regions that a reviewer marks, and the distance that is being measured.
const MrbOverlay = (() => {
  const SVG = "http://www.w3.org/2000/svg";
  const SMALLEST = 3; // pixels of the screen: what is dragged less far is a point
  const STEP = 8; // pixels of the screen that an arrow key moves; one with Shift
  const ARROWS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };
  const HINTS = {
    region: "Drag a box or click a point; or arrows, Enter for a corner, arrows, Enter for the opposite one. Esc ends.",
    distance: "Drag from one end to the other; or arrows, Enter, arrows, Enter. Esc ends.",
  };

  function shape(tag, attributes) {
    const made = document.createElementNS(SVG, tag);
    for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, String(value));
    return made;
  }

  const inside = ({ wide, tall }, { x, y }) => ({ x: Math.min(Math.max(x, 0), wide), y: Math.min(Math.max(y, 0), tall) });
  const between = ({ from, to }) => ({ x: Math.min(from.x, to.x), y: Math.min(from.y, to.y), width: Math.abs(from.x - to.x), height: Math.abs(from.y - to.y) });

  return class MrbOverlay {
    // `mode` is region, distance, or empty; `draft` is what is being drawn, from and to, in pixels of the image.
    constructor(picture) {
      Object.assign(this, { picture, regions: [], mode: "", draft: null, held: false });
    }

    // A box, a point as a cross, or a line; outlines are as thick at every zoom.
    drawn({ x, y, width, height }, kind, line) {
      const look = { class: `mrb-${kind}`, "vector-effect": "non-scaling-stroke", fill: "none" };
      const arm = 9 / this.picture.scale;
      if (!width && !height) return shape("path", { ...look, d: `M${x - arm} ${y}H${x + arm}M${x} ${y - arm}V${y + arm}` });
      return line ? shape("line", { ...look, x1: line.from.x, y1: line.from.y, x2: line.to.x, y2: line.to.y }) : shape("rect", { ...look, x, y, width, height });
    }

    // `all` are the regions of the image, in any of its frames.
    paint(all = this.regions) {
      const { picture, draft } = this;
      this.regions = all;
      const regions = all.filter(({ frame }) => frame === picture.shown);
      if (!picture.wide || (!this.svg && !regions.length && !draft)) return;
      if (!this.svg) {
        this.svg = shape("svg", { class: "mrb-overlay", viewBox: `0 0 ${picture.wide} ${picture.tall}`, preserveAspectRatio: "none", role: "img" });
        picture.view.append(this.svg);
      }
      this.svg.setAttribute("aria-label", regions.length === 1 ? "1 marked region" : `${regions.length} marked regions`);
      const open = draft ? [this.drawn(between(draft), "draft", this.mode === "distance" && draft)] : [];
      this.svg.replaceChildren(...regions.map((one) => this.drawn(one, "region")), ...open);
    }

    // The keyboard starts in the middle of what is in view.
    begin(mode) {
      const { picture } = this;
      if (mode === "distance" && !picture.spacing) return this.say("No distance: this file does not say how far its pixels are apart.");
      const at = inside(picture, picture.placeOf());
      Object.assign(this, { mode, draft: { from: at, to: at, set: false } });
      picture.view.classList.add("mrb-marking");
      picture.view.focus({ preventScroll: true });
      this.paint();
      return this.say(HINTS[mode]);
    }

    end(words = "") {
      Object.assign(this, { mode: "", draft: null, held: false });
      this.picture.view.classList.remove("mrb-marking");
      this.paint();
      this.say(words);
    }

    say(words) {
      this.picture.said.textContent = words;
    }

    // The other end of the draft; a distance is told in millimetres, which only a file with a spacing has.
    stretch(to, after = "") {
      const { draft, mode, picture } = this;
      draft.to = inside(picture, to);
      if (!draft.set) draft.from = draft.to;
      else if (mode === "distance") {
        const [down, across] = picture.spacing;
        this.say(`distance ${Math.hypot((draft.from.x - draft.to.x) * across, (draft.from.y - draft.to.y) * down).toFixed(1)} mm${after}`);
      }
      this.paint();
    }

    finish() {
      const { draft, picture, mode } = this;
      if (mode === "distance") {
        this.stretch(draft.to, " · Esc ends");
        draft.set = false;
        return;
      }
      const box = between(draft);
      const tiny = Math.max(box.width, box.height) * picture.scale < SMALLEST;
      const whole = Object.entries(tiny ? { ...draft.from, width: 0, height: 0 } : box).map(([name, value]) => [name, Math.round(value * 10) / 10]);
      this.end("Marked.");
      picture.series.mark({ image: picture.index, frame: picture.shown, ...Object.fromEntries(whole) });
    }

    // The pointer at a place of the image, pressed or let go. True where the press was taken.
    press(at) {
      if (!this.mode) return false;
      const from = inside(this.picture, at);
      Object.assign(this, { draft: { from, to: from, set: true }, held: true });
      this.paint();
      return true;
    }

    release() {
      if (this.held) this.finish();
      this.held = false;
    }

    // Arrows move the corner, Enter sets it. True where the key was taken.
    key({ key, shiftKey }) {
      const { mode, draft } = this;
      if (!mode || !(key in ARROWS || key === "Escape" || key === "Enter")) return false;
      if (key === "Escape") this.end();
      else if (key === "Enter" && draft.set) this.finish();
      else if (key === "Enter") Object.assign(draft, { from: draft.to, set: true });
      else {
        const [dx, dy] = ARROWS[key].map((steps) => (steps * (shiftKey ? 1 : STEP)) / this.picture.scale);
        this.stretch({ x: draft.to.x + dx, y: draft.to.y + dy });
      }
      return true;
    }
  };
})();
