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

  // Resolves with the answer's fields; rejects with what is wrong, in words for the user: Python's, or that nobody answers.
  function connect(model) {
    const waiting = new Map();
    const own = Math.random().toString(36).slice(2);
    let count = 0;
    let ended = false;
    const nobody = () => new Error("The kernel behind this view has ended. Run its cell again.");
    const end = () => {
      ended = true;
      for (const { reject } of waiting.values()) reject(nobody());
      waiting.clear();
    };
    const heard = (message) => {
      const settle = waiting.get(message.id);
      if (settle) {
        waiting.delete(message.id);
        if (message.ok) settle.resolve(message);
        else settle.reject(new Error(message.error));
      }
    };
    model.on("msg:custom", heard);
    model.on("comm_live_update", end);
    return {
      ask(what, fields = {}) {
        if (ended) return Promise.reject(nobody());
        const id = `${own}-${(count += 1)}`;
        return new Promise((resolve, reject) => {
          waiting.set(id, { resolve, reject });
          model.send({ ...fields, id, what });
        });
      },
      close() {
        model.off("msg:custom", heard);
        model.off("comm_live_update", end);
        waiting.clear();
      },
    };
  }

  // An element from a name, attributes (those that are null or false are left out), and children or text.
  function element(name, attributes = {}, ...children) {
    const made = document.createElement(name);
    for (const [key, value] of Object.entries(attributes)) {
      if (value === null || value === undefined || value === false) continue;
      made.setAttribute(key, value === true ? "" : String(value));
    }
    made.append(...children.filter((child) => child !== null && child !== undefined));
    return made;
  }

  // Keys are the widget's own only where nothing is being typed and no other key is held.
  function typing(event) {
    const target = event.composedPath()[0];
    const field = target instanceof HTMLElement && target.matches("input:not([type=radio], [type=checkbox]), select, textarea");
    return field || event.isComposing || event.ctrlKey || event.metaKey || event.altKey;
  }

  // `act` is told when a field's text has changed and is left, or Enter is pressed, which JupyterLab keeps from the field.
  function entered(input, act) {
    let last = input.value;
    const tell = () => {
      if (input.value === last) return;
      last = input.value;
      act();
    };
    input.addEventListener("focus", () => {
      last = input.value;
    });
    input.addEventListener("change", tell);
    input.addEventListener("keydown", (event) => {
      if (event.key === "Enter" && !event.isComposing) tell();
    });
    return input;
  }

  // A picture that comes in pieces of base64, as a Blob, with what its stored values stand for.
  async function picture(piece) {
    const parts = [];
    let answer = {};
    for (let from = 0; from !== null;) {
      answer = await piece(from);
      parts.push(Uint8Array.from(atob(answer.piece), (one) => one.charCodeAt(0)));
      from = answer.next;
    }
    return { blob: new Blob(parts, { type: "image/png" }), shades: answer.shades };
  }

  // While what is in sight changes, the nodes that act on it are dead, and so is what was pressed before it was painted:
  // it was meant for what was there until then.
  function gate(root, nodes) {
    let turn = 0;
    let painted = 0;
    let closed = false;
    let dimmed = false;
    let timer;
    const stale = (event) => closed || event.timeStamp < painted;
    const stop = (event) => {
      if (!stale(event)) return;
      event.preventDefault();
      event.stopImmediatePropagation();
    };
    for (const node of nodes) for (const kind of ["pointerdown", "mousedown", "click", "keydown", "beforeinput"]) node.addEventListener(kind, stop, true);
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

  // What the browser keeps, by the name of its storage; one that keeps nothing answers with an empty text.
  function recall(storage, key) {
    try {
      return window[storage].getItem(key) ?? "";
    } catch {
      return "";
    }
  }

  function keep(storage, key, value) {
    try {
      window[storage].setItem(key, value);
    } catch {
      // It is forgotten with the page; what was saved is in the store.
    }
  }

  // Questions that are asked again until they are answered: a connection may break, and none of them does harm twice.
  function persistent(model, { again = 10000, late = () => {} } = {}) {
    const line = connect(model);
    let closed = false;

    // The first answer counts, whichever time the question was put: a slow one must not be waited out for ever.
    function ask(what, fields = {}) {
      return new Promise((resolve, reject) => {
        let timer = 0;
        const settle = (does) => (answer) => {
          window.clearTimeout(timer);
          does(answer);
        };
        const put = () => {
          line.ask(what, fields).then(settle(resolve), settle(reject));
          timer = window.setTimeout(() => {
            if (closed) return;
            late();
            put();
          }, again);
        };
        put();
      });
    }

    return { ask, close() {
      closed = true;
      line.close();
    } };
  }

  return { fragment, connect, persistent, element, typing, entered, gate, picture, recall, keep };
})();
