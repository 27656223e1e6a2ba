// The images of a case, and the frames of their files, as a series: beside each other, or one at a time.
const mrbCase = (() => {
  const MOST_AT_ONCE = 4;
  const { button, element } = mrbElements;
  const kept = new WeakMap(); // of a root: its series

  class Series {
    constructor(root, pixels, mark) {
      Object.assign(this, { pixels, mark, single: false, at: 0, wheeled: 0 });
      this.pictures = [...root.querySelectorAll('[data-mrb="image"]')].map((figure) => new MrbPicture(this, figure));
      this.entries = this.pictures.flatMap((picture) => Array.from({ length: picture.frames }, (_, k) => ({ picture, frame: k + 1 })));
      if (this.pictures.length) root.style.setProperty("--ratio", String(this.pictures[0].ratio));
      if (this.entries.length < 2) return;
      this.drawBar();
      // A long one starts one at a time, and so does one with frames, which are never beside each other.
      this.show({ single: this.pictures.length > MOST_AT_ONCE || this.entries.length > this.pictures.length });
    }

    drawBar() {
      this.box = element("input", { type: "checkbox", onchange: () => this.show({ single: this.box.checked }) });
      const label = element("label", { class: "mrb-switch" }, this.box, "one at a time (wheel, or Alt and Page keys)");
      label.hidden = this.pictures.length < 2;
      this.steps = [[-1, "‹", "the one before (Alt Page up)"], [1, "›", "the one after (Alt Page down)"]].map(([by, text, words]) => button(text, () => this.step(this.entries[this.at].picture, by), { "aria-label": words, title: words }));
      this.where = element("output", { "aria-live": "polite" });
      this.bar = element("div", { class: "mrb-tools mrb-series", role: "group", "aria-label": "the images of the case" }, label, ...this.steps, this.where);
      this.pictures[0].figure.before(this.bar);
    }

    show(now) {
      Object.assign(this, now);
      const { single, pictures, entries } = this;
      const { picture: here, frame } = entries[this.at];
      this.box.checked = single;
      for (const one of this.steps) one.hidden = !single;
      for (const one of pictures) one.figure.hidden = single && one !== here;
      if (single) here.turnTo(frame);
      const place = [pictures.length > 1 ? `image ${pictures.indexOf(here) + 1} of ${pictures.length}` : "", here.frames > 1 ? `frame ${frame} of ${here.frames}` : ""];
      this.where.textContent = single ? place.filter(Boolean).join(" · ") : "";
    }

    // The image or frame before or after the one in sight, with its zoom, place and focus.
    step(before, by) {
      const at = Math.min(Math.max(this.at + by, 0), this.entries.length - 1);
      if (!this.single) before.turnTo(Math.min(Math.max(before.wanted + by, 1), before.frames));
      else if (at !== this.at) {
        const { picture: after } = this.entries[at];
        const focused = document.activeElement === before.view;
        this.show({ at });
        if (after !== before) after.take(before);
        if (focused) after.view.focus({ preventScroll: true });
      }
    }

    // Whether the wheel steps through the series; a trackpad's many events are one step.
    wheel(picture, { deltaY, timeStamp }) {
      if (this.single && timeStamp - this.wheeled > 40) this.step(picture, Math.sign(deltaY));
      this.wheeled = timeStamp;
      return this.single;
    }

    draw(regions) {
      for (const one of this.pictures) one.overlay.paint(regions.filter(({ image }) => image === one.index));
    }

    // Marking a region starts in the image in sight: false where there is none.
    begin() {
      const focused = this.pictures.find(({ view }) => view === document.activeElement) ?? this.pictures[0];
      const picture = this.single ? this.entries[this.at].picture : focused;
      if (picture?.wide) picture.overlay.begin("region");
      return Boolean(picture?.wide);
    }

    close() {
      for (const one of this.pictures) one.close();
      this.bar?.remove();
    }
  }

  function detach(root) {
    kept.get(root)?.close();
    kept.delete(root);
  }

  // `pixels` resolves with a frame of the image at an index of the case, a Blob with every pixel and its shades; without it
  // there are none but those here. `mark` takes a region that was marked: the image's index, the frame, from 1, and x, y,
  // width and height in its pixels (a point has neither).
  function attach(root, pixels, mark) {
    detach(root);
    kept.set(root, new Series(root, pixels, mark));
  }

  return { attach, detach, regions: (root, all) => kept.get(root)?.draw(all), region: (root) => kept.get(root)?.begin() ?? false };
})();
