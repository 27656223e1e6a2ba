// A page of its own, as its server gives it: the app, and a line that says so when its server went away.
(() => {
  const EVERY = 1500;
  const LATE = 10000; // a server that hangs is as good as gone
  const GONE = "The server of this page does not answer: it was stopped, or the connection broke. Leave this page open: what you typed is kept here, and it goes on by itself once the connection is back.";
  const OTHER = "The server of this page has a new address now. Open the one that mrb printed in this tab: what you typed is kept here.";
  const lost = document.getElementById("mrb-lost");

  async function look() {
    let words = GONE;
    try {
      const answer = await fetch("alive", { cache: "no-store", signal: AbortSignal.timeout(LATE) });
      words = answer.ok ? "" : OTHER;
    } catch {
      words = GONE;
    }
    if (lost.textContent !== words) lost.textContent = words;
    lost.hidden = !words;
    document.documentElement.style.setProperty("--mrb-lost", `${lost.offsetHeight}px`); // pages that fill the window leave it free
    window.setTimeout(look, EVERY);
  }

  // The token is in a cookie now; an address bar is read over shoulders, copied and kept.
  if (new URLSearchParams(location.search).has("token")) history.replaceState(history.state, "", location.pathname + location.hash);
  window.setTimeout(look, EVERY);
  const app = document.getElementById("mrb-app");
  app.replaceChildren();
  render({ link: mrbShell.http, el: app, addressed: true, signal: new AbortController().signal });
})();
