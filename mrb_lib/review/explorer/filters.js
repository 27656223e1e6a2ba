// What is looked for: a judge, a second one, where the case is from, kinds of failure, words, an order; each with counts.
// `change(query)` is told of every new query; `kinds` gives each kind its name and its meaning.
function mrbFilters({ kinds, sorts, reviews, change }) {
  const { button, element, spoken } = mrbShell;
  const CHOSEN = [
    ["judge", "Judge", "any"],
    ["other", "Differs from", "no other"],
    ["dimension", "Dimension", "any"],
    ["organ", "Organ", "any"],
    ["department", "Department", "any"],
    ["modality", "Modality", "any"],
    ["changed_by", "Changed by probe", "not asked"],
    ["review", "Reviews", "any"],
  ];
  const SORTS = [["", "benchmark order"], ["confidence", "confidence"], ["distance", "distance from gold"], ["disagreement", "judges’ disagreement"], ["difficulty", "estimated difficulty"]];
  const EMPTY = { judge: null, other: null, dimension: null, organ: null, department: null, modality: null, kind: [], outcome: [], changed_by: null, where: "", review: "", text: "", sort: "", desc: true };

  const NAMED = { changed_by: (value) => (value === "*" ? "any probe" : value), review: (value) => reviews[value] };
  const named = (name, value) => (NAMED[name] ?? spoken)(value);
  let query = { ...EMPTY };
  // What was chosen a moment ago counts before its answer is here.
  const ask = (part) => {
    query = { ...query, ...part };
    change(query);
  };

  const search = element("input", { type: "search", placeholder: 'words or "a phrase"', "aria-label": "Search the cases' texts", class: "mrb-search", "aria-keyshortcuts": "/", oninput: type });
  let waiting = 0;
  function type() {
    clearTimeout(waiting);
    waiting = setTimeout(() => ask({ text: search.value }), 180);
  }

  const selects = new Map();
  const bar = element("div", { class: "mrb-filters", role: "group", "aria-label": "Filters" });
  for (const [name, label] of CHOSEN) {
    const choose = () => {
      const value = select.value ? select.value.slice(1) : EMPTY[name];
      ask(name === "judge" && value === null ? { judge: null, other: null } : { [name]: value });
    };
    const select = element("select", { "data-filter": name, onchange: choose });
    selects.set(name, select);
    bar.append(element("label", { class: "mrb-filter" }, element("span", {}, label), select));
  }
  const probed = selects.get("changed_by").closest("label"); // beside the kinds of failure, with which it is combined
  probed.title = "only verdicts that are another choice under the probe than on the plain case, shown and repeated alike";
  probed.classList.add("mrb-changed-by");
  // JupyterLab keeps Enter from a field, which therefore never says that it has changed.
  const filter = ({ key, isComposing }) => { if (key === undefined || (key === "Enter" && !isComposing)) ask({ where: where.value.trim() }); };
  const where = element("input", { type: "text", "data-filter": "where", placeholder: "length > 700", spellcheck: "false", autocomplete: "off", onchange: filter, onkeydown: filter });
  bar.append(element("label", { class: "mrb-filter mrb-where" }, element("span", {}, "Where"), where));
  const sort = element("select", { "data-filter": "sort", onchange: () => ask({ sort: sort.value }) }, ...SORTS.filter(([value]) => !value || sorts.includes(value)).map(([value, words]) => element("option", { value }, words)));
  const turn = button([], () => ask({ desc: !query.desc }), { class: "mrb-turn" });
  const clear = button("Clear all", () => ask({ ...EMPTY }), { class: "mrb-clear" });
  bar.append(element("label", { class: "mrb-filter" }, element("span", {}, "Sort by"), sort), turn, clear);

  const chips = element("div", { class: "mrb-chips", role: "group", "aria-label": "Kinds of failure: any of those pressed" });
  const buttons = new Map();
  for (const [kind, [words, meaning]] of Object.entries(kinds)) {
    const press = () => ask({ kind: query.kind.includes(kind) ? query.kind.filter((one) => one !== kind) : [...query.kind, kind] });
    buttons.set(kind, button([element("span", {}, words), element("span", { class: "mrb-count" })], press, { "data-kind": kind, title: meaning }));
  }
  // A board may have asked for some outcomes; here they can only be let go again.
  const outcome = button([], () => ask({ outcome: [] }), { "aria-pressed": "true", hidden: true });
  chips.append(...buttons.values(), outcome, probed);

  function fill(name, any, values = []) {
    const select = selects.get(name);
    const wanted = query[name];
    const options = [element("option", { value: "" }, any)];
    // Of what is chosen the list says how many there are.
    for (const [value, n] of values) {
      const words = value ? named(name, value) : "none stated";
      options.push(element("option", { value: `=${value}`, "data-n": n }, value === wanted ? words : `${words} (${n.toLocaleString()})`));
    }
    const isAsked = wanted !== EMPTY[name];
    if (isAsked && !values.some(([value]) => value === wanted)) options.push(element("option", { value: `=${wanted}` }, named(name, wanted)));
    select.replaceChildren(...options);
    select.value = isAsked ? `=${wanted}` : "";
    select.disabled = !values.length;
    const label = select.closest("label");
    label.hidden = (name === "other" && query.judge === null) || (!values.length && !["judge", "dimension"].includes(name));
    label.classList.toggle("mrb-on", isAsked);
  }

  function update(answer) {
    query = answer.query;
    const { facets } = answer;
    if (document.activeElement !== search || !search.value) search.value = query.text;
    for (const [name, , any] of CHOSEN) fill(name, any, facets[name]);
    if (document.activeElement !== where) where.value = query.where;
    where.closest("label").classList.toggle("mrb-on", Boolean(query.where));
    sort.value = query.sort;
    turn.hidden = !query.sort;
    turn.replaceChildren(query.desc ? "↓" : "↑", element("span", {}, query.desc ? " highest" : " lowest"));
    turn.setAttribute("aria-label", query.desc ? "highest first; turn to lowest first" : "lowest first; turn to highest first");
    outcome.hidden = !query.outcome.length;
    outcome.textContent = `only ${query.outcome.join(", ")} ✕`;
    const counts = new Map(facets.kind);
    for (const [kind, one] of buttons) {
      const [pressed, n] = [query.kind.includes(kind), counts.get(kind) ?? 0];
      one.setAttribute("aria-pressed", String(pressed));
      one.querySelector(".mrb-count").textContent = n.toLocaleString();
      one.hidden = !n && !pressed;
    }
    clear.disabled = JSON.stringify({ ...query, desc: true }) === JSON.stringify(EMPTY);
  }

  return { bar, chips, search, update, query: () => query };
}
