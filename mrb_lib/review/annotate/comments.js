// What an annotator remarks on a case. What is typed and not stored yet outlives the page, not the tab, and stays with its case.
function mrbComments(page) {
  const { button, element, key, moment } = mrbShell;
  const drafts = page.words;
  const place = () => JSON.stringify([page.me, page.shown]);
  const list = element("ol", { class: "mrb-remarks", "aria-label": "your comments on this case" });
  const words = element("textarea", { rows: 3, maxlength: 10000, dir: "auto", oninput: typed });
  const save = button(["Save comment ", key("Ctrl Enter")], send, { class: "mrb-first" });
  const label = element("label", {}, "Your comment on this case, for whoever coordinates; no other annotator sees it", words);
  const body = element("div", { id: `${page.prefix}-comment`, hidden: true, onkeydown: press }, label, element("div", { class: "mrb-steps" }, save));
  const toggle = button(["Comment ", key("N")], () => (body.hidden ? open() : fold()), { "aria-expanded": "false", "aria-controls": body.id });

  function unfold(shown) {
    body.hidden = !shown;
    toggle.setAttribute("aria-expanded", String(shown));
  }

  function open() {
    unfold(true);
    words.focus();
    body.scrollIntoView({ block: "nearest" });
  }

  // What is typed stays in sight as long as it is not saved.
  function fold() {
    if (!words.value.trim()) unfold(false);
    toggle.focus();
  }

  function fill(comments) {
    list.hidden = comments.length === 0;
    list.replaceChildren(...comments.map(({ text, created }) => element("li", {}, element("p", { dir: "auto" }, text), element("time", { class: "mrb-quiet", datetime: created }, moment(created)))));
  }

  function draw(comments) {
    fill(comments);
    words.value = drafts.get(place())?.text ?? "";
    unfold(Boolean(words.value));
    save.disabled = false;
    page.fine(words.value ? "Not saved yet: this is what you typed before." : "");
  }

  // The id belongs to the text: the same text counts once, however often it is sent.
  function typed() {
    const given = words.value.trim() ? { text: words.value, me: page.me, number: page.number, id: mrbShell.fresh() } : undefined;
    drafts.set(place(), given);
    page.fine(given ? "Not saved yet." : "");
  }

  async function send() {
    const here = place();
    const mine = drafts.get(here);
    if (!mine || save.disabled) return;
    save.disabled = true;
    page.fine("Saving …");
    try {
      const { comments } = await page.remark(mine.text, mine.id);
      const stored = drafts.get(here)?.id === mine.id;
      if (stored) drafts.set(here);
      if (place() !== here) return;
      fill(comments);
      if (stored) {
        words.value = "";
        if (body.contains(document.activeElement)) toggle.focus();
        unfold(false);
      }
      page.fine(stored ? "Comment saved." : "Comment saved; what you typed since is not.");
    } catch (error) {
      if (place() === here) page.fail(new Error(`Not saved: ${error.message}`));
    } finally {
      if (place() === here) save.disabled = false;
    }
  }

  function press(event) {
    if (event.key === "Escape") fold();
    else if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) send();
    else return;
    event.preventDefault();
    event.stopPropagation();
  }

  return { box: element("section", { "aria-label": "comments" }, list, body), toggle, open, draw, unsaved: () => Boolean(drafts.get(place())) && !save.disabled };
}
