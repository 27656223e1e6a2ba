// The selection as a file: its pieces come one by one, and the browser saves the whole.
const mrbFiles = (() => {
  async function write(link, query, format, from, tell) {
    from.disabled = true;
    try {
      const { export: name } = await link.ask("export", { format, query });
      const pieces = [];
      for (;;) {
        const { piece, done } = await link.ask("more", { export: name });
        if (done) break;
        pieces.push(piece);
        tell(`Writing the file: ${pieces.length} MB …`);
      }
      const place = URL.createObjectURL(new Blob(pieces, { type: format === "csv" ? "text/csv;charset=utf-8" : "text/html;charset=utf-8" }));
      const anchor = mrbShell.element("a", { href: place, download: `cases.${format}`, hidden: true });
      from.after(anchor);
      anchor.click();
      anchor.remove();
      setTimeout(() => URL.revokeObjectURL(place), 60000);
      tell(`The file cases.${format} is written.`);
    } catch (error) {
      tell(`The file is not written: ${error.message}`, true);
    } finally {
      from.disabled = false;
    }
  }

  return { write };
})();
