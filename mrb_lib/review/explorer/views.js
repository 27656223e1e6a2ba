// Views: the filters and the order under a name that everybody sees; saved, opened and removed in a dialog.
// `ask` as of mrbShell.connect; `scope()` is the query and who asks; `open(fragment)` shows a view.
function mrbViews({ ask, scope, open }) {
  const AGAIN = "Press again to remove";
  const FAILED = { keep_view: "Not saved: ", remove_view: "Not removed: " };
  const { button, element, isolated } = mrbShell;
  const name = element("input", { type: "text", maxlength: "80", autocomplete: "off" });
  const save = element("button", { type: "submit", class: "mrb-first" }, "Save");
  const sheet = element("form", { class: "mrb-sign", onsubmit: submit }, element("label", { class: "mrb-filter" }, element("span", {}, "Save the filters and the order as"), name), save);
  const said = element("p", { class: "mrb-hint", role: "status" });
  const list = element("ul", { class: "mrb-view-list", "aria-label": "Views" });
  const close = button("Close", () => dialog.close());
  const dialog = element("dialog", { class: "mrb-keys mrb-views", "aria-label": "Saved views" }, element("h2", {}, "Saved views"), sheet, said, list, close);
  const opener = button("Views", show, { "aria-haspopup": "dialog", title: "Saved views: open, save, remove" });

  // Without a store nothing here works, and why is said.
  function show() {
    dialog.showModal();
    const here = scope().reviewer ? "" : "Sign in to save or remove views; opening them needs no name.";
    say(here);
    save.disabled = Boolean(here);
    sheet.hidden = false;
    list.replaceChildren(); // an earlier list would be replaced while somebody uses it
    change("views", {}, here);
  }

  const say = (words, bad = false) => {
    said.textContent = words;
    said.classList.toggle("mrb-failed", bad);
  };

  function item(view) {
    const show = () => {
      dialog.close();
      open(view.fragment || "where="); // an empty address would be the explorer's own start
    };
    const opens = button(isolated(view.seen), show);
    // It goes for everyone, so the first press asks.
    const drop = () => {
      if (remove.textContent === AGAIN) change("remove_view", { name: view.name }, `The view “${view.seen}” is removed.`);
      else say(`Remove the view “${view.seen}” for everyone? Press again to do so.`);
      remove.textContent = AGAIN;
      remove.setAttribute("aria-label", `${AGAIN} the view ${view.seen} for everyone`);
    };
    const remove = button("Remove for everyone", drop, { class: "mrb-quiet", "aria-label": `Remove the view ${view.seen} for everyone` });
    const who = element("span", { class: "mrb-when" }, "by ", isolated(view.by), ` · ${view.created.slice(0, 10)}`);
    return element("li", {}, opens, who, remove);
  }

  function draw({ views }) {
    list.replaceChildren(...views.map(item));
    if (!views.length) list.append(element("li", { class: "mrb-hint" }, "No view is saved yet."));
  }

  async function change(what, fields, done) {
    const { query, reviewer } = scope();
    try {
      draw(await ask(what, { ...fields, query, reviewer }));
      say(done);
      if (what === "keep_view") name.value = "";
      if (!dialog.contains(document.activeElement)) name.focus();
    } catch (error) {
      sheet.hidden = what === "views";
      say(`${FAILED[what] ?? ""}${error.message}`, true);
    }
  }

  function submit(event) {
    event.preventDefault();
    const given = name.value.trim();
    if (given) change("keep_view", { name: given }, `The view “${given}” is saved for everyone.`);
    else name.focus();
  }

  return { opener, dialog };
}
