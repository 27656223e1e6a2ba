// The site's own script: the search of the index, tables that sort, keys. Nothing of the data
// becomes markup: elements are made one by one.
(() => {
  "use strict";
  const { button } = mrbElements;
  const all = (selector, within = document) => [...within.querySelectorAll(selector)];
  const plural = (n, word) => `${n.toLocaleString("en")} ${word}${n === 1 ? "" : "s"}`;

  const collator = new Intl.Collator("en", { numeric: true, sensitivity: "base" });
  const missing = (value) => value === "–" || Number.isNaN(value);

  // The buttons of a head sort, numbers from the highest on, names from the first; what is missing comes last.
  function sorting(table) {
    const body = table.tBodies[0];
    const heads = [...table.tHead.rows[0].cells];
    heads.forEach((head, column) => {
      const numeric = head.classList.contains("number");
      const text = (cell) => cell.dataset.v ?? cell.textContent.trim();
      const worth = ({ cells }) => (numeric ? Number.parseFloat(text(cells[column])) : text(cells[column]));
      const sort = () => {
        const before = head.getAttribute("aria-sort");
        const down = numeric ? before !== "descending" : before === "ascending";
        for (const one of heads) one.removeAttribute("aria-sort");
        head.setAttribute("aria-sort", down ? "descending" : "ascending");
        const order = (a, b) => (numeric ? a - b : collator.compare(a, b)) * (down ? -1 : 1);
        const valued = [...body.rows].map((row) => [row, worth(row)]);
        valued.sort(([, a], [, b]) => missing(a) - missing(b) || order(a, b));
        body.append(...valued.map(([row]) => row));
      };
      head.replaceChildren(button(head.textContent, sort, { class: "sort" }));
    });
  }

  const terms = (text) => [...text.normalize("NFKC").toLowerCase().matchAll(/"([^"]+)"|([^\s"]+)/g)].map((found) => found[1] ?? found[2]);

  function look(wanted, output) {
    const found = terms(wanted);
    const numbers = { figure: 0, table: 0, page: 0, case: 0 };
    const holds = (text) => found.every((term) => text.includes(term));
    for (const group of all("[data-group]")) {
      const title = group.dataset.title ?? "";
      const itself = group.dataset.item === "page" && holds(group.dataset.words);
      numbers.page += Number(itself);
      let within = 0;
      for (const item of all("[data-item]", group)) {
        item.hidden = !holds(`${item.dataset.words} ${title}`);
        within += Number(!item.hidden);
        numbers[item.dataset.item] += Number(!item.hidden);
      }
      group.hidden = !itself && !within;
    }
    for (const part of all("[data-apart]")) part.hidden = found.length > 0;
    for (const fold of all("details.named")) fold.open = found.length > 0;
    const said = Object.entries(numbers).filter(([, n]) => n).map(([word, n]) => plural(n, word)).join(", ");
    output.textContent = !found.length ? "" : said ? `Found ${said}.` : "Nothing found. Try fewer or shorter words.";
  }

  function search(input) {
    const output = document.getElementById("found");
    input.addEventListener("input", () => look(input.value, output));
    if (location.hash === "#search") input.focus();
    if (input.value) look(input.value, output);
  }

  function keys(event) {
    if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing || event.defaultPrevented || event.target.closest?.("input, select, textarea")) return;
    if (event.key === "/") {
      event.preventDefault();
      const input = document.getElementById("search");
      if (input) input.select();
      else location.assign(`${document.body.dataset.up}index.html#search`);
    }
    const cases = document.querySelector(".mrb-case");
    const way = cases && { j: "next", k: "prev" }[event.key.toLowerCase()];
    if (way) document.querySelector(`a[rel="${way}"]`)?.click();
  }

  document.addEventListener("DOMContentLoaded", () => {
    for (const part of all("[data-script]")) part.hidden = false;
    all("table[data-sorts]").forEach(sorting);
    all("#search").forEach(search);
    document.addEventListener("keydown", keys);
    if (typeof mrbCase !== "undefined") for (const view of all(".mrb-case")) mrbCase.attach(view);
  });
})();
