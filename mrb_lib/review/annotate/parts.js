// The parts of the annotator's page: they show what the page holds, and tell it what was done.
const mrbAnnotate = (() => {
  const { button, element, human, isolated, key } = mrbShell;
  const MOST_AT_HAND = 8; // rows that stay in sight where the case scrolls

  const trouble = (error) => element("main", { class: "mrb-door" }, element("p", { class: "mrb-alert", role: "alert" }, error.message));

  // Seconds that a case was in sight since it was painted, or since the last answer there; a hidden page is not looked at.
  function stopwatch(signal) {
    let sum = 0;
    let since = null; // it stands still
    let runs = false;
    const tally = () => {
      const now = performance.now();
      if (since !== null) sum += now - since;
      since = runs && document.visibilityState === "visible" ? now : null;
      return sum / 1000;
    };
    const lap = () => {
      const seconds = runs ? tally() : null;
      sum = 0;
      return seconds;
    };
    const run = (on) => {
      runs = on;
      tally();
      sum = 0;
    };
    document.addEventListener("visibilitychange", tally, { signal });
    return { lap, run };
  }

  function described({ name, hint }, whole) {
    const words = [element("bdi", { class: "mrb-category", dir: "auto" }, name)];
    if (whole && hint) words.push(element("small", { dir: "auto" }, hint));
    return element("span", { class: "mrb-described" }, ...words);
  }

  const single = ({ listed, dimensions }) => Boolean(listed) && dimensions.filter(({ labels }) => !labels).length === 1;

  // What the categories mean, once for all dimensions; with one of these it stands beside each category.
  function meanings(page) {
    const told = page.about.picks.filter(({ hint }) => hint);
    if (!page.about.listed || single(page.about) || !told.length) return null;
    const each = told.map(({ name, hint }) => element("div", {}, element("dt", {}, isolated(name)), element("dd", { dir: "auto" }, hint)));
    return element("details", { class: "mrb-legend-of", open: true }, element("summary", {}, "What the categories mean"), element("dl", { tabindex: "0" }, ...each));
  }

  function row(page, dimension, index) {
    const { hint } = dimension;
    const name = human(dimension.shown);
    const label = `${page.prefix}-${index}`;
    const { listed } = page.about;
    const whole = single(page.about) || Boolean(dimension.labels);
    const several = Boolean(dimension.labels);
    const inputs = {};
    const pick = (one) => {
      // Not on "change": arrow keys, Space, mouse and touch all click, and only a pointer (detail) goes on to the next row.
      const onclick = ({ detail }) => (several ? page.toggle(index, one.pick) : page.choose(index, one.pick, detail > 0));
      const words = listed ? [one.key ? key(one.key) : null, described(one, whole)] : [one.name, one.name === one.key ? null : key(one.key)];
      inputs[one.pick] = element("input", { type: several ? "checkbox" : "radio", name: label, value: one.pick, class: "mrb-out-of-sight", onclick });
      return element("label", { class: "mrb-pick" }, inputs[one.pick], element("span", {}, ...words));
    };
    const group = element("div", { class: listed ? "mrb-choices mrb-listed" : "mrb-choices", role: several ? "group" : "radiogroup", "aria-labelledby": label }, ...(dimension.labels ?? page.about.picks).map(pick));
    const state = element("span", { class: "mrb-state" });
    const head = element("div", { class: "mrb-row-head" }, page.numbered ? key(String(index + 1)) : dimension.key ? key(dimension.key) : null, element("span", { class: "mrb-name", id: label }, isolated(name)), state);
    const made = element("div", { class: "mrb-row", onfocusin: () => page.look(index) }, head, several ? element("p", { class: "mrb-hint" }, "Several may apply.") : null, group);
    let meaning = null;
    if (hint) {
      const about = element("p", { class: "mrb-hint", id: `${label}-hint`, hidden: !whole, dir: "auto" }, /[.?!]$/.test(hint) ? human(hint) : `${human(hint)}.`);
      meaning = button("?", () => {
        about.hidden = !about.hidden;
        meaning.setAttribute("aria-expanded", String(!about.hidden));
      }, { class: "mrb-ask", "aria-expanded": String(whole), "aria-controls": about.id, "aria-label": `what ${name} means`, title: "what it means" });
      head.append(meaning);
      head.after(about);
    }
    return { made, inputs, state, meaning };
  }

  function paintRow(page, index) {
    const { made, inputs, state } = page.rows[index];
    const given = page.answers[index];
    const { name } = page.about.dimensions[index];
    const stored = given === page.saved[index];
    made.classList.toggle("mrb-now", index === page.at);
    made.classList.toggle("mrb-answered", Boolean(given.pick) && stored);
    const chosen = chosenOf(page, index, given.pick);
    for (const [pick, input] of Object.entries(inputs)) input.checked = chosen.some((one) => one.pick === pick);
    const open = given.skipped ? "skipped" : index === page.at ? "◂ now" : "open";
    const waits = page.pending.get(page.placeOf(name)) ? "saving …" : "not saved yet";
    state.textContent = !stored ? waits : given.pick ? "✓ saved" : open;
  }

  // Several labels of a dimension, or one of the picks.
  function chosenOf({ about }, index, pick = "") {
    const { labels } = about.dimensions[index];
    return labels ? labels.filter((one) => pick.split("; ").includes(one.pick)) : about.picks.filter((one) => one.pick === pick);
  }

  const said = (page, index, pick) => chosenOf(page, index, pick).map((one) => one.said ?? one.name).join(", ");

  function panel(page) {
    page.rows = page.about.dimensions.map((dimension, index) => row(page, dimension, index));
    page.why = element("p", { class: "mrb-hint", dir: "auto" });
    page.status = element("p", { class: "mrb-saved", role: "status", "aria-live": "polite" });
    page.alert = element("p", { class: "mrb-alert", role: "alert", hidden: true });
    page.forward = button(["Next case ", key("↵")], () => page.forwards(), { class: "mrb-forward" });
    const long = page.about.listed || page.rows.length > MOST_AT_HAND;
    return element("aside", { class: long ? "mrb-panel mrb-long" : "mrb-panel", "aria-label": "your answers" },
      element("h2", {}, page.about.heading),
      page.why,
      element("div", { class: "mrb-rows" }, meanings(page), ...page.rows.map(({ made }) => made), page.remarks.box),
      element("div", { class: "mrb-foot" },
        page.alert,
        element("div", { class: "mrb-steps" }, button(["Skip… ", key("X")], () => page.askSkip()), page.remarks.toggle, page.forward),
        page.status),
    );
  }

  function bar(page) {
    const { shown } = page.about.annotators.find(({ name }) => name === page.me) ?? { shown: page.me };
    page.count = element("span", { class: "mrb-done" });
    page.backwards = button(["Back ", key("K")], () => page.step(-1));
    page.onwards = button(["Forward ", key("J")], () => page.step(1));
    page.place = element("input", { type: "number", min: 1, max: page.cases.length, required: true, "aria-keyshortcuts": "G" });
    const go = (event) => {
      event.preventDefault();
      page.show({ number: page.place.valueAsNumber });
    };
    return element("header", { class: "mrb-bar" },
      element("h1", { class: "mrb-what" }, isolated(page.about.benchmark)), mark(page.about),
      element("div", { class: "mrb-far" }, page.count, page.backwards, page.onwards),
      element("form", { class: "mrb-go-to", onsubmit: go }, element("label", {}, "Case number ", key("G"), " ", page.place), element("button", { type: "submit" }, "Go")),
      element("p", { class: "mrb-me" }, page.about.signed, " ", element("b", {}, isolated(shown)), " ", button("Not you?", () => page.door())),
    );
  }

  function counts(page) {
    const of = (state) => page.cases.filter((one) => one === state).length;
    return { total: page.cases.length, done: of("done"), skipped: of("skipped"), open: of("open") };
  }

  function paintBar(page) {
    const { total, done, skipped } = counts(page);
    page.count.textContent = `${done} of ${total} done${skipped ? `, ${skipped} skipped` : ""}`;
    page.backwards.disabled = page.number === 1;
    page.onwards.disabled = page.number === total;
  }

  const mark = ({ simulated }) => (simulated ? element("span", { class: "mrb-simulated" }, "SIMULATED data") : null);

  function notice({ about }, title, ...children) {
    const lead = element("p", { class: "mrb-lead" }, isolated(about.benchmark), mark(about));
    return element("main", { class: "mrb-door" }, element("h1", { tabindex: "-1" }, title), lead, ...children);
  }

  function finished(page) {
    const skipped = page.cases.flatMap((state, at) => (state === "skipped" ? [at + 1] : []));
    const unsaved = page.words.all().filter(({ me }) => me === page.me).map(({ number }) => number);
    const again = (number) => button(`Case ${number}`, () => page.show({ number }));
    return notice(page, "That was all. Thank you.",
      element("p", {}, `Cases answered: ${counts(page).done}${skipped.length ? ` · skipped: ${skipped.length}` : ""}. Everything is saved; you may close the page.`),
      skipped.length ? element("h2", {}, "Skipped cases, if you want to look again") : null,
      skipped.length ? element("div", { class: "mrb-people" }, ...skipped.map(again)) : null,
      unsaved.length ? element("h2", {}, "Cases with a comment that is not saved yet") : null,
      unsaved.length ? element("div", { class: "mrb-people" }, ...unsaved.map(again)) : null,
      element("p", {}, button("Back to the last case", () => page.show({ number: page.cases.length }))),
    );
  }

  function skipping(page) {
    const why = `${page.prefix}-why`;
    const reasons = page.about.reasons.map((value) => element("label", {}, element("input", { type: "radio", name: `${page.prefix}-reason`, value }), value));
    const words = element("textarea", { rows: 2, maxlength: 1900, id: `${page.prefix}-words` });
    const wrong = element("p", { class: "mrb-alert", role: "alert", hidden: true });
    const go = async (event) => {
      event.preventDefault();
      const picked = sheet.querySelector("input:checked")?.value ?? "";
      const reason = [picked === page.about.reasons.at(-1) ? "" : picked, words.value.trim()].filter(Boolean).join(": ");
      try {
        await page.skip(reason, () => dialog.close());
      } catch (error) {
        wrong.textContent = error.message;
        wrong.hidden = false;
      }
    };
    // JupyterLab keeps Enter from a form.
    const onkeydown = (event) => event.key === "Enter" && (event.target.matches("input") || event.ctrlKey || event.metaKey) && go(event);
    const sheet = element("form", { onkeydown },
      element("h2", { id: why }, "Why do you skip this case?"),
      element("p", { class: "mrb-quiet" }, "Your answers stay. Whatever has none is marked as skipped; you can answer it later."),
      element("div", { class: "mrb-reasons", role: "radiogroup", "aria-labelledby": why }, ...reasons),
      element("label", { for: words.id }, "In your words (optional with a reason above)"), words, wrong,
      element("div", { class: "mrb-steps" }, button("Do not skip", () => dialog.close()), button("Skip the case", go, { class: "mrb-first" })),
    );
    const dialog = element("dialog", { class: "mrb-skip", "aria-labelledby": why }, sheet);
    return { dialog, open() {
      wrong.hidden = true;
      sheet.reset();
      dialog.showModal();
      reasons[0].firstChild.focus();
    } };
  }

  return { trouble, stopwatch, panel, paintRow, said, bar, counts, paintBar, notice, finished, skipping };
})();
