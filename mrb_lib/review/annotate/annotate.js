// The annotator's page. It knows a first and a second answer; which is A and which is B only Python knows.
class MrbAnnotatePage {
  constructor(link, root) {
    this.line = mrbShell.persistent(link, { late: () => this.warn() });
    this.root = root;
    root.append(mrbShell.element("p", { class: "mrb-opening", role: "status" }, "Opening …"));
    this.prefix = `mrb-${Math.random().toString(36).slice(2)}`; // two pages in one notebook share no group of choices
    this.queue = Promise.resolve();
    this.answers = []; // as they are shown
    this.saved = []; // as Python has them
    this.at = 0;
    this.pending = {}; // by annotator, case and dimension, what was chosen, after how long, and is not stored yet; it outlives the page
    this.watch = mrbAnnotate.stopwatch();
    root.addEventListener("keydown", (event) => this.key(event));
  }

  async start(about) {
    this.about = about ?? (await this.line.ask("initial_state"));
    this.numbered = !this.about.ranking && !this.about.picks.some(({ key }) => /^\d$/.test(key)); // digits choose a dimension, unless they are the picks
    this.taken = []; // what was picked here, the last at the end, so that it can be taken back
    this.memory = `mrb-annotate:${this.about.benchmark}`;
    this.unsaved = `mrb-unsaved:answers:${this.about.benchmark}`;
    this.pending = JSON.parse(mrbShell.recall("sessionStorage", this.unsaved) || "{}");
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

  // Keys and clicks are for the case in sight, and it is about to change.
  leaving() {
    this.moving = true;
    this.gate?.close();
  }

  arrived(then) {
    this.moving = false;
    this.gate?.open(then);
  }

  async show(where) {
    this.leaving();
    let drawn = false;
    try {
      await this.settled();
      const found = await this.line.ask("open", { annotator: this.me, ...where });
      if (found.nothing) return this.nothing(found.nothing);
      Object.assign(this, { progress: found.progress, cases: found.cases });
      if (found.finished) return this.end();
      this.draw(found);
      drawn = true;
      return undefined;
    } catch (error) {
      return this.fail(error);
    } finally {
      this.arrived(() => {
        if (drawn) this.watch.start();
        this.sheet?.querySelector("h2").focus({ preventScroll: true });
      });
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
    if (found.rows) this.turn(found);
    Object.assign(this, { number: found.number, shown: found.shown, answers: found.answers, saved: [...found.answers] });
    mrbAnnotate.keep(`${this.memory}:${this.me}`, String(found.number));
    if (!this.desk) {
      const sheet = mrbShell.element("main", { class: "mrb-sheet" });
      this.skipBox = mrbAnnotate.skipping(this);
      this.jump = mrbJump.make(this);
      this.remarks = mrbComments.make(this);
      this.desk = mrbShell.element("div", { class: "mrb-desk" }, sheet, mrbAnnotate.panel(this));
      this.replace(mrbAnnotate.bar(this), this.desk, this.skipBox.dialog, this.jump.dialog);
      this.sheet = sheet;
      this.gate = mrbShell.gate(this.root, [this.desk]);
      this.gate.close();
    }
    this.root.querySelector(".mrb-bar details").open = false;
    mrbCase.detach(this.sheet);
    this.sheet.replaceChildren(mrbShell.fragment(found.html));
    const about = { annotator: this.me, number: this.number, shown: this.shown };
    mrbCase.attach(this.sheet, (image, frame) => this.line.ask("image", { ...about, image, frame }));
    this.at = this.open() ?? 0;
    this.watch.stop();
    this.remarks.draw(found.comments);
    this.fine("");
    this.paint();
    this.root.scrollTop = 0;
    this.sheet.querySelector("h2").scrollIntoView({ block: "nearest" });
    this.about.dimensions.forEach(({ name }, index) => {
      const given = this.pending[this.placeOf(name)];
      if (given) this.choose(index, given.pick, false, given.seconds);
    });
  }

  placeOf(dimension) {
    return JSON.stringify([this.me, this.shown, dimension]);
  }

  pend(place, given) {
    if (given) this.pending[place] = given;
    else delete this.pending[place];
    mrbShell.keep("sessionStorage", this.unsaved, JSON.stringify(this.pending));
  }

  paint() {
    mrbAnnotate.paintBar(this);
    this.rows.forEach((_, index) => mrbAnnotate.paintRow(this, index));
    this.nextLine.textContent = mrbAnnotate.next(this);
    this.why.textContent = mrbAnnotate.whySkipped(this);
    this.why.hidden = !this.why.textContent;
    const whole = this.left().length === 0 && mrbLabels.unsaved(this) < 0;
    this.nextLine.classList.toggle("mrb-complete", whole);
    this.forward.classList.toggle("mrb-first", whole);
    this.forward.firstChild.textContent = whole && !this.progress.open ? "Finish " : "Next case ";
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

  // The same pick again is no answer, so that its time goes on to the next one.
  choose(index, pick, onwards, seconds = this.answers[index].pick === pick ? null : this.watch.lap()) {
    const { name, shown } = this.about.dimensions[index];
    const chosen = { pick };
    const given = { pick, seconds };
    this.take(index);
    this.answers[index] = chosen;
    this.at = index;
    this.paint();
    if (onwards) this.advance(index);
    const { me, number, shown: sight } = this;
    const place = this.placeOf(name);
    const settled = () => {
      if (this.pending[place] === given) this.pend(place, null);
    };
    this.pend(place, given);
    this.fine("Saving …");
    // One after the other: a question that is asked again must not overtake a later one.
    this.queue = this.queue.then(() => this.line.ask("choose", { annotator: me, number, shown: sight, dimension: name, pick, seconds })).then(
      () => {
        settled();
        if (this.me !== me || this.number !== number) return;
        this.count(index, this.saved[index]);
        this.saved[index] = chosen;
        this.fine(`Saved: ${mrbAnnotate.human(shown)}, ${mrbAnnotate.said(this, index, pick)}`);
        this.paint();
      },
      (error) => {
        settled();
        if (this.me !== me || this.number !== number) return;
        if (this.answers[index] === chosen) this.answers[index] = this.saved[index];
        this.paint();
        this.fail(new Error(`Not saved: ${error.message}`));
      },
    );
  }

  take(index) {
    this.taken.push({ me: this.me, number: this.number, index, before: this.answers[index].pick });
  }

  // The last choice once more: what stood there before counts again; where nothing did, another may be chosen.
  async undo() {
    if (mrbLabels.takeBack(this, this.at)) return undefined;
    const last = this.taken.at(-1);
    if (!last || last.me !== this.me) return this.fine("Nothing to undo: nothing was chosen since this page was opened.");
    if (last.number !== this.number) await this.show({ number: last.number });
    if (last.number !== this.number) return undefined;
    this.taken.pop();
    const depth = this.taken.length;
    if (last.before) this.choose(last.index, last.before, false);
    this.taken.length = depth;
    this.focus(last.index);
    const name = mrbAnnotate.human(this.about.dimensions[last.index].shown);
    if (!last.before) this.fine(`${name}: choose again; until then your choice stays.`);
    return undefined;
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
    if (this.moving) return; // a second click
    const { me, number, shown } = this;
    const seconds = this.watch.lap();
    this.leaving();
    try {
      await this.settled();
      await this.line.ask("skip", { annotator: me, number, shown, reason, seconds });
    } catch (error) {
      this.arrived();
      throw error;
    }
    mrbLabels.forget(this);
    done();
    await this.show({ after: number });
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
    this.leaving();
    await this.settled();
    const left = this.left();
    const draft = mrbLabels.unsaved(this);
    if (draft >= 0) {
      this.arrived(() => this.focus(draft));
      return this.fine(`Not saved yet: ${mrbAnnotate.human(this.about.dimensions[draft].shown)}. ${mrbLabels.waiting(this, draft)}; U takes it back.`);
    }
    if (left.length === 0 && this.remarks.unsaved()) {
      this.arrived(() => this.remarks.open());
      return this.fine("Your comment is not saved yet: Ctrl + Enter saves it; empty it to go on without.");
    }
    if (left.length === 0) return this.show({ after: this.number });
    this.arrived(() => this.focus(left[0]));
    const names = left.map((index) => mrbAnnotate.human(this.about.dimensions[index].shown));
    return this.fine(`Still open: ${names.join(", ")}. Answer, or skip with X.`);
  }

  // A key of another dimension than the one in hand leads there, and chooses nothing yet.
  point(index, key) {
    this.focus(index);
    this.fine(`Now on ${mrbAnnotate.human(this.about.dimensions[index].shown)}: press ${key} again to choose.`);
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
    if (!this.desk || this.root.querySelector("dialog[open]") || mrbShell.typing(event) || event.repeat) return;
    const pressed = event.key.length === 1 ? event.key.toUpperCase() : event.key;
    if (this.moving || (this.gate.stale(event) && !"JKP".includes(pressed))) {
      this.fine("That key was not taken: the case was about to change. Look, and press it again.");
      return;
    }
    const several = Boolean(this.about.dimensions[this.at].labels);
    const pick = several ? undefined : this.about.picks.find((one) => one.key === pressed);
    const digit = Number(pressed) - 1;
    const row = this.about.ranking ? this.called(pressed) : -1;
    const inButton = event.target instanceof Element && event.target.closest("button, summary, a");
    if (pick) this.choose(this.at, pick.pick, true);
    else if (several && mrbLabels.key(this, this.at, pressed));
    else if (row >= 0) this.focus(row);
    else if (mrbLabels.rowOf(this, pressed) >= 0) this.point(mrbLabels.rowOf(this, pressed), pressed);
    else if (this.numbered && Number.isInteger(digit) && this.rows[digit]) this.focus(digit);
    else if (pressed === "Enter" && !inButton && mrbLabels.confirm(this, this.at));
    else if (pressed === "Enter" && !inButton) this.forwards();
    else if (pressed === "X") this.askSkip();
    else if (pressed === "U") this.undo();
    else if (pressed === "W" && this.sheet.querySelector(".mrb-raw")) this.sheet.querySelector(".mrb-raw").click();
    else if (pressed === "K" || pressed === "P") this.step(-1);
    else if (pressed === "J") this.step(1);
    else if (pressed === "N") this.remarks.open();
    else if (pressed === "G") this.jump.open();
    else if (pressed === "?") this.rows[this.at].meaning?.click();
    else return;
    event.preventDefault();
    event.stopPropagation();
  }

  close() {
    if (this.sheet) mrbCase.detach(this.sheet);
    this.watch.close();
    this.line.close();
  }
}
