// The coordinator's page: shown again whenever something has been added to the store.
function render({ model, el }) {
  const EVERY = 3000;
  const { element } = mrbShell;
  const root = element("div", { class: "mrb mrb-annotate", tabindex: -1, "aria-busy": "true", "data-lm-suppress-shortcuts": "true" });
  const sheet = element("main", {});
  const said = element("p", { class: "mrb-quiet mrb-live", role: "status", "aria-live": "polite" }, "Opening …");
  root.append(sheet, said);
  el.append(root);
  const late = () => {
    behind = true;
    said.textContent = "The server does not answer; this page keeps asking.";
  };
  const line = mrbShell.persistent(model, { late });
  let change = -1;
  let behind = false;
  let timer = 0;
  let closed = false;

  async function look() {
    try {
      const found = await line.ask("overview", { change });
      if (found.html !== undefined) sheet.replaceChildren(mrbShell.fragment(found.html));
      if (found.html !== undefined || behind) said.textContent = `Up to date as of ${new Date().toLocaleTimeString()}; it updates itself.`;
      behind = false;
      change = found.change;
    } catch (error) {
      behind = true;
      said.textContent = `Not up to date: ${error.message}`;
    }
    root.removeAttribute("aria-busy");
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
