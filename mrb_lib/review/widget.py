"""An app in a notebook: its page asks the kernel."""

from collections.abc import Callable, Mapping
from typing import Any, Final

import anywidget
import traitlets

from mrb_lib.review.pages import script, style

_RENDER: Final = """
export default {
  render: ({ model, el }) => render({ link: mrbShell.connect(model), el, addressed: false }),
};
"""
PIECE: Final = 1_000_000
"""Letters that one message of a kernel carries: JupyterLab's server drops what is much larger."""


class AppWidget(anywidget.AnyWidget):
    """The page of an app in a notebook.

    Only what is asked for travels, in pieces. The state that a saved notebook keeps is the script and the style sheet,
    and no data.
    """

    _esm = traitlets.Unicode().tag(sync=True)
    _css = traitlets.Unicode().tag(sync=True)

    def __init__(
        self, answer: Callable[[str, Mapping[str, Any]], str], scripts: tuple[str, ...], styles: tuple[str, ...]
    ) -> None:
        super().__init__(_esm=script("shell", *scripts) + _RENDER, _css=style(*styles))
        self._answer = answer
        self._unsent: dict[str, str] = {}
        self.on_msg(self._on_message)

    def _on_message(self, _widget: object, message: Mapping[str, Any], _buffers: object) -> None:
        name = str(message.get("id", ""))
        if name not in self._unsent:
            self._unsent[name] = self._answer(str(message.get("what", "")), message)
        text = self._unsent.pop(name)
        if text[PIECE:]:  # which the page asks for by the same id
            self._unsent[name] = text[PIECE:]
        self.send({"id": name, "piece": text[:PIECE], "more": len(text) > PIECE})
