// The coordinator's page: shown again whenever something has been added to the store.
function render({ model, el }) {
  const EVERY = 3000;
  const { element } = mrbShell;
  const root = element("div", { class: "mrb mrb-annotate", tabindex: -1, "data-lm-suppress-shortcuts": "true" });
  const sheet = element("main", {});
  const said = element("p", { class: "mrb-quiet mrb-live", role: "status", "aria-live": "polite" }, "Opening …");
  root.append(sheet, said);
  el.append(root);
  const line = mrbPersistent(model);
  let change = -1;
  let timer = 0;
  let closed = false;

  async function look() {
    try {
      const found = await line.ask("overview", { change });
      if (found.html !== undefined) sheet.replaceChildren(mrbShell.fragment(found.html));
      if (found.html !== undefined) said.textContent = `Up to date as of ${new Date().toLocaleTimeString()}; it follows by itself.`;
      change = found.change;
    } catch (error) {
      said.textContent = `Not up to date: ${error.message}`;
    }
    if (!closed) timer = window.setTimeout(look, EVERY);
  }

  look();
  return () => {
    closed = true;
    window.clearTimeout(timer);
    line.close();
    root.remove();
  };
}
