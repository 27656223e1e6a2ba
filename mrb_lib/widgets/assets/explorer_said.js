// What reviewers said of a case, the newest first. Each text of theirs keeps its direction to itself.
const mrbSaid = (() => {
  const { element } = mrbShell;
  const own = (words) => element("bdi", { dir: "auto" }, words);
  const spoken = (value) => value.replaceAll("_", " ");

  function entry(one) {
    const { seen } = one;
    const scope = [seen.dimension ? own(spoken(seen.dimension)) : "every dimension", ...(seen.judge ? [" · judge ", own(seen.judge)] : [])];
    const head = element("p", { class: "mrb-said" }, element("b", { dir: "auto" }, seen.reviewer), element("span", { class: `mrb-tag mrb-${one.verdict}` }, one.choice ? `${one.label}: ${one.choice}` : one.label));
    const replaced = one.counts || one.verdict === "withdrawn" ? "" : " · replaced";
    const foot = element("p", { class: "mrb-when" }, ...scope, " · ", element("time", { datetime: one.created }, `${one.created.replace("T", " ").slice(0, 16)} UTC`), replaced, one.changed ? " · the case has changed since" : "");
    const body = [seen.reasons.length ? element("p", { class: "mrb-why" }, ...seen.reasons.flatMap((name, i) => (i ? [", ", own(name)] : [own(name)]))) : null, seen.note ? element("p", { class: "mrb-note-text", dir: "auto" }, seen.note) : null];
    return element("li", { class: one.counts ? "" : "mrb-past" }, head, ...body, foot);
  }

  function items(entries) {
    return entries.length ? entries.map(entry) : [element("li", { class: "mrb-past" }, "Nobody has said anything of this case yet.")];
  }

  return { items };
})();
