// Rankings: a row is a response, which is given a place; a dimension is saved once all its responses have one.
class MrbRankingPage extends MrbAnnotatePage {
  // The rows of another item, which may have more responses or fewer.
  turn({ rows, picks }) {
    const about = { ...this.about, dimensions: rows, picks, listedDimensions: this.about.listedDimensions ?? this.about.dimensions };
    if (JSON.stringify([about.dimensions, about.picks]) !== JSON.stringify([this.about.dimensions, this.about.picks])) this.desk = null;
    this.about = about;
  }

  // The responses of a row's dimension, and the row of a key among those of the dimension where one is.
  beside(index) {
    const { name } = this.about.dimensions[index];
    return this.about.dimensions.flatMap((one, at) => (one.name === name ? [at] : []));
  }

  called(key) {
    return this.beside(this.at).find((at) => this.about.dimensions[at].key === key) ?? -1;
  }

  choose(index, pick, onwards) {
    const own = this.beside(index);
    const { name } = this.about.dimensions[index];
    this.take(index);
    // Without ties a place is taken from who has it.
    if (!this.about.ranking.ties) for (const at of own) if (at !== index && this.answers[at].pick === pick) this.answers[at] = {};
    this.answers[index] = { pick };
    this.at = index;
    this.paint();
    if (onwards) this.advance(index);
    const placed = own.filter((at) => this.answers[at].pick);
    if (placed.length < own.length) return this.fine(`${placed.length} of ${own.length} answers have a place; the ranking is saved once all have.`);
    const places = own.map((at) => Number(this.answers[at].pick));
    const { me, number, shown } = this;
    const seconds = this.watch.lap();
    this.fine("Saving …");
    this.queue = this.queue.then(() => this.line.ask("choose", { annotator: me, number, shown, dimension: name, places, seconds })).then(
      () => {
        if (this.me !== me || this.number !== number) return;
        this.tally(name, own);
        this.fine(`Saved: ${places.length} answers ranked${this.about.listedDimensions.length > 1 ? ` on ${mrbAnnotate.human(name)}` : ""}`);
        this.paint();
      },
      (error) => {
        if (this.me === me && this.number === number) this.fail(new Error(`Not saved: ${error.message}`));
      },
    );
    return undefined;
  }

  tally(name, own) {
    const { progress, cases } = this;
    const dimension = this.about.listedDimensions.findIndex((one) => one.name === name);
    if (!own.every((at) => this.saved[at].pick)) progress.dimensions[dimension] += 1;
    for (const at of own) this.saved[at] = { ...this.answers[at] };
    const skipped = this.saved.some((given) => given.skipped);
    const whole = this.saved.every((given) => given.pick || given.skipped);
    cases[this.number - 1] = !whole ? "open" : skipped ? "skipped" : "done";
    for (const state of ["done", "skipped", "open"]) progress[state] = cases.filter((one) => one === state).length;
  }
}

const mrbRanking = (() => {
  // Which of the two pages it is, the first answer says.
  function make(link, root) {
    const page = new MrbRankingPage(link, root);
    const { start } = page;
    page.start = async () => {
      const about = await page.line.ask("initial_state");
      if (!about.ranking) Object.setPrototypeOf(page, MrbAnnotatePage.prototype);
      return start.call(page, about);
    };
    return page;
  }

  return { make };
})();

function render({ link, el }) {
  const root = mrbShell.element("div", { class: "mrb mrb-annotate", tabindex: -1, "aria-busy": "true", "data-lm-suppress-shortcuts": "true" });
  el.append(root);
  const page = mrbRanking.make(link, root);
  page.start().catch((error) => page.fail(error)).finally(() => root.removeAttribute("aria-busy"));
  return () => {
    page.close();
    root.remove();
  };
}
