// A case as probes change it, to open below the case: how many verdicts each of them changed, and what one did.
// `probes` as of the answer `case`; `wanted` the probe to begin with, "*" for the first that changed a verdict, or
// null to begin closed; `fetch(probe)` resolves with the HTML.
function mrbProbed({ probes, wanted, fetch }) {
  const { element, fragment } = mrbShell;
  const first = probes.find(([, , changed]) => changed) ?? probes[0];
  const chosen = probes.find(([probe]) => probe === wanted) ?? first;
  const name = mrbShell.unique("mrb-probed");
  const options = probes.map(([probe, n, changed]) => element("option", { value: probe }, `${probe} · ${n ? `${changed} of ${n} changed` : "no pair of verdicts"}`));
  const select = element("select", { id: name, "data-probed": "", onchange: load }, ...options);
  const shown = element("div", {});
  const root = element("details", { class: "mrb-case mrb-of-probe", ontoggle: load }, element("summary", {}, "As a probe changes it"), element("p", { class: "mrb-choose-probe" }, element("label", { for: name }, "Probe"), select, element("span", { class: "mrb-hint" }, "of the verdicts in view")), shown);
  select.value = chosen[0];
  let asked = null;

  async function load() {
    if (!root.open || asked === select.value) return;
    const probe = (asked = select.value);
    shown.replaceChildren(element("p", { class: "mrb-hint", role: "status" }, "Making the case as the probe changes it …"));
    try {
      const html = await fetch(probe);
      if (asked === probe) shown.replaceChildren(fragment(html));
    } catch (error) {
      if (asked !== probe) return;
      asked = null;
      shown.replaceChildren(element("p", { class: "mrb-missing" }, `It cannot be shown: ${error.message}`));
    }
  }

  // Opened once the case is in sight: a neighbour that nobody looks at makes no pictures.
  const show = () => { if (wanted !== null && probes.some(([probe]) => wanted === "*" || probe === wanted)) root.open = true; };
  return { root, show };
}
