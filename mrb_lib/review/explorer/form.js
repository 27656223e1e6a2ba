// Who reviews, in this tab: one of the names known here, or a new one, which is asked about.
// `about` is the initial state; `signed(name)` is told, with an empty name of who signed out.
function mrbWho(about, signed) {
  const KEPT = "mrb-reviewer";
  const { button, element } = mrbShell;
  const id = mrbShell.unique("mrb-known");
  const known = element("datalist", { id });
  const input = element("input", { type: "text", autocomplete: "off", maxlength: "255", list: id, oninput: () => ask("") });
  const enter = element("button", { type: "submit", class: "mrb-first" });
  const doubt = element("p", { class: "mrb-hint", role: "alert" });
  const sheet = element("form", { class: "mrb-sign", onsubmit: submit }, element("label", {}, "Your name", input), known, enter, doubt);
  const own = element("b", { dir: "auto" });
  const signedIn = element("p", {}, "Signed in as ", own, " ", button("Sign out", () => sign(""), { class: "mrb-quiet" }));
  const root = element("div", { class: "mrb-who" }, sheet, signedIn);
  let name = mrbShell.recall(KEPT);
  let asked = ""; // the new name that is to be confirmed

  function ask(words) {
    asked = words;
    doubt.replaceChildren(...(words ? ["“", mrbShell.isolated(words), "” is a new name here. Check its spelling, then add it."] : []));
    enter.textContent = words ? "Add the name" : "Sign in";
  }

  function draw() {
    root.hidden = Boolean(about.store);
    sheet.hidden = Boolean(name);
    signedIn.hidden = !name;
    own.textContent = name;
    known.replaceChildren(...about.people.map((value) => element("option", { value })));
    ask("");
  }

  function sign(chosen) {
    name = chosen;
    if (name && !about.people.includes(name)) about.people.push(name);
    mrbShell.keep(KEPT, name);
    draw();
    signed(name);
  }

  function submit(event) {
    event.preventDefault();
    const typed = input.value.trim();
    const one = about.people.find((each) => each.toLowerCase() === typed.toLowerCase());
    if (one || (typed && (typed === asked || !about.people.length))) sign(one ?? typed);
    else if (typed) ask(typed);
    else input.focus();
  }

  draw();
  return { root, name: () => name, focus: () => input.focus() };
}

