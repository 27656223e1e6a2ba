// The coordinator's page: shown again whenever something has been added to the store.
function render({ link, el }) {
  const EVERY = 3000;
  const FILES = [["log", "Save everything as CSV"], ["annotations", "Save the annotations as CSV"]];
  const { element } = mrbShell;
  const root = element("div", { class: "mrb mrb-annotate", tabindex: -1, "aria-busy": "true", "data-lm-suppress-shortcuts": "true" });
  const sheet = element("div", {});
  const said = element("p", { class: "mrb-quiet mrb-live", role: "status", "aria-live": "polite" }, "Opening …");
  const written = element("p", { class: "mrb-quiet", role: "status", "aria-live": "polite" });
  // Outside of what is shown again: a button must not vanish under the finger.
  const files = element("section", { class: "mrb-files", "aria-label": "files" }, ...FILES.map(([kind, words]) => {
    const made = element("button", { type: "button" }, words);
    made.addEventListener("click", () => write(kind, made));
    return made;
  }), written);
  root.append(files, element("main", {}, sheet), said);
  el.append(root);
  let change = -1;
  let behind = false;
  let closed = false;

  async function write(kind, from) {
    from.disabled = true;
    written.textContent = "Writing the file …";
    try {
      const file = await link.ask("export", { kind });
      mrbShell.download(file.blob, file.name, from);
      const lost = file.left_out ? `; ${file.left_out} about cases, dimensions or choices that the benchmark does not have are left out` : "";
      written.textContent = `${file.name}: ${file.rows} rows${lost}.`;
    } catch (error) {
      written.textContent = `The file is not written: ${error.message}`;
    } finally {
      from.disabled = false;
    }
  }

  async function look() {
    if (closed) return;
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
  return () => {
    closed = true;
    link.close();
    root.remove();
  };
}
