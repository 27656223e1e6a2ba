// The site's own script: the search of the index, tables that sort and filter, keys. Nothing of the data
// becomes markup: elements are made one by one.
(() => {
  "use strict";
  const { button, element } = mrbElements;
  const all = (selector, within = document) => [...within.querySelectorAll(selector)];
  const plural = (n, word) => `${n.toLocaleString("en")} ${word}${n === 1 ? "" : "s"}`;

  // Tables: the buttons of the head sort, a field above filters.
  const collator = new Intl.Collator("en", { numeric: true, sensitivity: "base" });

  function worth(row, column, numeric) {
    const cell = row.cells[column];
    const text = cell.dataset.v ?? cell.textContent.trim();
    if (!numeric) return text === "–" ? "" : text;
    const number = text === "" ? NaN : Number(text.replace(/,/g, "").replace(/\u2212/g, "-"));
    return Number.isNaN(number) ? null : number;
  }

  function compare(first, second, numeric, down) {
    const [none, other] = numeric ? [first === null, second === null] : [first === "", second === ""];
    if (none || other) return Number(none) - Number(other);
    const order = numeric ? first - second : collator.compare(first, second);
    return down ? -order : order;
  }

  function sorting(table, say) {
    const body = table.tBodies[0];
    const rows = [...body.rows];
    const heads = [...table.tHead.rows[0].cells];
    heads.forEach((head, column) => {
      const numeric = head.classList.contains("number");
      const name = head.textContent;
      const sort = () => {
        const turns = numeric ? ["", "descending", "ascending"] : ["", "ascending", "descending"];
        const next = turns[(turns.indexOf(head.getAttribute("aria-sort") ?? "") + 1) % turns.length];
        for (const one of heads) one.removeAttribute("aria-sort");
        if (next) head.setAttribute("aria-sort", next);
        const valued = rows.map((row) => [row, worth(row, column, numeric)]);
        if (next) valued.sort(([, a], [, b]) => compare(a, b, numeric, next === "descending"));
        body.append(...valued.map(([row]) => row));
        say(next ? `Sorted by ${name}, ${next}.` : "In the order of the report.");
      };
      head.replaceChildren(button(name, sort, { class: "sort" }));
    });
  }

  function grid(table) {
    const rows = [...table.tBodies[0].rows];
    if (rows.length < 2) return;
    const told = element("output", { "aria-live": "polite" });
    const count = () => `${rows.filter((row) => !row.hidden).length} of ${plural(rows.length, "row")}`;
    const filter = ({ target }) => {
      const words = target.value.toLocaleLowerCase().split(/\s+/);
      for (const row of rows) row.hidden = !words.every((word) => row.textContent.toLocaleLowerCase().includes(word));
      told.textContent = count();
    };
    const long = rows.length > 6;
    const field = long ? element("label", {}, "Filter rows", element("input", { type: "search", autocomplete: "off", spellcheck: "false", oninput: filter })) : null;
    if (long) told.textContent = count();
    table.closest(".scroll").before(element("div", { class: "table-tools", role: "group", "aria-label": "Filter and sort" }, field, told));
    sorting(table, (text) => { told.textContent = long ? `${count()}. ${text}` : text; });
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
    for (const link of all(".contents a")) {
      const section = document.getElementById(decodeURIComponent(link.hash.slice(1)))?.closest("section");
      link.closest("li").hidden = Boolean(section?.hidden);
    }
    const said = Object.entries(numbers).filter(([, n]) => n).map(([word, n]) => plural(n, word)).join(", ");
    output.textContent = !found.length ? "" : said ? `Found ${said}.` : "Nothing found. Try fewer or shorter words.";
  }

  function search(input) {
    const output = document.getElementById("found");
    input.addEventListener("input", () => look(input.value, output));
    if (location.hash === "#search") input.focus();
    if (input.value) look(input.value, output);
  }

  // The contents are folded where the window is narrow.
  function unfolding(fold) {
    const narrow = matchMedia("(max-width: 69.99rem)");
    const unfold = () => { fold.open = !narrow.matches; };
    unfold();
    narrow.addEventListener("change", unfold);
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
    for (const table of all("table[data-sorts]")) grid(table);
    all("#search").forEach(search);
    all(".contents details").forEach(unfolding);
    document.addEventListener("keydown", keys);
    if (typeof mrbCase !== "undefined") for (const view of all(".mrb-case")) mrbCase.attach(view);
  });
})();
