"""An app in a notebook: its page asks the kernel."""

from collections.abc import Callable, Mapping
from typing import Any, Final

import anywidget
import traitlets
from anywidget.experimental import command

from mrb_lib.review.pages import script, style

Answer = Callable[[Mapping[str, Any]], tuple[dict[str, Any], list[bytes]]]
_RENDER: Final = """
export default {
  render(widget) {
    const ended = new AbortController();
    render({ link: mrbShell.connect(widget), el: widget.el, addressed: false, signal: ended.signal });
    return () => ended.abort();
  },
};
"""


class AppWidget(anywidget.AnyWidget):
    """The page of an app in a notebook.

    Only what is asked for travels. A saved notebook keeps the script and the style sheet, and no data.
    """

    _esm = traitlets.Unicode().tag(sync=True)
    _css = traitlets.Unicode().tag(sync=True)

    def __init__(self, answer: Answer, scripts: tuple[str, ...], styles: tuple[str, ...]) -> None:
        super().__init__(_esm=script("shell", *scripts) + _RENDER, _css=style(*styles))
        self._answer = answer

    @command
    def _ask(self, question: dict[str, Any], _buffers: list[bytes]) -> tuple[dict[str, Any], list[bytes]]:
        return self._answer(question)
