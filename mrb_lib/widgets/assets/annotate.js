// The annotator's page. It knows a first and a second answer; which is A and which is B only Python knows.
const mrbAnnotate = (() => {
  const { element } = mrbShell;

  const kept = (name) => {
    try {
      return window.sessionStorage.getItem(name) || "";
    } catch {
      return "";
    }
  };
  const keep = (name, value) => {
    try {
      window.sessionStorage.setItem(name, value);
    } catch {
      // A browser that keeps nothing asks for the name again.
    }
  };

  const button = (text, does, attributes = {}) => {
    const made = element("button", { type: "button", ...attributes });
    made.append(...(Array.isArray(text) ? text : [text]));
    made.addEventListener("click", does);
    return made;
  };
  const key = (name) => element("kbd", { "aria-hidden": "true" }, name);
  const plural = (n, one) => `${n} ${one}${n === 1 ? "" : "s"}`;
  const human = (name) => name.charAt(0).toUpperCase() + name.slice(1).replaceAll("_", " ");

  // Who one is: chosen from those who have cases.
  function signIn(page) {
    const { about } = page;
    const people = about.annotators.map(({ name, shown }) => button(element("bdi", { dir: "auto" }, shown), () => page.enter(name), { class: "mrb-person" }));
    const none = "No cases have been assigned yet. Whoever coordinates the annotation does so with: mrb annotate BENCH --annotators NAME,NAME";
    const lead = `For each case you will see a question with its images and two answers, and say on ${plural(about.dimensions.length, "dimension")} which answer is better. Who wrote them is not shown. Every choice is saved at once; stop whenever you like.`;
    return element("main", { class: "mrb-door" },
      element("h1", {}, "Annotation"),
      element("p", { class: "mrb-lead" }, element("bdi", { dir: "auto" }, about.benchmark), page.mark()),
      element("p", {}, people.length ? lead : none),
      people.length ? element("h2", { id: "mrb-who" }, "Who are you?") : null,
      people.length ? element("div", { class: "mrb-people", role: "group", "aria-labelledby": "mrb-who" }, ...people) : null,
      people.length ? element("p", { class: "mrb-quiet" }, "Choose your own name only: it is not checked. Is yours missing? Then nothing is assigned to you yet; ask whoever coordinates the annotation.") : null,
    );
  }

  // One dimension: a group of choices, and where the annotator is.
  function row(page, dimension, index) {
    const { hint } = dimension;
    const name = human(dimension.shown);
    const label = `${page.prefix}-${index}`;
    const group = element("div", { class: "mrb-choices", role: "radiogroup", "aria-labelledby": label });
    const inputs = {};
    for (const one of page.about.picks) {
      const input = element("input", { type: "radio", name: label, value: one.pick, class: "mrb-out-of-sight" });
      input.addEventListener("change", () => page.choose(index, one.pick, false));
      input.addEventListener("click", (event) => { if (event.detail) page.advance(index); });
      group.append(element("label", { class: "mrb-pick" }, input, element("span", {}, one.name, key(one.key))));
      inputs[one.pick] = input;
    }
    const state = element("span", { class: "mrb-state" });
    const head = element("div", { class: "mrb-row-head" }, key(String(index + 1)), element("span", { class: "mrb-name", id: label }, element("bdi", { dir: "auto" }, name)), state);
    const made = element("div", { class: "mrb-row" }, head, group);
    let meaning = null;
    if (hint) {
      const about = element("p", { class: "mrb-hint", id: `${label}-hint`, hidden: true, dir: "auto" }, human(hint) + ".");
      meaning = button("?", () => {
        about.hidden = !about.hidden;
        meaning.setAttribute("aria-expanded", String(!about.hidden));
      }, { class: "mrb-ask", "aria-expanded": "false", "aria-controls": about.id, "aria-label": `what ${name} means`, title: "what it means" });
      head.append(meaning);
      group.before(about);
    }
    made.addEventListener("focusin", () => page.look(index));
    return { made, inputs, state, meaning };
  }

  function paintRow(page, index) {
    const { made, inputs, state } = page.rows[index];
    const given = page.answers[index];
    made.classList.toggle("mrb-now", index === page.at);
    made.classList.toggle("mrb-answered", Boolean(given.pick));
    for (const [pick, input] of Object.entries(inputs)) input.checked = given.pick === pick;
    state.textContent = given.pick ? "✓ done" : given.skipped ? "skipped" : index === page.at ? "◂ now" : "open";
  }

  // What the annotator does next, in one sentence.
  function next(page) {
    const left = page.left();
    const of = page.about.dimensions.length;
    if (left.length === of) return `${plural(of, "dimension")} to answer`;
    if (left.length) return `${left.length} of ${of} still open`;
    const what = page.answers.some((given) => given.skipped) ? "Skipped" : "All answered";
    return `${what} – press Enter ${page.progress.open ? "for the next case" : "to finish"}`;
  }

  function whySkipped(page) {
    const reasons = [...new Set(page.answers.map((given) => given.skipped).filter(Boolean))];
    return reasons.length ? `Skipped: ${reasons.join("; ")}` : "";
  }

  function panel(page) {
    page.rows = page.about.dimensions.map((dimension, index) => row(page, dimension, index));
    page.nextLine = element("p", { class: "mrb-next" });
    page.why = element("p", { class: "mrb-hint", dir: "auto" });
    page.status = element("p", { class: "mrb-saved", role: "status", "aria-live": "polite" });
    page.alert = element("p", { class: "mrb-alert", role: "alert", hidden: true });
    page.forward = button(["Next case ", key("Enter")], () => page.forwards(), { class: "mrb-forward" });
    const digits = Math.min(page.about.dimensions.length, 9);
    const picks = page.about.picks.map((one) => [one.key, one.name.toLowerCase()]);
    const all = [...picks, [digits > 1 ? `1–${digits}` : "1", "dimension"], ...(page.about.dimensions.some(({ hint }) => hint) ? [["?", "its meaning"]] : []), ["N", "later"]];
    const keys = all.map(([name, words]) => element("span", {}, key(name), ` ${words}`));
    return element("aside", { class: "mrb-panel", "aria-label": "your answers" },
      element("h2", {}, "Which answer is better?"),
      page.nextLine,
      page.why,
      element("div", { class: "mrb-rows" }, ...page.rows.map(({ made }) => made)),
      page.alert,
      element("div", { class: "mrb-steps" },
        button(["Back ", key("P")], () => page.step(-1), { class: "mrb-back" }),
        button(["Skip… ", key("X")], () => page.askSkip()),
        page.forward),
      page.status,
      element("p", { class: "mrb-keys" }, ...keys),
    );
  }

  function bar(page) {
    page.meter = element("progress", { max: 1, value: 0, "aria-label": "cases done" });
    page.said = element("summary", { class: "mrb-done" });
    page.each = element("dl", { class: "mrb-each" });
    return element("header", { class: "mrb-bar" },
      element("p", { class: "mrb-what" }, element("bdi", { dir: "auto" }, page.about.benchmark), page.mark()),
      element("div", { class: "mrb-far" }, page.meter, element("details", {}, page.said, page.each)),
      element("p", { class: "mrb-me" }, "Annotating as ", element("b", {}, element("bdi", { dir: "auto" }, page.about.annotators.find(({ name }) => name === page.me)?.shown ?? page.me)), " ", button("Not you?", () => page.leave())),
    );
  }

  function paintBar(page) {
    const { total, done, skipped } = page.progress;
    page.meter.max = total;
    page.meter.value = done + skipped;
    page.said.textContent = `${done} of ${total} done${skipped ? ` · ${skipped} skipped` : ""}`;
    page.each.replaceChildren(...page.about.dimensions.map(({ shown }, index) => {
      const n = page.progress.dimensions[index];
      return element("div", {}, element("dt", {}, element("bdi", { dir: "auto" }, human(shown))), element("dd", {}, `${n} of ${total}`));
    }));
  }

  function finished(page) {
    const skipped = page.cases.flatMap((state, at) => (state === "skipped" ? [at + 1] : []));
    const again = (number) => button(`Case ${number}`, () => page.show({ number }));
    return element("main", { class: "mrb-door" },
      element("h1", { tabindex: "-1" }, "That was all. Thank you."),
      element("p", { class: "mrb-lead" }, element("bdi", { dir: "auto" }, page.about.benchmark), page.mark()),
      element("p", {}, `${plural(page.progress.done, "case")} answered${skipped.length ? `, ${skipped.length} skipped` : ""}. Everything is saved; you may close the page.`),
      skipped.length ? element("h2", {}, "Skipped cases, if you want to look again") : null,
      skipped.length ? element("div", { class: "mrb-people" }, ...skipped.map(again)) : null,
      element("p", {}, button("Back to the last case", () => page.show({ number: page.progress.total }))),
    );
  }

  function skipping(page) {
    const chosen = element("div", { class: "mrb-reasons", role: "radiogroup", "aria-labelledby": `${page.prefix}-why` });
    const words = element("textarea", { rows: 2, maxlength: 2000, id: `${page.prefix}-words` });
    for (const reason of page.about.reasons) {
      chosen.append(element("label", {}, element("input", { type: "radio", name: `${page.prefix}-reason`, value: reason }), reason));
    }
    const wrong = element("p", { class: "mrb-alert", role: "alert", hidden: true });
    const still = element("p", { class: "mrb-quiet" });
    const dialog = element("dialog", { class: "mrb-skip", "aria-labelledby": `${page.prefix}-why` });
    const go = async () => {
      const picked = chosen.querySelector("input:checked");
      const reason = [picked && picked.value !== page.about.reasons.at(-1) ? picked.value : "", words.value.trim()].filter(Boolean).join(": ");
      try {
        await page.skip(reason, () => dialog.close());
      } catch (error) {
        wrong.textContent = error.message;
        wrong.hidden = false;
      }
    };
    dialog.append(
      element("h2", { id: `${page.prefix}-why` }, "Why do you skip this case?"), still, chosen,
      element("label", { for: `${page.prefix}-words` }, "In your words (optional with a reason above)"), words, wrong,
      element("div", { class: "mrb-steps" }, button("Do not skip", () => dialog.close()), button("Skip the case", go, { class: "mrb-first" })),
    );
    return { dialog, open() {
      wrong.hidden = true;
      words.value = "";
      for (const input of chosen.querySelectorAll("input")) input.checked = false;
      const left = page.left().length;
      const given = page.about.dimensions.length - left;
      still.textContent = given ? `Your ${plural(given, "answer")} stay${given === 1 ? "s" : ""}; the other ${plural(left, "dimension")} will be marked as skipped.` : "All its dimensions will be marked as skipped. You can come back and answer later.";
      dialog.showModal();
      chosen.querySelector("input").focus();
    } };
  }

  return { kept, keep, button, signIn, panel, paintRow, next, whySkipped, bar, paintBar, finished, skipping, human, element };
})();

