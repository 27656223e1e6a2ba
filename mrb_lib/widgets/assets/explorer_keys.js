// The keys of the failure explorer, told in a dialog.
const mrbKeysHelp = (() => {
  const KEYS = [
    ["J or →", "next case"], ["K or ←", "previous case"], ["/", "search"], ["1 2 3 4", "gold is right, gold is wrong, ambiguous, image unusable"],
    ["N", "write a note"], ["S", "save"], ["Ctrl + Enter", "save while writing"], ["Esc", "leave a field, so that keys work again"], ["?", "this list"],
  ];

  function dialog() {
    const { element } = mrbShell;
    const part = (words) => (/^(or|\+)$/.test(words) ? ` ${words} ` : element("kbd", {}, words));
    const line = ([key, does]) => element("div", {}, element("dt", {}, ...key.split(" ").map(part)), element("dd", {}, does));
    const close = element("button", { type: "submit" }, "Close");
    return element("dialog", { class: "mrb-keys", "aria-label": "Keys" }, element("h2", {}, "Keys"), element("dl", {}, ...KEYS.map(line)), element("form", { method: "dialog" }, close));
  }

  return { dialog };
})();
