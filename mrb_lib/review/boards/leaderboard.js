// The leaderboard: Python makes the table of what is chosen, the page sorts and filters its rows.
function render({ model, el }) {
  const { element } = mrbShell;
  const link = mrbShell.connect(model);
  const state = { key: "rank", down: false, asked: 0 };
  const root = element("section", { class: "mrb mrb-board", "aria-label": "leaderboard", "data-lm-suppress-shortcuts": "true", tabindex: "-1" });
  const controls = element("div", { class: "mrb-controls" });
  const view = element("div", { class: "mrb-view-of-rows" });
  const status = element("p", { class: "mrb-said", role: "status" });
  root.append(controls, status, view);
  el.append(root);
  const fields = {};

  const field = (name, label, made) => {
    fields[name] = made;
    controls.append(element("label", {}, element("span", {}, label), made));
    return made;
  };

  const options = (names, chosen) => names.map((name, i) => element("option", { value: name, selected: i === chosen || name === chosen }, name));

  function places(initial) {
    const made = element("select");
    let group = made;
    initial.places.forEach((place, i) => {
      if (place.by && group.label !== place.by) made.append((group = element("optgroup", { label: place.by })));
      group.append(element("option", { value: String(i), selected: i === initial.place }, place.name));
    });
    return made;
  }

  function begin(initial) {
    field("policy", "Policy", element("select", {}, ...options(initial.policies, initial.policy))).addEventListener("change", ask);
    field("dimension", "Dimension", element("select", {}, ...options(initial.dimensions, initial.dimension))).addEventListener("change", ask);
    field("place", "Cases", places(initial)).addEventListener("change", ask);
    mrbShell.entered(field("where", "Where", element("input", { type: "text", value: initial.where, placeholder: "length > 1400", spellcheck: "false", autocomplete: "off" })), ask);
    field("text", "Judges whose name has", element("input", { type: "search", placeholder: "all", autocomplete: "off" })).addEventListener("input", filter);
    if (initial.kinds.length > 1) {
      const all = element("option", { value: "" }, "all groups");
      const kinds = initial.kinds.map((kind) => element("option", { value: `=${kind}`, selected: kind === initial.group }, kind || "not said"));
      field("kind", "Group", element("select", {}, all, ...kinds)).addEventListener("change", filter);
    }
  }

  async function ask() {
    const turn = (state.asked += 1);
    root.setAttribute("aria-busy", "true");
    fields.where.removeAttribute("aria-invalid");
    status.textContent = "Computing …";
    const [policy, dimension, place] = [fields.policy.value, fields.dimension.value, Number(fields.place.value)];
    try {
      const answer = await link.ask("rows", { policy, dimension, place, where: fields.where.value });
      if (turn === state.asked) show(answer.html);
    } catch (error) {
      if (turn === state.asked) {
        view.replaceChildren(element("p", { class: "mrb-problem", role: "alert" }, error.message));
        if (fields.where.value) fields.where.setAttribute("aria-invalid", "true");
        status.textContent = "";
      }
    }
    if (turn === state.asked) root.removeAttribute("aria-busy");
  }

  const rows = () => [...view.querySelectorAll("tbody.mrb-judges > tr")];
  const cell = (row, at) => row.children[at].dataset.v ?? "";

  function show(html) {
    view.replaceChildren(mrbShell.fragment(html));
    for (const head of view.querySelectorAll("th[data-key]")) {
      const title = head.querySelector("span");
      const button = element("button", { type: "button", class: "mrb-sort" }, title.textContent, element("span", { class: "mrb-arrow", "aria-hidden": "true" }));
      title.replaceWith(button);
      button.addEventListener("click", () => order(head.dataset.key));
    }
    sort();
    filter();
  }

  function order(key) {
    const numeric = view.querySelector(`th[data-key="${key}"]`).dataset.type === "number";
    state.down = state.key === key ? !state.down : numeric && key !== "rank";
    state.key = key;
    sort();
  }

  // What has no value comes last either way.
  function sort() {
    const heads = [...view.querySelectorAll("th[data-key]")];
    const at = heads.findIndex((head) => head.dataset.key === state.key);
    const numeric = heads[at].dataset.type === "number";
    const compare = (one, other) => {
      const [a, b] = [cell(one, at), cell(other, at)];
      if (a === "" || b === "") return (a === "") - (b === "");
      const difference = numeric ? Number(a) - Number(b) : a.localeCompare(b);
      return state.down ? -difference : difference;
    };
    heads.forEach((head, i) => {
      if (i === at) head.setAttribute("aria-sort", state.down ? "descending" : "ascending");
      else head.removeAttribute("aria-sort");
    });
    const shown = rows();
    shown[0]?.parentElement.append(...shown.sort(compare));
  }

  function filter() {
    const words = fields.text.value.toLowerCase().split(/\s+/).filter(Boolean);
    const kind = fields.kind?.value ?? "";
    const all = rows();
    if (!all.length) return;
    for (const row of all) {
      const name = cell(row, 1).toLowerCase();
      row.hidden = !words.every((word) => name.includes(word)) || (kind !== "" && kind !== `=${row.dataset.kind}`);
    }
    const left = all.filter((row) => !row.hidden).length;
    status.textContent = left === all.length ? `${all.length} judges` : `${left} of ${all.length} judges`;
  }

  link.ask("initial_state").then((initial) => (begin(initial), ask()), (error) => (status.textContent = error.message));
  return () => {
    link.close();
    root.remove();
  };
}
