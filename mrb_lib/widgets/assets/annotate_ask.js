// Questions that are asked again until they are answered: a connection may break, and none of them does harm twice.
const mrbPersistent = (model, { again = 10000, late = () => {} } = {}) => {
  const line = mrbShell.connect(model);
  let closed = false;

  async function ask(what, given = {}) {
    while (!closed) {
      let timer = 0;
      const silence = new Promise((resolve) => { timer = window.setTimeout(resolve, again); });
      const asked = line.ask(what, given);
      try {
        const found = await Promise.race([asked, silence]);
        if (found) return found;
      } finally {
        window.clearTimeout(timer);
        asked.catch(() => {}); // an answer that comes after the question was put again
      }
      if (!closed) late();
    }
    return new Promise(() => {});
  }

  return { ask, close() {
    closed = true;
    line.close();
  } };
};