class MrbAnnotatePage {
  constructor(model, root) {
    this.line = mrbPersistent(model, { late: () => this.warn() });
    this.root = root;
    root.append(mrbShell.element("p", { class: "mrb-opening", role: "status" }, "Opening …"));
    this.prefix = `mrb-${Math.random().toString(36).slice(2)}`; // two pages in one notebook share no group of choices
    this.queue = Promise.resolve();
    this.answers = []; // as they are shown
    this.saved = []; // as Python has them
    this.at = 0;
    root.addEventListener("keydown", (event) => this.key(event));
  }

  async start() {
    this.about = await this.line.ask("hello");
    this.memory = `mrb-annotate:${this.about.benchmark}`;
    const linked = new URLSearchParams(window.location.hash.slice(1)).get("annotator");
    const me = linked || mrbAnnotate.kept(this.memory);
    if (me) await this.enter(me, Number(mrbAnnotate.kept(`${this.memory}:${me}`)) || 0);
    else this.door();
  }

  mark() {
    return this.about.simulated ? mrbShell.element("span", { class: "mrb-simulated" }, "SIMULATED data") : null;
  }

  replace(...children) {
    if (this.sheet) mrbCase.detach(this.sheet);
    this.sheet = null;
    this.root.replaceChildren(...children);
  }

