// A page of its own, as its server gives it: the door, the app, and the way back to a server that went away.
(() => {
  const EVERY = 1500;
  const LATE = 10000; // a server that hangs is as good as gone
  const GONE = "The server of this page does not answer: it was stopped, or the connection broke. Leave this page open: what you typed is kept here, and it goes on by itself once the connection is back. If mrb was started again, paste its new address:";
  const OTHER = "The server of this page has a new address now. What you typed is kept here and comes along. Paste the new address:";
  const UNSAVED = "mrb-unsaved:";
  const lost = document.getElementById("mrb-lost");
  const app = document.getElementById("mrb-app");

  async function look() {
    let words = GONE;
    try {
      const answer = await fetch("alive", { cache: "no-store", signal: AbortSignal.timeout(LATE) });
      words = answer.ok ? "" : OTHER;
    } catch {
      words = GONE;
    }
    const line = lost.querySelector("p");
    if (line.textContent !== words) line.textContent = words;
    lost.hidden = !words;
    document.documentElement.style.setProperty("--mrb-lost", `${lost.offsetHeight}px`); // pages that fill the window leave it free
    window.setTimeout(look, EVERY);
  }

  // The token is in a cookie now; an address bar is read over shoulders, copied and kept.
  function hideToken() {
    if (app && new URLSearchParams(location.search).has("token")) history.replaceState(history.state, "", location.pathname + location.hash);
  }

  // What was typed on a page whose server went away comes along in the address, which the server never sees.
  function takeAlong() {
    const here = new URLSearchParams(location.hash.slice(1));
    if (!app || !here.has("carried")) return;
    for (const [name, value] of JSON.parse(here.get("carried"))) if (name.startsWith(UNSAVED)) window.sessionStorage.setItem(name, value);
    here.delete("carried");
    history.replaceState(history.state, "", `${location.pathname}${here.size ? `#${here}` : ""}`);
  }

  function goBack(event) {
    event.preventDefault();
    const typed = document.getElementById("mrb-address").value.trim();
    const there = /^[\w-]{20,}$/.test(typed) ? new URL(`?token=${typed}`, location.href) : URL.canParse(typed) ? new URL(typed) : null;
    if (!there || !/^https?:$/.test(there.protocol) || !there.searchParams.get("token")) {
      event.target.querySelector("[role=alert]").textContent = "This is not such an address: it begins with http:// and ends with token= and a long word.";
      return;
    }
    const here = new URLSearchParams(location.hash.slice(1));
    const drafts = Object.entries(window.sessionStorage).filter(([name]) => name.startsWith(UNSAVED));
    if (drafts.length) here.set("carried", JSON.stringify(drafts));
    there.hash = String(here);
    location.assign(there);
  }

  document.querySelector(".mrb-way-back").addEventListener("submit", goBack);
  hideToken();
  takeAlong();
  if (!app) return;
  window.setTimeout(look, EVERY);
  app.replaceChildren();
  render({ link: mrbShell.http(), el: app, addressed: true });
})();
