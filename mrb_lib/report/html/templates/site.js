// The site's own script: the theme, the search of the index, tables that sort and filter, keys. Nothing of the data
// becomes markup: elements are made one by one.
(() => {
  "use strict";
  const KEY = "mrb-theme";
  const root = document.documentElement;

  const { button, element } = mrbElements;
  const all = (selector, within = document) => [...within.querySelectorAll(selector)];
  const plural = (n, word) => `${n.toLocaleString("en")} ${word}${n === 1 ? "" : "s"}`;

  // A browser that keeps nothing shows the theme for this page alone.
  function stored(act) {
    try {
      return act(localStorage);
    } catch {
      return null;
    }
  }

  const kept = () => stored((storage) => storage.getItem(KEY)) ?? "";

  function wear(theme) {
    if (theme) root.dataset.theme = theme;
    else delete root.dataset.theme;
    for (const button of all("[data-theme-is]")) button.setAttribute("aria-pressed", String(button.dataset.themeIs === theme));
  }

  function themes() {
    wear(kept());
    for (const button of all("[data-theme-is]")) {
      button.addEventListener("click", () => {
        stored((storage) => storage.setItem(KEY, button.dataset.themeIs));
        wear(button.dataset.themeIs);
      });
    }
    window.addEventListener("storage", (event) => event.key === KEY && wear(kept()));
    window.addEventListener("pageshow", () => wear(kept()));
  }

  // Tables: the buttons of the head sort, a field and lists above filter.
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

  function choices(table, column) {
    const texts = [...table.tBodies[0].rows].map((row) => row.cells[column].textContent.trim());
    const values = [...new Set(texts)].filter(Boolean);
    return values.length > 1 && values.length <= 12 && values.length < texts.length ? values.sort(collator.compare) : [];
  }

  function filters(table, bar, changed) {
    const label = (text, input) => {
      bar.append(element("label", { oninput: changed }, text, input));
      return input;
    };
    const field = label("Filter rows", element("input", { type: "search", autocomplete: "off", spellcheck: "false" }));
    const lists = [];
    [...table.tHead.rows[0].cells].forEach((head, column) => {
      const values = head.classList.contains("number") ? [] : choices(table, column);
      if (!values.length) return;
      const options = values.map((value) => element("option", { value }, value));
      lists.push([column, label(head.textContent, element("select", {}, element("option", { value: "" }, "all"), ...options))]);
    });
    return (row) => {
      const text = row.textContent.toLocaleLowerCase();
      const words = field.value.toLocaleLowerCase().split(/\s+/).filter(Boolean);
      return words.every((word) => text.includes(word)) && lists.every(([column, list]) => !list.value || row.cells[column].textContent.trim() === list.value);
    };
  }

  function grid(table) {
    const rows = [...table.tBodies[0].rows];
    if (rows.length < 2) return;
    const bar = element("div", { class: "table-tools", role: "group", "aria-label": "Filter and sort" });
    const told = element("output", { "aria-live": "polite" });
    let fits = () => true;
    const count = () => `${rows.filter((row) => !row.hidden).length} of ${plural(rows.length, "row")}`;
    const changed = () => {
      for (const row of rows) row.hidden = !fits(row);
      told.textContent = count();
    };
    if (rows.length > 6) {
      fits = filters(table, bar, changed);
      told.textContent = count();
    }
    bar.append(told);
    table.closest(".scroll").before(bar);
    sorting(table, (text) => { told.textContent = rows.length > 6 ? `${count()}. ${text}` : text; });
  }

  const terms = (text) => [...text.normalize("NFKC").toLowerCase().matchAll(/"([^"]+)"|([^\s"]+)/g)].map((found) => found[1] ?? found[2]);

  function marked(found) {
    if (!CSS.highlights) return;
    const ranges = [];
    const shown = found.length ? all(".chapter :is(h2, h3, .asked, .reason, .ids a, .tables a, .prose)") : [];
    for (const part of shown.filter((one) => one.checkVisibility())) {
      const walk = document.createTreeWalker(part, NodeFilter.SHOW_TEXT);
      while (walk.nextNode()) {
        const node = walk.currentNode;
        const text = node.data.toLowerCase();
        for (const term of text.length === node.data.length ? found : []) {
          for (let at = text.indexOf(term); at >= 0; at = text.indexOf(term, at + term.length)) {
            ranges.push(new StaticRange({ startContainer: node, startOffset: at, endContainer: node, endOffset: at + term.length }));
          }
        }
      }
    }
    CSS.highlights.set("found", new Highlight(...ranges));
  }

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
      group.toggleAttribute("data-found", itself);
    }
    for (const part of all("[data-apart]")) part.hidden = found.length > 0;
    for (const fold of all("details.named")) fold.open = found.length > 0;
    for (const link of all(".contents a")) {
      const section = document.getElementById(decodeURIComponent(link.hash.slice(1)))?.closest("section");
      link.closest("li").hidden = Boolean(section?.hidden);
    }
    document.body.classList.toggle("searching", found.length > 0);
    const said = Object.entries(numbers).filter(([, n]) => n).map(([word, n]) => plural(n, word)).join(", ");
    output.textContent = !found.length ? "" : said ? `Found ${said}.` : "Nothing found. Try fewer or shorter words.";
    marked(found);
  }

  function search() {
    const input = document.getElementById("search");
    if (!input) return;
    const output = document.getElementById("found");
    const asked = (item) => item.dataset.item !== "page" || item.hasAttribute("data-found") || !terms(input.value).length;
    const hits = () => all(".hit").filter((link) => link.checkVisibility() && asked(link.closest("[data-item]")));
    const move = (event, by) => {
      const links = hits();
      const at = links.indexOf(document.activeElement);
      event.preventDefault();
      if (at + by < 0) input.focus();
      else links[Math.min(at + by, links.length - 1)]?.focus();
    };
    input.addEventListener("input", () => look(input.value, output));
    document.addEventListener("keydown", (event) => {
      const here = event.target === input;
      const on = here || event.target.matches?.(".hit");
      if (!on || event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return;
      if (event.key === "ArrowDown") move(event, 1);
      else if (event.key === "ArrowUp" && !here) move(event, -1);
      else if (event.key === "Enter" && here && terms(input.value).length) hits()[0]?.click();
      else if (event.key === "Escape" && input.value) {
        input.value = "";
        look("", output);
        input.focus();
      }
    });
    if (location.hash === "#search") input.focus();
    if (input.value) look(input.value, output);
  }

  function whereabouts() {
    const fold = document.querySelector(".contents details");
    const narrow = matchMedia("(max-width: 69.99rem)");
    const unfold = () => fold && (fold.open = !narrow.matches);
    unfold();
    narrow.addEventListener("change", unfold);
    const links = new Map(all(".contents a").map((link) => [decodeURIComponent(link.hash.slice(1)), link]));
    const heads = [...links.keys()].map((id) => document.getElementById(id)).filter(Boolean);
    if (!heads.length) return;
    let waiting = false;
    const tell = () => {
      waiting = false;
      const passed = heads.filter((head) => head.checkVisibility() && head.getBoundingClientRect().top < innerHeight / 3);
      const here = passed.sort((a, b) => a.getBoundingClientRect().top - b.getBoundingClientRect().top).at(-1);
      for (const link of links.values()) link.removeAttribute("aria-current");
      links.get(here?.id)?.setAttribute("aria-current", "true");
    };
    document.addEventListener("scroll", () => {
      if (!waiting) requestAnimationFrame(tell);
      waiting = true;
    }, { passive: true });
    tell();
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

  wear(kept());
  document.addEventListener("DOMContentLoaded", () => {
    for (const part of all("[data-script]")) part.hidden = false;
    themes();
    for (const table of all("table[data-sorts]")) grid(table);
    search();
    whereabouts();
    document.addEventListener("keydown", keys);
    if (typeof mrbCase !== "undefined") for (const view of all(".mrb-case")) mrbCase.attach(view);
  });
})();