  door() {
    this.me = "";
    this.replace(mrbAnnotate.signIn(this));
  }

  leave() {
    mrbAnnotate.keep(this.memory, "");
    this.door();
  }

  async enter(name, number = 0) {
    this.me = name;
    this.desk = null;
    mrbAnnotate.keep(this.memory, name);
    await this.show(number ? { number } : { after: 0 });
  }

  async show(where) {
    this.moving = true; // keys are for the case in view, and it is about to change
    try {
      await this.settled();
      const found = await this.line.ask("open", { annotator: this.me, ...where });
      if (found.nothing) return this.nothing(found.nothing);
      Object.assign(this, { progress: found.progress, cases: found.cases });
      if (found.finished) return this.end();
      return this.draw(found);
    } catch (error) {
      return this.fail(error);
    } finally {
      this.moving = false;
    }
  }

  nothing(words) {
    mrbAnnotate.keep(this.memory, "");
    this.desk = null;
    this.replace(mrbShell.element("main", { class: "mrb-door" }, mrbShell.element("h1", {}, "Nothing to do"), this.mark(), mrbShell.element("p", { role: "status" }, words), mrbAnnotate.button("Choose another name", () => this.door())));
  }

  end() {
    this.desk = null;
    mrbAnnotate.keep(`${this.memory}:${this.me}`, "");
    this.replace(mrbAnnotate.finished(this));
    this.root.querySelector("h1").focus();
  }

