// What every widget of the workbench needs: its keys to itself, questions to Python with their answers, and HTML from Python made safe.
// JupyterLab matches its shortcuts against the focused element before it looks at what surrounds it: a key pressed on a
// button would insert or delete cells. So the mark that keeps shortcuts off goes on the focused element itself.
const mrbKeys = "data-lm-suppress-shortcuts";
if (!document.documentElement.hasAttribute("data-mrb-keys")) {
  document.documentElement.setAttribute("data-mrb-keys", "");
  const mark = ({ target }) => {
    if (target instanceof Element && target.closest(`.mrb[${mrbKeys}]`)) target.setAttribute(mrbKeys, "true");
  };
  document.addEventListener("focusin", mark, true);
}

const mrbShell = (() => {
  const DIMMED_AFTER = 120; // milliseconds
  const { element } = mrbElements;
  const REFUSED = "script, iframe, object, embed, link, meta, base, frame, frameset, portal";
  const ADDRESSES = new Set(["href", "src", "xlink:href", "action", "formaction", "poster", "srcdoc", "background"]);

  // Python escapes all text of the data; this is the second lock: what could run is refused, whoever wrote it.
  function fragment(html) {
    const template = document.createElement("template");
    template.innerHTML = html;
    const found = template.content.querySelector(REFUSED);
    if (found) throw new Error(`refused markup: <${found.localName}>`);
    for (const element of template.content.querySelectorAll("*")) {
      for (const { name, value } of element.attributes) {
        const address = ADDRESSES.has(name.toLowerCase());
        const allowed = /^(#|data:image\/(png|jpeg|webp|gif);|(\.{0,2}\/)?[\w./-]+(#[\w-]*)?$)/.test(value.trim());
        if (/^on/i.test(name) || name === "srcdoc" || (address && value && !allowed)) {
          throw new Error(`refused markup: ${element.localName} with ${name}`);
        }
      }
    }
    return template.content;
  }

  const settled = (answer) => {
    if (!answer.ok) throw new Error(answer.error);
    return answer;
  };

  // A line to Python, from a notebook by its kernel. `ask` resolves with the answer's fields, a file as its `blob`; it
  // rejects with what is wrong, in words for the user: Python's, or that nobody answers.
  function connect({ model, experimental }) {
    const ended = new AbortController();
    model.on("comm_live_update", () => ended.abort(new Error("The kernel behind this view has ended. Run its cell again.")));
    async function ask(what, fields = {}) {
      const [answer, [content]] = await experimental.invoke("_ask", { ...fields, what }, { signal: ended.signal });
      const { kind, ...facts } = settled(answer);
      return content ? { ...facts, blob: new Blob([content], { type: kind }) } : facts;
    }
    return { ask };
  }

  const pause = (milliseconds) => new Promise((resolve) => setTimeout(resolve, milliseconds));

  // The same line to a server. While the server cannot be reached a question waits, and none of them does harm twice.
  const http = { async ask(what, fields = {}) {
    for (;;) {
      let answer;
      try {
        answer = await fetch(`api/${what}`, { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(fields) });
        const facts = answer.headers.get("Mrb-Facts");
        if (facts) return { ...JSON.parse(decodeURIComponent(facts)), blob: await answer.blob() };
        answer = await answer.json();
      } catch {
        await pause(1000);
        continue;
      }
      return settled(answer);
    }
  } };

  function download(blob, name, beside) {
    const address = URL.createObjectURL(blob);
    const anchor = element("a", { href: address, download: name, hidden: true });
    beside.after(anchor);
    anchor.click();
    anchor.remove();
    setTimeout(() => URL.revokeObjectURL(address), 60000);
  }

  let count = 0;
  const unique = (name) => `${name}-${(count += 1)}`;

  const spoken = (value) => value.replaceAll("_", " ");
  const human = (name) => spoken(name.charAt(0).toUpperCase() + name.slice(1));
  const moment = (created) => `${created.replace("T", " ").slice(0, 16)} UTC`;

  // Nobody knows it but who made it: what is sent twice under it counts once.
  const fresh = () => [...crypto.getRandomValues(new Uint8Array(16))].map((byte) => byte.toString(16).padStart(2, "0")).join("");

  // Keys are the widget's own only where nothing is being typed and no other key is held.
  function typing(event) {
    const target = event.composedPath()[0];
    const field = target instanceof HTMLElement && target.matches("input:not([type=radio], [type=checkbox]), select, textarea");
    return field || event.isComposing || event.ctrlKey || event.metaKey || event.altKey;
  }

  // While what is in sight changes, the nodes that act on it are dead, and so is what was pressed before it was painted:
  // it was meant for what was there until then.
  function gate(root, nodes) {
    let turn = 0;
    let painted = 0;
    let closed = false;
    let dimmed = false;
    let timer;
    let began = false; // whether the press of a button or finger began too early: its click comes when it ends
    let held = false;
    const stale = (event) => closed || event.timeStamp < painted || (event.type === "click" && event.detail > 0 && began);
    const stop = (event) => {
      const early = stale(event);
      if (event.type === "pointerdown") began = early;
      held = event.type === "pointerdown" || (held && event.type !== "pointerup");
      if (!early || event.type === "pointerup") return;
      event.preventDefault();
      event.stopImmediatePropagation();
    };
    for (const node of nodes) for (const kind of ["pointerdown", "pointerup", "mousedown", "click", "keydown", "beforeinput"]) node.addEventListener(kind, stop, true);
    // Both have all that is inside laid out anew, so a step that takes no time goes without.
    const dim = (value) => {
      dimmed = value;
      root.classList.toggle("mrb-dimmed", value);
      for (const node of nodes) node.inert = value;
    };
    const set = (value) => {
      if (value === closed) return;
      closed = value;
      root.classList.toggle("mrb-changing", value);
      clearTimeout(timer);
      if (value) timer = setTimeout(dim, DIMMED_AFTER, true);
      else if (dimmed) dim(false);
    };
    return {
      stale,
      close() {
        turn += 1;
        began ||= held;
        if (nodes.some((node) => node.contains(document.activeElement))) root.focus({ preventScroll: true });
        set(true);
      },
      open(then = () => {}) {
        const mine = (turn += 1);
        requestAnimationFrame(() => setTimeout(() => {
          if (mine !== turn) return;
          painted = performance.now();
          set(false);
          then();
        }));
      },
    };
  }

  // What the tab keeps; without the right to store, the browser's cookie opens no page either.
  const recall = (name) => window.sessionStorage.getItem(name) ?? "";
  const keep = (name, value) => window.sessionStorage.setItem(name, value);

  // What was typed and is not stored yet, by its place: it outlives the page, not the tab. `changed()` is told.
  function drafts(name, changed = () => {}) {
    const kept = new Map(Object.entries(JSON.parse(recall(`mrb-unsaved:${name}`) || "{}")));
    return {
      get: (place) => kept.get(place),
      places: () => [...kept.keys()],
      all: () => [...kept.values()],
      set(place, typed) {
        if (typed === undefined) kept.delete(place);
        else kept.set(place, typed);
        keep(`mrb-unsaved:${name}`, JSON.stringify(Object.fromEntries(kept)));
        changed();
      },
    };
  }

  // A file that Python makes, which the browser saves; `tell(words, bad)` says how that goes. `about` adds words.
  const saving = (ask, fields, tell, about = () => "") => async ({ currentTarget: from }) => {
    from.disabled = true;
    tell("Writing the file …");
    try {
      const file = await ask("export", fields());
      download(file.blob, file.name, from);
      tell(`The file ${file.name} is written${about(file)}.`);
    } catch (error) {
      tell(`The file is not written: ${error.message}`, true);
    } finally {
      from.disabled = false;
    }
  };

  return { ...mrbElements, fragment, connect, http, unique, spoken, human, moment, fresh, typing, gate, saving, drafts, recall, keep };
})();
