// The tags of the case in sight: those of others to read, one's own to add and to remove.
// `ask` as of mrbShell.connect; `reviewer()` and `trouble()` say who is signed in and why nothing can be stored;
// `changed(position, tags)` is told what a case has now, `tell(words, bad)` what went wrong.
function mrbTags({ ask, reviewer, trouble, changed, tell }) {
  const { button, element, isolated } = mrbShell;
  const id = mrbShell.unique("mrb-tags");
  const state = { position: null, caseId: "", version: "", typedFor: "" };
  const list = element("ul", { class: "mrb-tag-list", "aria-label": "Tags of the case" });
  const known = element("datalist", { id });
  const input = element("input", { type: "text", class: "mrb-add-tag", list: id, "aria-label": "Add a tag to this case", maxlength: "40", autocomplete: "off", spellcheck: "false", "aria-keyshortcuts": "# G" });
  const root = element("div", { class: "mrb-tags", role: "group", "aria-label": "Tags", hidden: true }, list, input, known);

  function chip(one) {
    const remove = one.mine ? button("×", () => send(one.tag, true), { "aria-label": `remove the tag ${one.seen}`, title: "remove this tag" }) : null;
    return element("li", { class: one.mine ? "mrb-own" : "", title: `by ${one.by.join(", ")}` }, isolated(one.seen), remove);
  }

  function draw({ tags, hidden, known: names }) {
    const others = hidden ? [element("li", { class: "mrb-hint", title: "Others' tags are shown once your own review is saved." }, `${hidden} hidden`)] : [];
    list.replaceChildren(...tags.map(chip), ...others);
    known.replaceChildren(...names.map((value) => element("option", { value })));
  }

  const ready = () => state.position !== null && Boolean(reviewer()) && !trouble();

  function signed() {
    input.disabled = !ready();
    input.placeholder = trouble() ? "no store" : reviewer() ? "add a tag  #" : "sign in to tag";
  }

  function show(shown) {
    Object.assign(state, { position: shown.position, caseId: shown.case_id, version: shown.version });
    list.replaceChildren();
    root.hidden = false;
    signed();
  }

  function empty() {
    state.position = null;
    root.hidden = true;
  }

  // What is sent names the case in sight when the key was pressed; Python refuses it for another.
  async function send(tag, removed) {
    const { position, caseId, version } = state;
    const typed = input.value;
    try {
      const answer = await ask("tag", { position, case_id: caseId, version, tag, removed, reviewer: reviewer() });
      changed(position, answer.tags.map((one) => one.seen));
      if (!removed && input.value === typed) input.value = "";
      if (position !== state.position) return;
      draw(answer);
      if (removed) input.focus();
    } catch (error) {
      tell(`Case ${caseId}: the tag is not ${removed ? "removed" : "stored"}: ${error.message}`, true);
    }
  }

  input.addEventListener("input", () => { state.typedFor = input.value && (state.typedFor || state.caseId); });
  input.addEventListener("keydown", (event) => {
    if (event.key !== "Enter" || event.isComposing) return;
    event.preventDefault();
    event.stopPropagation();
    const tag = input.value.trim();
    if (!tag || !ready()) return;
    // Words that were begun at another case are about that one, until they are said to be about this one.
    const changing = root.closest(".mrb-changing");
    if (changing || state.typedFor !== state.caseId) {
      if (!changing) state.typedFor = state.caseId;
      tell("The case changed while you typed. Look, and press Enter again to tag the case in sight.");
      return;
    }
    tell("");
    send(tag, false);
    state.typedFor = "";
  });

  function focus() {
    if (ready()) input.focus();
    else tell(trouble() || "Sign in to tag cases.");
  }

  return { root, list, show, draw, empty, signed, focus };
}