  draw(found) {
    Object.assign(this, { number: found.number, answers: found.answers, saved: [...found.answers] });
    mrbAnnotate.keep(`${this.memory}:${this.me}`, String(found.number));
    if (!this.desk) {
      const sheet = mrbShell.element("main", { class: "mrb-sheet" });
      this.skipBox = mrbAnnotate.skipping(this);
      this.desk = mrbShell.element("div", { class: "mrb-desk" }, sheet, mrbAnnotate.panel(this));
      this.replace(mrbAnnotate.bar(this), this.desk, this.skipBox.dialog);
      this.sheet = sheet;
    }
    this.root.querySelector(".mrb-bar details").open = false;
    mrbCase.detach(this.sheet);
    this.sheet.replaceChildren(mrbShell.fragment(found.html));
    mrbCase.attach(this.sheet);
    this.at = this.open() ?? 0;
    this.fine("");
    this.paint();
    this.root.scrollTop = 0;
    const title = this.sheet.querySelector("h2");
    title.focus({ preventScroll: true });
    title.scrollIntoView({ block: "nearest" });
  }

  paint() {
    mrbAnnotate.paintBar(this);
    this.rows.forEach((_, index) => mrbAnnotate.paintRow(this, index));
    this.nextLine.textContent = mrbAnnotate.next(this);
    this.why.textContent = mrbAnnotate.whySkipped(this);
    this.why.hidden = !this.why.textContent;
    this.nextLine.classList.toggle("mrb-complete", this.left().length === 0);
    this.forward.classList.toggle("mrb-first", this.left().length === 0);
    this.forward.firstChild.textContent = this.left().length === 0 && !this.progress.open ? "Finish " : "Next case ";
    this.root.querySelector(".mrb-back").disabled = this.number === 1;
  }

  has(index) {
    const given = this.answers[index];
    return Boolean(given.pick || given.skipped);
  }

  left() {
    return this.about.dimensions.map((_, index) => index).filter((index) => !this.has(index));
  }

  open(after = -1) {
    const left = this.left();
    return left.find((index) => index > after) ?? left[0];
  }

  look(index) {
    if (index === this.at) return;
    this.at = index;
    this.paint();
  }

  focus(index) {
    this.look(index);
    const { inputs } = this.rows[index];
    const target = Object.values(inputs).find((input) => input.checked) ?? Object.values(inputs)[0];
    target.focus();
  }

  advance(index) {
    const next = this.open(index);
    if (next === undefined) this.forward.focus();
    else this.focus(next);
  }

  choose(index, pick, onwards) {
    const { name, shown } = this.about.dimensions[index];
    const chosen = { pick };
    this.answers[index] = chosen;
    this.at = index;
    this.paint();
    if (onwards) this.advance(index);
    const { me, number } = this;
    this.fine("Saving …");
    // One after the other: a question that is asked again must not overtake a later one.
    this.queue = this.queue.then(() => this.line.ask("choose", { annotator: me, number, dimension: name, pick })).then(
      () => {
        if (this.me !== me || this.number !== number) return;
        this.count(index, this.saved[index]);
        this.saved[index] = chosen;
        const words = this.about.picks.find((one) => one.pick === pick).name.toLowerCase();
        this.fine(`Saved: ${mrbAnnotate.human(shown)}, ${words}`);
        this.paint();
      },
      (error) => {
        if (this.me !== me || this.number !== number) return;
        if (this.answers[index] === chosen) this.answers[index] = this.saved[index];
        this.paint();
        this.fail(new Error(`Not saved: ${error.message}`));
      },
    );
  }

