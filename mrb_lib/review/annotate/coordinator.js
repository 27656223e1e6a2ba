// The coordinator's page: shown again whenever something has been added to the store.
function render({ link, el, signal }) {
  const EVERY = 3000;
  const FILES = [["log", "Save everything as CSV"], ["annotations", "Save the annotations as CSV"]];
  const { button, element, saving } = mrbShell;
  const root = element("div", { class: "mrb mrb-annotate", tabindex: -1, "aria-busy": "true", "data-lm-suppress-shortcuts": "true" });
  const sheet = element("div", {});
  const said = element("p", { class: "mrb-quiet mrb-live", role: "status", "aria-live": "polite" }, "Opening …");
  const written = element("p", { class: "mrb-quiet", role: "status", "aria-live": "polite" });
  const tell = (words) => { written.textContent = words; };
  const about = ({ rows, left_out: lost }) => `: ${rows} rows${lost ? `; ${lost} about cases, dimensions or choices that the benchmark does not have are left out` : ""}`;
  // Outside of what is shown again: a button must not vanish under the finger.
  const buttons = FILES.map(([kind, words]) => button(words, saving(link.ask, () => ({ kind }), tell, about)));
  const files = element("section", { class: "mrb-files", "aria-label": "files" }, ...buttons, written);
  root.append(files, element("main", {}, sheet), said);
  el.append(root);
  let change = -1;
  let behind = false;

  async function look() {
    if (signal.aborted) return;
    try {
      const found = await link.ask("overview", { change });
      if (found.html !== undefined) sheet.replaceChildren(mrbShell.fragment(found.html));
      if (found.html !== undefined || behind) said.textContent = `Up to date as of ${new Date().toLocaleTimeString()}; it updates itself.`;
      behind = false;
      change = found.change;
    } catch (error) {
      behind = true;
      said.textContent = `Not up to date: ${error.message}`;
    }
    root.removeAttribute("aria-busy");
    window.setTimeout(look, EVERY);
  }

  look();
}
