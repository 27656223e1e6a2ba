// Rankings: a row is a response, which is given a place; a dimension is saved once all its responses have one.
class MrbRankingPage extends MrbAnnotatePage {
  // The rows of another item, which may have more responses or fewer.
  turnTo({ rows, picks }) {
    const about = { ...this.about, dimensions: rows, picks };
    if (JSON.stringify(about) !== JSON.stringify(this.about)) this.desk = null;
    this.about = about;
  }

  beside(index) {
    return this.rowsOf(this.about.dimensions[index].name);
  }

  called(key) {
    return this.beside(this.at).find((at) => this.about.dimensions[at].key === key) ?? -1;
  }

  // Without ties a place is taken from who has it.
  put(index, pick) {
    if (!this.about.ranking.ties) for (const at of this.beside(index)) if (at !== index && this.answers[at].pick === pick) this.answers[at] = {};
    super.put(index, pick);
  }

  given(index) {
    const places = this.beside(index).map((at) => Number(this.answers[at].pick));
    return places.every(Boolean) ? { dimension: this.about.dimensions[index].name, places } : null;
  }

  waiting(index) {
    const own = this.beside(index);
    const placed = own.filter((at) => this.answers[at].pick).length;
    return `${placed} of ${own.length} answers have a place; the ranking is saved once all have.`;
  }

  again(given) {
    this.rowsOf(given.dimension).forEach((row, at) => (this.answers[row] = { pick: String(given.places[at]) }));
    this.store(given);
  }

  said({ dimension, places }) {
    const several = places.length < this.about.dimensions.length;
    return `${places.length} answers ranked${several ? ` on ${mrbShell.human(dimension)}` : ""}`;
  }

  unsaved() {
    return super.unsaved() || Boolean(this.desk && this.answers.some((given, at) => given !== this.saved[at]));
  }
}

function render({ link, el, addressed, signal }) {
  const root = mrbShell.element("div", { class: "mrb mrb-annotate", tabindex: -1, "aria-busy": "true", "data-lm-suppress-shortcuts": "true" });
  root.append(mrbShell.element("p", { class: "mrb-opening", role: "status" }, "Opening …"));
  el.append(root);
  link.ask("initial_state").then((about) => new (about.ranking ? MrbRankingPage : MrbAnnotatePage)(link, root, about, addressed, signal).start())
    .catch((error) => root.replaceChildren(mrbAnnotate.trouble(error))).finally(() => root.removeAttribute("aria-busy"));
}
