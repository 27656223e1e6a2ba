// The heatmap: a click on a cell, or Enter, lists the cases behind it; a click on a case opens it.
function render({ model, el }) {
  const { element, fragment } = mrbShell;
  const link = mrbShell.connect(model);
  const root = element("section", { class: "mrb mrb-heatmap", "aria-label": "heatmap", "data-lm-suppress-shortcuts": "true", tabindex: "-1" });
  const controls = element("div", { class: "mrb-controls" });
  const status = element("p", { class: "mrb-said", role: "status" });
  const view = element("div");
  const behind = element("section", { class: "mrb-behind", "aria-label": "cases behind the cell", hidden: true });
  const page = element("div", { class: "mrb-one-case" });
  root.append(controls, status, view, behind);
  el.append(root);
  const fields = {};
  const state = { asked: 0, cell: [0, 0], outcome: "scored", page: 0, explorer: false, position: null, where: "" };
  const axes = () => ({ policy: fields.policy.value, dimension: fields.dimension.value, by: fields.by.value, where: state.where });
  const cellAsked = () => ({ ...axes(), row: state.cell[0], column: state.cell[1], outcome: state.outcome, page: state.page });

  // Only the latest question's answer is shown.
  async function ask(what, question, show) {
    const turn = (state.asked += 1);
    root.setAttribute("aria-busy", "true");
    status.textContent = "Computing …";
    status.classList.remove("mrb-problem");
    try {
      const answer = await link.ask(what, question);
      if (turn !== state.asked) return;
      status.textContent = "";
      show(answer);
    } catch (error) {
      if (turn !== state.asked) return;
      status.textContent = error.message;
      status.classList.add("mrb-problem");
      if (state.where) fields.where.setAttribute("aria-invalid", "true");
    } finally {
      if (turn === state.asked) root.removeAttribute("aria-busy");
    }
  }

  function field(name, label, options, chosen) {
    const made = element("select", {}, ...options.map(({ value, name: text }) => element("option", { value, selected: value === chosen }, text)));
    fields[name] = made;
    made.addEventListener("change", table);
    controls.append(element("label", {}, element("span", {}, label), made));
  }

  function begin(initial) {
    const plain = (names) => names.map((name) => ({ value: name, name }));
    state.explorer = initial.explorer;
    field("by", "Columns", initial.columns, initial.by);
    field("dimension", "Dimension", plain(initial.dimensions), initial.dimension);
    field("policy", "Policy", plain(initial.policies), initial.policy);
    fields.where = element("input", { type: "text", value: initial.where, placeholder: "length > 1400", spellcheck: "false", autocomplete: "off" });
    mrbShell.entered(fields.where, table);
    controls.append(element("label", {}, element("span", {}, "Where"), fields.where));
    table();
  }

  function table() {
    fields.dimension.disabled = fields.by.value === "dimension";
    fields.where.removeAttribute("aria-invalid");
    state.where = fields.where.value;
    close();
    behind.hidden = true;
    view.classList.add("mrb-stale"); // its cells are not those of what is chosen now
    ask("table", axes(), ({ html }) => {
      view.classList.remove("mrb-stale");
      view.replaceChildren(fragment(html), element("p", { class: "mrb-hint" }, "Click a cell to see its cases, or move with the arrow keys and press Enter."));
      const first = view.querySelector("[data-row]");
      if (first) first.tabIndex = 0;
    });
  }

  const cellAt = (row, column) => view.querySelector(`[data-row="${row}"][data-column="${column}"]`);

  function reach(cell) {
    for (const other of view.querySelectorAll('[data-row][tabindex="0"]')) other.tabIndex = -1;
    cell.tabIndex = 0;
    cell.focus();
  }

  function list(fields = {}, then = () => {}) {
    Object.assign(state, fields);
    close();
    for (const cell of view.querySelectorAll("[data-row]")) cell.toggleAttribute("data-open", cell === cellAt(...state.cell));
    ask("behind", cellAsked(), ({ html }) => {
      behind.replaceChildren(fragment(html), page);
      behind.hidden = false;
      const tools = element("p", { class: "mrb-tools-of-list" });
      if (state.explorer) tools.append(element("button", { type: "button", "data-act": "explore" }, "Open these in the explorer"));
      tools.append(element("button", { type: "button", "data-act": "close" }, "Close"));
      behind.querySelector("h4").after(tools);
      then();
    });
  }

  const rows = () => [...behind.querySelectorAll("[data-position]")];

  function open(position) {
    ask("case", { position }, ({ html }) => {
      close();
      state.position = position;
      const step = (text, by) => {
        const target = rows().findIndex((row) => Number(row.dataset.position) === position) + by;
        return element("button", { type: "button", "data-step": by, disabled: !rows()[target] }, text);
      };
      page.append(element("p", { class: "mrb-steps" }, step("Previous case (K)", -1), step("Next case (J)", 1), element("button", { type: "button", "data-act": "shut" }, "Close the case (Esc)")), fragment(html));
      for (const row of rows()) row.toggleAttribute("data-open", Number(row.dataset.position) === position);
      const shown = page.querySelector(".mrb-case");
      mrbCase.attach(shown);
      shown.focus({ preventScroll: true });
      page.scrollIntoView({ block: "nearest" });
    });
  }

  function close() {
    const shown = page.querySelector(".mrb-case");
    if (shown) mrbCase.detach(shown);
    page.replaceChildren();
    state.position = null;
    for (const row of rows()) row.removeAttribute("data-open");
  }

  function step(by) {
    const all = rows();
    const target = all.findIndex((row) => Number(row.dataset.position) === state.position) + by;
    if (state.position !== null && all[target]) open(Number(all[target].dataset.position));
  }

  function shut() {
    const row = rows().find((one) => Number(one.dataset.position) === state.position);
    close();
    row?.querySelector("button").focus();
  }

  const acts = {
    explore: () => ask("explore", cellAsked(), () => (status.textContent = "The explorer shows these cases.")),
    close: () => {
      close();
      behind.hidden = true;
      cellAt(...state.cell)?.focus();
    },
    shut,
  };

  function click(event) {
    const button = event.target.closest("button");
    if (!button || !root.contains(button)) return;
    const { row, column, outcome, page: number, case: position, act, step: by } = button.dataset;
    if (row !== undefined) {
      if (view.classList.contains("mrb-stale")) return;
      reach(button);
      list({ cell: [Number(row), Number(column)], outcome: "scored", page: 0 }, () => behind.querySelector("h4").focus());
    } else if (outcome !== undefined) list({ outcome, page: 0 }, () => behind.querySelector(`[data-outcome="${outcome}"]`).focus());
    else if (number !== undefined) list({ page: Number(number) }, () => behind.querySelector("h4").focus());
    else if (position !== undefined) open(Number(position));
    else if (act !== undefined) acts[act]();
    else if (by !== undefined) step(Number(by));
  }

  const ARROWS = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] };

  function key(event) {
    if (mrbShell.typing(event)) return;
    const cell = event.target.closest("[data-row]");
    const arrow = ARROWS[event.key];
    if (cell && arrow) {
      const next = cellAt(Number(cell.dataset.row) + arrow[0], Number(cell.dataset.column) + arrow[1]);
      if (next) reach(next);
    } else if (state.position !== null && /^[jk]$/i.test(event.key)) step(event.key.toLowerCase() === "j" ? 1 : -1);
    else if (event.key === "Escape" && state.position !== null) shut();
    else if (event.key === "Escape" && !behind.hidden) acts.close();
    else return;
    event.preventDefault();
    event.stopPropagation();
  }

  root.addEventListener("click", click);
  root.addEventListener("keydown", key);
  link.ask("initial_state").then(begin, (error) => (status.textContent = error.message));
  return () => {
    close();
    link.close();
    root.remove();
  };
}