  // What one saved choice changes in the progress; the next case brings it anew.
  count(index, before) {
    const { progress, cases } = this;
    if (!before.pick) progress.dimensions[index] += 1;
    const skipped = this.answers.some((given) => given.skipped);
    cases[this.number - 1] = this.left().length ? "open" : skipped ? "skipped" : "done";
    for (const state of ["done", "skipped", "open"]) progress[state] = cases.filter((one) => one === state).length;
  }

  async settled() {
    let last = null;
    while (last !== this.queue) {
      last = this.queue;
      await last;
    }
  }

  async skip(reason, done) {
    if (this.moving) return; // a second click: the case is about to change
    this.moving = true;
    try {
      await this.settled();
      await this.line.ask("skip", { annotator: this.me, number: this.number, reason });
    } catch (error) {
      this.moving = false;
      throw error;
    }
    done();
    await this.show({ after: this.number });
  }

  askSkip() {
    if (this.left().length === 0) this.fine("Nothing to skip: every dimension is answered. Press Enter for the next case.");
    else this.skipBox.open();
  }

  async forwards() {
    await this.settled();
    const left = this.left();
    if (left.length === 0) return this.show({ after: this.number });
    const names = left.map((index) => mrbAnnotate.human(this.about.dimensions[index].shown));
    this.fine(`Still open: ${names.join(", ")}. Answer, or skip with X.`);
    return this.focus(left[0]);
  }

  step(by) {
    const number = this.number + by;
    if (number >= 1 && number <= this.progress.total) this.show({ number });
  }

  fine(words) {
    this.alert.hidden = true;
    this.status.textContent = words;
  }

  warn() {
    if (!this.desk) {
      const opening = this.root.querySelector(".mrb-opening");
      if (opening) opening.textContent = "Opening … The server takes long to answer; this page keeps asking.";
      return;
    }
    this.alert.textContent = "The server does not answer, so nothing more is saved for now. Keep this page open: it tries again.";
    this.alert.hidden = false;
  }

  fail(error) {
    if (!this.desk) return this.replace(mrbShell.element("main", { class: "mrb-door" }, mrbShell.element("p", { class: "mrb-alert", role: "alert" }, error.message)));
    this.status.textContent = "";
    this.alert.textContent = error.message;
    this.alert.hidden = false;
    return undefined;
  }

  key(event) {
    if (!this.desk || this.moving || this.skipBox.dialog.open || mrbShell.typing(event) || event.repeat) return;
    const pressed = event.key.length === 1 ? event.key.toUpperCase() : event.key;
    const pick = this.about.picks.find((one) => one.key === pressed);
    const digit = Number(pressed) - 1;
    const inButton = event.target instanceof Element && event.target.closest("button, summary, a");
    if (pick) this.choose(this.at, pick.pick, true);
    else if (Number.isInteger(digit) && this.rows[digit]) this.focus(digit);
    else if (pressed === "Enter" && !inButton) this.forwards();
    else if (pressed === "X") this.askSkip();
    else if (pressed === "P") this.step(-1);
    else if (pressed === "N") this.step(1);
    else if (pressed === "?") this.rows[this.at].meaning?.click();
    else return;
    event.preventDefault();
    event.stopPropagation();
  }

  close() {
    if (this.sheet) mrbCase.detach(this.sheet);
    this.line.close();
  }
}

function render({ model, el }) {
  const root = mrbShell.element("div", { class: "mrb mrb-annotate", tabindex: -1, "aria-busy": "true", "data-lm-suppress-shortcuts": "true" });
  el.append(root);
  const page = new MrbAnnotatePage(model, root);
  page.start().catch((error) => page.fail(error)).finally(() => root.removeAttribute("aria-busy"));
  return () => {
    page.close();
    root.remove();
  };
}