// The review of a case: the form and the history. What was typed outlives a failure.
// `ask` as of mrbShell.connect; `about` is the initial state, `who` as of mrbWho; `saved(position, names)` is told, and
// `unsaved()` when what is not stored yet has changed; `next()` goes on to the next case; `draw(regions)` shows regions
// on the images, `region()` starts to mark one; `tagged(tags)` is told the tags of the case, which come with its history.
function mrbForm({ ask, about, who, saved, unsaved, next, draw, region, tagged }) {
  const KEYS = ["gold_right", "gold_wrong", "ambiguous", "image_unusable"];
  const PATIENCE = 20000;

  const within = (promise) =>
    Promise.race([promise, new Promise((_, reject) => setTimeout(() => reject(new Error("the server does not answer; check that it runs")), PATIENCE))]);

  const { button, element, key: keyed, moment, spoken, fresh } = mrbShell;
  const drafts = mrbShell.drafts(`reviews:${about.name}`, unsaved);
  const sides = Object.fromEntries(about.choices.filter(({ key }) => key).map(({ key, value }) => [key, value]));
  const shownAs = (value) => about.choices.find((one) => one.value === value)?.shown ?? value;
  const state = { position: null, caseId: "", version: "", entries: [], gold: {}, id: fresh(), dirty: false, scope: { dimension: "", judge: "" }, regions: [] };
  const usual = about.dimensions.includes("overall") ? "overall" : (about.dimensions.at(-1) ?? "");

  const status = element("p", { class: "mrb-saved", role: "status", "aria-live": "polite" });
  const trouble = element("p", { class: "mrb-trouble mrb-alert", role: "alert", hidden: !about.store }, element("b", {}, "Nothing can be stored. "), about.store);
  const stranger = element("p", { class: "mrb-hint" }, "Sign in at the top of the page to review. A name is stored with your review; it is not a password, and nobody checks it. What protects this page is its address.");
  const gold = element("p", { class: "mrb-gold-line" });
  const field = (label, control) => element("label", { class: "mrb-filter" }, element("span", {}, label), control);
  const options = (values, any) => [element("option", { value: "" }, any), ...values.map((value) => element("option", { value }, spoken(value)))];
  const dimension = element("select", { "data-field": "dimension" }, ...options(about.dimensions, "every dimension"));
  const judge = element("select", { "data-field": "judge" }, ...options(about.judges, "no judge in particular"));
  const radio = (group, value, words, key, meaning) =>
    element("label", { class: "mrb-choose", title: meaning || null }, element("input", { type: "radio", name: `${group}-${state.id}`, value, "data-field": group }), element("span", { dir: "auto" }, words), key ? keyed(key) : null);
  const verdicts = element("fieldset", { class: "mrb-verdict" }, element("legend", {}, "Is the gold label right?"), ...KEYS.map((value, i) => radio("verdict", value, about.labels[value], String(i + 1))));
  const choices = element("fieldset", { class: about.rated ? "mrb-right-choice mrb-right-category" : "mrb-right-choice", hidden: true }, element("legend", {}, about.rated ? "The right category is" : "The right choice is response"), ...about.choices.map(({ key, value, shown, meaning }) => radio("choice", value, shown, key, meaning)));
  const questions = about.questions.map(drawQuestion);
  const reasons = questions.find((one) => one.is_open);
  const lettered = new Map(questions.flatMap(({ name, options, keys }) => [...keys].map((letter, i) => [letter, [name, options[i]]])));
  const marks = element("ul", { class: "mrb-regions" });
  const marking = button(["Mark a region ", keyed("M")], () => region(), { "aria-keyshortcuts": "M" });
  const places = element("fieldset", { class: "mrb-places" }, element("legend", {}, "Where in the image"), marks, marking);
  const note = element("textarea", { rows: "3", "data-field": "note", "aria-keyshortcuts": "N" });
  const save = button("Save", () => store(typed()), { class: "mrb-first mrb-save", "aria-keyshortcuts": "S" });
  const onwards = button(["Save and next ", keyed("↵")], () => saveAndNext(), { "aria-keyshortcuts": "Enter" });
  const withdraw = button("Withdraw", () => store({ verdict: "withdrawn", choice: "", answers: {}, regions: [], note: "" }));
  const form = element("div", { class: "mrb-form" }, element("div", { class: "mrb-scope" }, field("About", dimension), field("Judge", judge)), gold, verdicts, choices, ...questions.map((one) => one.set), places, field("Note", note), withdraw);
  const past = element("ol", { class: "mrb-history" });
  const caseName = mrbShell.isolated("");
  const ofCase = element("span", { class: "mrb-of-case" }, " of ", caseName);
  const body = element("div", { class: "mrb-review-body" }, element("h2", {}, "Your review", ofCase), trouble, stranger, form, element("h2", {}, "History"), past);
  const foot = element("div", { class: "mrb-actions" }, save, onwards, status); // in sight however long the form is
  const root = element("section", { class: "mrb-review", "aria-label": "Your review" }, body, foot);

  const key = () => JSON.stringify([who.name(), state.caseId, dimension.value, judge.value]);
  const checked = (group) => root.querySelector(`[data-field="${group}"]:checked`)?.value ?? "";
  const typed = () => ({ verdict: checked("verdict"), choice: checked("verdict") === "gold_wrong" ? checked("choice") : "", answers: Object.fromEntries(questions.filter((one) => judge.value || !one.of_judge).map((one) => [one.name, answered(one)])), regions: state.regions, note: note.value });
  const mine = () => state.entries.find((one) => one.reviewer === who.name() && one.counts && (one.dimension ?? "") === dimension.value && (one.judge ?? "") === judge.value);

  function say(words, kind = "") {
    status.className = `mrb-saved ${kind}`;
    status.textContent = words;
  }

  // A question of the list as a part of the form: one option, several, or several of the list of reasons.
  function drawQuestion(one) {
    const list = element("div", { class: "mrb-reasons" });
    const legend = element("legend", {}, one.text);
    if (one.several) return { ...one, list, set: element("fieldset", {}, legend, list) };
    const radios = one.options.map((value, i) => radio(one.name, value, spoken(value), one.keys[i]));
    return { ...one, set: element("fieldset", { class: "mrb-in-a-row" }, legend, ...radios) };
  }

  const answered = ({ name, several, list }) => (several ? [...list.querySelectorAll("input:checked")].map((box) => box.value) : checked(name));

  function drawSeveral({ name, options, keys, is_open, list }, chosen) {
    const all = [...new Set([...(is_open ? about.reasons : options), ...chosen])];
    list.replaceChildren(...all.map((value, i) => {
      const key = is_open && i < 10 ? `⇧${(i + 1) % 10}` : keys[i];
      const box = element("input", { type: "checkbox", value, "data-field": name });
      box.checked = chosen.includes(value);
      return element("label", { dir: "auto" }, box, element("span", {}, is_open ? value : spoken(value)), key ? keyed(key) : null);
    }));
  }

  const spot = ({ image, frame, x, y, width, height }) => `${width || height ? `Box ${Math.round(width)} × ${Math.round(height)}` : "Point"} at x ${Math.round(x)}, y ${Math.round(y)}${state.images > 1 ? ` in image ${image + 1}` : ""}${frame > 1 ? ` in frame ${frame}` : ""}`;

  function drawRegions(all) {
    state.regions = all;
    draw(all);
    marks.replaceChildren(...all.map((one) => {
      const drop = () => {
        drawRegions(state.regions.filter((other) => other !== one));
        changed();
        marking.focus();
      };
      return element("li", {}, spot(one), " ", button("×", drop, { class: "mrb-quiet", "aria-label": `remove: ${spot(one)}`, title: "remove" }));
    }));
  }

  function fillIn(content) {
    for (const box of root.querySelectorAll('[data-field="verdict"]')) box.checked = box.value === content.verdict;
    for (const box of choices.querySelectorAll("input")) box.checked = box.value === content.choice;
    for (const one of questions) {
      const answer = content.answers?.[one.name];
      if (one.several) drawSeveral(one, answer ?? []);
      else for (const box of one.set.querySelectorAll("input")) box.checked = box.value === answer;
    }
    drawRegions(content.regions ?? []);
    note.value = content.note ?? "";
    refresh();
  }

  function refresh() {
    const label = state.gold[dimension.value];
    gold.textContent = dimension.value ? `Gold on ${spoken(dimension.value)}: ${label === undefined || label === null ? "no label" : shownAs(label)}` : "About the gold labels of all dimensions at once";
    choices.hidden = checked("verdict") !== "gold_wrong";
    for (const one of questions) one.set.hidden = one.of_judge && !judge.value;
    for (const box of choices.querySelectorAll("input")) box.disabled = Boolean(dimension.value) && box.value === label;
    withdraw.hidden = !mine();
    places.hidden = !state.images;
    save.textContent = mine() ? "Save correction" : "Save";
  }

  // The form for the scope chosen: what was typed and not stored, or else what was stored.
  function load() {
    const draft = drafts.get(key());
    const stored = mine();
    state.dirty = Boolean(draft);
    state.id = draft?.id ?? fresh();
    fillIn(draft ?? stored ?? {});
    if (draft) say("Not saved yet: this is what you typed before.", "mrb-unsaved");
    else say(stored ? `Stored ${moment(stored.created)}. Change it and save to correct it.` : "");
  }

  function changed() {
    state.id = fresh();
    state.dirty = true;
    drafts.set(key(), { ...typed(), id: state.id });
    say("Not saved yet.", "mrb-unsaved");
    refresh();
  }

  async function history() {
    const { position } = state;
    if (about.store || position === null) return;
    try {
      const answer = await ask("history", { position, reviewer: who.name() });
      if (position === state.position) take(answer);
    } catch (error) {
      say(`The history cannot be read: ${error.message}`, "mrb-failed");
    }
  }

  function take({ entries, hidden, html, tags }) {
    tagged(tags);
    if (html === state.html) return;
    Object.assign(state, { entries, html });
    past.replaceChildren(mrbShell.fragment(html));
    if (state.dirty) refresh(); // what another window withdrew cannot be withdrawn here
    else load();
    if (!hidden) saved(state.position, reviewers(entries));
  }

  const replaced = (one) => `“${one.choice ? `${one.label}: ${shownAs(one.choice)}` : one.label}” on ${moment(one.created)}`;
  const reviewers = (entries) => [...new Set(entries.filter((one) => one.counts).map((one) => one.reviewer))];

  // Whether it is stored, and nothing was typed since.
  async function store(content) {
    if (state.busy) return false;
    const { position, caseId, version } = state;
    const superseded = mine()?.id ?? "";
    const id = content.verdict === "withdrawn" ? `withdrawal of ${superseded}` : state.id; // sent again, it is the same one
    const name = key();
    const here = () => name === key();
    const keepTyped = () => { if (!drafts.get(name) && content.verdict !== "withdrawn") drafts.set(name, { ...content, id }); };
    state.busy = true;
    save.disabled = true;
    say("Saving …");
    try {
      const answer = await within(ask("save", { ...content, position, case_id: caseId, version, adjudication_id: id, reviewer: who.name(), dimension: dimension.value, judge: judge.value, judge_in_view: state.scope.judge, supersedes: superseded }));
      saved(position, reviewers(answer.entries));
      if (answer.replaces) {
        keepTyped();
        if (position === state.position) take(answer);
        if (here()) say(`Not saved yet: in another window you stored ${replaced(answer.replaces)}. ${content.verdict === "withdrawn" ? "Withdraw" : "Save"} again to replace it.`, "mrb-unsaved");
        return false;
      }
      if (drafts.get(name)?.id === id) drafts.set(name);
      if (position !== state.position) return true;
      // What was typed while this was on its way is a draft of its own, and stays.
      state.dirty = Boolean(drafts.get(key()));
      take(answer);
      if (!here()) return true;
      if (state.dirty) refresh();
      else load();
      if (state.dirty) say("Saved. What you typed since is not saved yet.", "mrb-unsaved");
      else say(content.verdict === "withdrawn" ? "Withdrawn; your earlier entries stay in the history." : `Saved ${new Date().toLocaleTimeString()}.`, "mrb-kept");
      return !state.dirty;
    } catch (error) {
      keepTyped();
      say(here() ? `Not saved: ${error.message} What you wrote is still here; save again once it is fixed.` : `Case ${caseId} was not saved: ${error.message} What you wrote is kept there; go back and save again.`, "mrb-failed");
      return false;
    } finally {
      state.busy = false;
      save.disabled = false;
    }
  }

  function drawWho() {
    const open = Boolean(who.name()) && !about.store;
    form.hidden = !open;
    foot.hidden = !open;
    stranger.hidden = open || Boolean(about.store);
  }

  function signed() {
    drawWho();
    if (state.position !== null) load();
    history();
    begin();
  }

  function begin() {
    const first = root.querySelector('[data-field="verdict"]');
    if (who.name()) first.focus();
    else who.focus();
    if (who.name() && document.activeElement !== first) root.closest(".mrb-explorer").focus({ preventScroll: true }); // no case is in sight yet
  }

  form.addEventListener("input", (event) => {
    if (event.target === dimension || event.target === judge) load();
    else if (event.target.matches("[data-field]")) changed();
  });

  // A case is shown: its gold labels, and the judge and dimension that are looked for.
  function show(shown, query) {
    const scope = { dimension: query.dimension ?? usual, judge: query.judge ?? "" };
    if (JSON.stringify(scope) !== JSON.stringify(state.scope)) {
      dimension.value = scope.dimension;
      judge.value = scope.judge;
      state.scope = scope;
    }
    judge.options[0].disabled = Boolean(query.judge); // a review says whose verdict was in view
    Object.assign(state, { position: shown.position, caseId: shown.case_id, version: shown.version, gold: shown.gold, images: shown.images, entries: [], html: "" });
    caseName.textContent = shown.case_id;
    ofCase.hidden = false;
    past.replaceChildren();
    load();
    body.scrollTop = 0;
    return history();
  }

  function marked(one) {
    if (!open()) return;
    drawRegions([...state.regions, one]);
    changed();
    root.closest(".mrb-explorer").focus({ preventScroll: true }); // Enter saves again, and goes on
  }

  // Stays where it is until it is stored: what went wrong is said where it can be mended.
  async function saveAndNext() {
    const { position } = state;
    if (open() && (await store(typed())) && position === state.position) next();
  }

  const open = () => !form.hidden && !root.hidden && state.position !== null;

  function empty() {
    Object.assign(state, { position: null, caseId: "", version: "", entries: [], html: "" });
    ofCase.hidden = true;
    past.replaceChildren();
  }

  const unasked = (fields) => {
    if (fields.hidden) say("Choose the judge first: this is asked about one judge.", "mrb-unsaved");
    return fields.hidden;
  };

  function set(name, value) {
    const box = [...root.querySelectorAll(`[data-field="${name}"]`)].find((one) => one.value === value);
    const isQuestion = !["verdict", "choice"].includes(name);
    if (!box || box.disabled || (isQuestion && (unasked(box.closest("fieldset")) || (box.type === "radio" && box.checked)))) return;
    if (name === "choice" && !box.checked) root.querySelector('[data-field="verdict"][value="gold_wrong"]').checked = true;
    box.checked = box.type === "radio" || !box.checked;
    changed();
    (value === "gold_wrong" ? choices.querySelector("input:not(:disabled)") : box).focus();
  }

  function pick(number) {
    if (reasons && !unasked(reasons.set)) reasons.list.querySelectorAll("input")[number]?.click();
  }

  // What a key does while the form is open, or nothing: sides and options by letter, reasons by number with Shift.
  function action({ key: pressed, shiftKey, code }, onButton) {
    const letter = pressed.toUpperCase();
    if (shiftKey && /^Digit\d$/.test(code)) return () => pick((Number(code.at(-1)) + 9) % 10);
    if (/^[1-4]$/.test(pressed)) return () => set("verdict", KEYS[pressed - 1]);
    if (Object.hasOwn(sides, letter)) return () => set("choice", sides[letter]);
    if (lettered.has(letter)) return () => set(...lettered.get(letter));
    if (pressed === "Enter") return onButton ? undefined : saveAndNext;
    return { N: () => note.focus(), M: () => state.images && region(), S: () => store(typed()) }[letter];
  }

  drawWho();
  const refuse = () => say("That key was not taken: the case was about to change. Look, and press it again.", "mrb-unsaved");
  return { root, show, empty, refuse, history, signed, open, save: () => open() && store(typed()), action, marked, unsaved: () => drafts.places().map((place) => JSON.parse(place)) }; // of whom, about which case, dimension and judge
}
