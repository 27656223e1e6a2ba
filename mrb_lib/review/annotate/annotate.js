// The annotator's page. It knows a first and a second answer; which is A and which is B only Python knows.
class MrbAnnotatePage {
  static KEYS = {
    X: (page) => page.askSkip(), W: ({ sheet }) => sheet.querySelector(".mrb-raw")?.click(), K: (page) => page.step(-1), P: (page) => page.step(-1),
    J: (page) => page.step(1), N: ({ remarks }) => remarks.open(), G: ({ place }) => place.select(), "?": ({ rows, at }) => rows[at].meaning?.click(),
  };

  constructor(line, root, about, addressed, signal) {
    Object.assign(this, { line, root, about, addressed });
    this.prefix = `mrb-${Math.random().toString(36).slice(2)}`; // two pages in one notebook share no group of choices
    this.numbered = !about.ranking && !about.picks.some(({ key }) => /^\d$/.test(key)); // digits choose a dimension, unless they are the picks
    this.queue = Promise.resolve();
    this.turn = 0; // of what was asked for last
    this.answers = []; // as they are shown
    this.saved = []; // as Python has them
    this.at = 0;
    this.memory = `mrb-annotate:${about.benchmark}`;
    this.pending = mrbShell.drafts(`answers:${about.benchmark}`); // by annotator, case and dimension
    this.words = mrbShell.drafts(`comments:${about.benchmark}`);
    this.watch = mrbAnnotate.stopwatch(signal);
    root.addEventListener("keydown", (event) => this.key(event), { signal });
    signal.addEventListener("abort", () => this.sheet && mrbCase.detach(this.sheet));
    window.addEventListener("popstate", ({ state }) => this.back(state), { signal });
    window.addEventListener("beforeunload", (event) => this.unsaved() && event.preventDefault(), { signal });
  }

