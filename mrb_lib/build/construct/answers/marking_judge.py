"""A judge marks answers that no rule can, with the reference before it."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable
from typing import Final

import pandas as pd

from mrb_lib.replies.text import without_thinking

PROMPT: Final = "mark-answer"
_SAID = re.compile(r"\b(not correct|not right|incorrect|wrong|correct|right)\b")
_RIGHT: Final = ("correct", "right")


def read_mark(reply: str) -> float | None:
    """The mark in a judge's reply, 1 or 0: its last word of that kind; None where there is none."""
    said = _SAID.findall(without_thinking(reply).casefold())
    return float(said[-1] in _RIGHT) if said else None


def marking_id(item_id: str, answer: str) -> str:
    """The id under which an answer is marked: the same for the same answer to an item, whichever model gave it."""
    return f"{item_id}-{hashlib.sha256(answer.encode('utf-8', 'surrogatepass')).hexdigest()[:16]}"


def to_mark(pairs: pd.DataFrame, items: pd.DataFrame) -> pd.DataFrame:
    """Distinct answers as items that a judge is asked about; see `mrb_lib.build.construct.answers.answering.ask_about`.

    Parameters
    ----------
    pairs : `position` (of the item in `items`), `item_id`, `answer`
    items : `images, question, choices, reference`
    """
    pairs = pairs.drop_duplicates(["item_id", "answer"])
    own = items.iloc[pairs["position"]].reset_index(drop=True)
    ids = [marking_id(*row) for row in zip(pairs["item_id"], pairs["answer"], strict=True)]
    return own[["images", "question", "choices", "reference"]].assign(
        item_id=ids, response_a=pairs["answer"].to_numpy(dtype=object)
    )


def marks_of(replies: pd.DataFrame) -> Callable[[str, str], float | None]:
    """What a judge said of an answer to an item, from `item_id` (see `marking_id`) and `answer`, the judge's reply."""
    replied = {
        item: read_mark(reply) if isinstance(reply, str) else None
        for item, reply in zip(replies["item_id"], replies["answer"], strict=True)
    }
    return lambda item_id, answer: replied.get(marking_id(item_id, answer))
