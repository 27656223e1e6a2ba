// The leaderboard: Python makes the table of what is chosen, the page sorts and filters its rows.
function render({ model, el }) {
  const { element } = mrbShell;
  const talk = mrbShell.connect(model);
  const state = { key: "rank", down: false, asked: 0 };
  const root = element("section", { class: "mrb mrb-board", "aria-label": "leaderboard", "data-lm-suppress-shortcuts": "true", tabindex: "-1" });
  const controls = element("div", { class: "mrb-controls" });
  const view = element("div", { class: "mrb-view-of-rows" });
  const said = element("p", { class: "mrb-said", role: "status" });
  root.append(controls, said, view);
  el.append(root);
  const fields = {};

  const field = (name, label, made) => {
    fields[name] = made;
    controls.append(element("label", {}, element("span", {}, label), made));
    return made;
  };

  const options = (names, chosen) => names.map((name, i) => element("option", { value: name, selected: i === chosen || name === chosen }, name));

  function places(told) {
    const made = element("select");
    let group = made;
    told.places.forEach((place, i) => {
      if (place.by && group.label !== place.by) made.append((group = element("optgroup", { label: place.by })));
      group.append(element("option", { value: String(i), selected: i === told.place }, place.name));
    });
    return made;
  }

  function begin(told) {
    field("policy", "Policy", element("select", {}, ...options(told.policies, told.policy))).addEventListener("change", ask);
    field("dimension", "Dimension", element("select", {}, ...options(told.dimensions, told.dimension))).addEventListener("change", ask);
    field("place", "Cases", places(told)).addEventListener("change", ask);
    field("text", "Judges whose name has", element("input", { type: "search", placeholder: "all", autocomplete: "off" })).addEventListener("input", filter);
    if (told.kinds.length > 1) {
      const all = element("option", { value: "" }, "all kinds");
      const kinds = told.kinds.map((kind) => element("option", { value: `=${kind}` }, kind || "not said"));
      field("kind", "Kind", element("select", {}, all, ...kinds)).addEventListener("change", filter);
    }
  }

  async function ask() {
    const mine = (state.asked += 1);
    root.setAttribute("aria-busy", "true");
    said.textContent = "Computing …";
    const [policy, dimension, place] = [fields.policy.value, fields.dimension.value, Number(fields.place.value)];
    try {
      const found = await talk.ask("rows", { policy, dimension, place });
      if (mine === state.asked) show(found.html);
    } catch (error) {
      if (mine === state.asked) {
        view.replaceChildren(element("p", { class: "mrb-problem", role: "alert" }, error.message));
        said.textContent = "";
      }
    }
    if (mine === state.asked) root.removeAttribute("aria-busy");
  }

  const rows = () => [...view.querySelectorAll("tbody:not(.mrb-human) > tr")];
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
    const found = rows();
    found[0]?.parentElement.append(...found.sort(compare));
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
    said.textContent = left === all.length ? `${all.length} judges` : `${left} of ${all.length} judges`;
  }

  talk.ask("initial_state").then((told) => (begin(told), ask()), (error) => (said.textContent = error.message));
  return () => {
    talk.close();
    root.remove();
  };
}
