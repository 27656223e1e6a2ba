// A list of many cases of which only those in sight are in the page; rows come from Python when they are needed.
// `fetch(start)` resolves with rows from `start` on, `picture(position)` with the `blob` of a small picture;
// `pick(index)` is told what was chosen.
function mrbList({ fetch, pick, picture }) {
  const HEIGHT = 74;
  const SPARE = 6;
  const PAGE = 60;
  const REST = 200;
  const { element } = mrbShell;
  const name = mrbShell.unique("mrb-list");
  const box = element("div", { class: "mrb-rows", role: "listbox", tabindex: "0", "aria-label": "Cases of the selection" });
  const frame = element("div", { class: "mrb-list" }, box);
  const state = { n: 0, rows: new Map(), pages: new Map(), index: -1, reviewer: "", unsaved: new Set(), turn: 0, pictured: true, timer: 0, first: 0, last: 0 };
  const drawn = new Map(); // the picture of a position, an element that goes from one drawing of the list to the next

  function reviewed(row) {
    if (state.unsaved.has(row.id)) return element("span", { class: "mrb-done", title: "your review is not saved yet" }, "○ ", element("span", { class: "mrb-out-of-sight" }, "unsaved"));
    if (!row.by.length) return null;
    const mine = row.by.includes(state.reviewer);
    const words = `${mine ? "you" : ""}${mine && row.by.length > 1 ? " + " : ""}${row.by.length - mine || ""}`;
    return element("span", { class: mine ? "mrb-done mrb-mine" : "mrb-done", title: `reviewed by ${row.by.join(", ")}` }, `${mine ? "✓" : "•"} ${words}`);
  }

  function option(index) {
    const row = state.rows.get(index);
    const chosen = index === state.index;
    const about = { id: `${name}-${index}`, "data-index": index, "aria-selected": chosen ? "true" : "false", "aria-posinset": index + 1, "aria-setsize": state.n };
    const item = element("div", { class: "mrb-row", role: "option", ...about });
    item.style.top = `${index * HEIGHT}px`;
    item.append(...(row ? parts(row) : [element("span", { class: "mrb-row-title" }, "…")]));
    return item;
  }

  function parts(row) {
    const tags = row.tags.length ? element("span", { class: "mrb-row-tags", title: row.tags.join(", ") }, ...row.tags.map((tag) => mrbShell.isolated(tag))) : null;
    const head = element("span", { class: "mrb-row-head" }, element("b", { dir: "auto" }, row.id), tags, reviewed(row));
    const foot = element("span", { class: "mrb-row-foot" }, element("span", { dir: "auto" }, row.place.replaceAll("_", " ")), element("span", { class: "mrb-value" }, row.value));
    return [...(state.pictured ? [thumb(row)] : []), head, element("span", { class: "mrb-row-title", dir: "auto" }, row.title), foot];
  }

  function thumb({ position, pictured }) {
    if (!drawn.has(position)) drawn.set(position, element("span", { class: "mrb-thumb", "aria-hidden": "true", title: pictured ? "" : "no image" }, pictured ? null : "–"));
    return drawn.get(position);
  }

  // Once the list has rested, one after the other: nobody who steps from case to case waits for a picture.
  function rest() {
    clearTimeout(state.timer);
    const timer = (state.timer = setTimeout(async () => {
      for (const [position, place] of drawn) {
        if (!place.isConnected || place.hasChildNodes()) continue;
        if (timer !== state.timer) return;
        const made = await picture(position).then(({ blob }) => element("img", { src: URL.createObjectURL(blob), alt: "", width: 40, height: 40, draggable: "false" }), () => "✗");
        place.replaceChildren(made);
        if (made === "✗") place.title = "the image cannot be shown";
      }
    }, REST));
  }

  function showPictures(on) {
    state.pictured = on;
    frame.classList.toggle("mrb-with-pictures", on);
    draw();
  }

  // The page of rows that an index is in, asked for once; it rejects where it cannot be read.
  function need(index) {
    const start = Math.floor(index / PAGE) * PAGE;
    const { turn, pages } = state;
    if (!pages.has(start)) {
      pages.set(start, fetch(start).then(({ rows }) => {
        if (turn === state.turn) take(start, rows);
      }));
      pages.get(start).catch(() => pages.delete(start));
    }
    return pages.get(start);
  }

  function take(start, rows) {
    rows.forEach((row, i) => state.rows.set(start + i, row));
    draw();
  }

  function draw() {
    const first = Math.max(0, Math.floor(frame.scrollTop / HEIGHT) - SPARE);
    const last = Math.min(state.n, Math.ceil((frame.scrollTop + (frame.clientHeight || 600)) / HEIGHT) + SPARE);
    const items = [];
    for (let index = first; index < last; index += 1) {
      if (!state.rows.has(index)) need(index);
      items.push(option(index));
    }
    box.replaceChildren(...items);
    Object.assign(state, { first, last });
    point();
    rest();
  }

  const isDrawn = (index) => index >= state.first && index < state.last;

  function point() {
    if (isDrawn(state.index)) box.setAttribute("aria-activedescendant", `${name}-${state.index}`);
    else box.removeAttribute("aria-activedescendant");
  }

  function reset({ n, index, start, rows }) {
    Object.assign(state, { n, index, rows: new Map(), pages: new Map(), turn: state.turn + 1 });
    box.style.height = `${n * HEIGHT}px`;
    frame.scrollTop = index < 0 ? 0 : Math.max(0, index * HEIGHT - frame.clientHeight / 3);
    take(start, rows);
  }

  function move(index) {
    const before = state.index;
    state.index = index;
    const top = index * HEIGHT;
    if (index >= 0 && (top < frame.scrollTop || top + HEIGHT > frame.scrollTop + frame.clientHeight)) {
      frame.scrollTop = Math.max(0, top - frame.clientHeight / 3);
      draw();
      return;
    }
    // Where the rows stay, only the mark moves: a step waits for nothing else.
    const rows = box.children;
    rows[before - state.first]?.setAttribute("aria-selected", "false");
    rows[index - state.first]?.setAttribute("aria-selected", "true");
    point();
    rest();
  }

  // The row at an index, once it is there; nothing of an earlier selection.
  async function row(index) {
    const { turn } = state;
    if (!state.rows.has(index) && index >= 0 && index < state.n) await need(index);
    return turn === state.turn ? state.rows.get(index) : undefined;
  }

  const withPosition = (position) => [...state.rows.values()].find((row) => row.position === position);

  // Answers how many more cases of the list are reviewed by who is signed in.
  function mark(position, by) {
    const row = withPosition(position);
    const before = row?.by.includes(state.reviewer);
    if (row) row.by = by;
    draw();
    return row ? by.includes(state.reviewer) - before : 0;
  }

  function tag(position, tags) {
    const row = withPosition(position);
    if (row) row.tags = tags;
    draw();
  }

  function signed(reviewer, unsaved) {
    Object.assign(state, { reviewer, unsaved });
    draw();
  }

  frame.addEventListener("scroll", draw, { passive: true });
  new ResizeObserver(draw).observe(frame);
  box.addEventListener("click", ({ target }) => {
    const item = target.closest("[data-index]");
    if (item) pick(Number(item.dataset.index));
  });
  return { frame, box, reset, move, row, mark, tag, signed, showPictures };
}
