// A list of many cases of which only those in sight are in the page; rows come from Python when they are needed.
const mrbList = (() => {
  const HEIGHT = 74;
  const SPARE = 6;
  const PAGE = 60;
  const PICTURES = 16;
  const REST = 200;
  let count = 0;

  // `fetch(start)` resolves with rows from `start` on, `pictures(positions)` with small pictures of some of them;
  // `pick(index)` is told what was chosen.
  function make({ fetch, pick, pictures }) {
    const { element } = mrbShell;
    const name = `mrb-list-${(count += 1)}`;
    const box = element("div", { class: "mrb-rows", role: "listbox", tabindex: "0", "aria-label": "Cases of the selection" });
    const frame = element("div", { class: "mrb-list" }, box);
    const state = { n: 0, rows: new Map(), asked: new Set(), waiting: [], index: -1, reviewer: "", unsaved: new Set(), turn: 0, pictured: true, timer: 0, asking: false, first: 0, last: 0 };
    const drawn = new Map(); // the picture of a position, an element that goes from one drawing of the list to the next

    function reviewed(row) {
      if (state.unsaved.has(row.id)) return element("span", { class: "mrb-done", title: "your review is not saved yet" }, "○ not saved");
      if (!row.by.length) return null;
      const mine = row.by.includes(state.reviewer);
      const words = `${mine ? "you" : ""}${mine && row.by.length > 1 ? " + " : ""}${row.by.length - mine || ""}`;
      return element("span", { class: mine ? "mrb-done mrb-mine" : "mrb-done", title: `reviewed by ${row.by.join(", ")}` }, `${mine ? "✓" : "•"} ${words}`);
    }

    function option(index) {
      const row = state.rows.get(index);
      const chosen = index === state.index;
      const item = element("div", {
        class: "mrb-row", role: "option", id: `${name}-${index}`, "data-index": index, "aria-selected": chosen ? "true" : "false",
        "aria-posinset": index + 1, "aria-setsize": state.n,
      });
      item.style.top = `${index * HEIGHT}px`;
      if (!row) {
        item.append(element("span", { class: "mrb-row-title" }, "…"));
        return item;
      }
      if (state.pictured) item.append(picture(row.position));
      const tags = row.tags.length ? element("span", { class: "mrb-row-tags", title: row.tags.join(", ") }, ...row.tags.map((tag) => element("bdi", { dir: "auto" }, tag))) : null;
      const head = element("span", { class: "mrb-row-head" }, element("b", { dir: "auto" }, row.id), tags, reviewed(row));
      const foot = element("span", { class: "mrb-row-foot" }, element("span", { dir: "auto" }, row.place.replaceAll("_", " ")), element("span", { class: "mrb-value" }, row.value));
      item.append(head, element("span", { class: "mrb-row-title", dir: "auto" }, row.title), foot);
      return item;
    }

    function picture(position) {
      if (!drawn.has(position)) drawn.set(position, element("span", { class: "mrb-thumb", "aria-hidden": "true" }));
      return drawn.get(position);
    }

    // Once the list has rested, so that nobody who steps from case to case waits for a picture.
    function rest() {
      clearTimeout(state.timer);
      if (state.pictured) state.timer = setTimeout(look, REST);
    }

    async function look() {
      if (state.asking || !frame.isConnected) return;
      const shown = [...box.querySelectorAll("[data-index]")].map((item) => state.rows.get(Number(item.dataset.index))?.position);
      const wanted = shown.filter((position) => position !== undefined && !drawn.get(position)?.dataset.seen).slice(0, PICTURES);
      if (!wanted.length || !state.pictured) return;
      state.asking = true;
      try {
        const { pictures: made } = await pictures(wanted);
        for (const [position, address] of made) fill(picture(position), address);
      } catch {
        for (const position of wanted) picture(position).dataset.seen = "1"; // a list without pictures is a list
      } finally {
        state.asking = false;
        rest();
      }
    }

    const MARKS = { none: ["–", "no image"], broken: ["✗", "the image cannot be shown"] };

    function fill(place, address) {
      const [mark, words] = MARKS[address] ?? [];
      place.dataset.seen = "1";
      place.title = words ?? "";
      place.replaceChildren(mark ?? element("img", { src: address, alt: "", width: 40, height: 40, draggable: "false" }));
    }

    function showPictures(on) {
      state.pictured = on;
      frame.classList.toggle("mrb-with-pictures", on);
      draw();
    }

    function need(index) {
      const start = Math.floor(index / PAGE) * PAGE;
      if (state.asked.has(start)) return;
      state.asked.add(start);
      const turn = state.turn;
      fetch(start).then(
        (answer) => turn === state.turn && take(answer.start, answer.rows),
        (error) => {
          if (turn !== state.turn) return;
          state.asked.delete(start);
          for (const { fail } of state.waiting.splice(0)) fail(error);
        },
      );
    }

    function take(start, rows) {
      rows.forEach((row, i) => state.rows.set(start + i, row));
      draw();
      for (const { settle } of state.waiting.splice(0)) settle();
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

    // A new selection: how many cases, which of them is shown, and the rows that came with it.
    function reset({ n, index, start, rows }) {
      for (const { settle } of state.waiting) settle();
      Object.assign(state, { n, index, rows: new Map(), asked: new Set(), waiting: [], turn: state.turn + 1 });
      box.style.height = `${n * HEIGHT}px`;
      rows.forEach((row, i) => state.rows.set(start + i, row));
      frame.scrollTop = index < 0 ? 0 : Math.max(0, index * HEIGHT - frame.clientHeight / 3);
      draw();
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

    // The row at an index, once it is there; rejects where it cannot be read.
    async function row(index) {
      while (!state.rows.has(index) && index >= 0 && index < state.n) {
        const turn = state.turn;
        need(index);
        await new Promise((settle, fail) => state.waiting.push({ settle, fail }));
        if (turn !== state.turn) return undefined;
      }
      return state.rows.get(index);
    }

    function mark(position, reviewers) {
      for (const row of state.rows.values()) if (row.position === position) row.by = reviewers;
      draw();
    }

    function tag(position, tags) {
      for (const row of state.rows.values()) if (row.position === position) row.tags = tags;
      draw();
    }

    function signed(reviewer) {
      state.reviewer = reviewer;
      draw();
    }

    function unsaved(ids) {
      state.unsaved = ids;
      draw();
    }

    frame.addEventListener("scroll", draw, { passive: true });
    const watch = new ResizeObserver(draw);
    watch.observe(frame);
    box.addEventListener("click", (event) => {
      const item = event.target.closest("[data-index]");
      if (item) pick(Number(item.dataset.index));
    });
    return { frame, box, reset, move, row, mark, tag, signed, unsaved, showPictures, close() {
      clearTimeout(state.timer);
      watch.disconnect();
    } };
  }

  return { make };
})();
