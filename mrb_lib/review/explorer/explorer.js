function mrbKeysHelp(about) {
  const KEYS = [
    ["J or →", "next case"], ["K or ←", "previous case"], ["/", "search"], ["1 2 3 4", "gold is right, gold is wrong, ambiguous, image unusable"],
    ["W", "show the answers as written"], ["M", "mark a region of the image"], ["# or G", "tag the case"], ["N", "write a note"], ["S", "save"], ["Enter", "save, and go on to the next case"], ["Ctrl + Enter", "save while writing"], ["Esc", "leave a field, so that keys work again"], ["?", "this list"],
  ];

  const OF_PAIRS = [["A B T", "gold is wrong: right is A, B, a tie"], ["D", "underline every word that is not in the other answer"]];
  const { element } = mrbShell;
  const lettered = about.choices.filter(({ key }) => key).map(({ key }) => key);
  const own = about.rated ? [[[...new Set([lettered[0], lettered.at(-1)])].join(" to "), "gold is wrong: the right category, by the letter beside it"]] : OF_PAIRS;
  const named = (one) => (one.label || one.name).replaceAll("_", " ");
  const asked = about.questions.flatMap((one) => (one.is_open ? [["Shift + 1", `${named(one)}: the first, and so on`]] : one.keys ? [[[...one.keys].join(" "), `${named(one)}: ${one.options.slice(0, one.keys.length).join(", ").replaceAll("_", " ")}`]] : []));
  const part = (words) => (/^(or|to|\+)$/.test(words) ? ` ${words} ` : element("kbd", {}, words));
  const line = ([key, does]) => element("div", {}, element("dt", {}, ...key.split(" ").map(part)), element("dd", {}, does));
  const close = element("button", { type: "submit" }, "Close");
  return element("dialog", { class: "mrb-keys", "aria-label": "Keys" }, element("h2", {}, "Keys"), element("dl", {}, ...[...KEYS.slice(0, 4), ...own, ...asked, ...KEYS.slice(4)].map(line)), element("form", { method: "dialog" }, close));
}

