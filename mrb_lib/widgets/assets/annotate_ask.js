// Questions that are asked again until they are answered: a connection may break, and none of them does harm twice.
const mrbPersistent = (model, { again = 10000, late = () => {} } = {}) => {
  const line = mrbShell.connect(model);
  let closed = false;

  // The first answer counts, whichever time the question was put: a slow one must not be waited out for ever.
  function ask(what, given = {}) {
    return new Promise((resolve, reject) => {
      let timer = 0;
      const settle = (does) => (found) => {
        window.clearTimeout(timer);
        does(found);
      };
      const put = () => {
        line.ask(what, given).then(settle(resolve), settle(reject));
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
};