  // Who annotates is the tab's: a link says it once.
  async start() {
    const here = new URLSearchParams(window.location.hash.slice(1));
    const linked = here.get("annotator");
    here.delete("annotator");
    if (linked && this.addressed) window.history.replaceState(window.history.state, "", `${window.location.pathname}${here.size ? `#${here}` : ""}`);
    const me = linked || mrbShell.recall(this.memory);
    if (me) await this.enter(me, Number(mrbShell.recall(`${this.memory}:${me}`)) || 0);
    else this.door();
  }

  replace(...children) {
    if (this.sheet) mrbCase.detach(this.sheet);
    Object.assign(this, { sheet: null, desk: null });
    this.root.replaceChildren(...children);
  }

  door() {
    this.turn += 1;
    Object.assign(this, { me: "", moving: false });
    mrbShell.keep(this.memory, "");
    this.replace(mrbShell.fragment(this.about.door));
    this.root.querySelectorAll(".mrb-person").forEach((one, at) => one.addEventListener("click", () => this.enter(this.about.annotators[at].name)));
  }

  async enter(name, number = 0) {
    this.me = name;
    this.desk = null;
    mrbShell.keep(this.memory, name);
    await this.show(number ? { number } : { after: 0 });
  }

  // A case is a step of the browser's history, so that its Back leads to the one before. Nobody becomes somebody else by it.
  remember(number) {
    const state = { annotator: this.me, number };
    if (this.addressed && JSON.stringify(window.history.state) !== JSON.stringify(state)) window.history.pushState(state, "");
  }

  back(state) {
    if (!this.me || state?.annotator !== this.me) this.door();
    else this.show(state.number ? { number: state.number } : { after: 0 });
  }

  // Keys and clicks are for the case in sight, and it is about to change. Who leaves last says when it has arrived.
  leaving() {
    this.moving = true;
    this.gate?.close();
    return (this.turn += 1);
  }

  arrived(turn, then) {
    if (turn !== this.turn) return;
    this.moving = false;
    this.gate?.open(then);
  }

  async show(where) {
    const turn = this.leaving();
    const late = () => turn !== this.turn;
    this.refused = false;
    let drawn = false;
    try {
      await this.settled();
      if (late() || this.refused) return undefined; // what was not saved is to be read first
      const found = await this.line.ask("open", { annotator: this.me, ...where });
      if (late()) return undefined;
      if (found.nothing) return this.nothing(found.nothing);
      this.cases = found.cases;
      if (found.finished) return this.end();
      this.draw(found);
      drawn = true;
      return undefined;
    } catch (error) {
      return late() ? undefined : this.fail(error);
    } finally {
      this.arrived(turn, () => {
        if (drawn) this.watch.run(true);
        if (drawn) this.sheet?.querySelector("h2").focus({ preventScroll: true });
      });
    }
  }

  nothing(words) {
    this.replace(mrbAnnotate.notice(this, "Nothing to do", mrbShell.element("p", { role: "status" }, words), mrbShell.button("Choose another name", () => this.door())));
  }

  end() {
    mrbShell.keep(`${this.memory}:${this.me}`, "");
    this.remember(0);
    this.replace(mrbAnnotate.finished(this));
    this.root.querySelector("h1").focus();
  }

  draw(found) {
    if (found.rows) this.turnTo(found);
    Object.assign(this, { number: found.number, shown: found.shown, answers: found.answers, saved: [...found.answers] });
    mrbShell.keep(`${this.memory}:${this.me}`, String(found.number));
    this.remember(found.number);
    if (!this.desk) this.lay();
    this.place.value = found.number;
    mrbCase.detach(this.sheet);
    this.sheet.replaceChildren(mrbShell.fragment(found.html));
    const about = { annotator: this.me, number: this.number, shown: this.shown };
    mrbCase.attach(this.sheet, (image, frame) => this.line.ask("image", { ...about, image, frame }));
    this.at = this.open() ?? 0;
    this.watch.run(false);
    this.remarks.draw(found.comments);
    for (const { name } of this.about.dimensions) {
      const given = this.pending.get(this.placeOf(name));
      if (given) this.again(given);
    }
    this.paint();
    this.rows[this.at].made.scrollIntoView({ block: "nearest" });
    window.scrollTo(0, 0);
    this.sheet.querySelector("h2").scrollIntoView({ block: "nearest" });
  }

  lay() {
    const sheet = mrbShell.element("main", { class: "mrb-sheet" });
    this.skipBox = mrbAnnotate.skipping(this);
    this.remarks = mrbComments(this);
    const desk = mrbShell.element("div", { class: "mrb-desk" }, sheet, mrbAnnotate.panel(this));
    this.replace(mrbAnnotate.bar(this), desk, this.skipBox.dialog);
    Object.assign(this, { desk, sheet, gate: mrbShell.gate(this.root, [desk]) });
    this.gate.close();
  }

  placeOf(dimension) {
    return JSON.stringify([this.me, this.shown, dimension]);
  }

  // The rows of a dimension: one, unless responses are ranked.
  rowsOf(dimension) {
    return this.about.dimensions.flatMap(({ name }, at) => (name === dimension ? [at] : []));
  }

  paint() {
    mrbAnnotate.paintBar(this);
    this.rows.forEach((_, index) => mrbAnnotate.paintRow(this, index));
    const reasons = [...new Set(this.answers.map((given) => given.skipped).filter(Boolean))];
    this.why.textContent = reasons.length ? `Skipped: ${reasons.join("; ")}` : "";
    this.why.hidden = !reasons.length;
    const whole = this.left().length === 0;
    this.forward.classList.toggle("mrb-first", whole);
    this.forward.firstChild.textContent = whole && !this.cases.some((state, at) => state === "open" && at !== this.number - 1) ? "Finish " : "Next case ";
  }

  left() {
    return this.answers.flatMap(({ pick, skipped }, index) => (pick || skipped ? [] : [index]));
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
    const inputs = Object.values(this.rows[index].inputs);
    (inputs.find((input) => input.checked) ?? inputs[0]).focus();
  }

  choose(index, pick, onwards) {
    const same = this.answers[index].pick === pick; // no answer, so that its time goes on to the next one
    this.put(index, pick);
    this.at = index;
    const given = this.given(index);
    if (given) this.store({ ...given, seconds: same ? null : this.watch.lap(), answer_id: mrbShell.fresh() });
    else this.fine(this.waiting(index));
    this.paint();
    const next = onwards ? this.open(index) : index;
    if (next === undefined) this.forward.focus();
    else if (onwards) this.focus(next);
  }

  // One of several labels: the last of them says that none applies.
  toggle(index, label) {
    const { labels } = this.about.dimensions[index];
    const none = labels.at(-1).pick;
    const on = new Set((this.answers[index].pick ?? "").split("; ")); // no label has a semicolon
    if (!on.delete(label)) on.add(label);
    const chosen = labels.map(({ pick }) => pick).filter((one) => one !== none && label !== none && on.has(one));
    this.choose(index, chosen.join("; ") || none, label === none);
  }

  put(index, pick) {
    this.answers[index] = { pick };
  }

  given(index) {
    return { dimension: this.about.dimensions[index].name, pick: this.answers[index].pick };
  }

  // What was on its way when the page was loaded again.
  again(given) {
    for (const index of this.rowsOf(given.dimension)) this.answers[index] = { pick: given.pick };
    this.store(given);
  }

  store(given) {
    const { me, number, shown } = this;
    const place = this.placeOf(given.dimension);
    const rows = this.rowsOf(given.dimension);
    const chosen = rows.map((row) => this.answers[row]);
    const settled = () => {
      if (this.pending.get(place)?.answer_id === given.answer_id) this.pending.set(place);
      return this.me === me && this.shown === shown && this.desk;
    };
    this.pending.set(place, given);
    this.fine("Saving …");
    // One after the other: a question that is asked again must not overtake a later one.
    this.queue = this.queue.then(() => this.line.ask("choose", { annotator: me, number, shown, ...given })).then(
      () => {
        if (!settled()) return;
        rows.forEach((row, at) => (this.saved[row] = chosen[at]));
        const skipped = this.saved.some((one) => one.skipped);
        this.cases[number - 1] = !this.saved.every((one) => one.pick || one.skipped) ? "open" : skipped ? "skipped" : "done";
        this.fine(`Saved: ${this.said(given)}`);
        this.paint();
      },
      (error) => {
        this.refused = true;
        if (!settled()) return;
        rows.forEach((row, at) => {
          if (this.answers[row] === chosen[at]) this.answers[row] = this.saved[row];
        });
        this.paint();
        this.fail(new Error(`Not saved: ${error.message}`));
      },
    );
  }

  said({ dimension, pick }) {
    const [index] = this.rowsOf(dimension);
    return `${mrbShell.human(this.about.dimensions[index].shown)}, ${mrbAnnotate.said(this, index, pick)}`;
  }

  unsaved() {
    return [this.pending, this.words].some((drafts) => drafts.all().length);
  }

  async settled() {
    for (let last; last !== this.queue; await last) last = this.queue;
  }

  async skip(reason, done) {
    if (this.moving) return; // a second click
    const { me, number, shown } = this;
    const seconds = this.watch.lap();
    const turn = this.leaving();
    try {
      await this.settled();
      await this.line.ask("skip", { annotator: me, number, shown, reason, seconds, answer_id: mrbShell.fresh() });
    } catch (error) {
      this.arrived(turn);
      throw error;
    }
    done();
    if (turn === this.turn) await this.show({ after: number });
  }

  // In its turn, so that no other case comes into sight before it is stored.
  remark(text, id) {
    const { me, number, shown } = this;
    const saved = this.queue.then(() => this.line.ask("comment", { annotator: me, number, shown, text, comment_id: id }));
    this.queue = saved.catch(() => {});
    return saved;
  }

  askSkip() {
    if (this.left().length === 0) this.fine("Nothing to skip: every dimension is answered. Press Enter for the next case.");
    else this.skipBox.open();
  }

  async forwards() {
    const turn = this.leaving();
    await this.settled();
    if (turn !== this.turn) return undefined;
    const left = this.left();
    if (left.length === 0 && this.remarks.unsaved()) {
      this.arrived(turn, () => this.remarks.open());
      return this.fine("Your comment is not saved yet: Ctrl + Enter saves it; empty it to go on without.");
    }
    if (left.length === 0) return this.show({ after: this.number });
    this.arrived(turn, () => this.focus(left[0]));
    const names = left.map((index) => mrbShell.human(this.about.dimensions[index].shown));
    return this.fine(`Still open: ${names.join(", ")}. Answer, or skip with X.`);
  }

  step(by) {
    const number = this.number + by;
    if (number >= 1 && number <= this.cases.length) this.show({ number });
  }

  fine(words) {
    this.alert.hidden = true;
    this.status.textContent = words;
  }

  fail(error) {
    if (!this.desk) return this.replace(mrbAnnotate.trouble(error));
    this.status.textContent = "";
    this.alert.textContent = error.message;
    this.alert.hidden = false;
    return undefined;
  }

  called() {
    return -1;
  }

  key(event) {
    if (event.key === "Escape" && event.target === this.place) this.sheet.querySelector("h2").focus();
    if (!this.desk || this.root.querySelector("dialog[open]") || mrbShell.typing(event) || event.repeat) return;
    const pressed = event.key.length === 1 ? event.key.toUpperCase() : event.key;
    if (this.moving || (this.gate.stale(event) && !"JKP".includes(pressed))) {
      this.fine("That key was not taken: the case was about to change. Look, and press it again.");
      return;
    }
    const { labels } = this.about.dimensions[this.at];
    const pick = (labels ?? this.about.picks).find((one) => one.key === pressed)?.pick;
    const digit = Number(pressed) - 1;
    const row = this.called(pressed);
    const other = this.about.dimensions.findIndex((one) => (one.labels ?? this.about.picks).some(({ key }) => key === pressed));
    const inButton = event.target instanceof Element && event.target.closest("button, summary, a");
    if (pick && labels) this.toggle(this.at, pick);
    else if (pick) this.choose(this.at, pick, true);
    else if (row >= 0) this.focus(row);
    else if (other >= 0) {
      this.focus(other); // chooses nothing yet
      this.fine(`Now on ${mrbShell.human(this.about.dimensions[other].shown)}: press ${pressed} again to choose.`);
    }
    else if (this.numbered && Number.isInteger(digit) && this.rows[digit]) this.focus(digit);
    else if (pressed === "Enter" && !inButton) this.forwards();
    else if (pressed in MrbAnnotatePage.KEYS) MrbAnnotatePage.KEYS[pressed](this);
    else return;
    event.preventDefault();
    event.stopPropagation();
  }
}
