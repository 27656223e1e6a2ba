// What was typed and is not stored yet: it outlives the page, not the tab.
function mrbDrafts(benchmark) {
  const name = `mrb-drafts:${benchmark}`;
  const kept = new Map(Object.entries(JSON.parse(mrbShell.recall("sessionStorage", name) || "{}")));
  const write = () => mrbShell.keep("sessionStorage", name, JSON.stringify(Object.fromEntries(kept)));
  return {
    of: (key) => kept.get(key),
    keep(key, typed) {
      kept.set(key, typed);
      write();
    },
    forget(key) {
      if (kept.delete(key)) write();
    },
  };
}

// The adjudications of a case, the newest first. Each text of the data keeps its direction to itself.
const mrbHistory = (() => {
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
    return entries.length ? entries.map(entry) : [element("li", { class: "mrb-past" }, "Nobody has reviewed this case yet.")];
  }

  return { items };
})();

// The review of a case: sign-in, the form, and the history. What was typed outlives a failure.
const mrbForm = (() => {
  const KEYS = ["gold_right", "gold_wrong", "ambiguous", "image_unusable"];
  const PATIENCE = 20000;

  function fresh() {
    const bytes = crypto.getRandomValues(new Uint8Array(16));
    return [...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join("");
  }

  const within = (promise) =>
    Promise.race([promise, new Promise((_, reject) => setTimeout(() => reject(new Error("the server does not answer; check that it runs")), PATIENCE))]);

  const spoken = (value) => value.replaceAll("_", " ");

  // `ask` as of mrbShell.connect; `about` is the initial state; `signed(name)` and `saved(position, names)` are told.
  function make({ ask, about, signed, saved }) {
    const { element } = mrbShell;
    const drafts = mrbDrafts(about.name);
    const state = { position: null, caseId: "", entries: [], gold: {}, reviewer: "", id: fresh(), dirty: false, scope: { dimension: "", judge: "" } };
    const usual = about.dimensions.includes("overall") ? "overall" : (about.dimensions.at(-1) ?? "");
    let reasons = about.reasons;

    const status = element("p", { class: "mrb-saved", role: "status", "aria-live": "polite" });
    const trouble = element("div", { class: "mrb-trouble", role: "alert" });
    const who = element("div", { class: "mrb-who" });
    const gold = element("p", { class: "mrb-gold-line" });
    const field = (label, control) => element("label", { class: "mrb-filter" }, element("span", {}, label), control);
    const options = (values, any) => [element("option", { value: "" }, any), ...values.map((value) => element("option", { value }, spoken(value)))];
    const dimension = element("select", { "data-field": "dimension" }, ...options(about.dimensions, "every dimension"));
    const judge = element("select", { "data-field": "judge" }, ...options(about.judges, "no judge in particular"));
    const radio = (group, value, words, key) =>
      element("label", { class: "mrb-choose" }, element("input", { type: "radio", name: `${group}-${state.id}`, value, "data-field": group }), element("span", {}, words), key ? element("kbd", { "aria-hidden": "true" }, key) : null);
    const verdicts = element("fieldset", { class: "mrb-verdict" }, element("legend", {}, "Is the gold label right?"), ...KEYS.map((value, i) => radio("verdict", value, about.labels[value], String(i + 1))));
    const choices = element("fieldset", { class: "mrb-right-choice", hidden: true }, element("legend", {}, "The right choice is response"), ...["A", "B", "tie"].map((value) => radio("choice", value, value === "tie" ? "tie" : value)));
    const list = element("div", { class: "mrb-reasons" });
    const edit = element("button", { type: "button", class: "mrb-quiet" }, "Edit the list");
    const why = element("fieldset", {}, element("legend", {}, "Why did the judge fail?"), list, edit);
    const note = element("textarea", { rows: "3", "data-field": "note", "aria-keyshortcuts": "N" });
    const save = element("button", { type: "button", class: "mrb-first mrb-save", "aria-keyshortcuts": "S" }, "Save");
    const withdraw = element("button", { type: "button" }, "Withdraw");
    const form = element("div", { class: "mrb-form" }, element("div", { class: "mrb-scope" }, field("About", dimension), field("Judge", judge)), gold, verdicts, choices, why, field("Note", note), element("div", { class: "mrb-actions" }, save, withdraw), status);
    const past = element("ol", { class: "mrb-history" });
    const heading = (words) => element("h2", {}, words);
    const root = element("section", { class: "mrb-review", "aria-label": "Your review" }, heading("Your review"), trouble, who, form, heading("History"), past);

    const key = () => JSON.stringify([state.reviewer, state.caseId, dimension.value, judge.value]);
    const checked = (group) => root.querySelector(`[data-field="${group}"]:checked`)?.value ?? "";
    const typed = () => ({ verdict: checked("verdict"), choice: checked("verdict") === "gold_wrong" ? checked("choice") : "", reasons: [...list.querySelectorAll("input:checked")].map((one) => one.value), note: note.value });
    const mine = () => state.entries.find((one) => one.reviewer === state.reviewer && one.counts && (one.dimension ?? "") === dimension.value && (one.judge ?? "") === judge.value);

    function say(words, kind = "") {
      status.className = `mrb-saved ${kind}`;
      status.textContent = words;
    }

    function drawReasons(chosen) {
      const all = [...new Set([...reasons, ...chosen])];
      list.replaceChildren(...all.map((name) => {
        const box = element("input", { type: "checkbox", value: name, "data-field": "reason" });
        box.checked = chosen.includes(name);
        return element("label", { dir: "auto" }, box, element("span", {}, name));
      }));
    }

    function fillIn(content) {
      for (const box of root.querySelectorAll('[data-field="verdict"]')) box.checked = box.value === content.verdict;
      for (const box of root.querySelectorAll('[data-field="choice"]')) box.checked = box.value === (content.choice ?? "");
      drawReasons(content.reasons ?? []);
      note.value = content.note ?? "";
      refresh();
    }

    function refresh() {
      const label = state.gold[dimension.value];
      gold.textContent = dimension.value ? `Gold on ${spoken(dimension.value)}: ${label ?? "no label"}` : "About the gold labels of all dimensions at once";
      choices.hidden = checked("verdict") !== "gold_wrong";
      for (const box of choices.querySelectorAll("input")) box.disabled = Boolean(dimension.value) && box.value === label;
      withdraw.hidden = !mine();
      save.textContent = mine() ? "Save correction" : "Save";
    }

    // The form for the scope chosen: what was typed and not stored, or else what was stored.
    function load() {
      const draft = drafts.of(key());
      const stored = mine();
      state.dirty = Boolean(draft);
      state.id = draft?.id ?? fresh();
      fillIn(draft ?? stored ?? {});
      if (draft) say("Not saved yet: this is what you typed before.", "mrb-unsaved");
      else say(stored ? `Stored ${stored.created.replace("T", " ").slice(0, 16)} UTC. Change it and save to correct it.` : "");
    }

    function changed() {
      state.id = fresh();
      state.dirty = true;
      drafts.keep(key(), { ...typed(), id: state.id });
      say("Not saved yet.", "mrb-unsaved");
      refresh();
    }

    function drawHistory() {
      past.replaceChildren(...mrbHistory.items(state.entries));
    }

    async function history() {
      const { position } = state;
      if (about.store || position === null) return;
      try {
        const answer = await ask("history", { position });
        if (position === state.position) take(answer.entries);
      } catch (error) {
        say(`The history cannot be read: ${error.message}`, "mrb-failed");
      }
    }

    function take(entries) {
      const before = JSON.stringify(state.entries);
      if (JSON.stringify(entries) === before) return;
      state.entries = entries;
      drawHistory();
      if (!state.dirty) load();
      saved(state.position, reviewers(entries));
    }

    const reviewers = (entries) => [...new Set(entries.filter((one) => one.counts).map((one) => one.reviewer))];

    async function store(content) {
      if (state.busy) return;
      const { position, caseId, id } = state;
      const name = key();
      const here = () => name === key();
      state.busy = true;
      save.disabled = true;
      say("Saving …");
      try {
        const answer = await within(ask("save", { ...content, position, id, reviewer: state.reviewer, dimension: dimension.value, judge: judge.value, supersedes: mine()?.id ?? "" }));
        saved(position, reviewers(answer.entries));
        if (drafts.of(name)?.id === id) drafts.forget(name);
        if (position !== state.position) return;
        // What was typed while this was on its way is a draft of its own, and stays.
        state.dirty = Boolean(drafts.of(key()));
        take(answer.entries);
        if (!here()) return;
        if (state.dirty) refresh();
        else load();
        if (state.dirty) say("Saved. What you typed since is not saved yet.", "mrb-unsaved");
        else say(content.verdict === "withdrawn" ? "Withdrawn; your earlier entries stay in the history." : `Saved ${new Date().toLocaleTimeString()}.`, "mrb-kept");
      } catch (error) {
        if (!drafts.of(name) && content.verdict !== "withdrawn") drafts.keep(name, { ...content, id });
        if (here()) say(`Not saved: ${error.message} What you wrote is still here; save again once it is fixed.`, "mrb-failed");
        else say(`Case ${caseId} was not saved: ${error.message} What you wrote is kept there; go back and save again.`, "mrb-failed");
      } finally {
        state.busy = false;
        save.disabled = false;
      }
    }

    function drawWho() {
      const open = Boolean(state.reviewer) && !about.store;
      form.hidden = !open;
      who.hidden = Boolean(about.store);
      if (state.reviewer) {
        const change = element("button", { type: "button", class: "mrb-quiet" }, "Sign out");
        change.addEventListener("click", () => sign(""));
        who.replaceChildren(element("p", {}, "Signed in as ", element("b", { dir: "auto" }, state.reviewer), " ", change));
        return;
      }
      const name = element("input", { type: "text", autocomplete: "name", maxlength: "255", value: about.reviewer });
      const enter = element("button", { type: "submit", class: "mrb-first" }, "Sign in");
      const sheet = element("form", { class: "mrb-sign" }, field("Your name", name), enter);
      sheet.addEventListener("submit", (event) => {
        event.preventDefault();
        if (name.value.trim()) sign(name.value.trim());
        else name.focus();
      });
      who.replaceChildren(sheet, element("p", { class: "mrb-hint" }, "A name, not a password: it is stored with your review, and nobody checks it. What protects this page is its address."));
    }

    function sign(name) {
      state.reviewer = name;
      mrbShell.keep("localStorage", "mrb-reviewer", name);
      drawWho();
      if (state.position !== null) load();
      signed(name);
      (name ? root.querySelector('[data-field="verdict"]') : who.querySelector("input"))?.focus();
    }

    function drawTrouble() {
      trouble.hidden = !about.store;
      if (!about.store) return;
      const again = about.again ? element("button", { type: "button" }, "Try again") : null;
      again?.addEventListener("click", () => reopen(again));
      trouble.replaceChildren(element("p", {}, element("b", {}, "Nothing can be stored. "), about.store), ...(again ? [again] : []));
    }

    async function reopen(again) {
      again.disabled = true;
      try {
        Object.assign(about, await within(ask("store")));
      } catch (error) {
        about.store = error.message;
      }
      reasons = about.reasons;
      drawTrouble();
      drawWho();
      if (about.store) trouble.querySelector("button")?.focus();
      else if (state.position !== null) {
        load();
        history();
        (state.reviewer ? root.querySelector('[data-field="verdict"]') : who.querySelector("input"))?.focus();
      }
    }

    edit.addEventListener("click", () => {
      const area = element("textarea", { rows: String(reasons.length + 2), "aria-label": "Reasons, one a line" });
      area.value = reasons.join("\n");
      const keep = element("button", { type: "button" }, "Save the list");
      const leave = element("button", { type: "button", class: "mrb-quiet" }, "Cancel");
      const sheet = element("div", { class: "mrb-edit" }, field("One reason a line; everybody sees the new list", area), element("div", { class: "mrb-actions" }, keep, leave));
      const end = () => {
        sheet.remove();
        edit.hidden = false;
        edit.focus();
      };
      leave.addEventListener("click", end);
      keep.addEventListener("click", async () => {
        try {
          const chosen = typed().reasons;
          reasons = (await within(ask("reasons", { names: area.value.split("\n").map((line) => line.trim()).filter(Boolean) }))).reasons;
          drawReasons(chosen);
          say("The list of reasons is stored.", "mrb-kept");
          end();
        } catch (error) {
          say(`The list is not stored: ${error.message}`, "mrb-failed");
        }
      });
      edit.hidden = true;
      edit.after(sheet);
      area.focus();
    });
    form.addEventListener("input", (event) => {
      if (event.target === dimension || event.target === judge) load();
      else if (event.target.matches("[data-field]")) changed();
    });
    save.addEventListener("click", () => store(typed()));
    withdraw.addEventListener("click", () => store({ verdict: "withdrawn", choice: "", reasons: [], note: "" }));

    // A case is shown: its gold labels, and the judge and dimension that are looked for.
    function show(shown, query) {
      const scope = { dimension: query.dimension ?? usual, judge: query.judge ?? "" };
      if (JSON.stringify(scope) !== JSON.stringify(state.scope)) {
        dimension.value = scope.dimension;
        judge.value = scope.judge;
        state.scope = scope;
      }
      Object.assign(state, { position: shown.position, caseId: shown.case_id, gold: shown.gold, entries: [] });
      drawHistory();
      load();
      return history();
    }

    function choose(number) {
      if (form.hidden || root.hidden) return;
      const box = root.querySelector(`[data-field="verdict"][value="${KEYS[number - 1]}"]`);
      box.checked = true;
      changed();
      (number === 2 ? choices.querySelector("input:not(:disabled)") : box).focus();
    }

    state.reviewer = mrbShell.recall("localStorage", "mrb-reviewer");
    drawTrouble();
    drawWho();
    return { root, show, choose, history, reviewer: () => state.reviewer, save: () => !form.hidden && !root.hidden && store(typed()), note: () => !form.hidden && note.focus() };
  }

  return { make };
})();
