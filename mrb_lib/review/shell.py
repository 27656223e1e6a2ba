"""What all widgets share: a page that asks, Python that answers, and a plain view where neither runs.

Messages are small dictionaries. A question is `{id, what, ...}`; its answer has the same `id` and `ok` true with the
fields asked for, or `ok` false with `error`, a sentence for the user. Only what is asked for travels: the state that is
synchronised with the page holds the script and the style sheet and no data, so a saved notebook holds none either.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from typing import Any

import anywidget
import traitlets

from mrb_lib.review import bundle
from mrb_lib.review.plain import can_run
from mrb_lib.tables.errors import InputError

Handler = Callable[[Mapping[str, Any]], Mapping[str, Any]]

_log = logging.getLogger(__name__)


class Shell(anywidget.AnyWidget):
    """A widget whose page asks questions.

    Each kind of widget is a subclass: a page holds one style sheet a class.

    Parameters
    ----------
    answers : by the `what` of a question, the function that answers it: the question's fields in, the answer's out.
        It raises `InputError` for what the user can correct
    scripts, styles : the names of `assets` it is made from; the last script defines `render`
    static : makes the plain view, whole HTML in one element, for notebooks that are looked at without a kernel
    """

    _esm = traitlets.Unicode().tag(sync=True)
    _css = traitlets.Unicode().tag(sync=True)

    def __init__(
        self,
        answers: Mapping[str, Handler],
        *,
        scripts: tuple[str, ...],
        styles: tuple[str, ...],
        static: Callable[[], str],
    ) -> None:
        super().__init__(_esm=bundle.module("shell", *scripts), _css=bundle.style(*styles))
        self._answers = dict(answers)
        self._static = static
        self.on_msg(self._on_question)

    def _on_question(self, _widget: object, question: Mapping[str, Any], _buffers: object) -> None:
        self.send({**self.answer(question), "id": str(question.get("id", ""))})

    def answer(self, question: Mapping[str, Any]) -> dict[str, Any]:
        """The answer to a question, without its `id`; never raises, since nobody would see it."""
        answers = self._answers.get(str(question.get("what", "")))
        if answers is None:
            return {"ok": False, "error": "the workbench does not know this question; load the page again"}
        try:
            return {"ok": True, **answers(question)}
        except InputError as error:
            return {"ok": False, "error": str(error)}
        except Exception as error:  # noqa: BLE001  an unanswered page waits for ever; the log holds the traceback
            _log.exception("a question of the page could not be answered")
            return {"ok": False, "error": f"it failed ({type(error).__name__}); the terminal of the server says more"}

    def _repr_mimebundle_(self, **options: Any) -> Any:
        plain = {"text/plain": type(self).__name__, "text/html": self._static()}
        if not can_run():
            return plain
        shown = super()._repr_mimebundle_(**options)
        data, metadata = shown if isinstance(shown, tuple) else (shown, {})
        return {**plain, **(data or {})}, metadata
