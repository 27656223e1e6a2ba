// Dimensions in which several labels may apply: toggles make a draft, which Enter stores; that none applies is stored at once.
const mrbLabels = (() => {
  const { button, element, key } = mrbShell;
  const none = ({ labels }) => labels.at(-1).pick;
  const listed = (dimension, pick) => (!pick || pick === none(dimension) ? [] : pick.split("; ")); // no label has a semicolon
  const place = (page, index) => page.placeOf(page.about.dimensions[index].name);

  const draft = (page, index) => (page.about.dimensions[index].labels ? page.labels.get(place(page, index)) : undefined);
  const keep = (page, index, pick) => page.labels.set(place(page, index), pick);

  // The row whose labels are chosen and not saved; -1 where there is none.
  const unsaved = (page) => page.about.dimensions.findIndex((_, index) => draft(page, index) !== undefined);

  function waiting(page, index) {
    const { labels } = page.about.dimensions[index];
    return draft(page, index) ? "Press Enter to save the labels you chose" : `Choose labels, or ${labels.at(-1).key} where none of these applies`;
  }

  function shown(page, index) {
    const dimension = page.about.dimensions[index];
    const pick = draft(page, index) ?? page.answers[index].pick;
    return pick === none(dimension) ? [pick] : listed(dimension, pick);
  }

  const asSaved = (page, index) => (page.answers[index].pick ? "As it was saved." : "Nothing is chosen.");

  function toggle(page, index, label) {
    const dimension = page.about.dimensions[index];
    if (label === none(dimension)) return store(page, index, label);
    const on = new Set(listed(dimension, draft(page, index) ?? page.answers[index].pick));
    if (!on.delete(label)) on.add(label);
    const pick = dimension.labels.map((one) => one.pick).filter((one) => on.has(one)).join("; ");
    keep(page, index, pick === (page.answers[index].pick ?? "") ? undefined : pick);
    page.at = index;
    page.paint();
    return page.fine(draft(page, index) === undefined ? asSaved(page, index) : `${waiting(page, index)}.`);
  }

  function store(page, index, pick) {
    keep(page, index, undefined);
    page.choose(index, pick, true);
  }

  // Whether there was something to save, or to say about it.
  function confirm(page, index) {
    const pick = draft(page, index);
    if (pick) store(page, index, pick);
    else if (pick === "") page.fine(`${waiting(page, index)}.`);
    return pick !== undefined;
  }

  const forget = (page) => page.about.dimensions.forEach((_, index) => keep(page, index, undefined));

  // The nearest row that has a choice under a key; -1 where none has.
  function rowOf(page, pressed) {
    const has = ({ labels }) => (labels ?? page.about.picks).some((one) => one.key === pressed);
    const rows = page.about.dimensions.flatMap((one, index) => (has(one) ? [index] : []));
    return rows.sort((a, b) => Math.abs(a - page.at) - Math.abs(b - page.at))[0] ?? -1;
  }

  function foot(page, index) {
    const { labels } = page.about.dimensions[index];
    const save = button(["Save labels ", key("Enter")], () => confirm(page, index), { class: "mrb-save-labels" });
    const hint = element("p", { class: "mrb-hint" }, "Several may apply: choose, then ", element("kbd", {}, "Enter"), "; ", element("kbd", {}, labels.at(-1).key), " where none does.");
    return { save, hint };
  }

  const said = ({ labels }, pick) => labels.filter((one) => one.pick === pick || pick.split("; ").includes(one.pick)).map((one) => one.said ?? one.name).join(", ");

  return { draft, unsaved, waiting, rowOf, shown, toggle, confirm, forget, foot, said };
})();
