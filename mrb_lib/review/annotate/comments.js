// What an annotator remarks on a case. What is typed and not stored yet outlives the page, not the tab, and stays with its case.
const mrbComments = (() => {
  const { button, element, key, moment } = mrbShell;

  function make(page) {
    const drafts = page.words;
    const place = () => JSON.stringify([page.me, page.shown]);
    const draft = () => drafts.get(place());

    const list = element("ol", { class: "mrb-remarks", "aria-label": "your comments on this case" });
    const words = element("textarea", { rows: 3, maxlength: 10000, id: `${page.prefix}-comment`, dir: "auto", oninput: typed });
    const said = element("p", { class: "mrb-remark-said", role: "status", "aria-live": "polite" });
    const wrong = element("p", { class: "mrb-alert", role: "alert", hidden: true });
    const save = button(["Save comment ", key("Ctrl Enter")], () => send(), { class: "mrb-first" });
    const body = element("div", { class: "mrb-comment", id: `${page.prefix}-comment-body`, hidden: true, onkeydown: press },
      element("label", { for: words.id }, "Your comment on this case, for whoever coordinates; no other annotator sees it"),
      words, wrong, element("div", { class: "mrb-steps" }, save));
    const toggle = button(["Comment ", key("N")], () => (body.hidden ? open() : fold()), { "aria-expanded": "false", "aria-controls": body.id });
    const box = element("section", { class: "mrb-remark", "aria-label": "comments" }, list, body, said);

    function unfold(shown) {
      body.hidden = !shown;
      toggle.setAttribute("aria-expanded", String(shown));
    }

    function open() {
      unfold(true);
      words.focus();
      said.scrollIntoView({ block: "nearest" });
    }

    // What is typed stays in sight as long as it is not saved.
    function fold() {
      if (!words.value.trim()) unfold(false);
      toggle.focus();
    }

    function fill(comments) {
      list.hidden = comments.length === 0;
      list.replaceChildren(...comments.map(({ text, created }) => element("li", {},
        element("p", { dir: "auto" }, text), element("time", { class: "mrb-quiet", datetime: created }, moment(created)))));
    }

    function draw(comments) {
      fill(comments);
      words.value = draft()?.text ?? "";
      unfold(Boolean(words.value));
      said.textContent = words.value ? "Not saved yet: this is what you typed before." : "";
      wrong.hidden = true;
      save.disabled = false;
    }

    // The id belongs to the text: the same text counts once, however often it is sent.
    function typed() {
      const given = { text: words.value, me: page.me, number: page.number, id: mrbShell.fresh() };
      drafts.set(place(), words.value.trim() ? given : undefined);
      said.textContent = words.value.trim() ? "Not saved yet." : "";
    }

    async function send() {
      const mine = draft();
      const here = place();
      wrong.hidden = Boolean(mine);
      wrong.textContent = "Nothing is written yet; write your comment first.";
      if (!mine || save.disabled) return;
      save.disabled = true;
      said.textContent = "Saving …";
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
        said.textContent = stored ? "Comment saved." : "Comment saved; what you typed since is not.";
      } catch (error) {
        if (place() !== here) return;
        said.textContent = "";
        wrong.textContent = `Not saved: ${error.message}`;
        wrong.hidden = false;
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

    return { box, toggle, open, draw, unsaved: () => Boolean(draft()) && !save.disabled };
  }

  return { make };
})();
