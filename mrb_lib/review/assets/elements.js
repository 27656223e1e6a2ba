// The elements that all scripts make. Nothing of the data becomes markup: elements are made one by one.
const mrbElements = (() => {
  // An element from a name, attributes (those that are null or false are left out; a function listens), and children.
  function element(name, attributes = {}, ...children) {
    const made = document.createElement(name);
    for (const [key, value] of Object.entries(attributes)) {
      if (typeof value === "function") made.addEventListener(key.slice(2), value);
      else if (value !== null && value !== undefined && value !== false) made.setAttribute(key, value === true ? "" : String(value));
    }
    made.append(...children.filter((child) => child !== null && child !== undefined));
    return made;
  }

  const button = (words, does, attributes = {}) => element("button", { type: "button", onclick: does, ...attributes }, ...[words].flat());
  const key = (name) => element("kbd", { "aria-hidden": "true" }, name);
  // A text of the data keeps its direction to itself.
  const isolated = (words) => element("bdi", { dir: "auto" }, words);

  return { element, button, key, isolated };
})();
