// What a browser keeps for a reviewer: the name to sign in with, and what was typed and is not stored yet.
const mrbMemory = (() => {
  function remembered(where, key) {
    try {
      return where().getItem(key) ?? "";
    } catch {
      return "";
    }
  }

  function remember(where, key, value) {
    try {
      where().setItem(key, value);
    } catch {
      // A browser that keeps nothing forgets it with the page; the store has what was saved.
    }
  }

  // Drafts outlive the page, not the tab.
  function drafts(benchmark) {
    const place = `mrb-drafts:${benchmark}`;
    const kept = new Map(Object.entries(JSON.parse(remembered(() => sessionStorage, place) || "{}")));
    const write = () => remember(() => sessionStorage, place, JSON.stringify(Object.fromEntries(kept)));
    return {
      of: (key) => kept.get(key),
      keep(key, given) {
        kept.set(key, given);
        write();
      },
      forget(key) {
        if (kept.delete(key)) write();
      },
    };
  }

  return { remembered, remember, drafts };
})();
