// To a case by its number: written, or chosen among marks that tell how far each case is.
const mrbJump = (() => {
  const { button, element } = mrbShell;
  const STATES = { done: "✓", skipped: "–", open: "" };

  function make(page) {
    const name = `${page.prefix}-jump`;
    const field = element("input", { type: "text", inputmode: "numeric", autocomplete: "off", id: `${name}-number`, size: 6, "aria-describedby": `${name}-legend` });
    const legend = element("p", { class: "mrb-quiet", id: `${name}-legend` });
    const wrong = element("p", { class: "mrb-alert", role: "alert", hidden: true });
    const marks = element("div", { class: "mrb-marks", role: "group", "aria-label": "your cases; the arrow keys move among them", onkeydown: move });
    const form = element("form", { class: "mrb-go", onsubmit: submit }, element("label", { for: field.id }, "Case number"), field, element("button", { type: "submit", class: "mrb-first" }, "Go"));

    function go(number) {
      if (page.moving) return; // a second click
      dialog.close();
      page.show({ number });
    }

    function mark(state, index) {
      const number = index + 1;
      const here = number === page.number;
      const label = `case ${number}, ${state}${here ? ", in sight" : ""}`;
      return button([String(number), element("span", { "aria-hidden": "true" }, STATES[state])], () => go(number),
        { class: `mrb-mark mrb-is-${state}`, "aria-label": label, "aria-current": here ? "true" : null, tabindex: here ? "0" : "-1" });
    }

    // One stop of the Tab key for all marks, however many there are.
    function move(event) {
      const all = [...marks.children];
      const at = all.indexOf(document.activeElement);
      const row = all.filter((one) => one.offsetTop === all[0].offsetTop).length;
      const to = { ArrowRight: at + 1, ArrowLeft: at - 1, ArrowDown: at + row, ArrowUp: at - row, Home: 0, End: all.length - 1 }[event.key];
      if (at < 0 || to === undefined) return;
      event.preventDefault();
      const next = all[Math.min(Math.max(to, 0), all.length - 1)];
      for (const one of all) one.tabIndex = one === next ? 0 : -1;
      next.focus();
    }

    function submit(event) {
      event.preventDefault();
      const number = Number(field.value.trim());
      wrong.hidden = Number.isInteger(number) && number >= 1 && number <= page.cases.length;
      if (wrong.hidden) go(number);
      else wrong.textContent = `There is no such case among yours; write a number from 1 to ${page.cases.length}.`;
    }

    const stay = element("div", { class: "mrb-steps" }, button("Stay here", () => dialog.close()));
    const dialog = element("dialog", { class: "mrb-skip mrb-jump", "aria-labelledby": `${name}-title` }, element("h2", { id: `${name}-title` }, "Go to a case"), form, wrong, legend, marks, stay);
    return { dialog, open() {
      const { done, skipped, open } = mrbAnnotate.counts(page);
      wrong.hidden = true;
      field.value = "";
      legend.textContent = `Case ${page.number} of ${page.cases.length} is in sight · ✓ done: ${done} · – skipped: ${skipped} · unmarked, open: ${open}`;
      marks.replaceChildren(...page.cases.map(mark));
      dialog.showModal();
      marks.querySelector("[aria-current]")?.scrollIntoView({ block: "nearest" });
      field.focus();
    } };
  }

  return { make };
})();