// The failure explorer: filters above; the list, the case and the review side by side.
// `link` as of mrbShell.connect; `addressed` for a page of its own, whose address says what is shown; `signal` ends it.
function render({ link, el, addressed, signal }) {
  const KEPT = 9;
  const SOON = 100; // milliseconds
  const { element, fragment, isolated, typing } = mrbShell;
  const state = { query: null, asOf: null, done: 0, fragment: "", n: 0, index: -1, position: null, turn: 0, asked: 0, marks: 0, opened: false };
  // Who asks, and as of which adjudication what reviewers did is taken: the list stays as it is while one works on it.
  const scope = () => ({ query: state.query, reviewer: parts?.who.name() ?? "", as_of: state.asOf });
  const kept = new Map();
  let parts = null;

  const look = `mrb mrb-explorer${addressed ? " mrb-whole" : ""}`;
  const root = element("div", { class: look, "data-lm-suppress-shortcuts": "true", tabindex: "-1", role: addressed ? "main" : "region", "aria-label": "Failure explorer" });
  const opening = element("p", { class: "mrb-opening", role: "status" }, "Opening …");
  root.append(opening);
  el.append(root);

  const button = (words, label, does, attributes = {}) => mrbShell.button(words, does, { "aria-label": label, title: label, ...attributes });
  const saving = (format) => mrbShell.saving(link.ask, () => ({ format, ...scope() }), tell);

  function build(about) {
    const notice = element("p", { class: "mrb-notice", role: "status", "aria-live": "polite" });
    const position = element("p", { class: "mrb-position", role: "status", "aria-live": "polite" });
    const previous = button("← Previous", "previous case (K)", back, { "aria-keyshortcuts": "K ArrowLeft" });
    const next = button("Next →", "next case (J)", forth, { "aria-keyshortcuts": "J ArrowRight" });
    const copy = button("Copy link to this case", "Copy link to this case", copyLink, { hidden: !addressed });
    const csv = button("Export as CSV", "CSV: export the selection as a table", saving("csv"));
    const html = button("Export to print", "Page: export the selection to print it (HTML)", saving("html"));
    const help = button("?", "keys", () => dialog.showModal(), { "aria-haspopup": "dialog" });
    const simulated = about.note ? element("span", { class: "mrb-simulated", title: about.note }, "SIMULATED data") : null;
    const filters = mrbFilters({ kinds: about.kinds, sorts: about.sorts, reviews: about.review_words, change: choose });
    const list = mrbList({ fetch: (from) => link.ask("rows", { ...scope(), start: from }), pick: step, picture: (position) => link.ask("thumbnail", { position }) });
    const who = mrbWho(about, signed);
    const form = mrbForm({ ask: link.ask, about, who, saved, unsaved: drawUnsaved, next: onwards, draw: (all) => mrbCase.regions(stage, all), region: () => mrbCase.region(stage), tagged: (all) => tags.draw(all) });
    const tags = mrbTags({ ask: link.ask, reviewer: who.name, trouble: () => about.store, changed: list.tag, tell });
    const views = mrbViews({ ask: link.ask, scope, open: (fragment) => open(`#${fragment}`) });
    const pictures = button("Pictures in the list", "Pictures in the list", () => picture(pictures.getAttribute("aria-pressed") !== "true"));
    const menu = element("div", { class: "mrb-menu", id: mrbShell.unique("mrb-menu"), popover: true, onclick: () => menu.hidePopover() }, copy, views.opener, csv, html, pictures);
    const opener = element("button", { type: "button", popovertarget: menu.id }, "Menu");
    const stage = element("div", { class: "mrb-case-pane", role: "region", "aria-label": "Case", tabindex: "0" });
    const dialog = mrbKeysHelp(about);
    const picture = (on) => {
      list.showPictures(on);
      pictures.setAttribute("aria-pressed", String(on));
      localStorage.setItem("mrb-pictures", on ? "" : "off");
    };
    const head = element("div", { class: "mrb-head" }, element("h1", { dir: "auto", title: about.name }, about.name), simulated, who.root, filters.search, element("span", { class: "mrb-gap" }), opener, menu, help);
    const left = element("nav", { class: "mrb-left", "aria-label": "Cases" }, list.frame);
    const middle = element("section", { class: "mrb-middle", "aria-label": "The case" }, element("div", { class: "mrb-steps" }, previous, next, position, tags.root), stage);
    root.replaceChildren(head, filters.bar, filters.chips, notice, element("div", { class: "mrb-panes" }, left, middle, form.root), dialog, views.dialog);
    picture(localStorage.getItem("mrb-pictures") !== "off");
    const gate = mrbShell.gate(root, [stage, form.root, tags.list]);
    parts = { about, notice, position, previous, next, filters, list, who, form, tags, stage, dialog, gate };
    drawUnsaved();
  }

  const forth = () => step(state.index + 1);
  const back = () => step(state.index < 0 ? 0 : state.index - 1);

  function drawUnsaved() {
    if (!parts) return;
    const unsaved = parts.form.unsaved();
    const me = parts.who.name();
    parts.list.signed(me, new Set(unsaved.filter(([who]) => who === me).map(([, id]) => id)));
    if (addressed) document.title = unsaved.length ? `● Not saved: ${title}` : title;
  }

  function onwards() {
    if (state.index + 1 < state.n) forth();
    else tell(`That was the last of ${state.n.toLocaleString()} cases; ${state.done.toLocaleString()} of them are reviewed by you.`);
  }

  // The list may be another one for somebody else; the case in sight stays, unless only theirs are asked for.
  async function signed(name) {
    if (!parts) return;
    parts.form.signed();
    drawUnsaved();
    parts.tags.signed();
    const query = parts.filters.query(); // with a filter that was chosen a moment ago
    return choose(query, query === state.query && !query.review);
  }

  function saved(position, reviewers) {
    state.done += parts.list.mark(position, reviewers);
    state.marks += 1;
    drawPosition();
  }

  function tell(words, bad = false) {
    parts.notice.textContent = words;
    parts.notice.classList.toggle("mrb-failed", bad);
  }

  async function open(address) {
    root.setAttribute("aria-busy", "true");
    try {
      const about = await link.ask("initial_state", { fragment: address, reviewer: mrbShell.recall("mrb-reviewer") });
      if (!parts) build(about);
      state.opened = true; // the browser has a place for it in its history already
      settle(about);
      tell(about.trouble || about.missing, Boolean(about.trouble || about.missing));
      if (addressed) root.focus({ preventScroll: true });
    } catch (error) {
      const words = `The explorer cannot be shown: ${error.message}`;
      if (parts) tell(words, true);
      else opening.textContent = words;
    } finally {
      root.removeAttribute("aria-busy");
    }
  }

  // A new query; of several sent in a row, the last one counts. Where the case `stays`, no other is on its way and nothing was saved meanwhile.
  async function choose(query, stays = false) {
    const { turn, marks } = state;
    const asked = (state.asked += 1);
    const moves = () => stays && (turn !== state.turn || marks !== state.marks || root.classList.contains("mrb-changing"));
    try {
      const answer = moves() ? null : await link.ask("select", { query, reviewer: parts.who.name(), case: stays ? (parts.caseId ?? "") : "" });
      if (asked !== state.asked) return;
      if (moves()) {
        setTimeout(() => asked === state.asked && choose(query, true), SOON);
        return;
      }
      if (!stays) tell(answer.missing, Boolean(answer.missing));
      settle(answer, stays);
    } catch (error) {
      if (asked === state.asked) tell(error.message, true);
    }
  }

  function settle(answer, stays = false) {
    const before = state.query;
    Object.assign(state, { query: answer.query, asOf: answer.as_of, done: answer.done, fragment: answer.fragment, n: answer.n, index: answer.position === null && answer.n ? 0 : answer.index, turn: state.turn + 1 });
    if (before && ["judge", "other", "dimension", "changed_by"].some((name) => before[name] !== state.query[name])) kept.clear();
    drawPosition();
    parts.filters.update(answer);
    parts.list.reset(answer);
    if (answer.position !== null && stays) return;
    if (answer.position !== null) show(answer.position);
    else if (answer.n) go(0);
    else nothing();
  }

  function nothing() {
    state.position = null;
    const strange = state.query.review && !parts.who.name();
    parts.form.root.hidden = !strange;
    parts.form.empty();
    parts.tags.empty();
    const { judge, text, review } = state.query;
    const words = strange ? "Sign in to see which cases are yours." : review === "queue" ? `No case is assigned to ${parts.who.name()}.` : judge === null && !text ? "No case matches." : "No case matches all of this.";
    clearStage();
    parts.gate.open();
    const hint = review === "queue" ? `Reviewers here: ${parts.about.people.join(", ") || "nobody yet"}.` : "Remove a filter, or clear them all.";
    parts.stage.append(element("div", { class: "mrb-nothing" }, element("h2", { dir: "auto" }, words), element("p", { dir: "auto" }, hint)));
    writeAddress();
  }

  // How many cases there are is shown as soon as they are selected, not when the first of them is here.
  function drawPosition() {
    const { index, n } = state;
    const by = n && parts.who.name() ? ` · ${state.done.toLocaleString()} reviewed by you` : "";
    const where = !n ? "0 cases" : index < 0 ? `outside the selection of ${n.toLocaleString()} cases` : `${(index + 1).toLocaleString()} of ${n.toLocaleString()} cases`;
    parts.position.textContent = where + by;
    parts.previous.disabled = index <= 0;
    parts.next.disabled = index + 1 >= n;
  }

  function writeAddress() {
    drawPosition();
    if (!addressed) return;
    const there = new URL(`${location.pathname}${address()}`, location.href).href;
    history[state.opened || there === location.href ? "replaceState" : "pushState"]({ list: listName(), index: state.index }, "", there);
    state.opened = false;
  }

  // Of two lists with one name the cases are the same.
  const listName = () => JSON.stringify([state.fragment, state.asOf]);

  function address() {
    const own = state.position === null ? "" : `case=${encodeURIComponent(parts.caseId ?? "")}`;
    const whole = [own, state.fragment].filter(Boolean).join("&");
    return whole ? `#${whole}` : "";
  }

  // As somebody asks for it: where list and case are below each other, as on a phone, the case comes into view.
  async function step(index) {
    await go(index);
    const panes = root.querySelector(".mrb-panes");
    if (getComputedStyle(panes).gridTemplateColumns.split(" ").length === 1) panes.querySelector(".mrb-middle").scrollIntoView({ block: "start" });
  }

  async function go(index) {
    if (index < 0 || index >= state.n) return;
    const turn = (state.turn += 1);
    const before = state.index;
    state.index = index; // a key pressed again before the row is here goes on from here
    parts.gate.close();
    try {
      const row = await parts.list.row(index);
      if (!row || turn !== state.turn) return;
      parts.list.move(index);
      show(row.position);
    } catch (error) {
      if (turn !== state.turn) return;
      state.index = before;
      parts.gate.open();
      tell(`The list cannot be read: ${error.message}`, true);
    }
  }

  function prepared(position) {
    if (!kept.has(position)) {
      kept.set(position, ask(position, state.query));
      kept.get(position).catch(() => kept.delete(position));
      while (kept.size > KEPT) kept.delete(kept.keys().next().value);
    }
    return kept.get(position);
  }

  async function ask(position, { judge, other, dimension, changed_by: wanted }) {
    const answer = await link.ask("case", { position, judge, other, dimension });
    const node = element("div", { class: "mrb-shown" });
    node.append(fragment(answer.html));
    node.querySelector("header").append(fragment(answer.chose));
    if (answer.view) {
      const words = [other ? "The two judges" : "The judge", ...(dimension ? [" on ", isolated(mrbShell.spoken(dimension))] : [])];
      const said = element("details", { class: "mrb-case mrb-in-view", open: true }, element("summary", {}, ...words), fragment(answer.view));
      node.querySelector(".mrb-stage").after(said); // the case itself comes first
    }
    const fetch = async (probe) => (await link.ask("probed", { position, probe, judge, other, dimension })).html;
    const probed = answer.probes.length ? mrbProbed({ probes: answer.probes, wanted, fetch }) : null;
    if (probed) (node.querySelector(".mrb-in-view") ?? node.querySelector(".mrb-stage")).after(probed.root);
    for (const img of node.querySelectorAll("img")) img.decode().catch(() => {});
    return { ...answer, html: "", view: "", node, probed };
  }

  function clearStage() {
    mrbCase.detach(parts.stage);
    parts.stage.replaceChildren();
  }

  async function show(position) {
    state.position = position;
    parts.gate.close();
    parts.stage.setAttribute("aria-busy", "true");
    try {
      const shown = await prepared(position);
      if (state.position !== position) return;
      clearStage();
      parts.stage.append(shown.node);
      parts.stage.scrollTop = 0;
      mrbCase.attach(parts.stage, (image, frame) => link.ask("image", { position, image, frame }), (region) => parts.form.marked(region));
      parts.caseId = shown.case_id;
      writeAddress();
      parts.form.root.hidden = false;
      parts.form.show(shown, state.query);
      parts.tags.show(shown);
      parts.gate.open();
      shown.probed?.show();
      prefetch();
    } catch (error) {
      if (state.position !== position) return;
      clearStage();
      parts.form.root.hidden = true;
      parts.tags.empty();
      parts.gate.open();
      parts.stage.append(element("p", { class: "mrb-failed", role: "alert" }, `The case cannot be shown: ${error.message}`));
    } finally {
      parts.stage.removeAttribute("aria-busy");
    }
  }

  async function prefetch() {
    const { index, turn } = state;
    await new Promise((settle) => requestAnimationFrame(() => setTimeout(settle, 0)));
    for (const neighbour of [index + 1, index + 2, index - 1]) {
      const row = neighbour >= 0 && neighbour < state.n ? await parts.list.row(neighbour).catch(() => null) : null;
      if (turn !== state.turn) return;
      if (row) await prepared(row.position).catch(() => {});
    }
  }

  async function copyLink() {
    const words = `${location.origin}${location.pathname}${address()}`;
    try {
      await navigator.clipboard.writeText(words);
      tell("The link is copied. Opening it also needs the token of this server.");
    } catch {
      tell(`Copy this link: ${words}`);
    }
  }

  function onKey(event) {
    if (!parts || event.defaultPrevented || root.querySelector("dialog[open]")) return;
    const target = event.composedPath()[0];
    const saves = event.key === "Enter" && (event.ctrlKey || event.metaKey) && root.querySelector(".mrb-form")?.contains(target);
    if (event.key === "Escape" && typing(event)) root.focus({ preventScroll: true });
    const act = saves ? parts.form.save : typing(event) ? null : action(event, target, parts.gate.stale(event));
    if (!act) return;
    event.preventDefault();
    event.stopPropagation();
    act();
  }

  function action(event, target, stale) {
    const { key } = event;
    const arrows = !target.matches("input, [role=listbox] *");
    const inList = target.matches("[role=listbox]");
    const own = parts.form.action(event, target.closest("button, summary, a, [role=listbox]"));
    if (own) return stale ? parts.form.refuse : parts.form.open() ? own : signInFirst;
    const moves = { ...(arrows && { ArrowRight: forth, ArrowLeft: back }), ...(inList && { ArrowDown: forth, ArrowUp: back, Home: () => step(0), End: () => step(state.n - 1) }) };
    return moves[key] ?? { j: forth, k: back, d: () => parts.stage.querySelector(".mrb-words")?.click(), w: () => parts.stage.querySelector(".mrb-raw")?.click(), "/": () => parts.filters.search.focus(), "#": parts.tags.focus, g: parts.tags.focus, "?": () => parts.dialog.showModal() }[key.toLowerCase()];
  }

  function signInFirst() {
    if (!parts.about.store && parts.who.name()) return; // no case is in sight
    tell(parts.about.store || "Sign in first: your name is stored with your review.", true);
    parts.who.focus();
  }

  const title = document.title;
  // Back and Forward lead to a case of the same list, or to another list.
  const onHash = () => (history.state?.list === listName() && history.state.index >= 0 ? go(history.state.index) : open(location.hash));
  root.addEventListener("keydown", onKey, { signal });
  window.addEventListener("focus", () => parts?.form.history(), { signal });
  window.addEventListener("beforeunload", (event) => parts?.form.unsaved().length && event.preventDefault(), { signal });
  if (addressed) window.addEventListener("hashchange", onHash, { signal });
  open(addressed ? location.hash : "");
  signal.addEventListener("abort", () => parts && mrbCase.detach(parts.stage));
}
