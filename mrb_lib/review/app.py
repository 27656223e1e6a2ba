"""An app: a page that asks, and Python that answers, over HTTP or from a cell of a notebook.

A question is a name and a dictionary of fields. Its answer is a file, or a dictionary with `ok`: where that is false,
`error` is a sentence for the user.
"""

import logging
import os
import re
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from importlib.util import find_spec
from typing import Any, TypeVar

from mrb_lib.tables.errors import InputError

_log = logging.getLogger(__name__)
_BY_PROGRAM = re.compile(r"_\d+_\d+$")
_Sent = TypeVar("_Sent", str, int)


@dataclass(frozen=True)
class File:
    """A file that answers a question.

    Attributes
    ----------
    content, kind : its bytes and their media type
    facts : what the page is told with it, such as the `name` to save it under
    """

    content: bytes
    kind: str
    facts: Mapping[str, Any] = field(default_factory=dict)


Handler = Callable[[Mapping[str, Any]], Mapping[str, Any] | File]


@dataclass(frozen=True)
class App:
    """A page and what answers it.

    Attributes
    ----------
    title : of the page, any text
    answers : by the name of a question, the function that answers its fields; `InputError` is for the user to correct.
        Several pages ask at once, each in a thread
    scripts, styles : the names of assets, see `mrb_lib.review.pages`; the last script defines `render`
    static : makes the plain view, whole HTML in one element, for notebooks that are looked at without a kernel
    """

    title: str
    answers: Mapping[str, Handler]
    scripts: tuple[str, ...]
    styles: tuple[str, ...]
    static: Callable[[], str]

    def answer(self, what: str, question: Mapping[str, Any]) -> dict[str, Any] | File:
        """Answer a question; never raises, since nobody would see it."""
        if what not in self.answers:
            return {"ok": False, "error": "the workbench does not know this question; load the page again"}
        try:
            made = self.answers[what](question)
        except InputError as error:
            return {"ok": False, "error": str(error)}
        except Exception as error:  # noqa: BLE001  an unanswered page waits for ever; the log holds the traceback
            _log.exception("a question of the page could not be answered")
            return {"ok": False, "error": f"it failed ({type(error).__name__}); the terminal of the server says more"}
        return made if isinstance(made, File) else {"ok": True, **made}

    def kernel_answer(self, question: Mapping[str, Any]) -> tuple[dict[str, Any], list[bytes]]:
        """The answer for a notebook: its fields, and the content of a file."""
        made = self.answer(str(question.get("what", "")), question)
        return ({"ok": True, "kind": made.kind, **made.facts}, [made.content]) if isinstance(made, File) else (made, [])

    def _repr_mimebundle_(self, **options: Any) -> Any:
        plain = {"text/plain": self.title, "text/html": self.static()}
        if not can_run():
            return plain
        from mrb_lib.review.widget import AppWidget  # anywidget is needed, and slow to import, in notebooks only

        shown = AppWidget(self.kernel_answer, self.scripts, self.styles)._repr_mimebundle_(**options)
        data, metadata = shown if isinstance(shown, tuple) else (shown, {})
        return {**plain, **(data or {})}, metadata


def sent(question: Mapping[str, Any], name: str, kind: type[_Sent]) -> _Sent:
    """Return a field of a question; `InputError` where the page sent none, or one of another kind."""
    value = question.get(name)
    if type(value) is not kind:
        raise InputError(f"the page sent no {name}; load the page again.")
    return value


def can_run() -> bool:
    """Return whether widgets may be shown.

    Not where MRB_STATIC asks for plain views, anywidget is not installed, or a program such as papermill or nbconvert
    runs the notebook: no page will be there to answer, and the HTML made of it later would hold an empty place. Such a
    program uses Python's client of Jupyter, which numbers its messages `SESSION_PROCESS_COUNT`.
    """
    if os.environ.get("MRB_STATIC", "") not in ("", "0") or find_spec("anywidget") is None:
        return False
    ipython = sys.modules.get("IPython")
    kernel = getattr(ipython and ipython.get_ipython(), "kernel", None)
    message = "" if kernel is None else str(kernel.get_parent().get("header", {}).get("msg_id", ""))
    return _BY_PROGRAM.search(message) is None
