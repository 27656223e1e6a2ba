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
